"""The Möbius map that moves all tokens under linear attention on the circle.

    a0 = A[0, 0]/2 - I*A[0, 1]/2 + I*A[1, 0]/2 + A[1, 1]/2
    a1 = A[0, 0]/2 + I*A[0, 1]/2 + I*A[1, 0]/2 - A[1, 1]/2
    v0 = V[0, 0]/2 - I*V[0, 1]/2 + I*V[1, 0]/2 + V[1, 1]/2
    v1 = V[0, 0]/2 + I*V[0, 1]/2 + I*V[1, 0]/2 - V[1, 1]/2
    C = cos(eta*ones(n, 1) + psi)
    S = sin(eta*ones(n, 1) + psi)
    D = HadamardPower((alpha*conjugate(alpha) + 1)*ones(n, 1) + (2*re(alpha))*C + (2*im(alpha))*S, -1)
    p = Mean(D)
    q = Mean(HadamardProduct(D, C)) + I*Mean(HadamardProduct(D, S))
    R = alpha**2*conjugate(q) + 2*alpha*p + q
    P = v0*(R*conjugate(a1) + conjugate(a0)) + v1*(conjugate(R)*conjugate(a0) + conjugate(a1))
    Q = v0*(R*a0 + a1) + v1*(a0 + a1*conjugate(R))
    omega = beta*im(P)
    H = Q*beta
    alpha' = I*alpha*omega + (H - alpha**2*conjugate(H))/2
    eta' = omega + im(H*conjugate(alpha))

Generated from the reduction watanabe_strogatz: change its derivation, not this file.
"""

import numpy as np

NAME = "watanabe_strogatz"
DIGEST = "acdff3334ac1d5d259bb5d06416ea0f9c01877c5866cdc0de6c076cee68df5a6"
STATE = (
    ("alpha", (), "disc"),
    ("eta", (), "real"),
)
PARAMETERS = (
    ("A", (2, 2), "matrix"),
    ("V", (2, 2), "matrix"),
    ("beta", (), "real"),
    ("psi", ("n",), "phases"),
)


def field(A, V, beta, psi, xp=np):
    """The vector field at these parameters; `xp` offers the array functions."""
    psi = psi[..., None]
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
        t7 = psi + xp.asarray(eta)[..., None, None]
        C = xp.cos(t7)
        S = xp.sin(t7)
        t8 = xp.conj(alpha)
        t9 = (
            xp.asarray(alpha * t8 + 1)[..., None, None]
            + 2 * xp.asarray(xp.real(alpha))[..., None, None] * C
            + 2 * xp.asarray(xp.imag(alpha))[..., None, None] * S
        )
        D = 1 / t9
        p = D.mean(axis=(-2, -1))
        q = 1j * (S * D).mean(axis=(-2, -1)) + (C * D).mean(axis=(-2, -1))
        t10 = alpha**2
        R = q + t10 * xp.conj(q) + 2 * alpha * p
        t11 = xp.conj(R)
        P = v0 * (R * t5 + t6) + v1 * (t5 + t6 * t11)
        Q = v0 * (a1 + a0 * R) + v1 * (a0 + a1 * t11)
        omega = beta * xp.imag(P)
        H = beta * Q
        alpha_dot = (H - t10 * xp.conj(H)) / 2 + 1j * alpha * omega
        eta_dot = omega + xp.imag(t8 * H)
        return alpha_dot, eta_dot

    return rhs


def series(order, alpha_re, alpha_im, eta, A, V, beta, psi, arithmetic):
    """Taylor coefficients 0..order of alpha_re, alpha_im, eta; `arithmetic` computes with coefficients."""
    psi = psi[..., None]
    a0_re = A[0, 0] / 2 + A[1, 1] / 2
    a0_im = A[1, 0] / 2 - A[0, 1] / 2
    a1_re = A[0, 0] / 2 - A[1, 1] / 2
    a1_im = A[1, 0] / 2 + A[0, 1] / 2
    v0_re = V[0, 0] / 2 + V[1, 1] / 2
    v0_im = V[1, 0] / 2 - V[0, 1] / 2
    v1_re = V[0, 0] / 2 - V[1, 1] / 2
    v1_im = V[1, 0] / 2 + V[0, 1] / 2
    alpha_re = [alpha_re]
    alpha_im = [alpha_im]
    eta = [eta]
    t1 = [psi + eta[0]]
    t1_prime = []
    C = [arithmetic.cos(t1[0])]
    t2 = [alpha_im[0] * alpha_im[0]]
    t3 = [alpha_re[0] * alpha_re[0]]
    t4 = [alpha_re[0] * C[0]]
    S = [arithmetic.sin(t1[0])]
    t5 = [alpha_im[0] * S[0]]
    t6 = [(t2[0] + t3[0] + 1) + 2 * t4[0] + 2 * t5[0]]
    D = [1 / t6[0]]
    t7 = [C[0] * D[0]]
    q_re = [t7[0].mean(axis=(-2, -1))]
    t8 = [t3[0] - t2[0]]
    t9 = [q_re[0] * t8[0]]
    p = [D[0].mean(axis=(-2, -1))]
    t10 = [alpha_re[0] * p[0]]
    t11 = [S[0] * D[0]]
    q_im = [t11[0].mean(axis=(-2, -1))]
    t12 = [alpha_re[0] * alpha_im[0]]
    t13 = [q_im[0] * t12[0]]
    R_re = [q_re[0] + t9[0] + 2 * t10[0] + 2 * t13[0]]
    t14 = [t8[0] * q_im[0]]
    t15 = [alpha_im[0] * p[0]]
    t16 = [q_re[0] * t12[0]]
    R_im = [q_im[0] + 2 * t15[0] + 2 * t16[0] - t14[0]]
    t17 = [a1_re + a0_re * R_re[0] - a0_im * R_im[0]]
    t18 = [a0_re + a1_im * R_im[0] + a1_re * R_re[0]]
    t19 = [a0_re * R_im[0]]
    t20 = [a0_im * R_re[0]]
    t21 = [a1_im + t19[0] + t20[0]]
    t22 = [a1_re * R_im[0]]
    t23 = [a1_im * R_re[0]]
    t24 = [a0_im + t23[0] - t22[0]]
    Q_re = [v0_re * t17[0] + v1_re * t18[0] - v0_im * t21[0] - v1_im * t24[0]]
    H_re = [beta * Q_re[0]]
    t25 = [t2[0] - t3[0]]
    t26 = [H_re[0] * t25[0]]
    P_im = [v0_im * t18[0] + v0_re * (t22[0] - a0_im - t23[0]) + v1_im * t17[0] + v1_re * (-a1_im - t19[0] - t20[0])]
    omega = [beta * P_im[0]]
    t27 = [alpha_im[0] * omega[0]]
    Q_im = [v0_im * t17[0] + v0_re * t21[0] + v1_im * t18[0] + v1_re * t24[0]]
    H_im = [beta * Q_im[0]]
    t28 = [t12[0] * H_im[0]]
    alpha_re_dot = [H_re[0] / 2 + t26[0] / 2 - t27[0] - t28[0]]
    t29 = [alpha_re[0] * omega[0]]
    t30 = [t25[0] * H_im[0]]
    t31 = [t12[0] * H_re[0]]
    alpha_im_dot = [H_im[0] / 2 + t29[0] - t30[0] / 2 - t31[0]]
    t32 = [alpha_re[0] * H_im[0]]
    t33 = [alpha_im[0] * H_re[0]]
    eta_dot = [omega[0] + t32[0] - t33[0]]
    for k in range(1, order + 1):
        alpha_re.append(alpha_re_dot[k - 1] / k)
        alpha_im.append(alpha_im_dot[k - 1] / k)
        eta.append(eta_dot[k - 1] / k)
        t1.append(eta[k])
        t1_prime.append(k * t1[k])
        C.append(-arithmetic.convolve(t1_prime, S, k - 1) / k)
        t2.append(arithmetic.convolve(alpha_im, alpha_im, k))
        t3.append(arithmetic.convolve(alpha_re, alpha_re, k))
        t4.append(arithmetic.convolve(alpha_re, C, k))
        S.append(arithmetic.convolve(t1_prime, C, k - 1) / k)
        t5.append(arithmetic.convolve(alpha_im, S, k))
        t6.append((t2[k] + t3[k]) + 2 * t4[k] + 2 * t5[k])
        D.append(-arithmetic.convolve(t6[1:], D, k - 1) / t6[0])
        t7.append(arithmetic.convolve(C, D, k))
        q_re.append(t7[k].mean(axis=(-2, -1)))
        t8.append(t3[k] - t2[k])
        t9.append(arithmetic.convolve(q_re, t8, k))
        p.append(D[k].mean(axis=(-2, -1)))
        t10.append(arithmetic.convolve(alpha_re, p, k))
        t11.append(arithmetic.convolve(S, D, k))
        q_im.append(t11[k].mean(axis=(-2, -1)))
        t12.append(arithmetic.convolve(alpha_re, alpha_im, k))
        t13.append(arithmetic.convolve(q_im, t12, k))
        R_re.append(q_re[k] + t9[k] + 2 * t10[k] + 2 * t13[k])
        t14.append(arithmetic.convolve(t8, q_im, k))
        t15.append(arithmetic.convolve(alpha_im, p, k))
        t16.append(arithmetic.convolve(q_re, t12, k))
        R_im.append(q_im[k] + 2 * t15[k] + 2 * t16[k] - t14[k])
        t17.append(a0_re * R_re[k] - a0_im * R_im[k])
        t18.append(a1_im * R_im[k] + a1_re * R_re[k])
        t19.append(a0_re * R_im[k])
        t20.append(a0_im * R_re[k])
        t21.append(t19[k] + t20[k])
        t22.append(a1_re * R_im[k])
        t23.append(a1_im * R_re[k])
        t24.append(t23[k] - t22[k])
        Q_re.append(v0_re * t17[k] + v1_re * t18[k] - v0_im * t21[k] - v1_im * t24[k])
        H_re.append(beta * Q_re[k])
        t25.append(t2[k] - t3[k])
        t26.append(arithmetic.convolve(H_re, t25, k))
        P_im.append(v0_im * t18[k] + v0_re * (t22[k] - t23[k]) + v1_im * t17[k] + v1_re * (-t19[k] - t20[k]))
        omega.append(beta * P_im[k])
        t27.append(arithmetic.convolve(alpha_im, omega, k))
        Q_im.append(v0_im * t17[k] + v0_re * t21[k] + v1_im * t18[k] + v1_re * t24[k])
        H_im.append(beta * Q_im[k])
        t28.append(arithmetic.convolve(t12, H_im, k))
        alpha_re_dot.append(H_re[k] / 2 + t26[k] / 2 - t27[k] - t28[k])
        t29.append(arithmetic.convolve(alpha_re, omega, k))
        t30.append(arithmetic.convolve(t25, H_im, k))
        t31.append(arithmetic.convolve(t12, H_re, k))
        alpha_im_dot.append(H_im[k] / 2 + t29[k] - t30[k] / 2 - t31[k])
        t32.append(arithmetic.convolve(alpha_re, H_im, k))
        t33.append(arithmetic.convolve(alpha_im, H_re, k))
        eta_dot.append(omega[k] + t32[k] - t33[k])
    return alpha_re, alpha_im, eta
