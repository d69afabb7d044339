"""Angular central Gaussian laws under linear attention on the circle.

    delta = sqrt(Abs(Sigma[0, 0]*Sigma[1, 1] - Sigma[0, 1]*Sigma[1, 0]))
    M = 1/(2*delta + Trace(Sigma))*(delta*I + Sigma)
    U = beta*V*M*A.T
    W = (-Trace(M*U))*I + U
    Sigma' = Sigma*W.T + W*Sigma

Generated from the reduction angular_central_gaussian: change its derivation, not this file.
"""

import numpy as np

NAME = "angular_central_gaussian"
DIGEST = "a8ba361c98362fe9e85e7820274f012fce47b799ac57c1f11b93bf09a0cdca02"
STATE = (("Sigma", (2, 2), "covariance"),)
PARAMETERS = (
    ("A", (2, 2), "matrix"),
    ("V", (2, 2), "matrix"),
    ("beta", (), "real"),
)


def field(A, V, beta, xp=np):
    """The vector field at these parameters; `xp` offers the array functions."""
    t1 = xp.eye(2)
    beta = xp.asarray(beta)[..., None, None]

    def rhs(Sigma):
        """Time derivatives of Sigma."""
        delta = xp.sqrt(xp.abs(Sigma[..., 0, 0] * Sigma[..., 1, 1] - Sigma[..., 0, 1] * Sigma[..., 1, 0]))
        t2 = Sigma + xp.asarray(delta)[..., None, None] * t1
        M = xp.asarray(1 / (2 * delta + xp.linalg.trace(Sigma)))[..., None, None] * t2
        U = beta * (V @ M @ A.mT)
        W = U - xp.asarray(xp.linalg.trace(M @ U))[..., None, None] * t1
        t3 = W @ Sigma
        Sigma_dot = t3 + t3.mT
        return (Sigma_dot,)

    return rhs


def series(order, Sigma, A, V, beta, arithmetic):
    """Taylor coefficients 0..order of Sigma; `arithmetic` computes with coefficients."""
    t5 = arithmetic.eye(2)
    Sigma = [Sigma]
    t1 = [Sigma[0][0, 0]]
    t2 = [Sigma[0][1, 1]]
    t3 = [Sigma[0][0, 1]]
    t4 = [Sigma[0][1, 0]]
    t6 = [t1[0] * t2[0]]
    t7 = [t3[0] * t4[0]]
    t8 = [t6[0] - t7[0]]
    t9 = [t8[0] * t8[0]]
    t9_prime = []
    t10 = [arithmetic.sqrt(t9[0])]
    t10_prime = []
    delta = [arithmetic.sqrt(t10[0])]
    t11 = [arithmetic.linalg.trace(Sigma[0]) + 2 * delta[0]]
    t12 = [1 / t11[0]]
    t13 = [Sigma[0] + delta[0] * t5]
    M = [t12[0] * t13[0]]
    U = [beta * (V @ M[0] @ A.mT)]
    t14 = [M[0] @ U[0]]
    W = [U[0] - arithmetic.linalg.trace(t14[0]) * t5]
    t15 = [W[0] @ Sigma[0]]
    Sigma_dot = [t15[0] + t15[0].mT]
    for k in range(1, order + 1):
        Sigma.append(Sigma_dot[k - 1] / k)
        t1.append(Sigma[k][0, 0])
        t2.append(Sigma[k][1, 1])
        t3.append(Sigma[k][0, 1])
        t4.append(Sigma[k][1, 0])
        t6.append(arithmetic.convolve(t1, t2, k))
        t7.append(arithmetic.convolve(t3, t4, k))
        t8.append(t6[k] - t7[k])
        t9.append(arithmetic.convolve(t8, t8, k))
        t9_prime.append(k * t9[k])
        t10.append(
            3 * arithmetic.convolve(t9_prime, t10, k - 1) / (2 * k * t9[0])
            - arithmetic.convolve(t9[1:], t10, k - 1) / t9[0]
        )
        t10_prime.append(k * t10[k])
        delta.append(
            3 * arithmetic.convolve(t10_prime, delta, k - 1) / (2 * k * t10[0])
            - arithmetic.convolve(t10[1:], delta, k - 1) / t10[0]
        )
        t11.append(arithmetic.linalg.trace(Sigma[k]) + 2 * delta[k])
        t12.append(-arithmetic.convolve(t11[1:], t12, k - 1) / t11[0])
        t13.append(Sigma[k] + delta[k] * t5)
        M.append(arithmetic.convolve(t12, t13, k))
        U.append(beta * (V @ M[k] @ A.mT))
        t14.append(arithmetic.matmul(M, U, k))
        W.append(U[k] - arithmetic.linalg.trace(t14[k]) * t5)
        t15.append(arithmetic.matmul(W, Sigma, k))
        Sigma_dot.append(t15[k] + t15[k].mT)
    return (Sigma,)
