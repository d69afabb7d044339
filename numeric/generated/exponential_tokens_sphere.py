"""Tokens under ExponentialAttention on Sphere().

    E = exp(beta*X*A*X.T)
    U = 1/n*E*X*V.T
    r = (HadamardProduct(U, X))*ones(d, 1)
    X' = -(HadamardProduct(r*ones(1, d), X)) + U

Generated from the reduction exponential_tokens_sphere: change its derivation, not this file.
"""

import numpy as np

NAME = "exponential_tokens_sphere"
DIGEST = "f4578f76018b9e6967f8d07fc94df49767f87b13fd8563d3b248a4e2d78790ae"
STATE = (("X", ("n", "d"), "unit tokens"),)
PARAMETERS = (
    ("A", ("d", "d"), "matrix"),
    ("V", ("d", "d"), "matrix"),
    ("beta", (), "real"),
)


def field(A, V, beta, xp=np):
    """The vector field at these parameters; `xp` offers the array functions."""
    beta = xp.asarray(beta)[..., None, None]

    def rhs(X):
        """Time derivatives of X."""
        n = X.shape[-2]
        E = xp.exp(beta * (X @ A @ X.mT))
        U = E @ X @ V.mT / n
        r = (X * U).sum(axis=-1, keepdims=True)
        X_dot = U - r * X
        return (X_dot,)

    return rhs


def series(order, X, A, V, beta, arithmetic):
    """Taylor coefficients 0..order of X; `arithmetic` computes with coefficients."""
    n = X.shape[-2]
    X = [X]
    t1 = [X[0].mT]
    t2 = [X[0] @ A]
    t3 = [t2[0] @ t1[0]]
    t4 = [beta * t3[0]]
    t4_prime = []
    E = [arithmetic.exp(t4[0])]
    t5 = [E[0] @ X[0]]
    U = [t5[0] @ V.mT / n]
    t6 = [X[0] * U[0]]
    r = [t6[0].sum(axis=-1, keepdims=True)]
    t7 = [X[0] * r[0]]
    X_dot = [U[0] - t7[0]]
    for k in range(1, order + 1):
        X.append(X_dot[k - 1] / k)
        t1.append(X[k].mT)
        t2.append(X[k] @ A)
        t3.append(arithmetic.matmul(t2, t1, k))
        t4.append(beta * t3[k])
        t4_prime.append(k * t4[k])
        E.append(arithmetic.convolve(t4_prime, E, k - 1) / k)
        t5.append(arithmetic.matmul(E, X, k))
        U.append(t5[k] @ V.mT / n)
        t6.append(arithmetic.convolve(X, U, k))
        r.append(t6[k].sum(axis=-1, keepdims=True))
        t7.append(arithmetic.convolve(X, r, k))
        X_dot.append(U[k] - t7[k])
    return (X,)
