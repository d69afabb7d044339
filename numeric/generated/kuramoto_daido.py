"""Doubled angles of tokens under linear attention on the circle.

    a0 = A[0, 0]/2 - I*A[0, 1]/2 + I*A[1, 0]/2 + A[1, 1]/2
    a1 = A[0, 0]/2 + I*A[0, 1]/2 + I*A[1, 0]/2 - A[1, 1]/2
    v0 = V[0, 0]/2 - I*V[0, 1]/2 + I*V[1, 0]/2 + V[1, 1]/2
    v1 = V[0, 0]/2 + I*V[0, 1]/2 + I*V[1, 0]/2 - V[1, 1]/2
    C = cos(Xi)
    S = sin(Xi)
    R = Mean(C) + I*Mean(S)
    P = v0*(R*conjugate(a1) + conjugate(a0)) + v1*(conjugate(R)*conjugate(a0) + conjugate(a1))
    Q = v0*(R*a0 + a1) + v1*(a0 + a1*conjugate(R))
    Xi' = (-beta*re(Q))*S + (beta*im(P))*ones(n, 1) + (beta*im(Q))*C

Generated from the reduction kuramoto_daido: change its derivation, not this file.
"""

import numpy as np

NAME = "kuramoto_daido"
DIGEST = "8710bfb0ee44df8d44631b3e86628ffa572965958f97f458733323304516f962"
STATE = (("Xi", ("n",), "phases"),)
PARAMETERS = (
    ("A", (2, 2), "matrix"),
    ("V", (2, 2), "matrix"),
    ("beta", (), "real"),
)


def field(A, V, beta, xp=np):
    """The vector field at these parameters; `xp` offers the array functions."""
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

    def rhs(Xi):
        """Time derivatives of Xi."""
        Xi = Xi[..., None]
        C = xp.cos(Xi)
        S = xp.sin(Xi)
        R = 1j * S.mean(axis=(-2, -1)) + C.mean(axis=(-2, -1))
        t7 = xp.conj(R)
        P = v0 * (R * t5 + t6) + v1 * (t5 + t6 * t7)
        Q = v0 * (a1 + a0 * R) + v1 * (a0 + a1 * t7)
        Xi_dot = (
            xp.asarray(beta * xp.imag(P))[..., None, None]
            + xp.asarray(beta * xp.imag(Q))[..., None, None] * C
            - xp.asarray(beta * xp.real(Q))[..., None, None] * S
        )
        return (Xi_dot[..., 0],)

    return rhs


def series(order, Xi, A, V, beta, arithmetic):
    """Taylor coefficients 0..order of Xi; `arithmetic` computes with coefficients."""
    a0_re = A[0, 0] / 2 + A[1, 1] / 2
    a0_im = A[1, 0] / 2 - A[0, 1] / 2
    a1_re = A[0, 0] / 2 - A[1, 1] / 2
    a1_im = A[1, 0] / 2 + A[0, 1] / 2
    v0_re = V[0, 0] / 2 + V[1, 1] / 2
    v0_im = V[1, 0] / 2 - V[0, 1] / 2
    v1_re = V[0, 0] / 2 - V[1, 1] / 2
    v1_im = V[1, 0] / 2 + V[0, 1] / 2
    Xi = [Xi[..., None]]
    Xi_prime = []
    S = [arithmetic.sin(Xi[0])]
    R_im = [S[0].mean(axis=(-2, -1))]
    C = [arithmetic.cos(Xi[0])]
    R_re = [C[0].mean(axis=(-2, -1))]
    t1 = [a0_re + a1_im * R_im[0] + a1_re * R_re[0]]
    t2 = [a1_re * R_im[0]]
    t3 = [a1_im * R_re[0]]
    t4 = [a1_re + a0_re * R_re[0] - a0_im * R_im[0]]
    t5 = [a0_re * R_im[0]]
    t6 = [a0_im * R_re[0]]
    P_im = [v0_im * t1[0] + v0_re * (t2[0] - a0_im - t3[0]) + v1_im * t4[0] + v1_re * (-a1_im - t5[0] - t6[0])]
    t7 = [a1_im + t5[0] + t6[0]]
    t8 = [a0_im + t3[0] - t2[0]]
    Q_im = [v0_im * t4[0] + v0_re * t7[0] + v1_im * t1[0] + v1_re * t8[0]]
    t9 = [beta * Q_im[0]]
    t10 = [C[0] * t9[0]]
    Q_re = [v0_re * t4[0] + v1_re * t1[0] - v0_im * t7[0] - v1_im * t8[0]]
    t11 = [beta * Q_re[0]]
    t12 = [S[0] * t11[0]]
    Xi_dot = [beta * P_im[0] + t10[0] - t12[0]]
    for k in range(1, order + 1):
        Xi.append(Xi_dot[k - 1] / k)
        Xi_prime.append(k * Xi[k])
        S.append(arithmetic.convolve(Xi_prime, C, k - 1) / k)
        R_im.append(S[k].mean(axis=(-2, -1)))
        C.append(-arithmetic.convolve(Xi_prime, S, k - 1) / k)
        R_re.append(C[k].mean(axis=(-2, -1)))
        t1.append(a1_im * R_im[k] + a1_re * R_re[k])
        t2.append(a1_re * R_im[k])
        t3.append(a1_im * R_re[k])
        t4.append(a0_re * R_re[k] - a0_im * R_im[k])
        t5.append(a0_re * R_im[k])
        t6.append(a0_im * R_re[k])
        P_im.append(v0_im * t1[k] + v0_re * (t2[k] - t3[k]) + v1_im * t4[k] + v1_re * (-t5[k] - t6[k]))
        t7.append(t5[k] + t6[k])
        t8.append(t3[k] - t2[k])
        Q_im.append(v0_im * t4[k] + v0_re * t7[k] + v1_im * t1[k] + v1_re * t8[k])
        t9.append(beta * Q_im[k])
        t10.append(arithmetic.convolve(C, t9, k))
        Q_re.append(v0_re * t4[k] + v1_re * t1[k] - v0_im * t7[k] - v1_im * t8[k])
        t11.append(beta * Q_re[k])
        t12.append(arithmetic.convolve(S, t11, k))
        Xi_dot.append(beta * P_im[k] + t10[k] - t12[k])
    return ([x[..., 0] for x in Xi],)
