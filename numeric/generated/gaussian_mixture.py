"""Mixtures of 2 Gaussians under LinearAttention().

    M = w_1*(Sigma_1 + mu_1*mu_1.T) + w_2*(Sigma_2 + mu_2*mu_2.T)
    W = beta*V*M*A.T
    mu_1' = W*mu_1
    mu_2' = W*mu_2
    Sigma_1' = Sigma_1*W.T + W*Sigma_1
    Sigma_2' = Sigma_2*W.T + W*Sigma_2

Generated from the reduction gaussian_mixture: change its derivation, not this file.
"""

import numpy as np

NAME = "gaussian_mixture"
DIGEST = "f2845a2b7d91bd804b07892b1adade7d40b2c181e6eda5af611ea1002b711245"
STATE = (
    ("mu_1", ("d",), "vector"),
    ("mu_2", ("d",), "vector"),
    ("Sigma_1", ("d", "d"), "covariance"),
    ("Sigma_2", ("d", "d"), "covariance"),
)
PARAMETERS = (
    ("A", ("d", "d"), "matrix"),
    ("V", ("d", "d"), "matrix"),
    ("beta", (), "real"),
    ("w_1", (), "positive"),
    ("w_2", (), "positive"),
)


def field(A, V, beta, w_1, w_2, xp=np):
    """The vector field at these parameters; `xp` offers the array functions."""
    w_1 = xp.asarray(w_1)[..., None, None]
    w_2 = xp.asarray(w_2)[..., None, None]
    beta = xp.asarray(beta)[..., None, None]

    def rhs(mu_1, mu_2, Sigma_1, Sigma_2):
        """Time derivatives of mu_1, mu_2, Sigma_1, Sigma_2."""
        mu_1 = mu_1[..., None]
        mu_2 = mu_2[..., None]
        M = w_1 * (Sigma_1 + mu_1 * mu_1.mT) + w_2 * (Sigma_2 + mu_2 * mu_2.mT)
        W = beta * (V @ M @ A.mT)
        mu_1_dot = W @ mu_1
        mu_2_dot = W @ mu_2
        t1 = W @ Sigma_1
        Sigma_1_dot = t1 + t1.mT
        t2 = W @ Sigma_2
        Sigma_2_dot = t2 + t2.mT
        return mu_1_dot[..., 0], mu_2_dot[..., 0], Sigma_1_dot, Sigma_2_dot

    return rhs


def series(order, mu_1, mu_2, Sigma_1, Sigma_2, A, V, beta, w_1, w_2, arithmetic):
    """Taylor coefficients 0..order of mu_1, mu_2, Sigma_1, Sigma_2; `arithmetic` computes with coefficients."""
    mu_1 = [mu_1[..., None]]
    mu_2 = [mu_2[..., None]]
    Sigma_1 = [Sigma_1]
    Sigma_2 = [Sigma_2]
    t1 = [mu_1[0].mT]
    t2 = [mu_2[0].mT]
    t3 = [mu_1[0] * t1[0]]
    t4 = [mu_2[0] * t2[0]]
    M = [w_1 * (Sigma_1[0] + t3[0]) + w_2 * (Sigma_2[0] + t4[0])]
    W = [beta * (V @ M[0] @ A.mT)]
    mu_1_dot = [W[0] @ mu_1[0]]
    mu_2_dot = [W[0] @ mu_2[0]]
    t5 = [W[0] @ Sigma_1[0]]
    Sigma_1_dot = [t5[0] + t5[0].mT]
    t6 = [W[0] @ Sigma_2[0]]
    Sigma_2_dot = [t6[0] + t6[0].mT]
    for k in range(1, order + 1):
        mu_1.append(mu_1_dot[k - 1] / k)
        mu_2.append(mu_2_dot[k - 1] / k)
        Sigma_1.append(Sigma_1_dot[k - 1] / k)
        Sigma_2.append(Sigma_2_dot[k - 1] / k)
        t1.append(mu_1[k].mT)
        t2.append(mu_2[k].mT)
        t3.append(arithmetic.convolve(mu_1, t1, k))
        t4.append(arithmetic.convolve(mu_2, t2, k))
        M.append(w_1 * (Sigma_1[k] + t3[k]) + w_2 * (Sigma_2[k] + t4[k]))
        W.append(beta * (V @ M[k] @ A.mT))
        mu_1_dot.append(arithmetic.matmul(W, mu_1, k))
        mu_2_dot.append(arithmetic.matmul(W, mu_2, k))
        t5.append(arithmetic.matmul(W, Sigma_1, k))
        Sigma_1_dot.append(t5[k] + t5[k].mT)
        t6.append(arithmetic.matmul(W, Sigma_2, k))
        Sigma_2_dot.append(t6[k] + t6[k].mT)
    return [x[..., 0] for x in mu_1], [x[..., 0] for x in mu_2], Sigma_1, Sigma_2
