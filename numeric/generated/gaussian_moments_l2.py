"""Moment equations of Gaussian laws under L2Attention(feed_forward='affine').

    W = A + 2*V*(I + 2*Sigma*K.T*K)**(-1)*Sigma*K.T*Q
    c = V*(I + 2*Sigma*K.T*K)**(-1)*mu + b
    mu' = W*mu + c
    Sigma' = Sigma*W.T + W*Sigma

Generated from the reduction gaussian_moments_l2: change its derivation, not this file.
"""

import numpy as np

NAME = "gaussian_moments_l2"
DIGEST = "bcd659404cb90c012ba126bac2581e3359c01e63d9612187710ddfacb7f88464"
STATE = (
    ("mu", ("d",), "vector"),
    ("Sigma", ("d", "d"), "covariance"),
)
PARAMETERS = (
    ("K", ("d", "d"), "matrix"),
    ("Q", ("d", "d"), "matrix"),
    ("V", ("d", "d"), "matrix"),
    ("A", ("d", "d"), "matrix"),
    ("b", ("d",), "vector"),
)


def field(K, Q, V, A, b, xp=np):
    """The vector field at these parameters; `xp` offers the array functions."""
    d = K.shape[-2]
    b = b[..., None]
    t1 = xp.eye(d)

    def rhs(mu, Sigma):
        """Time derivatives of mu, Sigma."""
        mu = mu[..., None]
        t2 = xp.linalg.inv(t1 + 2 * (Sigma @ K.mT @ K))
        W = A + 2 * (V @ t2 @ Sigma @ K.mT @ Q)
        c = b + V @ (t2 @ mu)
        mu_dot = c + W @ mu
        t3 = W @ Sigma
        Sigma_dot = t3 + t3.mT
        return mu_dot[..., 0], Sigma_dot

    return rhs


def series(order, mu, Sigma, K, Q, V, A, b, arithmetic):
    """Taylor coefficients 0..order of mu, Sigma; `arithmetic` computes with coefficients."""
    d = mu.shape[-1]
    b = b[..., None]
    t1 = arithmetic.eye(d)
    mu = [mu[..., None]]
    Sigma = [Sigma]
    t2 = [t1 + 2 * (Sigma[0] @ K.mT @ K)]
    t3 = [arithmetic.linalg.inv(t2[0])]
    t4 = [V @ t3[0]]
    t5 = [t4[0] @ Sigma[0]]
    W = [A + 2 * (t5[0] @ K.mT @ Q)]
    t6 = [t3[0] @ mu[0]]
    c = [b + V @ t6[0]]
    t7 = [W[0] @ mu[0]]
    mu_dot = [c[0] + t7[0]]
    t8 = [W[0] @ Sigma[0]]
    Sigma_dot = [t8[0] + t8[0].mT]
    for k in range(1, order + 1):
        mu.append(mu_dot[k - 1] / k)
        Sigma.append(Sigma_dot[k - 1] / k)
        t2.append(2 * (Sigma[k] @ K.mT @ K))
        t3.append(-t3[0] @ arithmetic.matmul(t2[1:], t3, k - 1))
        t4.append(V @ t3[k])
        t5.append(arithmetic.matmul(t4, Sigma, k))
        W.append(2 * (t5[k] @ K.mT @ Q))
        t6.append(arithmetic.matmul(t3, mu, k))
        c.append(V @ t6[k])
        t7.append(arithmetic.matmul(W, mu, k))
        mu_dot.append(c[k] + t7[k])
        t8.append(arithmetic.matmul(W, Sigma, k))
        Sigma_dot.append(t8[k] + t8[k].mT)
    return [x[..., 0] for x in mu], Sigma
