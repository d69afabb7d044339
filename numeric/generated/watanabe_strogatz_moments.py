"""The Möbius map that moves a law with given moments under linear attention on the circle.

    a0 = A[0, 0]/2 - I*A[0, 1]/2 + I*A[1, 0]/2 + A[1, 1]/2
    a1 = A[0, 0]/2 + I*A[0, 1]/2 + I*A[1, 0]/2 - A[1, 1]/2
    v0 = V[0, 0]/2 - I*V[0, 1]/2 + I*V[1, 0]/2 + V[1, 1]/2
    v1 = V[0, 0]/2 + I*V[0, 1]/2 + I*V[1, 0]/2 - V[1, 1]/2
    zeta = exp(I*eta)
    R = alpha + zeta*(-alpha*conjugate(alpha) + 1)*(poly(c, -zeta*conjugate(alpha)) + I*poly(s,
        -zeta*conjugate(alpha)))
    P = v0*(R*conjugate(a1) + conjugate(a0)) + v1*(conjugate(R)*conjugate(a0) + conjugate(a1))
    Q = v0*(R*a0 + a1) + v1*(a0 + a1*conjugate(R))
    omega = beta*im(P)
    H = Q*beta
    alpha' = I*alpha*omega + (H - alpha**2*conjugate(H))/2
    eta' = omega + im(H*conjugate(alpha))

Generated from the reduction watanabe_strogatz_moments: change its derivation, not this file.
"""

import numpy as np

NAME = "watanabe_strogatz_moments"
DIGEST = "6919cc42e7549205511a8854ca3a329dba10eba9cb96e2ae4c7fd73bf4552a02"
STATE = (
    ("alpha", (), "disc"),
    ("eta", (), "real"),
)
PARAMETERS = (
    ("A", (2, 2), "matrix"),
    ("V", (2, 2), "matrix"),
    ("beta", (), "real"),
    ("c", ("K",), "vector"),
    ("s", ("K",), "vector"),
)


def field(A, V, beta, c, s, xp=np):
    """The vector field at these parameters; `xp` offers the array functions."""
    c = c[..., None]
    s = s[..., None]
    t1 = 1j * A[..., 1, 0]
    t2 = 1j * A[..., 0, 1]
    a0 = A[..., 0, 0] / 2 + A[..., 1, 1] / 2 + t1 / 2 - t2 / 2
    a1 = A[..., 0, 0] / 2 + t1 / 2 + t2 / 2 - A[..., 1, 1] / 2
    t3 = 1j * V[..., 1, 0]
    t4 = 1j * V[..., 0, 1]
    v0 = V[..., 0, 0] / 2 + V[..., 1, 1] / 2 + t3 / 2 - t4 / 2
    v1 = V[..., 0, 0] / 2 + t3 / 2 + t4 / 2 - V[..., 1, 1] / 2
    t5 = xp.conj(a1)
    t6 = xp.conj(a0)

    def rhs(alpha, eta):
        """Time derivatives of alpha, eta."""
        zeta = xp.exp(1j * eta)
        t7 = xp.conj(alpha)
        t8 = -zeta * t7
        R = alpha + zeta * (-alpha * t7 + 1) * (1j * xp.polynomial(s, t8) + xp.polynomial(c, t8))
        t9 = xp.conj(R)
        P = v0 * (R * t5 + t6) + v1 * (t5 + t6 * t9)
        Q = v0 * (a1 + a0 * R) + v1 * (a0 + a1 * t9)
        omega = beta * xp.imag(P)
        H = beta * Q
        alpha_dot = (H - alpha**2 * xp.conj(H)) / 2 + 1j * alpha * omega
        eta_dot = omega + xp.imag(t7 * H)
        return alpha_dot, eta_dot

    return rhs


series = None  # there is no Taylor recurrence for polynomial
