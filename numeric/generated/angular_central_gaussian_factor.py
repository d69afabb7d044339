"""Covariance factor of angular central Gaussian laws under linear attention on Sphere().

    M = M(L*L.T)
    U = beta*V*M*A.T
    W = (-Trace(M*U))*I + U
    L' = W*L

Generated from the reduction angular_central_gaussian_factor: change its derivation, not this file.
"""

import numpy as np

NAME = "angular_central_gaussian_factor"
DIGEST = "58e8bf0d525bc9a28eb1177b6feb2500ab62520957df760636d37e24a9a78f8e"
STATE = (("L", ("d", "r"), "matrix"),)
PARAMETERS = (
    ("A", ("d", "d"), "matrix"),
    ("V", ("d", "d"), "matrix"),
    ("beta", (), "real"),
)


def field(A, V, beta, xp=np):
    """The vector field at these parameters; `xp` offers the array functions."""
    d = A.shape[-2]
    beta = xp.asarray(beta)[..., None, None]
    t1 = xp.eye(d)

    def rhs(L):
        """Time derivatives of L."""
        M = xp.acg_second_moment_of_factor(L)
        U = beta * (V @ M @ A.mT)
        W = U - xp.asarray(xp.linalg.trace(M @ U))[..., None, None] * t1
        L_dot = W @ L
        return (L_dot,)

    return rhs


series = None  # there is no Taylor recurrence for acg_second_moment_of_factor
