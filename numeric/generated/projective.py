"""The matrix that moves all tokens under linear attention on the sphere.

    Y = X0*G.T
    q = HadamardPower(Y, 2)*ones(d, 1)
    M = 1/n*Y.T*(HadamardProduct(HadamardPower(q, -1)*ones(1, d), Y))
    U = beta*V*M*A.T
    W = (-Trace(M*U))*I + U
    G' = W*G

Generated from the reduction projective: change its derivation, not this file.
"""

import numpy as np

NAME = "projective"
DIGEST = "74e375effb1ea34989dd5930a3c682d9505c9ebce6f8a34a970573b46658524b"
STATE = (("G", ("d", "d"), "matrix"),)
PARAMETERS = (
    ("A", ("d", "d"), "matrix"),
    ("V", ("d", "d"), "matrix"),
    ("beta", (), "real"),
    ("X0", ("n", "d"), "unit tokens"),
)


def field(A, V, beta, X0, xp=np):
    """The vector field at these parameters; `xp` offers the array functions."""
    d = A.shape[-2]
    n = X0.shape[-2]
    beta = xp.asarray(beta)[..., None, None]
    t1 = xp.eye(d)

    def rhs(G):
        """Time derivatives of G."""
        Y = X0 @ G.mT
        q = (Y**2).sum(axis=-1, keepdims=True)
        M = Y.mT @ (Y / q) / n
        U = beta * (V @ M @ A.mT)
        W = U - xp.asarray(xp.linalg.trace(M @ U))[..., None, None] * t1
        G_dot = W @ G
        return (G_dot,)

    return rhs


def series(order, G, A, V, beta, X0, arithmetic):
    """Taylor coefficients 0..order of G; `arithmetic` computes with coefficients."""
    d = G.shape[-2]
    n = X0.shape[-2]
    t2 = arithmetic.eye(d)
    G = [G]
    Y = [X0 @ G[0].mT]
    t1 = [Y[0].mT]
    t3 = [Y[0] * Y[0]]
    q = [t3[0].sum(axis=-1, keepdims=True)]
    t4 = [1 / q[0]]
    t5 = [Y[0] * t4[0]]
    t6 = [t1[0] @ t5[0]]
    M = [t6[0] / n]
    U = [beta * (V @ M[0] @ A.mT)]
    t7 = [M[0] @ U[0]]
    W = [U[0] - arithmetic.linalg.trace(t7[0]) * t2]
    G_dot = [W[0] @ G[0]]
    for k in range(1, order + 1):
        G.append(G_dot[k - 1] / k)
        Y.append(X0 @ G[k].mT)
        t1.append(Y[k].mT)
        t3.append(arithmetic.convolve(Y, Y, k))
        q.append(t3[k].sum(axis=-1, keepdims=True))
        t4.append(-arithmetic.convolve(q[1:], t4, k - 1) / q[0])
        t5.append(arithmetic.convolve(Y, t4, k))
        t6.append(arithmetic.matmul(t1, t5, k))
        M.append(t6[k] / n)
        U.append(beta * (V @ M[k] @ A.mT))
        t7.append(arithmetic.matmul(M, U, k))
        W.append(U[k] - arithmetic.linalg.trace(t7[k]) * t2)
        G_dot.append(arithmetic.matmul(W, G, k))
    return (G,)
