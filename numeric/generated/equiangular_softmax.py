"""Equiangular tokens under SoftmaxAttention on Sphere().

    rho' = 2*(1 - rho)*(rho*(n - 1) + 1)*exp(beta*rho - beta)/((n - 1)*exp(beta*rho - beta) + 1)

Generated from the reduction equiangular_softmax: change its derivation, not this file.
"""

import numpy as np

NAME = "equiangular_softmax"
DIGEST = "24c93e32b6664a59ce499c2e68f620b8b6e1c029a85570b8f947211baf97ca6d"
STATE = (("rho", (), "real"),)
PARAMETERS = (
    ("beta", (), "real"),
    ("n", (), "positive"),
)


def field(beta, n, xp=np):
    """The vector field at these parameters; `xp` offers the array functions."""
    t1 = n - 1

    def rhs(rho):
        """Time derivatives of rho."""
        t2 = xp.exp(rho * beta - beta)
        rho_dot = 2 * t2 * (-rho + 1) * (rho * t1 + 1) / (t1 * t2 + 1)
        return (rho_dot,)

    return rhs


def series(order, rho, beta, n, arithmetic):
    """Taylor coefficients 0..order of rho; `arithmetic` computes with coefficients."""
    t1 = n - 1
    rho = [rho]
    t2 = [rho[0] * beta - beta]
    t3 = [-rho[0] + 1]
    t4 = [rho[0] * t1 + 1]
    t2_prime = []
    t5 = [arithmetic.exp(t2[0])]
    t6 = [t1 * t5[0] + 1]
    t7 = [1 / t6[0]]
    t8 = [t5[0] * t7[0]]
    t9 = [t3[0] * t8[0]]
    t10 = [t4[0] * t9[0]]
    rho_dot = [2 * t10[0]]
    for k in range(1, order + 1):
        rho.append(rho_dot[k - 1] / k)
        t2.append(rho[k] * beta)
        t3.append(-rho[k])
        t4.append(rho[k] * t1)
        t2_prime.append(k * t2[k])
        t5.append(arithmetic.convolve(t2_prime, t5, k - 1) / k)
        t6.append(t1 * t5[k])
        t7.append(-arithmetic.convolve(t6[1:], t7, k - 1) / t6[0])
        t8.append(arithmetic.convolve(t5, t7, k))
        t9.append(arithmetic.convolve(t3, t8, k))
        t10.append(arithmetic.convolve(t4, t9, k))
        rho_dot.append(2 * t10[k])
    return (rho,)
