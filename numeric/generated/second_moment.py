"""Second moment of any law under LinearAttention().

    W = beta*V*M*A.T
    M' = M*W.T + W*M

Generated from the reduction second_moment: change its derivation, not this file.
"""

import numpy as np

NAME = "second_moment"
DIGEST = "0298c1eaae3c5ab2f72b1324f64ca2611ac79d7fc0c21bd2ac73da9493eb197b"
STATE = (("M", ("d", "d"), "covariance"),)
PARAMETERS = (
    ("A", ("d", "d"), "matrix"),
    ("V", ("d", "d"), "matrix"),
    ("beta", (), "real"),
)


def field(A, V, beta, xp=np):
    """The vector field at these parameters; `xp` offers the array functions."""
    beta = xp.asarray(beta)[..., None, None]

    def rhs(M):
        """Time derivatives of M."""
        W = beta * (V @ M @ A.mT)
        t1 = W @ M
        M_dot = t1 + t1.mT
        return (M_dot,)

    return rhs


def series(order, M, A, V, beta, arithmetic):
    """Taylor coefficients 0..order of M; `arithmetic` computes with coefficients."""
    M = [M]
    W = [beta * (V @ M[0] @ A.mT)]
    t1 = [W[0] @ M[0]]
    M_dot = [t1[0] + t1[0].mT]
    for k in range(1, order + 1):
        M.append(M_dot[k - 1] / k)
        W.append(beta * (V @ M[k] @ A.mT))
        t1.append(arithmetic.matmul(W, M, k))
        M_dot.append(t1[k] + t1[k].mT)
    return (M,)
