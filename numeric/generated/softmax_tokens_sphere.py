"""Tokens under SoftmaxAttention on Sphere().

    E = exp(X*B.T*X.T)
    U = HadamardProduct(HadamardPower(E*ones(n, 1), -1)*ones(1, d), E*X*V.T)
    r = (HadamardProduct(U, X))*ones(d, 1)
    X' = -(HadamardProduct(r*ones(1, d), X)) + U

Generated from the reduction softmax_tokens_sphere: change its derivation, not this file.
"""

import numpy as np

NAME = "softmax_tokens_sphere"
DIGEST = "ca36b173727ef14a49cd6ddd2bf322858b15c4d92ad5838d74600728570bff18"
STATE = (("X", ("n", "d"), "unit tokens"),)
PARAMETERS = (
    ("B", ("d", "d"), "matrix"),
    ("V", ("d", "d"), "matrix"),
)


def field(B, V, xp=np):
    """The vector field at these parameters; `xp` offers the array functions."""

    def rhs(X):
        """Time derivatives of X."""
        t1 = X @ B.mT @ X.mT
        E = xp.exp(t1 - t1.max(axis=-1, keepdims=True))
        U = E @ X @ V.mT / E.sum(axis=-1, keepdims=True)
        r = (X * U).sum(axis=-1, keepdims=True)
        X_dot = U - r * X
        return (X_dot,)

    return rhs


def series(order, X, B, V, arithmetic):
    """Taylor coefficients 0..order of X; `arithmetic` computes with coefficients."""
    X = [X]
    t1 = [X[0].mT]
    t2 = [X[0] @ B.mT]
    t3 = [t2[0] @ t1[0]]
    t3_prime = []
    E = [arithmetic.exp(t3[0] - t3[0].max(axis=-1, keepdims=True))]
    t4 = [E[0].sum(axis=-1, keepdims=True)]
    t5 = [1 / t4[0]]
    t6 = [E[0] @ X[0]]
    t7 = [t6[0] @ V.mT]
    U = [t5[0] * t7[0]]
    t8 = [X[0] * U[0]]
    r = [t8[0].sum(axis=-1, keepdims=True)]
    t9 = [X[0] * r[0]]
    X_dot = [U[0] - t9[0]]
    for k in range(1, order + 1):
        X.append(X_dot[k - 1] / k)
        t1.append(X[k].mT)
        t2.append(X[k] @ B.mT)
        t3.append(arithmetic.matmul(t2, t1, k))
        t3_prime.append(k * t3[k])
        E.append(arithmetic.convolve(t3_prime, E, k - 1) / k)
        t4.append(E[k].sum(axis=-1, keepdims=True))
        t5.append(-arithmetic.convolve(t4[1:], t5, k - 1) / t4[0])
        t6.append(arithmetic.matmul(E, X, k))
        t7.append(t6[k] @ V.mT)
        U.append(arithmetic.convolve(t5, t7, k))
        t8.append(arithmetic.convolve(X, U, k))
        r.append(t8[k].sum(axis=-1, keepdims=True))
        t9.append(arithmetic.convolve(X, r, k))
        X_dot.append(U[k] - t9[k])
    return (X,)
