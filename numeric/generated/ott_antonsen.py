"""Ott–Antonsen equation of linear attention on the circle.

    a0 = A[0, 0]/2 - I*A[0, 1]/2 + I*A[1, 0]/2 + A[1, 1]/2
    a1 = A[0, 0]/2 + I*A[0, 1]/2 + I*A[1, 0]/2 - A[1, 1]/2
    v0 = V[0, 0]/2 - I*V[0, 1]/2 + I*V[1, 0]/2 + V[1, 1]/2
    v1 = V[0, 0]/2 + I*V[0, 1]/2 + I*V[1, 0]/2 - V[1, 1]/2
    P = v0*(R*conjugate(a1) + conjugate(a0)) + v1*(conjugate(R)*conjugate(a0) + conjugate(a1))
    Q = v0*(R*a0 + a1) + v1*(a0 + a1*conjugate(R))
    R' = I*R*beta*im(P) + beta*(Q - R**2*conjugate(Q))/2

Generated from the reduction ott_antonsen: change its derivation, not this file.
"""

import numpy as np

NAME = "ott_antonsen"
DIGEST = "b0a6b3f708dd5d616a00c7ff73c6a555313545e993e28f82e21d7bfe3b7f31f0"
STATE = (("R", (), "disc"),)
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
    t7 = beta / 2
    t8 = 1j * beta

    def rhs(R):
        """Time derivatives of R."""
        t9 = xp.conj(R)
        P = v0 * (R * t5 + t6) + v1 * (t5 + t6 * t9)
        Q = v0 * (a1 + R * a0) + v1 * (a0 + a1 * t9)
        R_dot = (Q - R**2 * xp.conj(Q)) * t7 + R * xp.imag(P) * t8
        return (R_dot,)

    return rhs


def series(order, R_re, R_im, A, V, beta, arithmetic):
    """Taylor coefficients 0..order of R_re, R_im; `arithmetic` computes with coefficients."""
    a0_re = A[0, 0] / 2 + A[1, 1] / 2
    a0_im = A[1, 0] / 2 - A[0, 1] / 2
    a1_re = A[0, 0] / 2 - A[1, 1] / 2
    a1_im = A[1, 0] / 2 + A[0, 1] / 2
    v0_re = V[0, 0] / 2 + V[1, 1] / 2
    v0_im = V[1, 0] / 2 - V[0, 1] / 2
    v1_re = V[0, 0] / 2 - V[1, 1] / 2
    v1_im = V[1, 0] / 2 + V[0, 1] / 2
    R_re = [R_re]
    R_im = [R_im]
    t1 = [a0_re + R_im[0] * a1_im + R_re[0] * a1_re]
    t2 = [a1_re + R_re[0] * a0_re - R_im[0] * a0_im]
    t3 = [R_im[0] * a1_re]
    t4 = [R_re[0] * a1_im]
    t5 = [R_im[0] * a0_re]
    t6 = [R_re[0] * a0_im]
    P_im = [v0_im * t1[0] + v0_re * (t3[0] - a0_im - t4[0]) + v1_im * t2[0] + v1_re * (-a1_im - t5[0] - t6[0])]
    t7 = [a1_im + t5[0] + t6[0]]
    t8 = [a0_im + t4[0] - t3[0]]
    Q_re = [v0_re * t2[0] + v1_re * t1[0] - v0_im * t7[0] - v1_im * t8[0]]
    Q_im = [v0_im * t2[0] + v0_re * t7[0] + v1_im * t1[0] + v1_re * t8[0]]
    t9 = [R_im[0] * R_im[0]]
    t10 = [R_re[0] * R_re[0]]
    t11 = [t9[0] - t10[0]]
    t12 = [Q_re[0] * t11[0]]
    t13 = [R_re[0] * R_im[0]]
    t14 = [Q_im[0] * t13[0]]
    t15 = [R_im[0] * P_im[0]]
    R_re_dot = [beta * (Q_re[0] + t12[0] - 2 * t14[0]) / 2 - beta * t15[0]]
    t16 = [Q_im[0] * t11[0]]
    t17 = [Q_re[0] * t13[0]]
    t18 = [R_re[0] * P_im[0]]
    R_im_dot = [beta * (Q_im[0] - t16[0] - 2 * t17[0]) / 2 + beta * t18[0]]
    for k in range(1, order + 1):
        R_re.append(R_re_dot[k - 1] / k)
        R_im.append(R_im_dot[k - 1] / k)
        t1.append(R_im[k] * a1_im + R_re[k] * a1_re)
        t2.append(R_re[k] * a0_re - R_im[k] * a0_im)
        t3.append(R_im[k] * a1_re)
        t4.append(R_re[k] * a1_im)
        t5.append(R_im[k] * a0_re)
        t6.append(R_re[k] * a0_im)
        P_im.append(v0_im * t1[k] + v0_re * (t3[k] - t4[k]) + v1_im * t2[k] + v1_re * (-t5[k] - t6[k]))
        t7.append(t5[k] + t6[k])
        t8.append(t4[k] - t3[k])
        Q_re.append(v0_re * t2[k] + v1_re * t1[k] - v0_im * t7[k] - v1_im * t8[k])
        Q_im.append(v0_im * t2[k] + v0_re * t7[k] + v1_im * t1[k] + v1_re * t8[k])
        t9.append(arithmetic.convolve(R_im, R_im, k))
        t10.append(arithmetic.convolve(R_re, R_re, k))
        t11.append(t9[k] - t10[k])
        t12.append(arithmetic.convolve(Q_re, t11, k))
        t13.append(arithmetic.convolve(R_re, R_im, k))
        t14.append(arithmetic.convolve(Q_im, t13, k))
        t15.append(arithmetic.convolve(R_im, P_im, k))
        R_re_dot.append(beta * (Q_re[k] + t12[k] - 2 * t14[k]) / 2 - beta * t15[k])
        t16.append(arithmetic.convolve(Q_im, t11, k))
        t17.append(arithmetic.convolve(Q_re, t13, k))
        t18.append(arithmetic.convolve(R_re, P_im, k))
        R_im_dot.append(beta * (Q_im[k] - t16[k] - 2 * t17[k]) / 2 + beta * t18[k])
    return R_re, R_im
