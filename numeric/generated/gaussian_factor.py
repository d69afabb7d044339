"""Mean and covariance factor of Gaussian laws under SoftmaxAttention(feed_forward='affine').

    W = A + V*L*L.T*B
    c = V*mu + b
    mu' = W*mu + c
    L' = W*L

Generated from the reduction gaussian_factor: change its derivation, not this file.
"""

import numpy as np

NAME = "gaussian_factor"
DIGEST = "2919350cad14fb568c8aa890a9a0353d7d08445b9ac309dec1af46b532f833ea"
STATE = (
    ("mu", ("d",), "vector"),
    ("L", ("d", "r"), "matrix"),
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

    def rhs(mu, L):
        """Time derivatives of mu, L."""
        mu = mu[..., None]
        W = A + V @ L @ (L.mT @ B)
        c = b + V @ mu
        mu_dot = c + W @ mu
        L_dot = W @ L
        return mu_dot[..., 0], L_dot

    return rhs


def series(order, mu, L, B, V, A, b, arithmetic):
    """Taylor coefficients 0..order of mu, L; `arithmetic` computes with coefficients."""
    b = b[..., None]
    mu = [mu[..., None]]
    L = [L]
    t1 = [V @ L[0]]
    t2 = [L[0].mT @ B]
    t3 = [t1[0] @ t2[0]]
    W = [A + t3[0]]
    c = [b + V @ mu[0]]
    t4 = [W[0] @ mu[0]]
    mu_dot = [c[0] + t4[0]]
    L_dot = [W[0] @ L[0]]
    for k in range(1, order + 1):
        mu.append(mu_dot[k - 1] / k)
        L.append(L_dot[k - 1] / k)
        t1.append(V @ L[k])
        t2.append(L[k].mT @ B)
        t3.append(arithmetic.matmul(t1, t2, k))
        W.append(t3[k])
        c.append(V @ mu[k])
        t4.append(arithmetic.matmul(W, mu, k))
        mu_dot.append(c[k] + t4[k])
        L_dot.append(arithmetic.matmul(W, L, k))
    return [x[..., 0] for x in mu], L
