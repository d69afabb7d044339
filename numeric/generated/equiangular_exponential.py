"""Equiangular tokens under ExponentialAttention on Sphere().

    rho' = 2*(1 - rho)*(rho*(n - 1) + 1)*exp(beta*rho)/n

Generated from the reduction equiangular_exponential: change its derivation, not this file.
"""

import numpy as np

NAME = "equiangular_exponential"
DIGEST = "07bdf952c6f15a78bd8f3fc6f346944753e627f59004cfb7cc202bd185436515"
STATE = (("rho", (), "real"),)
PARAMETERS = (
    ("beta", (), "real"),
    ("n", (), "positive"),
)


def field(beta, n, xp=np):
    """The vector field at these parameters; `xp` offers the array functions."""
    t1 = n - 1
    t2 = 2 / n

    def rhs(rho):
        """Time derivatives of rho."""
        rho_dot = (-rho + 1) * (rho * t1 + 1) * xp.exp(rho * beta) * t2
        return (rho_dot,)

    return rhs


def series(order, rho, beta, n, arithmetic):
    """Taylor coefficients 0..order of rho; `arithmetic` computes with coefficients."""
    t2 = n - 1
    rho = [rho]
    t1 = [-rho[0] + 1]
    t3 = [rho[0] * t2 + 1]
    t4 = [rho[0] * beta]
    t4_prime = []
    t5 = [arithmetic.exp(t4[0])]
    t6 = [t1[0] * t3[0]]
    t7 = [t5[0] * t6[0]]
    rho_dot = [2 * t7[0] / n]
    for k in range(1, order + 1):
        rho.append(rho_dot[k - 1] / k)
        t1.append(-rho[k])
        t3.append(rho[k] * t2)
        t4.append(rho[k] * beta)
        t4_prime.append(k * t4[k])
        t5.append(arithmetic.convolve(t4_prime, t5, k - 1) / k)
        t6.append(arithmetic.convolve(t1, t3, k))
        t7.append(arithmetic.convolve(t5, t6, k))
        rho_dot.append(2 * t7[k] / n)
    return (rho,)
