"""Moment equations of Gaussian laws under LinearAttention().

    W = beta*V*Sigma*A.T + beta*V*mu*mu.T*A.T
    mu' = W*mu
    Sigma' = Sigma*W.T + W*Sigma

Generated from the reduction gaussian_moments_linear: change its derivation, not this file.
"""

import numpy as np

NAME = "gaussian_moments_linear"
DIGEST = "915c87e5d49c96b98fb0317b459776f238eec10394a268bf2d72fc6b5f30035b"
STATE = (
    ("mu", ("d",), "vector"),
    ("Sigma", ("d", "d"), "covariance"),
)
PARAMETERS = (
    ("A", ("d", "d"), "matrix"),
    ("V", ("d", "d"), "matrix"),
    ("beta", (), "real"),
)


def field(A, V, beta, xp=np):
    """The vector field at these parameters; `xp` offers the array functions."""
    beta = xp.asarray(beta)[..., None, None]

    def rhs(mu, Sigma):
        """Time derivatives of mu, Sigma."""
        mu = mu[..., None]
        W = beta * (V @ Sigma @ A.mT) + beta * (V @ mu * (mu.mT @ A.mT))
        mu_dot = W @ mu
        t1 = W @ Sigma
        Sigma_dot = t1 + t1.mT
        return mu_dot[..., 0], Sigma_dot

    return rhs


def series(order, mu, Sigma, A, V, beta, arithmetic):
    """Taylor coefficients 0..order of mu, Sigma; `arithmetic` computes with coefficients."""
    mu = [mu[..., None]]
    Sigma = [Sigma]
    t1 = [V @ mu[0]]
    t2 = [mu[0].mT @ A.mT]
    t3 = [t1[0] * t2[0]]
    W = [beta * (V @ Sigma[0] @ A.mT) + beta * t3[0]]
    mu_dot = [W[0] @ mu[0]]
    t4 = [W[0] @ Sigma[0]]
    Sigma_dot = [t4[0] + t4[0].mT]
    for k in range(1, order + 1):
        mu.append(mu_dot[k - 1] / k)
        Sigma.append(Sigma_dot[k - 1] / k)
        t1.append(V @ mu[k])
        t2.append(mu[k].mT @ A.mT)
        t3.append(arithmetic.convolve(t1, t2, k))
        W.append(beta * (V @ Sigma[k] @ A.mT) + beta * t3[k])
        mu_dot.append(arithmetic.matmul(W, mu, k))
        t4.append(arithmetic.matmul(W, Sigma, k))
        Sigma_dot.append(t4[k] + t4[k].mT)
    return [x[..., 0] for x in mu], Sigma
