"""Covariance factor of angular central Gaussian laws under linear attention on Sphere().

    M = M(L*L.T)
    W = beta*V*M*A.T
    L' = W*L

Generated from the reduction angular_central_gaussian_factor: change its derivation, not this file.
"""

import numpy as np

NAME = "angular_central_gaussian_factor"
DIGEST = "46f3a9794c831e763742f87a6c494db3402340f01b33afba27cb0d44204fd353"
STATE = (("L", ("d", "r"), "matrix"),)
PARAMETERS = (
    ("A", ("d", "d"), "matrix"),
    ("V", ("d", "d"), "matrix"),
    ("beta", (), "real"),
)


def field(A, V, beta, xp=np):
    """The vector field at these parameters; `xp` offers the array functions."""
    beta = xp.asarray(beta)[..., None, None]

    def rhs(L):
        """Time derivatives of L."""
        M = xp.acg_second_moment_of_factor(L)
        W = beta * (V @ M @ A.mT)
        L_dot = W @ L
        return (L_dot,)

    return rhs


series = None  # there is no Taylor recurrence for acg_second_moment_of_factor
