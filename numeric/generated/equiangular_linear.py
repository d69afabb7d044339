"""Equiangular tokens under LinearAttention on Sphere().

    rho' = 2*beta*rho*(1 - rho)*(rho*(n - 1) + 1)/n

Generated from the reduction equiangular_linear: change its derivation, not this file.
"""

import numpy as np

NAME = "equiangular_linear"
DIGEST = "b9abb955d1c7e323361704ce7a561391ae7990f1213a6cdc8ceeac5bc5e1719a"
STATE = (("rho", (), "real"),)
PARAMETERS = (
    ("beta", (), "real"),
    ("n", (), "positive"),
)


def field(beta, n, xp=np):
    """The vector field at these parameters; `xp` offers the array functions."""
    t1 = n - 1
    t2 = 2 * beta / n

    def rhs(rho):
        """Time derivatives of rho."""
        rho_dot = rho * (-rho + 1) * (rho * t1 + 1) * t2
        return (rho_dot,)

    return rhs


def series(order, rho, beta, n, arithmetic):
    """Taylor coefficients 0..order of rho; `arithmetic` computes with coefficients."""
    t2 = n - 1
    t4 = beta / n
    rho = [rho]
    t1 = [-rho[0] + 1]
    t3 = [rho[0] * t2 + 1]
    t5 = [rho[0] * t1[0]]
    t6 = [t3[0] * t5[0]]
    rho_dot = [2 * t4 * t6[0]]
    for k in range(1, order + 1):
        rho.append(rho_dot[k - 1] / k)
        t1.append(-rho[k])
        t3.append(rho[k] * t2)
        t5.append(arithmetic.convolve(rho, t1, k))
        t6.append(arithmetic.convolve(t3, t5, k))
        rho_dot.append(2 * t4 * t6[k])
    return (rho,)
