"""Kernels that were derived, integrated: against closed forms and values that no code here produced."""

import json
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest

from numeric import integrate, load_kernel
from numeric.outcome import BlewUp, Finished

VALUES = json.loads((Path(__file__).parents[1] / "data" / "values.json").read_text("utf-8"))


def fractions(rows):
    return [[Fraction(entry) for entry in row] for row in rows]


def gaussian(case):
    """The moment equations' parameters, and Sigma0 = L L^T, of a case with V a multiple of the identity."""
    factor = fractions(case["L"])
    size = len(factor)
    sigma = [[sum(a * b for a, b in zip(row, other, strict=True)) for other in factor] for row in factor]
    value = [[case["V_scalar"] if i == j else 0 for j in range(size)] for i in range(size)]
    parameters = {"A": case["A"], "B": case["B"], "V": value, "b": [0] * size}
    return parameters, factor, sigma


@pytest.mark.parametrize("case", VALUES["blow_up_times"], ids=lambda case: case["t"][:8])
@pytest.mark.parametrize("digits", [None, 30])
def test_blow_up_times(case, digits):
    parameters, _, sigma = gaussian(case)
    initial = {"mu": [0] * len(sigma), "Sigma": sigma}
    outcome = integrate(load_kernel("gaussian_moments"), initial, (0, 1), parameters, digits=digits).outcome
    assert isinstance(outcome, BlewUp)
    assert outcome.exponent == 1
    low, high = outcome.bracket
    with mpmath.workdps(60):
        time = mpmath.mpf(case["t"])
        # The reference is exact where it ends before the 35th digit, and rounded there otherwise.
        rounding = mpmath.mpf(10) ** -35 / 2 if len(case["t"]) > 35 else 0
        assert low - rounding < time < high + rounding
        # Without digits, 100 times the coarser run's tolerance.
        assert high - low < (1e-6 if digits is None else mpmath.mpf(10) ** (5 - digits)) * time


def test_blow_up_where_value_and_score_do_not_commute():
    """Then t* is no isolated pole; the two integrators have nothing in common but the equations."""
    parameters = {"A": [[0, 3], [-2, 0]], "B": [[-3, 2], [-2, 0]], "V": [[1, -3], [1, -2]], "b": [0, 0]}
    initial = {"mu": [0, 0], "Sigma": [[13, 12], [12, 13]]}
    double, exact = (
        integrate(load_kernel("gaussian_moments"), initial, (0, 1), parameters, digits=digits).outcome
        for digits in (None, 20)
    )
    assert double.bracket[0] < exact.bracket[0] < exact.bracket[1] < double.bracket[1]
    with mpmath.workdps(40):
        assert exact.bracket[1] - exact.bracket[0] < mpmath.mpf(10) ** -15 * exact.bracket[1]
    # The double precision rate is read a millionth of the time before t*.
    assert float(exact.rate) == pytest.approx(double.rate, rel=1e-2)


def test_the_factor_blows_up_as_the_square_root():
    case = VALUES["blow_up_times"][1]
    parameters, factor, _ = gaussian(case)
    kernel, initial = load_kernel("gaussian_factor"), {"mu": [0, 0], "L": factor}
    outcome = integrate(kernel, initial, (0, 1), parameters, digits=20).outcome
    assert outcome.exponent == Fraction(1, 2)
    with mpmath.workdps(40):
        assert outcome.bracket[0] < mpmath.mpf(case["t"]) < outcome.bracket[1]


def test_covariance_in_closed_form():
    """For V = c I: Sigma = e^{At} L (I - L^T C L)^{-1} L^T e^{A^T t}, C = int_0^t e^{A^T s} c (B + B^T) e^{As} ds."""
    case = VALUES["blow_up_times"][1]
    parameters, factor, sigma = gaussian(case)
    time, digits = Fraction(3, 20), 40
    trajectory = integrate(
        load_kernel("gaussian_moments"), {"mu": [1, -1], "Sigma": sigma}, (0, time), parameters, digits=digits
    )
    assert isinstance(trajectory.outcome, Finished)
    with mpmath.workdps(digits + 20):
        t = mpmath.mpf(time.numerator) / time.denominator

        def matrix(rows):
            return mpmath.matrix([[mpmath.mpf(x.numerator) / x.denominator for x in row] for row in fractions(rows)])

        a, b, root = matrix(case["A"]), matrix(case["B"]), matrix(factor)
        source = mpmath.mpf(3) / 2 * (b + b.T)
        # One block exponential gives the integral (Van Loan): exp([[-A^T, S], [0, A]] t) = [[*, G], [0, F]], C = F^T G.
        block = mpmath.zeros(4)
        block[:2, :2], block[:2, 2:], block[2:, 2:] = -a.T, source, a
        exponential = mpmath.expm(block * t, method="taylor")
        flow, integral = exponential[2:, 2:], exponential[2:, 2:].T * exponential[:2, 2:]
        middle = mpmath.inverse(mpmath.eye(2) - root.T * integral * root)
        expected = np.array((flow * root * middle * root.T * flow.T).tolist(), dtype=object)
        size = np.abs(expected).max()
        assert np.abs(trajectory.final["Sigma"] - expected).max() < mpmath.mpf(10) ** -digits * max(
            size, np.abs(trajectory.final["mu"]).max()
        )


def case_4(v, w):
    return {"A": [[1, 0], [0, 1]], "V": [[v, w], [-w, -Fraction(v)]], "beta": 1}


@pytest.mark.parametrize("digits", [None, 30])
def test_period_and_extremes_of_a_hamiltonian_orbit(digits):
    (case,) = VALUES["hamiltonian_orbit"]
    parameters = case_4(case["v"], Fraction(case["w"]))

    def returns(t, state):
        return state["R"].real - mpmath.mpf(1) / 5

    def crosses_axis(t, state):
        return state["R"].real

    # The orbit starts on the section Re R = 1/5; it is symmetric about the imaginary axis, where |R| is extreme.
    trajectory = integrate(
        load_kernel("ott_antonsen"),
        {"R": "1/5 + 1/10j"},
        (0, 5),
        parameters,
        events=[returns, crosses_axis],
        digits=digits,
        rtol=1e-12,
    )
    period = float(trajectory.events[0][-1][0])
    radii = sorted(float(abs(state["R"])) for _, state in trajectory.events[1])
    # The references have ten digits.
    assert period == pytest.approx(case["period"], abs=1e-9)
    assert radii == pytest.approx([case["R_abs_min"], case["R_abs_max"]], abs=1e-9)


def test_tokens_keep_their_length():
    tokens = np.array([[3, 4, 0], [0, 5, 12], [-8, 0, 6]], dtype=object) / np.array([[5], [13], [10]], dtype=object)
    exact = [
        [Fraction(3, 5), Fraction(4, 5), 0],
        [0, Fraction(5, 13), Fraction(12, 13)],
        [Fraction(-4, 5), 0, Fraction(3, 5)],
    ]
    parameters = {"A": [[1, 2, 0], [0, 1, 0], [0, 0, -1]], "V": [[0, 1, 0], [-1, 0, 1], [0, 0, 1]], "beta": 1}
    kernel = load_kernel("linear_tokens_sphere")
    for start, digits, tolerance in ((tokens.astype(float), None, 1e-8), (exact, 25, mpmath.mpf(10) ** -25)):
        final = integrate(kernel, {"X": start}, (0, 2), parameters, digits=digits).final["X"]
        with mpmath.workdps(40):
            assert all(abs(sum(x * x for x in row) - 1) < 2 * tolerance for row in final)


def limit(sequence):
    """Of a sequence that converges like c q^k, by Aitken's extrapolation from its last three terms."""
    a, b, c = sequence[-3:]
    return c - (c - b) ** 2 / ((c - b) - (b - a))


@pytest.mark.parametrize("case", VALUES["limit_cycles"], ids=lambda case: str(case["period"]))
def test_limit_cycles(case):
    """Orbits may approach a cycle by 5% a turn only: some turns are integrated, and start again where they tend to."""
    kernel, parameters = load_kernel("ott_antonsen"), {key: case[key] for key in ("A", "V", "beta")}
    arrays = [np.array(case[key], dtype=float) for key in ("A", "V")]

    def recedes(t, state):
        (rate,) = kernel.rhs(state["R"], *arrays, case["beta"])
        return (np.conj(state["R"]) * rate).real  # half the rate of |R|^2

    def approaches(t, state):
        return recedes(t, state)

    recedes.direction, approaches.direction = -1, 1
    start = 0.3
    for _ in range(6):
        trajectory = integrate(kernel, {"R": start}, (0, 20), parameters, events=[recedes, approaches], rtol=1e-11)
        farthest, nearest = ([state["R"] for _, state in found] for found in trajectory.events)
        start = complex(limit(np.real(farthest)), limit(np.imag(farthest)))
    times = [time for time, _ in trajectory.events[0]]
    # Ten digits are given; a hundred times the tolerance is left of local errors.
    assert [abs(nearest[-1]), abs(start)] == pytest.approx([case["R_abs_min"], case["R_abs_max"]], abs=2e-9)
    assert times[-1] - times[-2] == pytest.approx(case["period"], abs=2e-9)
