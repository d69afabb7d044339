"""Tokens under LinearAttention on Euclidean().

    M = 1/n*X.T*X
    W = beta*V*M*A.T
    X' = X*W.T

Generated from the reduction linear_tokens: change its derivation, not this file.
"""

import numpy as np

NAME = "linear_tokens"
DIGEST = "86aba16a0c73f6ec747579066d9bf966ab8dfa086baec81a45ed136bd1c028f9"
STATE = (("X", ("n", "d"), "tokens"),)
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
        M = X.mT @ X / n
        W = beta * (V @ M @ A.mT)
        X_dot = X @ W.mT
        return (X_dot,)

    return rhs


def series(order, X, A, V, beta, arithmetic):
    """Taylor coefficients 0..order of X; `arithmetic` computes with coefficients."""
    n = X.shape[-2]
    X = [X]
    t1 = [X[0].mT]
    t2 = [t1[0] @ X[0]]
    M = [t2[0] / n]
    W = [beta * (V @ M[0] @ A.mT)]
    t3 = [W[0].mT]
    X_dot = [X[0] @ t3[0]]
    for k in range(1, order + 1):
        X.append(X_dot[k - 1] / k)
        t1.append(X[k].mT)
        t2.append(arithmetic.matmul(t1, X, k))
        M.append(t2[k] / n)
        W.append(beta * (V @ M[k] @ A.mT))
        t3.append(W[k].mT)
        X_dot.append(arithmetic.matmul(X, t3, k))
    return (X,)
