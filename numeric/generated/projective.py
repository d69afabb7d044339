"""The matrix that moves all tokens under linear attention on the sphere.

    Y = X0*G.T
    q = HadamardPower(Y, 2)*ones(d, 1)
    M = 1/n*Y.T*(HadamardProduct(HadamardPower(q, -1)*ones(1, d), Y))
    W = beta*V*M*A.T
    G' = W*G

Generated from the reduction projective: change its derivation, not this file.
"""

import numpy as np

NAME = "projective"
DIGEST = "2c41c93f689f3c6d04b3355bf275909312ed8958288a0dee3f278644feec7f8f"
STATE = (("G", ("d", "d"), "matrix"),)
PARAMETERS = (
    ("A", ("d", "d"), "matrix"),
    ("V", ("d", "d"), "matrix"),
    ("beta", (), "real"),
    ("X0", ("n", "d"), "unit tokens"),
)


def field(A, V, beta, X0, xp=np):
    """The vector field at these parameters; `xp` offers the array functions."""
    n = X0.shape[-2]
    beta = xp.asarray(beta)[..., None, None]

    def rhs(G):
        """Time derivatives of G."""
        Y = X0 @ G.mT
        q = (Y**2).sum(axis=-1, keepdims=True)
        M = Y.mT @ (Y / q) / n
        W = beta * (V @ M @ A.mT)
        G_dot = W @ G
        return (G_dot,)

    return rhs


def series(order, G, A, V, beta, X0, arithmetic):
    """Taylor coefficients 0..order of G; `arithmetic` computes with coefficients."""
    n = X0.shape[-2]
    G = [G]
    Y = [X0 @ G[0].mT]
    t1 = [Y[0].mT]
    t2 = [Y[0] * Y[0]]
    q = [t2[0].sum(axis=-1, keepdims=True)]
    t3 = [1 / q[0]]
    t4 = [Y[0] * t3[0]]
    t5 = [t1[0] @ t4[0]]
    M = [t5[0] / n]
    W = [beta * (V @ M[0] @ A.mT)]
    G_dot = [W[0] @ G[0]]
    for k in range(1, order + 1):
        G.append(G_dot[k - 1] / k)
        Y.append(X0 @ G[k].mT)
        t1.append(Y[k].mT)
        t2.append(arithmetic.convolve(Y, Y, k))
        q.append(t2[k].sum(axis=-1, keepdims=True))
        t3.append(-arithmetic.convolve(q[1:], t3, k - 1) / q[0])
        t4.append(arithmetic.convolve(Y, t3, k))
        t5.append(arithmetic.matmul(t1, t4, k))
        M.append(t5[k] / n)
        W.append(beta * (V @ M[k] @ A.mT))
        G_dot.append(arithmetic.matmul(W, G, k))
    return (G,)
