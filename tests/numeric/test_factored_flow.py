"""The factored flow: the Taylor series of the factor, and rank and semidefiniteness in ten thousand random cases.

For the latter Sigma = L L^T is formed from the doubles of L in rational arithmetic, so that nothing here rounds.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq, fmpq_mat

from numeric import factored_flow, integrate, integrate_ensemble, load_kernel
from numeric.factored_flow import factors_at
from numeric.outcome import BlewUp

CASES = 10_000

#: A few hundred roundings of 1e-16.
ROUNDING = 1e-13

I2 = np.eye(2)
V2 = np.array([[1, 0.5], [0, 2]])


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


def random_problem(d, rank):
    rng = np.random.default_rng(d + 10 * rank)
    A, B, V = rng.normal(size=(3, d, d)) / math.sqrt(d)
    return A, np.eye(d) + B / 2, np.eye(d) + V / 2, rng.normal(size=(d, rank))


@pytest.mark.parametrize(("d", "rank"), [(2, 1), (4, 4), (6, 2)])
def test_factors_against_digits(d, rank):
    """Up to blow-up, whose time is compared with the bracket of the multiple precision integrator."""
    A, B, V, L = random_problem(d, rank)
    zero = np.zeros(d)
    initial, parameters = {"mu": zero, "L": L}, {"A": A, "B": B, "V": V, "b": zero}
    kernel = load_kernel("gaussian_factor")
    outcome = integrate(kernel, initial, (0, 10), parameters, digits=20).outcome
    assert isinstance(outcome, BlewUp)
    low, high = map(float, outcome.bracket)
    path, blow_up = factors_at(A, B, V, L, np.linspace(0, 10, 11))
    assert blow_up == pytest.approx((low + high) / 2, rel=ROUNDING)
    assert len(path) == 1 + math.floor(blow_up)
    times = blow_up * np.array([0.2, 0.25, 0.5, 0.9])
    path, none = factors_at(A, B, V, L, times)
    assert none == math.inf
    exact = integrate(kernel, initial, (0, times[-1]), parameters, digits=20, t_eval=times.tolist())
    for factor, expected in zip(path, exact["L"].astype(float), strict=True):
        assert np.linalg.norm(factor - expected) < ROUNDING * np.linalg.norm(expected)
        assert rational(factor).rank() == rank


def test_series_that_end():
    """V maps e2 to e1 and e1 to 0, and B sees e2 only: the second row of L stays, and the first grows linearly."""
    path, blow_up = factors_at(0 * I2, np.diag([0.0, 1]), np.array([[0.0, 1], [0, 0]]), I2, np.array([0.5, 1e6]))
    assert blow_up == math.inf
    np.testing.assert_allclose(path, [[[1, time], [0, 1]] for time in (0.5, 1e6)], rtol=ROUNDING)


def test_decay_to_nothing_and_convergence():
    path, _ = factors_at(-1000 * I2, I2, -V2, I2, np.array([0.1, 5]))
    # The attention is weak after 1e-3, and has taken part of Σ away by then.
    assert 0.9 < path[0, 0, 0] * math.exp(100) < 1
    assert not path[1].any()
    # 0 = 2σ - 2vσ² in each coordinate; rounding does not add up, as the equilibrium attracts.
    path, _ = factors_at(I2, I2, -np.diag([1.0, 2]), I2, np.array([1000.0]))
    np.testing.assert_allclose(path[0] @ path[0].T, np.diag([1, 0.5]), atol=ROUNDING)


def test_very_different_rates():
    """A bound of the rates from norms alone would be 1e13 too large; |L| is 1/(1 + 2t)^(1/2) where B acts."""
    A = np.array([[0, 1e13], [0, 0]])
    path, _ = factors_at(A, np.diag([1.0, 0]), np.diag([-1.0, -2]), np.array([[1.0], [0]]), np.array([1.0]))
    np.testing.assert_allclose(path[0], [[1 / math.sqrt(3)], [0]], rtol=ROUNDING)


def test_what_cannot_be_followed(monkeypatch):
    # The first coordinate of L grows like e^{1000 t}, nothing sees it, and its square overflows after 0.355.
    with pytest.raises(ArithmeticError, match=r"^the factored flow leaves the range of double .* t = 0\.35"):
        factors_at(np.diag([1000.0, 0]), np.diag([0.0, 1]), np.diag([1.0, -1]), I2, np.array([1.0]))
    monkeypatch.setattr(factored_flow, "MAX_STEPS", 10)
    with pytest.raises(ArithmeticError, match=r"^the factored flow did not get beyond t = 0\.0.* in 10 steps"):
        factors_at(-1000 * I2, I2, -V2, I2, np.array([1.0]))
