"""Tokens under SoftmaxAttention on Euclidean().

    E = exp(X*B.T*X.T)
    X' = HadamardProduct(HadamardPower(E*ones(n, 1), -1)*ones(1, d), E*X*V.T) + X*A.T + ones(n, 1)*b.T

Generated from the reduction softmax_tokens: change its derivation, not this file.
"""

import numpy as np

NAME = "softmax_tokens"
DIGEST = "11488a753cea0cc0fda459030b6cb4bec6c6b3f4428915c8650f86f474c51843"
STATE = (("X", ("n", "d"), "tokens"),)
PARAMETERS = (
    ("B", ("d", "d"), "matrix"),
    ("V", ("d", "d"), "matrix"),
    ("A", ("d", "d"), "matrix"),
    ("b", ("d",), "vector"),
)


def field(B, V, A, b, xp=np):
    """The vector field at these parameters; `xp` offers the array functions."""
    b = b[..., None]

    def rhs(X):
        """Time derivatives of X."""
        t1 = X @ B.mT @ X.mT
        E = xp.exp(t1 - t1.max(axis=-1, keepdims=True))
        X_dot = E @ X @ V.mT / E.sum(axis=-1, keepdims=True) + X @ A.mT + b.mT
        return (X_dot,)

    return rhs


def series(order, X, B, V, A, b, arithmetic):
    """Taylor coefficients 0..order of X; `arithmetic` computes with coefficients."""
    b = b[..., None]
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
    t8 = [t5[0] * t7[0]]
    X_dot = [X[0] @ A.mT + b.mT + t8[0]]
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
        t8.append(arithmetic.convolve(t5, t7, k))
        X_dot.append(X[k] @ A.mT + t8[k])
    return (X,)
