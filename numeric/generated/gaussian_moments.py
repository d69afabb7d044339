"""Moment equations of Gaussian laws under SoftmaxAttention(feed_forward='affine').

    W = A + V*Sigma*B
    c = V*mu + b
    mu' = W*mu + c
    Sigma' = Sigma*W.T + W*Sigma

Generated from the reduction gaussian_moments: change its derivation, not this file.
"""

import numpy as np

NAME = "gaussian_moments"
DIGEST = "4aa67d9ad311566bf4bf92fcf6c9917a56fb9aef379ec96befa65921baefacf4"
STATE = (
    ("mu", ("d",), "vector"),
    ("Sigma", ("d", "d"), "covariance"),
)
PARAMETERS = (
    ("B", ("d", "d"), "matrix"),
    ("V", ("d", "d"), "matrix"),
    ("A", ("d", "d"), "matrix"),
    ("b", ("d",), "vector"),
)


def field(B, V, A, b, xp=np):
    """The vector field at these parameters; `xp` offers the array functions."""
    b = b[..., None]

    def rhs(mu, Sigma):
        """Time derivatives of mu, Sigma."""
        mu = mu[..., None]
        W = A + V @ Sigma @ B
        c = b + V @ mu
        mu_dot = c + W @ mu
        t1 = W @ Sigma
        Sigma_dot = t1 + t1.mT
        return mu_dot[..., 0], Sigma_dot

    return rhs


def series(order, mu, Sigma, B, V, A, b, arithmetic):
    """Taylor coefficients 0..order of mu, Sigma; `arithmetic` computes with coefficients."""
    b = b[..., None]
    mu = [mu[..., None]]
    Sigma = [Sigma]
    W = [A + V @ Sigma[0] @ B]
    c = [b + V @ mu[0]]
    t1 = [W[0] @ mu[0]]
    mu_dot = [c[0] + t1[0]]
    t2 = [W[0] @ Sigma[0]]
    Sigma_dot = [t2[0] + t2[0].mT]
    for k in range(1, order + 1):
        mu.append(mu_dot[k - 1] / k)
        Sigma.append(Sigma_dot[k - 1] / k)
        W.append(V @ Sigma[k] @ B)
        c.append(V @ mu[k])
        t1.append(arithmetic.matmul(W, mu, k))
        mu_dot.append(c[k] + t1[k])
        t2.append(arithmetic.matmul(W, Sigma, k))
        Sigma_dot.append(t2[k] + t2[k].mT)
    return [x[..., 0] for x in mu], Sigma
