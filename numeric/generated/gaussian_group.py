"""Affine maps that move Gaussian laws under SoftmaxAttention(feed_forward='affine').

    mu = G*mu_0 + g
    Sigma = G*Sigma_0*G.T
    W = A + V*Sigma*B
    c = V*mu + b
    G' = W*G
    g' = W*g + c

Generated from the reduction gaussian_group: change its derivation, not this file.
"""

import numpy as np

NAME = "gaussian_group"
DIGEST = "ae01cf32f20731e5bd779e5e1afdc17f1cb7acaa013b42ced0da9b5445cd9669"
STATE = (
    ("G", ("d", "d"), "matrix"),
    ("g", ("d",), "vector"),
)
PARAMETERS = (
    ("mu_0", ("d",), "vector"),
    ("Sigma_0", ("d", "d"), "covariance"),
    ("B", ("d", "d"), "matrix"),
    ("V", ("d", "d"), "matrix"),
    ("A", ("d", "d"), "matrix"),
    ("b", ("d",), "vector"),
)


def field(mu_0, Sigma_0, B, V, A, b, xp=np):
    """The vector field at these parameters; `xp` offers the array functions."""
    mu_0 = mu_0[..., None]
    b = b[..., None]

    def rhs(G, g):
        """Time derivatives of G, g."""
        g = g[..., None]
        mu = g + G @ mu_0
        Sigma = G @ Sigma_0 @ G.mT
        W = A + V @ Sigma @ B
        c = b + V @ mu
        G_dot = W @ G
        g_dot = c + W @ g
        return G_dot, g_dot[..., 0]

    return rhs


def series(order, G, g, mu_0, Sigma_0, B, V, A, b, arithmetic):
    """Taylor coefficients 0..order of G, g; `arithmetic` computes with coefficients."""
    mu_0 = mu_0[..., None]
    b = b[..., None]
    G = [G]
    g = [g[..., None]]
    t1 = [G[0].mT]
    mu = [g[0] + G[0] @ mu_0]
    t2 = [G[0] @ Sigma_0]
    Sigma = [t2[0] @ t1[0]]
    W = [A + V @ Sigma[0] @ B]
    c = [b + V @ mu[0]]
    G_dot = [W[0] @ G[0]]
    t3 = [W[0] @ g[0]]
    g_dot = [c[0] + t3[0]]
    for k in range(1, order + 1):
        G.append(G_dot[k - 1] / k)
        g.append(g_dot[k - 1] / k)
        t1.append(G[k].mT)
        mu.append(g[k] + G[k] @ mu_0)
        t2.append(G[k] @ Sigma_0)
        Sigma.append(arithmetic.matmul(t2, t1, k))
        W.append(V @ Sigma[k] @ B)
        c.append(V @ mu[k])
        G_dot.append(arithmetic.matmul(W, G, k))
        t3.append(arithmetic.matmul(W, g, k))
        g_dot.append(c[k] + t3[k])
    return G, [x[..., 0] for x in g]
