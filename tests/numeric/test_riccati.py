"""The Riccati equation of the covariance, against closed forms, references and the integration of its equations."""

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numeric import integrate, load_kernel, riccati
from numeric.outcome import BlewUp, Finished

VALUES = json.loads((Path(__file__).parents[1] / "data" / "values.json").read_text("utf-8"))

#: `integrate` with rtol=1e-12 over a few units of time: local errors add up and grow by less than a hundred.
INTEGRATED = 1e-10
#: A few hundred roundings of 1e-16: products of small matrices of moderate condition.
ROUNDING = 1e-13

ROTATION = np.array([[0.0, 1.0], [-1.0, 0.0]])
I2 = np.eye(2)


def floats(rows):
    return np.array([[float(Fraction(entry)) for entry in row] for row in rows])


def reference(case):
    """(A, B, V, Sigma0) and the blow-up time of a reference."""
    factor = floats(case["L"])
    value = float(Fraction(case["V_scalar"])) * np.eye(len(factor))
    return (floats(case["A"]), floats(case["B"]), value, factor @ factor.T), float(case["t"])


def integrated(A, B, V, Sigma0, times, digits=None):
    """Σ at the times from the kernel of the moment equations, which knows neither factors nor closed forms."""
    zero = np.zeros(len(A))
    trajectory = integrate(
        load_kernel("gaussian_moments"),
        {"mu": zero, "Sigma": Sigma0},
        (0, times[-1]),
        {"A": A, "B": B, "V": V, "b": zero},
        t_eval=times,
        digits=digits,
        rtol=1e-12,
        atol=1e-14,
    )
    assert isinstance(trajectory.outcome, Finished)
    return trajectory["Sigma"].astype(float)


def apart(got, expected):
    return np.linalg.norm(got - expected) / np.linalg.norm(expected)


def scalar_flow(a, s, start, t):
    """σ' = 2aσ + sσ²."""
    growth = math.expm1(2 * a * t)
    return start * (growth + 1) / (1 - s * start * growth / (2 * a))


# The flow


@pytest.mark.parametrize("a", [-1.5, 0.75])
@pytest.mark.parametrize("b", [-2, 0.25])
def test_flow_in_dimension_one(a, b):
    times = [0, 0.1, 0.35, 1]
    got = riccati.flow([[a]], [[b]], [[0.5]], [[0.8]], times)
    expected = [scalar_flow(a, b, 0.8, t) for t in times]
    np.testing.assert_allclose(got.ravel(), expected, rtol=ROUNDING)


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("rank", [1, 2, 3, 4])
def test_flow_against_integration(sign, rank):
    rng = np.random.default_rng(rank)
    A, factor = rng.normal(size=(4, 4)), rng.normal(size=(4, rank))
    B = np.eye(4) + 0.3 * rng.normal(size=(4, 4))
    problem = A, B, 0.5 * sign * np.eye(4), factor @ factor.T
    end = 2.0 if sign < 0 else riccati.blow_up_time(*problem) / 2
    # Equidistant, then not; the first not at zero.
    times = [*np.linspace(0.1, 0.5, 5) * end, 0.77 * end, end]
    got = riccati.flow(*problem, times)
    assert got.shape == (7, 4, 4)
    assert np.array_equal(got, np.swapaxes(got, 1, 2))
    for covariance, expected in zip(got, integrated(*problem, times), strict=True):
        assert apart(covariance, expected) < INTEGRATED
        # Rounding leaves a product of factors with `rank` columns eigenvalues of the size of rounding.
        assert np.linalg.matrix_rank(covariance, tol=ROUNDING * np.linalg.norm(covariance)) == rank


def test_flow_where_the_score_has_both_signs():
    A, B = ROTATION - I2 / 4, np.diag([1.0, -1.0])
    times = [0.2, 0.4]
    got = riccati.flow(A, B, I2, I2, times)
    for covariance, expected in zip(got, integrated(A, B, I2, I2, times), strict=True):
        assert apart(covariance, expected) < INTEGRATED


def test_flow_for_any_value_matrix():
    A, B, V = ROTATION, [[1.0, 0.2], [0, 1]], [[-1.0, 0.5], [0, -2]]
    times = [0, 0.5, 1.0]
    got = riccati.flow(A, B, V, I2, times)
    for covariance, expected in zip(got, integrated(A, B, V, I2, times), strict=True):
        assert apart(covariance, expected) < INTEGRATED
    flat = riccati.flow(A, B, V, [[1, 1], [1, 1]], 1)
    # Two columns would leave 1e-10 or so: the factor has one.
    assert np.linalg.det(flat) == pytest.approx(0, abs=ROUNDING * np.linalg.norm(flat) ** 2)


@pytest.mark.parametrize("rank", [1, 2, 4])
def test_flow_for_any_value_matrix_near_blow_up(rank):
    """All matrices have the same eigenvectors, so that each eigenvalue obeys σ' = 2aσ + 2vbσ²."""
    rng = np.random.default_rng(rank)
    turn = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    a, b, v, start = rng.uniform(0.5, 1.5, size=(4, 4))
    start[rank:] = 0
    A, B, V, Sigma0 = ((turn * values) @ turn.T for values in (a, b, v, start))
    Sigma0 = (Sigma0 + Sigma0.T) / 2
    blow_up = np.min(np.log1p(a[:rank] / (v * b * start)[:rank]) / (2 * a[:rank]))
    assert riccati.blow_up_time(A, B, V, Sigma0, horizon=5) == pytest.approx(blow_up, rel=ROUNDING)
    times = blow_up * np.array([0, 0.3, 0.9, 1 - 1e-6])
    for covariance, t in zip(riccati.flow(A, B, V, Sigma0, times), times, strict=True):
        expected = [scalar_flow(*coefficients, t) for coefficients in zip(a, 2 * v * b, start, strict=True)]
        # The condition is t*/(t* - t).
        assert apart(covariance, (turn * expected) @ turn.T) < ROUNDING / (1 - t / blow_up)


def test_flow_over_a_long_time_of_growth_and_decay():
    """e^{At} grows to e^50 in one direction and falls to e^-50 in the other; Σ tends to 2a/|s| there, and to 0."""
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    A = turn @ np.diag([1.0, -1.0]) @ turn.T
    got = riccati.flow(A, I2, -I2 / 2, I2, 50)
    np.testing.assert_allclose(got, turn @ np.diag([2.0, 0.0]) @ turn.T, atol=ROUNDING)


@pytest.mark.parametrize("case", VALUES["blow_up_times"], ids=lambda case: case["t"][:8])
def test_flow_a_millionth_before_blow_up(case):
    problem, blow_up = reference(case)
    times = np.linspace(0, blow_up * (1 - 1e-6), 100)
    got = riccati.flow(*problem, times)[-1]
    expected = integrated(*problem, [times[-1]], digits=20)[0]
    # The condition there is 1e6, for the rounding of Σ0, of the time, and of every step.
    assert apart(got, expected) < 1e6 * ROUNDING


def test_flow_without_attention():
    """B = 0 leaves Σ' = AΣ + ΣAᵀ, whatever V is: A = aI + rotation turns and scales."""
    got = riccati.flow(I2 / 4 + ROTATION, 0 * I2, [[1, 2], [3, 4]], np.diag([1.0, 0]), 0.5)
    turned = math.exp(1 / 8) * np.array([math.cos(0.5), -math.sin(0.5)])
    np.testing.assert_allclose(got, np.outer(turned, turned), rtol=ROUNDING)
    assert riccati.blow_up_time(I2, 0 * I2, [[1, 2], [3, 4]], I2) == math.inf


def test_flow_of_nothing():
    assert not riccati.flow(ROTATION, I2, I2, 0 * I2, [0, 1]).any()
    assert not riccati.flow(ROTATION, I2, ROTATION, 0 * I2, 1).any()
    assert np.array_equal(riccati.flow(ROTATION, I2, ROTATION, I2, 0), I2)


@pytest.mark.parametrize("V", [I2, np.array([[1, 0.1], [0, 1]])], ids=["scalar", "general"])
def test_times_beyond_blow_up(V):
    with pytest.raises(ValueError, match=r"^times: 0.6 is not before the blow-up at t = 0\.[45]"):
        riccati.flow(0 * I2, I2, V, I2, [0.1, 0.6, 0.7])


def test_time_at_blow_up():
    with pytest.raises(ValueError, match="^times: 0.25 is not before the blow-up at t = 0.25; expected earlier times"):
        riccati.flow(0 * I2, np.diag([1, 2]), I2, I2, 0.25)


@st.composite
def bounded_problems(draw):
    """A, B, V = cI, Σ0 with cB_s ⪯ 0: they never blow up."""
    entries = st.integers(-8, 8)
    A, P, L = (np.array([[draw(entries) for _ in range(2)] for _ in range(2)]) / 4 for _ in range(3))
    return A, P @ P.T + draw(entries) * ROTATION, -draw(st.sampled_from([0.25, 1, 2])) * I2, L @ L.T


@settings(max_examples=60, deadline=None)
@given(bounded_problems(), st.integers(1, 16), st.integers(1, 16))
def test_flows_compose(problem, first, second):
    A, B, V, Sigma0 = problem
    middle, end = riccati.flow(A, B, V, Sigma0, [first / 8, (first + second) / 8])
    again = riccati.flow(A, B, V, middle, second / 8)
    # Relative to what growth alone makes of Σ(t), as Σ may be far smaller at the end. Over 6000 random problems of
    # this kind the worst was 3e-15.
    size = np.linalg.norm(middle) * np.exp(2 * max(np.linalg.eigvalsh((A + A.T) / 2)[-1], 0) * second / 8)
    assert np.linalg.norm(again - end) <= ROUNDING * size


# Blow-up


@pytest.mark.parametrize("case", VALUES["blow_up_times"], ids=lambda case: case["t"][:8])
def test_blow_up_times(case):
    problem, expected = reference(case)
    assert riccati.blow_up_time(*problem) == pytest.approx(expected, rel=1e-12, abs=0)
    assert riccati.blow_up_time(*problem, horizon=2 * expected) == pytest.approx(expected, rel=1e-12, abs=0)
    assert riccati.blow_up_time(*problem, horizon=expected / 2) == math.inf


@pytest.mark.parametrize("a", [-2, -0.5, 0, 0.5])
@pytest.mark.parametrize("start", [0.25, 3])
def test_blow_up_in_dimension_one(a, start):
    # 1 = start (e^{2at} - 1)/a with S = 2
    ratio = a / start
    expected = 1 / (2 * start) if a == 0 else math.log1p(ratio) / (2 * a) if ratio > -1 else math.inf
    got = riccati.blow_up_time([[a]], [[1]], [[1]], [[start]])
    assert got == pytest.approx(expected, rel=ROUNDING)


@pytest.mark.parametrize(
    "A, B, Sigma0",
    [
        ([[-2]], [[1]], [[0.25]]),  # same sign, A Hurwitz, Σ0 small
        ([[2]], [[-1]], [[5]]),  # opposite signs
        ([[2]], [[0]], [[5]]),  # no attention
        ([[2]], [[1]], [[0]]),  # nothing to attend to
        (0 * I2, np.diag([1, -1]), np.diag([0, 1])),  # A = 0, Σ0 where S is negative
        (ROTATION, ROTATION, I2),  # B antisymmetric
        (ROTATION - I2, np.diag([1, -1]), I2 / 4),  # S of both signs, and the Gramian of its positive part small
        (ROTATION / 9 - I2, np.diag([1, -9]), I2),  # as before, but that Gramian is small only later
    ],
)
def test_never(A, B, Sigma0):
    assert riccati.blow_up_time(A, B, np.eye(len(A)), Sigma0) == math.inf


def test_blow_up_late():
    """Just above the threshold: λ_max(C∞) = 1 + 1e-6 in d = 1, and the condition of t* is 1e6."""
    start = 2 * (1 + 1e-6)
    expected = math.log1p(-2 / start) / -4
    assert riccati.blow_up_time([[-2]], [[1]], [[1]], [[start]]) == pytest.approx(expected, rel=1e6 * ROUNDING)


@pytest.mark.parametrize("seed", range(6))
def test_blow_up_where_the_score_has_both_signs(seed):
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(3, 3)), np.diag([1, 0, -1]) + 0.3 * rng.normal(size=(3, 3))
    assert np.prod(np.linalg.eigvalsh(B + B.T)[[0, -1]]) < 0
    time = riccati.blow_up_time(A, B, np.eye(3), np.eye(3), horizon=20)
    zero = np.zeros(3)
    initial, parameters = {"mu": zero, "Sigma": np.eye(3)}, {"A": A, "B": B, "V": np.eye(3), "b": zero}
    outcome = integrate(load_kernel("gaussian_moments"), initial, (0, 20), parameters).outcome
    if isinstance(outcome, BlewUp):
        low, high = outcome.bracket
        assert low < time < high
    else:
        assert time == math.inf


def test_first_of_several_crossings():
    """λ_max(LᵀC(t)L) rises above 1 and falls again: tan has its first pole, whatever the horizon.

    With L = (1, 0) and A a rotation, LᵀC(t)L = s ∫ cos 2τ = (s/2) sin 2t for S = s diag(1, -1).
    """
    for size in (1.25, 4):
        problem = ROTATION, size * np.diag([1, -1]), I2, np.diag([1, 0])
        expected = math.asin(1 / size) / 2
        for horizon in (1, 3, 100):
            time = riccati.blow_up_time(*problem, horizon=horizon)
            assert time == pytest.approx(expected, rel=ROUNDING)
        with pytest.raises(ValueError, match="^times: 3.0 is not before the blow-up"):
            riccati.flow(*problem, 3)
    # It just touches 1: a root of the distance to 1 is lost.
    touching = riccati.blow_up_time(ROTATION, np.diag([1, -1]), I2, np.diag([1, 0]), horizon=3)
    assert touching == pytest.approx(math.pi / 4, rel=100 * math.sqrt(1e-16))
    # Below 1 it oscillates for ever.
    assert riccati.blow_up_time(ROTATION, 0.9 * np.diag([1, -1]), I2, np.diag([1, 0]), horizon=20) == math.inf


def test_blow_up_for_any_value_matrix():
    V = np.diag([1.0, 2.0])
    # A = 0, all diagonal: σ' = 2vbσ², the second blows up first.
    time = riccati.blow_up_time(0 * I2, np.diag([1, 3]), V, I2, horizon=1)
    assert time == pytest.approx(1 / 12, rel=ROUNDING)
    assert riccati.blow_up_time(0 * I2, np.diag([1, 3]), V, I2, horizon=0.05) == math.inf
    assert riccati.blow_up_time(0 * I2, I2, V, 0 * I2, horizon=1) == math.inf
    with pytest.raises(ValueError, match="^horizon: is missing; .* V is not a multiple of the identity"):
        riccati.blow_up_time(0 * I2, I2, V, I2)


def test_blow_up_that_cannot_be_decided():
    with pytest.raises(ValueError, match="^horizon: is missing; .* eigenvalues of both signs and A is not Hurwitz"):
        riccati.blow_up_time(ROTATION, np.diag([1, -1]), I2, I2)
    # At the threshold Σ0 is an equilibrium. It can be followed as long as its rounding has not grown to its size.
    threshold = [[-2]], [[1]], [[1]], [[2]]
    with pytest.raises(ArithmeticError, match="too close to 1 to decide .*; expected earlier times"):
        riccati.flow(*threshold, 20)
    assert riccati.flow(*threshold, 1)[0, 0] == pytest.approx(2, rel=math.exp(4) * ROUNDING)
    # Rational arithmetic would take long in d = 20; and S = 2B is no longer semidefinite once 1/30 is rounded.
    for problem in (
        (-2 * np.eye(20), np.eye(20), np.eye(20), 2 * np.eye(20)),
        (-I2, [[0.3, 0.1], [0.1, 1 / 30]], I2, 3 * I2),
    ):
        with pytest.raises(ArithmeticError, match="too close to 1 to decide"):
            riccati.blow_up_time(*problem)
        with pytest.raises(ArithmeticError, match="too close to 1 to decide"):
            riccati.blow_up_time(*problem, horizon=20)
        assert riccati.blow_up_time(*problem, horizon=6) == math.inf
    # Only the decaying direction is seen, and e^{At} overflows in the other.
    with pytest.raises(ArithmeticError, match="none is excluded"):
        riccati.blow_up_time(np.diag([1, -1]), I2, I2, np.diag([0, 0.5]))
    assert riccati.blow_up_time(np.diag([1, -1]), I2, I2, np.diag([0, 0.5]), horizon=50) == math.inf


# Equilibria


def stable_problem():
    rng = np.random.default_rng(4)
    return np.eye(3) + 0.3 * rng.normal(size=(3, 3)), np.eye(3) + 0.3 * rng.normal(size=(3, 3)), -np.eye(3)


def test_equilibrium():
    A, B, V = stable_problem()
    found = riccati.equilibrium(A, B, V)
    Sigma = found.Sigma
    assert np.array_equal(Sigma, Sigma.T)
    assert np.linalg.eigvalsh(Sigma)[0] > 0
    assert found.residual < ROUNDING
    W = A + V @ Sigma @ B
    assert np.linalg.norm(W @ Sigma + Sigma @ W.T) < ROUNDING * np.linalg.norm(A @ Sigma)


def test_equilibrium_attracts():
    A, B, V = stable_problem()
    Sigma = riccati.equilibrium(A, B, V).Sigma
    end = integrated(A, B, V, 1.1 * Sigma + 0.05 * np.eye(3), [30.0])[0]
    # The slowest rate is twice the least real part of A's eigenvalues: e^-33, below the integrator's error.
    assert np.linalg.eigvals(A).real.min() > 0.55
    assert apart(end, Sigma) < INTEGRATED
    assert apart(riccati.flow(A, B, V, 1.1 * Sigma, 30), Sigma) < INTEGRATED


def test_equilibrium_that_repels():
    """A Hurwitz and the same sign: above it blow-up, below it decay."""
    A, B = -stable_problem()[0], stable_problem()[1]
    Sigma = riccati.equilibrium(A, B, np.eye(3)).Sigma
    assert riccati.blow_up_time(A, B, np.eye(3), 1.01 * Sigma) < math.inf
    assert riccati.blow_up_time(A, B, np.eye(3), 0.99 * Sigma) == math.inf


def rates(A, B, V, found):
    """The real parts of the eigenvalues of A + ΣS."""
    return np.linalg.eigvals(A + V[0, 0] * found.Sigma @ (B + B.T)).real


@pytest.mark.parametrize("unstable", range(5))
def test_stabilising_equilibrium(unstable):
    """It attracts every Σ0 of full rank, its rank is the number of unstable eigenvalues of A; and its opposite."""
    rng = np.random.default_rng(unstable)
    turn = np.eye(4) + 0.3 * rng.normal(size=(4, 4))
    A = turn @ np.diag(np.where(np.arange(4) < unstable, 1, -1) * [1, 1.25, 1.5, 2]) @ np.linalg.inv(turn)
    B, V = np.eye(4) + 0.2 * rng.normal(size=(4, 4)), -np.eye(4)
    found = riccati.equilibrium(A, B, V, "stabilising")
    assert found.rank == np.linalg.matrix_rank(found.Sigma) == unstable
    assert found.residual < ROUNDING
    assert rates(A, B, V, found).max() < -0.9
    # The slowest rate is e^-2t.
    np.testing.assert_allclose(riccati.flow(A, B, V, np.eye(4), 20), found.Sigma, atol=INTEGRATED)
    # Backwards in time A and S change sign.
    repelling = riccati.equilibrium(-A, B, -V, "antistabilising")
    assert rates(-A, B, -V, repelling).min() > 0.9
    np.testing.assert_allclose(repelling.Sigma, found.Sigma, atol=ROUNDING)


def test_all_equilibria():
    """In the eigenbasis every coordinate obeys 0 = 2aσ + sσ²: σ is zero or -2a/s, where that is positive."""
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(5, 5)))[0]
    a, s = np.array([1.0, -2.0, 3.0, 0.5, -0.25]), np.array([-1.0, 1.0, 2.0, -2.0, -1.0])
    problem = [turn @ np.diag(values) @ turn.T for values in (a, s / 2)] + [np.eye(5)]
    found = riccati.equilibria(*problem)
    expected = [turn @ np.diag(np.array(b) * -2 * a / s) @ turn.T for b in np.ndindex(2, 2, 1, 2, 1)]
    assert len(found) == len(expected)
    for Sigma in expected:
        assert min(apart(one.Sigma + np.eye(5), Sigma + np.eye(5)) for one in found) < ROUNDING
    assert [one.rank for one in found] == [0, 1, 1, 1, 2, 2, 2, 3]


def test_all_equilibria_where_eigenvalues_are_complex():
    """A pair and a real one, not normal: a set of eigenvalues is an equilibrium when its real parts are positive."""
    rng = np.random.default_rng(3)
    turn = np.eye(4) + 0.3 * rng.normal(size=(4, 4))
    A = turn @ np.array([[1, 2, 0, 0], [-2, 1, 0, 0], [0, 0, 0.5, 0], [0, 0, 0, -1.0]]) @ np.linalg.inv(turn)
    B, V = np.eye(4) + 0.2 * rng.normal(size=(4, 4)), -np.eye(4)
    found = riccati.equilibria(A, B, V)
    assert [one.rank for one in found] == [0, 1, 2, 3]
    for one in found:
        assert one.residual < ROUNDING
        assert np.linalg.eigvalsh(one.Sigma)[0] > -ROUNDING
        W = A + V @ one.Sigma @ B
        assert np.linalg.norm(W @ one.Sigma + one.Sigma @ W.T) <= ROUNDING * np.linalg.norm(A @ one.Sigma)
    stabilising = riccati.equilibrium(A, B, V, "stabilising")
    assert apart(found[-1].Sigma, stabilising.Sigma) < ROUNDING


def test_no_equilibrium_of_a_kind():
    with pytest.raises(ValueError, match=r"^A: has the eigenvalue .*1j; expected none on the imaginary axis"):
        riccati.equilibrium(ROTATION, I2, -I2, "stabilising")
    with pytest.raises(ValueError, match=r"^A: has the eigenvalue 2.*; expected negative real parts .* with positive"):
        riccati.equilibrium(np.diag([2, -1]), I2, I2, "stabilising")
    with pytest.raises(ValueError, match="^kind: there is no 'stabilizing'; did you mean 'stabilising'"):
        riccati.equilibrium(I2, I2, -I2, "stabilizing")
    with pytest.raises(ValueError, match="^A: has eigenvalues that coincide"):
        riccati.equilibria(I2, I2, -I2)
    with pytest.raises(ValueError, match="^A: the eigenvalues .* sum to zero"):
        riccati.equilibria(np.diag([1, -1]), np.diag([-1, 1]), I2)


def test_no_equilibrium():
    with pytest.raises(ValueError, match=r"^A: the eigenvalues .* sum to zero, so that A and -A share one"):
        riccati.equilibrium(ROTATION, I2, -I2)
    with pytest.raises(ValueError, match=r"^A: has the eigenvalue 1\+?.*; expected negative real parts .* is positive"):
        riccati.equilibrium(I2, I2, I2)
    with pytest.raises(ValueError, match=r"^A: has the eigenvalue -0.5.*; expected positive real parts .* is negative"):
        riccati.equilibrium(np.diag([1, -0.5]), I2, -I2)
    with pytest.raises(ValueError, match=r"^A, B, V: the solution X .* has the eigenvalue -1; expected all"):
        riccati.equilibrium(I2, np.diag([1, -1]), I2)
    with pytest.raises(ValueError, match="^V: is not a multiple of the identity; expected V = cI"):
        riccati.equilibrium(I2, I2, np.diag([1, 2]))


# Inputs


def test_inputs_are_kept():
    A, B, V = stable_problem()
    for value in (V, np.diag([-1.0, -2, -3])):
        given_arrays = A, B, value, np.diag([1.0, 0, 2]), np.array([0, 0.5])
        copies = [array.copy() for array in given_arrays]
        for array in given_arrays:
            array.flags.writeable = False
        result = riccati.flow(*given_arrays)
        riccati.blow_up_time(*given_arrays[:4], horizon=1)
        assert all(map(np.array_equal, given_arrays, copies))
        result[:] = 0
        assert all(map(np.array_equal, given_arrays, copies))
    riccati.equilibrium(A, B, V)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"A": np.eye(3)}, r"^B: has shape \(2, 2\); expected \(3, 3\), as d = 3 in 'A'"),
        ({"B": [[1, 2]]}, r"^B: has shape \(1, 2\)"),
        ({"V": [[1, math.nan], [0, 1]]}, "^V: has entries that are infinite or not a number"),
        ({"Sigma0": [[1, 1], [0, 1]]}, "^Sigma0: is not symmetric"),
        ({"Sigma0": [[1, 0], [0, -1]]}, "^Sigma0: has the negative eigenvalue -1"),
        ({"times": [0, 1, 1]}, "^times: .* do not increase"),
        ({"times": []}, "^times: .* do not increase"),
        ({"times": -1}, "^times: -1 do not increase from 0 or later"),
        ({"times": [0, math.inf]}, "^times: "),
        ({"times": "soon"}, "^times: 'soon' are not numbers"),
    ],
)
def test_bad_inputs(change, message):
    problem = {"A": ROTATION, "B": I2, "V": -I2, "Sigma0": I2, "times": [0, 1]} | change
    with pytest.raises(ValueError, match=message):
        riccati.flow(**problem)


@pytest.mark.parametrize("horizon", [0, -1, math.inf, "later"])
def test_bad_horizon(horizon):
    with pytest.raises(ValueError, match="^horizon: .* is no positive finite time"):
        riccati.blow_up_time(ROTATION, I2, I2, I2, horizon=horizon)
