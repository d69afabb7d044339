"""Angular central Gaussian laws under linear attention on the sphere.

    M = M(Sigma)
    W = beta*V*M*A.T
    Sigma' = Sigma*W.T + W*Sigma

Generated from the reduction angular_central_gaussian_sphere: change its derivation, not this file.
"""

import numpy as np

NAME = "angular_central_gaussian_sphere"
DIGEST = "ddb2cf4c88e123bb548159ac9d5f9dfef77be42b31a1f001e666325927838fe7"
STATE = (("Sigma", ("d", "d"), "covariance"),)
PARAMETERS = (
    ("A", ("d", "d"), "matrix"),
    ("V", ("d", "d"), "matrix"),
    ("beta", (), "real"),
)


def field(A, V, beta, xp=np):
    """The vector field at these parameters; `xp` offers the array functions."""
    beta = xp.asarray(beta)[..., None, None]

    def rhs(Sigma):
        """Time derivatives of Sigma."""
        M = xp.acg_second_moment(Sigma)
        W = beta * (V @ M @ A.mT)
        t1 = W @ Sigma
        Sigma_dot = t1 + t1.mT
        return (Sigma_dot,)

    return rhs


series = None  # there is no Taylor recurrence for acg_second_moment
