"""Rank and semidefiniteness of a covariance, exact along the factored flow: ten thousand random cases.

Sigma = L L^T is formed from the doubles of L in rational arithmetic, so that nothing here rounds.
"""

from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq, fmpq_mat

from numeric import integrate_ensemble, load_kernel

CASES = 10_000


def rational(matrix):
    return fmpq_mat([[fmpq(*Fraction(entry).as_integer_ratio()) for entry in row] for row in matrix.tolist()])


def is_semidefinite(matrix):
    """By the signs of the characteristic polynomial of a symmetric matrix: its roots are real, and none is negative
    exactly when they alternate."""
    coefficients = list(reversed(matrix.charpoly().coeffs()))
    return all(coefficient * (-1) ** k >= 0 for k, coefficient in enumerate(coefficients))


@pytest.mark.parametrize(("d", "rank"), [(3, 1), (3, 2), (3, 3), (4, 2)])
def test_rank_and_semidefiniteness_are_exact(d, rank):
    rng, count = np.random.default_rng(d + 10 * rank), CASES // 4
    A, B, V = rng.normal(size=(3, count, d, d)) / 3
    L, mean, b = rng.normal(size=(count, d, rank)), rng.normal(size=(count, d)), rng.normal(size=(count, d))
    parameters = {"A": A, "B": B, "V": V, "b": b}

    # Some blow up, or become too stiff; what is judged is then the last good state.
    flow = integrate_ensemble(
        load_kernel("gaussian_factor"), {"mu": mean, "L": L}, (0, 0.5), parameters, rtol=1e-8, atol=1e-10
    )
    assert flow.finished.mean() > 0.5
    for factor in flow.final["L"]:
        root = rational(factor)
        Sigma = root * root.transpose()
        assert Sigma.rank() == rank
        assert is_semidefinite(Sigma)

    if rank < d:
        # The covariance itself, in doubles, does not keep its rank: the test can fail.
        moments = integrate_ensemble(
            load_kernel("gaussian_moments"),
            {"mu": mean[:100], "Sigma": L[:100] @ L[:100].mT},
            (0, 0.5),
            {name: value[:100] for name, value in parameters.items()},
            rtol=1e-8,
            atol=1e-10,
        )
        rounded = [rational((Sigma + Sigma.T) / 2) for Sigma in moments.final["Sigma"]]
        assert sum(Sigma.rank() != rank for Sigma in rounded) > 90
        assert not all(map(is_semidefinite, rounded))
