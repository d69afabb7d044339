"""Tokens under L2Attention on Euclidean().

    E = exp(-HadamardPower(X*Q.T, 2)*ones(d, n) + 2*X*Q.T*K*X.T - ones(n, d)*HadamardPower(-K*X.T, 2))
    X' = HadamardProduct(HadamardPower(E*ones(n, 1), -1)*ones(1, d), E*X*V.T)

Generated from the reduction l2_tokens: change its derivation, not this file.
"""

import numpy as np

NAME = "l2_tokens"
DIGEST = "def77cda74adaf8bf54c964a0750469a2b0f99b3132429154be383e91ae30971"
STATE = (("X", ("n", "d"), "tokens"),)
PARAMETERS = (
    ("K", ("d", "d"), "matrix"),
    ("Q", ("d", "d"), "matrix"),
    ("V", ("d", "d"), "matrix"),
)


def field(K, Q, V, xp=np):
    """The vector field at these parameters; `xp` offers the array functions."""
    t1 = Q.mT @ K

    def rhs(X):
        """Time derivatives of X."""
        t2 = (
            2 * (X @ t1 @ X.mT)
            - ((X @ Q.mT) ** 2).sum(axis=-1, keepdims=True)
            - ((-K @ X.mT) ** 2).sum(axis=-2, keepdims=True)
        )
        E = xp.exp(t2 - t2.max(axis=-1, keepdims=True))
        X_dot = E @ X @ V.mT / E.sum(axis=-1, keepdims=True)
        return (X_dot,)

    return rhs


def series(order, X, K, Q, V, arithmetic):
    """Taylor coefficients 0..order of X; `arithmetic` computes with coefficients."""
    t4 = Q.mT @ K
    X = [X]
    t1 = [X[0].mT]
    t2 = [X[0] @ Q.mT]
    t3 = [-K @ t1[0]]
    t5 = [X[0] @ t4]
    t6 = [t5[0] @ t1[0]]
    t7 = [t2[0] * t2[0]]
    t8 = [t3[0] * t3[0]]
    t9 = [2 * t6[0] - t7[0].sum(axis=-1, keepdims=True) - t8[0].sum(axis=-2, keepdims=True)]
    t9_prime = []
    E = [arithmetic.exp(t9[0] - t9[0].max(axis=-1, keepdims=True))]
    t10 = [E[0].sum(axis=-1, keepdims=True)]
    t11 = [1 / t10[0]]
    t12 = [E[0] @ X[0]]
    t13 = [t12[0] @ V.mT]
    X_dot = [t11[0] * t13[0]]
    for k in range(1, order + 1):
        X.append(X_dot[k - 1] / k)
        t1.append(X[k].mT)
        t2.append(X[k] @ Q.mT)
        t3.append(-K @ t1[k])
        t5.append(X[k] @ t4)
        t6.append(arithmetic.matmul(t5, t1, k))
        t7.append(arithmetic.convolve(t2, t2, k))
        t8.append(arithmetic.convolve(t3, t3, k))
        t9.append(2 * t6[k] - t7[k].sum(axis=-1, keepdims=True) - t8[k].sum(axis=-2, keepdims=True))
        t9_prime.append(k * t9[k])
        E.append(arithmetic.convolve(t9_prime, E, k - 1) / k)
        t10.append(E[k].sum(axis=-1, keepdims=True))
        t11.append(-arithmetic.convolve(t10[1:], t11, k - 1) / t10[0])
        t12.append(arithmetic.matmul(E, X, k))
        t13.append(t12[k] @ V.mT)
        X_dot.append(arithmetic.convolve(t11, t13, k))
    return (X,)
