"""Angles of tokens under ExponentialAttention on the circle.

    C = cos(theta)
    S = sin(theta)
    E = exp(beta*(C*C.T + S*S.T))
    theta' = 1/n*(-(HadamardProduct(V[0, 0]*E*C + V[0, 1]*E*S, S)) + HadamardProduct(V[1, 0]*E*C + V[1, 1]*E*S, C))

Generated from the reduction daido_hierarchy: change its derivation, not this file.
"""

import numpy as np

NAME = "daido_hierarchy"
DIGEST = "45aa413133861c1ce5d220184f8e72a06c07efb8e418b3debe5a1dd49aeca1c3"
STATE = (("theta", ("n",), "phases"),)
PARAMETERS = (
    ("V", (2, 2), "matrix"),
    ("beta", (), "real"),
)


def field(V, beta, xp=np):
    """The vector field at these parameters; `xp` offers the array functions."""
    beta = xp.asarray(beta)[..., None, None]
    t1 = xp.asarray(V[..., 0, 0])[..., None, None]
    t2 = xp.asarray(V[..., 0, 1])[..., None, None]
    t3 = xp.asarray(V[..., 1, 0])[..., None, None]
    t4 = xp.asarray(V[..., 1, 1])[..., None, None]

    def rhs(theta):
        """Time derivatives of theta."""
        n = theta.shape[-1]
        theta = theta[..., None]
        C = xp.cos(theta)
        S = xp.sin(theta)
        E = xp.exp(beta * (C * C.mT + S * S.mT))
        t5 = E @ C
        t6 = E @ S
        theta_dot = (C * (t3 * t5 + t4 * t6) - S * (t1 * t5 + t2 * t6)) / n
        return (theta_dot[..., 0],)

    return rhs


def series(order, theta, V, beta, arithmetic):
    """Taylor coefficients 0..order of theta; `arithmetic` computes with coefficients."""
    n = theta.shape[-1]
    theta = [theta[..., None]]
    theta_prime = []
    S = [arithmetic.sin(theta[0])]
    C = [arithmetic.cos(theta[0])]
    t1 = [C[0].mT]
    t2 = [C[0] * t1[0]]
    t3 = [S[0].mT]
    t4 = [S[0] * t3[0]]
    t5 = [beta * (t2[0] + t4[0])]
    t5_prime = []
    E = [arithmetic.exp(t5[0])]
    t6 = [E[0] @ C[0]]
    t7 = [E[0] @ S[0]]
    t8 = [V[0, 0] * t6[0] + V[0, 1] * t7[0]]
    t9 = [S[0] * t8[0]]
    t10 = [V[1, 0] * t6[0] + V[1, 1] * t7[0]]
    t11 = [C[0] * t10[0]]
    theta_dot = [(t11[0] - t9[0]) / n]
    for k in range(1, order + 1):
        theta.append(theta_dot[k - 1] / k)
        theta_prime.append(k * theta[k])
        S.append(arithmetic.convolve(theta_prime, C, k - 1) / k)
        C.append(-arithmetic.convolve(theta_prime, S, k - 1) / k)
        t1.append(C[k].mT)
        t2.append(arithmetic.convolve(C, t1, k))
        t3.append(S[k].mT)
        t4.append(arithmetic.convolve(S, t3, k))
        t5.append(beta * (t2[k] + t4[k]))
        t5_prime.append(k * t5[k])
        E.append(arithmetic.convolve(t5_prime, E, k - 1) / k)
        t6.append(arithmetic.matmul(E, C, k))
        t7.append(arithmetic.matmul(E, S, k))
        t8.append(V[0, 0] * t6[k] + V[0, 1] * t7[k])
        t9.append(arithmetic.convolve(S, t8, k))
        t10.append(V[1, 0] * t6[k] + V[1, 1] * t7[k])
        t11.append(arithmetic.convolve(C, t10, k))
        theta_dot.append((t11[k] - t9[k]) / n)
    return ([x[..., 0] for x in theta],)
