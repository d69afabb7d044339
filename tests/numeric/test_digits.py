"""Integration in multiple precision: digits asked for are digits delivered, against closed forms."""

import copy
from fractions import Fraction
from unittest.mock import patch

import gmpy2
import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from numeric import integrate
from numeric.integrators import taylor
from numeric.integrators.blow_up import NEAR, NEAREST
from numeric.outcome import BlewUp, Finished, StepLimit, StoppedByEvent

DIGITS = [30, 50, 100]


def relative_error(found, expected):
    """The largest error against the largest entry, both over all components."""
    return max(abs(a - b) for a, b in zip(found, expected, strict=True)) / max(abs(b) for b in expected)


def exactly(digits):
    """Enough digits beyond those asked for that the closed form is exact for the comparison."""
    return mpmath.workdps(digits + 60)


def square():
    return "square", {"x": 1}, Fraction(9, 10), {}, lambda: [mpmath.mpf(10)]


def logistic():
    return "logistic", {"x": "1/10"}, 8, {}, lambda: [1 / (1 + 9 * mpmath.exp(-8))]


def growth():
    return "exponential", {"x": "1/3"}, 20, {"rate": 1}, lambda: [mpmath.exp(20) / 3]


def decay():
    return "exponential", {"x": 3}, 20, {"rate": -1}, lambda: [3 * mpmath.exp(-20)]


def ten_periods():
    with mpmath.workdps(200):
        end = 20 * mpmath.pi
    return "oscillator", {"q": "1/2", "p": 1}, end, {"omega": 1}, lambda: [mpmath.mpf(1) / 2, mpmath.mpf(1)]


def riccati():
    # a = 1/2, b = -3/4, s0 = 2 over t = 3: s = E s0 / (1 - b s0 (E - 1)/a).
    return (
        "riccati",
        {"s": 2},
        3,
        {"a": "1/2", "b": "-0.75"},
        lambda: [2 * mpmath.exp(3) / (1 + 3 * (mpmath.exp(3) - 1))],
    )


def unstable():
    # An error grows by e^40 relative to the state: 17 digits, more than the first pilot can see.
    return "saddle", {"q": 1, "p": -1}, 20, {}, lambda: [mpmath.exp(-20), -mpmath.exp(-20)]


@pytest.mark.parametrize("digits", DIGITS)
@pytest.mark.parametrize("case", [square, logistic, growth, decay, ten_periods, riccati, unstable])
def test_digits_asked_are_digits_delivered(kernels, case, digits):
    name, initial, end, parameters, expected = case()
    trajectory = integrate(getattr(kernels, name), initial, (0, end), parameters, digits=digits)
    assert isinstance(trajectory.outcome, Finished)
    with exactly(digits):
        assert trajectory.times[-1] == end or abs(trajectory.times[-1] - end) < mpmath.mpf(10) ** -digits
        error = relative_error(trajectory.final.values(), expected())
        assert error < mpmath.mpf(10) ** -digits
        assert error <= trajectory.error < mpmath.mpf(10) ** -digits


@pytest.mark.parametrize("digits", DIGITS)
def test_dense_output_has_full_precision(kernels, digits):
    trajectory = integrate(kernels.oscillator, {"q": 1, "p": 0}, (0, 7), {"omega": 1}, digits=digits)
    times = ["1/3", Fraction(5, 2), 3, "6.9"]
    states = trajectory.at(times)
    with exactly(digits):
        for t, q in zip(("1/3", "5/2", "3", "69/10"), states["q"], strict=True):
            assert abs(q - mpmath.cos(mpmath.mpf(Fraction(t).numerator) / Fraction(t).denominator)) < trajectory.error
    assert trajectory.at("1/3")["q"] == states["q"][0]
    assert trajectory.at(7)["q"] == trajectory.final["q"] == trajectory["q"][-1]
    with pytest.raises(ValueError, match="^t: 8.* lies outside the trajectory"):
        trajectory.at(8)


@pytest.mark.parametrize("digits", DIGITS)
def test_events_have_full_precision(kernels, digits):
    trajectory = integrate(
        kernels.oscillator, {"q": 1, "p": 0}, (0, 2), {"omega": 1}, digits=digits, events=lambda t, state: state["q"]
    )
    ((time, state),) = trajectory.events[0]
    with exactly(digits):
        assert abs(time - mpmath.pi / 2) < mpmath.mpf(10) ** -digits
        assert abs(state["q"]) < mpmath.mpf(10) ** -digits


@pytest.mark.parametrize("digits", DIGITS)
@pytest.mark.parametrize(
    ("name", "initial", "time", "exponent", "rate"),
    [
        ("square", {"x": 3}, Fraction(1, 3), 1, lambda: mpmath.mpf(1)),
        ("cube", {"x": -1}, Fraction(1, 2), Fraction(1, 2), lambda: mpmath.sqrt(mpmath.mpf(1) / 2)),
    ],
)
def test_poles_are_located(kernels, digits, name, initial, time, exponent, rate):
    trajectory = integrate(getattr(kernels, name), initial, (0, 2), {}, digits=digits)
    outcome = trajectory.outcome
    assert isinstance(outcome, BlewUp)
    assert outcome.exponent == exponent
    with exactly(digits):
        exact = mpmath.mpf(time.numerator) / time.denominator
        low, high = outcome.bracket
        assert low < exact < high
        assert high - low < mpmath.mpf(10) ** (5 - digits) * exact
        assert abs(outcome.rate - rate()) < mpmath.mpf(10) ** (5 - digits)
        # The trajectory ends near the pole, its last state correct to the digits asked for.
        assert trajectory.times[-1] < low
        assert exact - trajectory.times[-1] < NEAR * exact
        state = trajectory.final["x"]
        left = (exact - trajectory.times[-1]) ** float(exponent)
        assert abs(abs(state) * left / rate() - 1) < mpmath.mpf(10) ** -digits


def test_blow_up_of_a_riccati_equation(kernels):
    # a = -2, b = 1, s0 = 5: 1 = b s0 (E - 1)/a at E = 3/5, t* = log(3/5)/(-4), |s|(t* - t) -> 1/(2 b).
    trajectory = integrate(kernels.riccati, {"s": 5}, (0, 1), {"a": -2, "b": 1}, digits=50)
    with exactly(50):
        exact = mpmath.log(mpmath.mpf(3) / 5) / -4
        low, high = trajectory.outcome.bracket
        assert low < exact < high
        assert high - low < mpmath.mpf(10) ** -45 * exact
        assert abs(trajectory.outcome.rate - mpmath.mpf(1) / 2) < mpmath.mpf(10) ** -45
    assert "(|s| (t* - t) -> 0.5)" in str(trajectory.outcome)
    # Below the critical size nothing blows up: s0 < -a/b.
    below = integrate(kernels.riccati, {"s": "19/10"}, (0, 5), {"a": -2, "b": 1}, digits=20)
    assert isinstance(below.outcome, Finished)


@pytest.mark.parametrize("digits", [30, 60])
@pytest.mark.parametrize("c", [Fraction(1, 3), 3])
def test_poles_of_systems_with_several_exponents(kernels, c, digits):
    # s = 1/(1 - t), m = (1 - t)^-c: the array that grows most decides.
    outcome = integrate(kernels.driven, {"m": 1, "s": 1}, (0, 2), {"c": c}, digits=digits).outcome
    assert outcome.state == ("m" if c > 1 else "s")
    assert outcome.exponent == max(c, 1)
    with exactly(digits):
        assert outcome.bracket[0] < 1 < outcome.bracket[1]
        assert outcome.bracket[1] - outcome.bracket[0] < mpmath.mpf(10) ** (5 - digits)
        assert abs(outcome.rate - 1) < mpmath.mpf(10) ** (5 - digits)


@pytest.mark.parametrize(
    ("name", "initial", "parameters"),
    [
        ("steep", {"x": 0}, {}),
        ("driven", {"m": 1, "s": 1}, {"c": "7/5"}),
    ],
)
def test_other_singularities_get_the_best_bracket_and_say_so(kernels, name, initial, parameters):
    outcome = integrate(getattr(kernels, name), initial, (0, 2), parameters, digits=30).outcome
    assert isinstance(outcome, BlewUp)
    assert outcome.bracket[0] < 1 < outcome.bracket[1]
    assert outcome.bracket[1] - outcome.bracket[0] < 10 * NEAREST
    assert outcome.exponent is None
    assert "not recognised as a power of t* - t" in str(outcome)


def test_an_end_before_the_pole_is_reached(kernels):
    # One part in 1e8 before the pole: within the distance at which poles are looked for.
    trajectory = integrate(kernels.square, {"x": 1}, (0, 1 - Fraction(1, 10**8)), {}, digits=30)
    assert isinstance(trajectory.outcome, Finished)
    with exactly(30):
        assert abs(trajectory.final["x"] / mpmath.mpf(10) ** 8 - 1) < mpmath.mpf(10) ** -30


def test_an_end_on_the_pole_has_no_error_estimate(kernels):
    # Whether t = 1 is reached depends on errors however small.
    trajectory = integrate(kernels.square, {"x": 1}, (0, 1), {}, digits=15)
    assert isinstance(trajectory.outcome, BlewUp)
    assert trajectory.error == mpmath.inf
    assert "unconfirmed" in str(trajectory.outcome)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("depth", [100, 250])
def test_an_entry_that_returns_from_far_below_the_others(kernels, monkeypatch, depth, compiled):
    # At its least, x is 10^-43 or 10^-109 of the others: a run with fewer digits loses it, and would end in a blow-up.
    monkeypatch.setattr(taylor, "COMPILED", compiled)
    initial, parameters = {"x": 1, "c": 1, "s": 0}, {"depth": depth}
    trajectory = integrate(kernels.returning, initial, (0, 3), parameters, digits=30)
    assert isinstance(trajectory.outcome, Finished)
    with exactly(30):
        error = abs(trajectory.final["x"] - mpmath.exp(-depth * mpmath.sin(3)))
        assert error < trajectory.error < mpmath.mpf(10) ** -30


@settings(max_examples=60, deadline=None)
@given(
    distance=st.integers(0, 60),
    sign=st.sampled_from((-1, 1)),
    end=st.integers(1, 40),
    digits=st.sampled_from((15, 30, 50)),
    compiled=st.booleans(),
)
@example(distance=9, sign=1, end=16, digits=30, compiled=True)
@example(distance=45, sign=-1, end=20, digits=30, compiled=True)
@example(distance=45, sign=1, end=40, digits=30, compiled=False)
def test_starts_at_any_distance_from_an_unstable_fixed_point(kernels, distance, sign, end, digits, compiled):
    """s' = -4 s + 6 s^2 leaves 2/3 like exp(4 t); to fewer digits than the distance has it is at rest there."""
    start = Fraction(2, 3) + Fraction(sign, 7 * 10**distance)
    with patch.object(taylor, "COMPILED", compiled):
        trajectory = integrate(kernels.riccati, {"s": start}, (0, end), {"a": -2, "b": 3}, digits=digits)
    with mpmath.workdps(400):
        s0, factor = mpmath.mpf(start.numerator) / start.denominator, mpmath.exp(-4 * mpmath.mpf(end))
        denominator = 1 - 3 * s0 * (factor - 1) / -2
        if denominator > 0:
            exact, before = factor * s0 / denominator, trajectory["s"][-2]
            assert isinstance(trajectory.outcome, Finished)
            assert abs(trajectory.final["s"] - exact) < mpmath.mpf(10) ** -digits * max(exact, before)
        else:
            low, high = trajectory.outcome.bracket
            assert low < mpmath.log(1 - 2 / (3 * s0)) / -4 < high


def test_an_outcome_that_errors_far_below_the_digits_decide_is_called_unconfirmed(kernels):
    start, parameters = {"s": "0." + "6" * 200}, {"a": -2, "b": 3}
    trajectory = integrate(kernels.riccati, start, (0, 130), parameters, digits=20)
    assert trajectory.error == mpmath.inf
    assert "unconfirmed" in str(trajectory.outcome)


@pytest.mark.parametrize("compiled", [True, False])
def test_a_stiff_decay_beside_a_slow_one(kernels, monkeypatch, compiled):
    # The fast entry falls far below the range of doubles, and coefficients that alternate in sign are no blow-up ahead.
    monkeypatch.setattr(taylor, "COMPILED", compiled)
    trajectory = integrate(kernels.matrix, {"X": [[1, 0], [0, 1]]}, (0, 5), {"A": [[-500, 0], [0, -1]]}, digits=30)
    assert isinstance(trajectory.outcome, Finished)
    with exactly(30):
        fast, slow = trajectory.final["X"].diagonal()
        assert abs(slow - mpmath.exp(-5)) < mpmath.mpf(10) ** -32
        assert abs(fast - mpmath.exp(-2500)) < mpmath.mpf(10) ** -32


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("end", [40, 60, 80, 120, 1000])
def test_rest_is_reached_and_kept(kernels, monkeypatch, end, compiled):
    # From t = 37 on doubles see no motion.
    monkeypatch.setattr(taylor, "COMPILED", compiled)
    trajectory = integrate(kernels.logistic, {"x": "1/10"}, (0, end), {}, digits=50)
    with exactly(50):
        assert abs(trajectory.final["x"] - 1 / (1 + 9 * mpmath.exp(-end))) < mpmath.mpf(10) ** -50


def test_terminal_events_stop_before_a_blow_up(kernels):
    def large(t, state):
        return state["x"] - 100

    large.terminal = True
    trajectory = integrate(kernels.square, {"x": 1}, (0, 2), {}, digits=30, events=large)
    assert isinstance(trajectory.outcome, StoppedByEvent)
    with exactly(30):
        assert abs(trajectory.outcome.time - mpmath.mpf(99) / 100) < mpmath.mpf(10) ** -30


def test_states_at_rest_and_zero_states(kernels):
    assert integrate(kernels.square, {"x": 0}, (0, 10), {}, digits=30).final["x"] == 0
    assert integrate(kernels.logistic, {"x": 1}, (0, 10), {}, digits=30).final["x"] == 1
    # The unstable fixed point is kept, as its components are exactly constant.
    assert integrate(kernels.exponential, {"x": 0}, (0, 100), {"rate": 1}, digits=30).final["x"] == 0


def test_step_limit_is_an_outcome(kernels, monkeypatch):
    monkeypatch.setattr(taylor, "MAX_STEPS", 3)
    trajectory = integrate(kernels.oscillator, {"q": 1, "p": 0}, (0, 1000), {"omega": 1}, digits=20)
    assert isinstance(trajectory.outcome, StepLimit)
    assert len(trajectory.times) == 4
    assert "not reached in 3 steps" in str(trajectory.outcome)
    assert trajectory.error == mpmath.inf


def test_giving_up_after_the_pilot_did_not(kernels, monkeypatch):
    problem = kernels.oscillator, {"q": 1, "p": 0}, (0, 50), {"omega": 1}
    steps = len(integrate(*problem, digits=100).times) - 1
    monkeypatch.setattr(taylor, "MAX_STEPS", steps - 1)
    trajectory = integrate(*problem, digits=100)
    assert isinstance(trajectory.outcome, StepLimit)
    assert trajectory.error == mpmath.inf


def test_arrays_of_mpmath_numbers(kernels):
    z = integrate(kernels.rotation, {"z": "1/2 + 1/2j"}, (0, 1), {}, digits=30)
    assert isinstance(z.final["z"], mpmath.mpc)
    assert z["z"].dtype == object
    with exactly(30):
        assert abs(z.final["z"] - mpmath.mpc(1, 1) / 2 * mpmath.expj(1)) < mpmath.mpf(10) ** -30
    x = integrate(
        kernels.matrix,
        {"X": np.eye(2, dtype=int)},
        (0, "1/2"),
        {"A": [[0, -1], [1, 0]]},
        digits=30,
        t_eval=["1/10", "1/2"],
    )
    assert x["X"].shape == (2, 2, 2)
    assert all(isinstance(entry, mpmath.mpf) for entry in x["X"].flat)
    with exactly(30):
        assert x.times[0] - mpmath.mpf(1) / 10 < mpmath.mpf(10) ** -30
        assert abs(x["X"][1, 1, 0] - mpmath.sin(mpmath.mpf(1) / 2)) < mpmath.mpf(10) ** -30
        assert x.final["X"][0, 0] == x["X"][1, 0, 0]


@pytest.mark.parametrize("backend", ["gmpy2", "mpmath"])
def test_kernels_of_backends_of_any_precision_need_no_digits(kernels, backend):
    from dataclasses import replace

    trajectory = integrate(replace(kernels.square, backend=backend), {"x": 1}, (0, "1/2"), {})
    with exactly(50):
        assert abs(trajectory.final["x"] - 2) < mpmath.mpf(10) ** -50


def test_results_do_not_depend_on_the_precision_around(kernels):
    finals = []
    for digits in (5, 80):
        with mpmath.workdps(digits), gmpy2.context(precision=4 * digits):
            finals.append(integrate(kernels.square, {"x": "1/3"}, (0, 1), {}, digits=30).final["x"])
    assert finals[0] == finals[1]


@pytest.mark.parametrize("where", ["event", "series", "inputs"])
def test_precision_is_restored_when_something_fails(kernels, where):
    from dataclasses import replace

    class Trouble(Exception):
        pass

    def fail(*arguments):
        raise Trouble

    before = mpmath.mp.prec, gmpy2.get_context().precision
    kernel = replace(kernels.square, series=fail) if where == "series" else kernels.square
    with pytest.raises((Trouble, ValueError)):
        integrate(
            kernel,
            {"x": "one" if where == "inputs" else 1},
            (0, "1/2"),
            {},
            digits=50,
            events=fail if where == "event" else (),
        )
    assert (mpmath.mp.prec, gmpy2.get_context().precision) == before


def test_inputs_are_not_mutated(kernels):
    initial, parameters = {"X": [["1/3", 0], [0, 1]]}, {"A": np.array([[0, 1], [1, 0]], dtype=object)}
    before = copy.deepcopy((initial, parameters))
    trajectory = integrate(kernels.matrix, initial, (0, 1), parameters, digits=20)
    trajectory.final["X"][0, 0] = 7
    assert initial == before[0]
    np.testing.assert_array_equal(parameters["A"], before[1]["A"])


rational = st.fractions(Fraction(1, 10), 2, max_denominator=50)


@settings(max_examples=8, deadline=None)
@given(a=rational, s0=rational, first=rational, second=rational)
def test_flows_compose(kernels, a, s0, first, second):
    parameters = {"a": a, "b": -1}
    middle = integrate(kernels.riccati, {"s": s0}, (0, first), parameters, digits=25).final
    composed = integrate(kernels.riccati, middle, (0, second), parameters, digits=25).final["s"]
    direct = integrate(kernels.riccati, {"s": s0}, (0, first + second), parameters, digits=25).final["s"]
    with exactly(25):
        # The error of the middle state is not amplified: this equation contracts distances relative to s.
        assert abs(composed / direct - 1) < 3 * mpmath.mpf(10) ** -25


@settings(max_examples=8, deadline=None)
@given(omega=rational, scale=rational)
def test_time_scales(kernels, omega, scale):
    start = {"q": 1, "p": "1/3"}
    slow = integrate(kernels.oscillator, start, (0, 5), {"omega": omega}, digits=25).final
    fast = integrate(kernels.oscillator, start, (0, 5 / scale), {"omega": omega * scale}, digits=25).final
    with exactly(25):
        assert relative_error(fast.values(), list(slow.values())) < 2 * mpmath.mpf(10) ** -25


def test_where_the_equation_is_not_defined_or_singular(kernels):
    trajectory = integrate(kernels.root, {"x": 0}, (0, 1), {}, digits=20)
    assert str(trajectory.outcome) == "gave up at t = 0.0: the right-hand side is not defined there"
    assert trajectory.final == {"x": 0}
    # x = sqrt(1 - 2 t) ends at t = 1/2, where the state vanishes and does not grow.
    outcome = integrate(kernels.root, {"x": 1}, (0, 1), {}, digits=20).outcome
    assert not isinstance(outcome, BlewUp)
    with exactly(20):
        assert isinstance(outcome, Finished) or abs(outcome.time - mpmath.mpf(1) / 2) < mpmath.mpf(10) ** -15
