"""Angular central Gaussian laws under linear attention on the sphere.

    M = M(Sigma)
    U = beta*V*M*A.T
    W = (-Trace(M*U))*I + U
    Sigma' = Sigma*W.T + W*Sigma

Generated from the reduction angular_central_gaussian_sphere: change its derivation, not this file.
"""

import numpy as np

NAME = "angular_central_gaussian_sphere"
DIGEST = "d1e81af3fe33df883ef5466f58467fbb86e28b5467f5a03de1c014f5ea1009e0"
STATE = (("Sigma", ("d", "d"), "covariance"),)
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

    def rhs(Sigma):
        """Time derivatives of Sigma."""
        M = xp.acg_second_moment(Sigma)
        U = beta * (V @ M @ A.mT)
        W = U - xp.asarray(xp.linalg.trace(M @ U))[..., None, None] * t1
        t2 = W @ Sigma
        Sigma_dot = t2 + t2.mT
        return (Sigma_dot,)

    return rhs


series = None  # there is no Taylor recurrence for acg_second_moment
