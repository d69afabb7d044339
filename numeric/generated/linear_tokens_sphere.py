"""Tokens under LinearAttention on Sphere().

    M = 1/n*X.T*X
    W = beta*V*M*A.T
    U = X*W.T
    r = (HadamardProduct(U, X))*ones(d, 1)
    X' = -(HadamardProduct(r*ones(1, d), X)) + U

Generated from the reduction linear_tokens_sphere: change its derivation, not this file.
"""

import numpy as np

NAME = "linear_tokens_sphere"
DIGEST = "6e4d8895b6b56468ffd342f550797bd71f0a3cb328c84cddd56f3feb8d572258"
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
        M = X.mT @ X / n
        W = beta * (V @ M @ A.mT)
        U = X @ W.mT
        r = (X * U).sum(axis=-1, keepdims=True)
        X_dot = U - r * X
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
    U = [X[0] @ t3[0]]
    t4 = [X[0] * U[0]]
    r = [t4[0].sum(axis=-1, keepdims=True)]
    t5 = [X[0] * r[0]]
    X_dot = [U[0] - t5[0]]
    for k in range(1, order + 1):
        X.append(X_dot[k - 1] / k)
        t1.append(X[k].mT)
        t2.append(arithmetic.matmul(t1, X, k))
        M.append(t2[k] / n)
        W.append(beta * (V @ M[k] @ A.mT))
        t3.append(W[k].mT)
        U.append(arithmetic.matmul(X, t3, k))
        t4.append(arithmetic.convolve(X, U, k))
        r.append(t4[k].sum(axis=-1, keepdims=True))
        t5.append(arithmetic.convolve(X, r, k))
        X_dot.append(U[k] - t5[k])
    return (X,)
