"""Second moments of angular central Gaussian laws, M(Σ) = E[yyᵀ/|y|²] with y ~ N(0, Σ), in any dimension.

M has the eigenvectors of Σ, and with eigenvalues λ of Σ the eigenvalues

    M_i = ½ ∫ f_i(u) du over the real line,   f_i = σλ_i t_i Π_j t_j^{1/2},   t_j = 1/(1 + σλ_j),   σ = e^u,

which is the integral that the reduction derives, with 2s = e^u. This is a quadrature, not a closed form: the
trapezoidal rule, with nodes that do not depend on λ when λ_max = 1. Its error, relative to each single M_i, is bounded:

- f_i is analytic for |Im u| < π, where |1 + re^{iθ}| ≥ (1 + r) cos(θ/2) gives |f_i(u + iθ)| ≤ f_i(u) cos(θ/2)^{−1−d/2}.
  With the spacing h the discretisation is off by at most 2 cos(θ/2)^{−1−d/2} / (e^{2πθ/h} − 1), for every θ < π.
- On the left, M_i ≥ λ_i/d, and what lies below σ is at most σλ_i/2: together at most dσ/2.
- On the right, f_i/f_min falls as u grows, so the part cut off is largest for the smallest λ. With x = u + log λ_min
  and q = (1 + e^x)/2 it is at most 4 q^{−d/2} / (d log 2).

Each of the three is kept below a quarter of the precision. Zero eigenvalues have M_i = 0; the others are those of the
law in fewer dimensions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import mpmath
import numpy as np

#: Numbers that are worked on at once in a batch: what fits in the cache.
CHUNK = 2**17


def second_moments(eigenvalues: Any) -> np.ndarray:
    """The eigenvalues of M(Σ) from those of Σ, in the same order.

    Parameters
    ----------
    eigenvalues
        (..., d), none negative, one of them positive (otherwise NaN results). Their scale does not matter.

    Returns
    -------
    numpy.ndarray
        (..., d), positive where the eigenvalues are; the sum is 1. Every one is correct to about 1e-14 + d 1e-16
        relative to itself (quadrature and rounding together) for condition numbers up to 1e100.

    Notes
    -----
    O(√d log(d κ) d) operations at condition number κ, against O(d³) for the eigenvalues themselves.

    >>> second_moments([1.0, 4.0]).round(15).tolist()
    [0.333333333333333, 0.666666666666667]
    >>> second_moments([[3.0, 3.0, 0.0], [2.0, 2.0, 2.0]]).round(15).tolist()
    [[0.5, 0.5, 0.0], [0.333333333333333, 0.333333333333333, 0.333333333333333]]
    """
    eigenvalues = np.asarray(eigenvalues, dtype=float)
    with np.errstate(invalid="ignore"):
        scaled = eigenvalues / eigenvalues.max(axis=-1, keepdims=True)
    undefined = ~np.isfinite(scaled).all(axis=-1)
    scaled[undefined] = 1.0
    d = scaled.shape[-1]
    rank = int(np.count_nonzero(scaled, axis=-1).min())
    h, left = _spacing(d, 2.0**-53), _left(d, 2.0**-53)
    right = _right(rank, 2.0**-53) - math.log(scaled[scaled > 0].min())
    sigma = np.exp(left + h * np.arange(math.ceil((right - left) / h) + 1))
    rows = scaled.reshape(-1, 1, d)
    count = max(1, CHUNK // (d * len(sigma)))
    sums = []
    for chunk in np.split(rows, range(count, len(rows), count)):
        t = 1 / (1 + sigma[:, None] * chunk)
        # Where the product underflows, f_i is below 1e-150 and does not matter.
        sums.append((sigma * np.sqrt(t.prod(axis=-1)))[:, None, :] @ t)
    moments = (h / 2) * scaled * np.concatenate(sums).reshape(scaled.shape)
    moments[undefined] = np.nan
    return moments


def second_moment(Sigma: Any) -> np.ndarray:
    """M(Σ) of positive semidefinite matrices, (..., d, d).

    Eigenvalues of Σ are known to d ε |Σ| only, so that M_i inherits an error that is small against 1, but not against
    itself where Σ is ill-conditioned: about ε κ^{1/2} at d = 2. `second_moment_of_factor` does better.

    >>> second_moment([[2.0, 0.0], [0.0, 2.0]]).round(15).tolist()
    [[0.5, 0.0], [0.0, 0.5]]
    """
    Sigma = _finite(Sigma)
    eigenvalues, vectors = np.linalg.eigh((Sigma + Sigma.mT) / 2)
    return _composed(vectors, second_moments(np.maximum(eigenvalues, 0)))


def second_moment_of_factor(L: Any) -> np.ndarray:
    """M(L Lᵀ) of factors (..., d, r).

    Singular values of L are known to ε |L|, so that eigenvalues of L Lᵀ down to ε² of the largest have correct digits.

    >>> second_moment_of_factor([[1.0, 0.0], [0.0, 1e-9]]).round(15).tolist()
    [[0.999999999, 0.0], [0.0, 1e-09]]
    """
    vectors, singular, _ = np.linalg.svd(_finite(L), full_matrices=False)
    with np.errstate(invalid="ignore"):
        scaled = singular / singular.max(axis=-1, keepdims=True)
    return _composed(vectors, second_moments(scaled**2))


def _finite(matrices: Any) -> np.ndarray:
    """Zero, for which the result is NaN, in place of matrices that are not finite: LAPACK complains of those."""
    matrices = np.asarray(matrices, dtype=float)
    finite = np.isfinite(matrices).all(axis=(-2, -1), keepdims=True)
    return matrices if finite.all() else np.where(finite, matrices, 0.0)


def second_moment_mpmath(Sigma: Any) -> np.ndarray:
    """M(Σ) of object arrays of mpmath numbers, at its current precision: the same quadrature, node after node."""
    return _each(Sigma, lambda matrix: mpmath.eigsy(matrix)[::-1], lambda value: max(value, mpmath.mpf(0)))


def second_moment_of_factor_mpmath(L: Any) -> np.ndarray:
    """M(L Lᵀ), likewise."""
    return _each(L, lambda matrix: mpmath.svd_r(matrix)[:2], lambda value: value**2)


def _each(matrices: Any, decompose: Callable[[Any], Any], eigenvalue: Callable[[Any], Any]) -> np.ndarray:
    """M for each matrix, from the vectors and values of its decomposition."""
    matrices = np.asarray(matrices, dtype=object)
    d = matrices.shape[-2]
    result = np.empty((*matrices.shape[:-1], d), dtype=object)
    for place in np.ndindex(matrices.shape[:-2]):
        vectors, values = decompose(mpmath.matrix(matrices[place].tolist()))
        moments = np.array(_second_moments_mpmath([eigenvalue(value) for value in values]), dtype=object)
        columns = np.array(vectors.tolist(), dtype=object)
        result[place] = (columns * moments) @ columns.T
    return result


def _second_moments_mpmath(eigenvalues: list[Any]) -> list[Any]:
    largest = max(eigenvalues)
    scaled = [value / largest for value in eigenvalues]
    positive = [value for value in scaled if value > 0]
    precision = mpmath.ldexp(1, -mpmath.mp.prec)
    h, left = _spacing(len(scaled), precision), _left(len(scaled), precision)
    nodes = math.ceil((_right(len(positive), precision) - float(mpmath.log(min(positive))) - left) / h)
    sigma, ratio = mpmath.exp(left), mpmath.exp(h)
    sums = [mpmath.mpf(0)] * len(scaled)
    for _ in range(nodes + 1):
        t = [1 / (1 + sigma * value) for value in scaled]
        weight = sigma * mpmath.sqrt(mpmath.fprod(t))
        sums = [total + weight * factor for total, factor in zip(sums, t, strict=True)]
        sigma *= ratio
    return [mpmath.mpf(h) / 2 * value * total for value, total in zip(scaled, sums, strict=True)]


def _composed(vectors: np.ndarray, values: np.ndarray) -> np.ndarray:
    """U diag(values) Uᵀ, exactly symmetric and positive semidefinite up to the rounding of one product."""
    half = vectors * np.sqrt(values)[..., None, :]
    return half @ half.mT


# Where the quadrature begins and ends, and its spacing; `precision` is 2⁻⁵³ for doubles.


@lru_cache
def _spacing(d: int, precision: Any) -> float:
    """The largest h for which the bound of the discretisation error is met, the best of a few θ."""
    wanted = float(-mpmath.log(precision)) + math.log(8)
    angles = (math.pi * k / 64 for k in range(1, 64))
    return max(2 * math.pi * theta / (wanted - (1 + d / 2) * math.log(math.cos(theta / 2))) for theta in angles)


def _left(d: int, precision: Any) -> float:
    return float(mpmath.log(precision)) - math.log(2 * d)


def _right(d: int, precision: Any) -> float:
    """x, where d counts the positive eigenvalues."""
    power = max(0.0, (2 / d) * (math.log(16 / (d * math.log(2))) - float(mpmath.log(precision))))
    return math.log(2 * math.exp(power) - 1) if power < 30 else power + math.log(2)
