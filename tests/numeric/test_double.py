"""Integration in double precision, against closed forms."""

import copy
import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numeric import Trajectory, integrate, load_kernel
from numeric.integrators import scipy_solver
from numeric.outcome import BlewUp, Finished, StepLimit

#: 100 times the default rtol: what local errors may grow to over the time spans used here.
CLOSE = 1e-8


def test_closed_forms(kernels):
    oscillator = integrate(kernels.oscillator, {"q": 1, "p": 0}, (0, 10), {"omega": 2})
    assert oscillator.final["q"] == pytest.approx(np.cos(20), abs=CLOSE)
    assert oscillator.final["p"] == pytest.approx(-np.sin(20), abs=CLOSE)
    logistic = integrate(kernels.logistic, {"x": 0.1}, (0, 5), {})
    assert logistic.final["x"] == pytest.approx(1 / (1 + 9 * np.exp(-5)), rel=CLOSE)


def test_complex_states(kernels):
    trajectory = integrate(kernels.rotation, {"z": 0.5 + 0.5j}, (0, 3), {})
    assert trajectory["z"].dtype == complex
    np.testing.assert_allclose(trajectory["z"], (0.5 + 0.5j) * np.exp(1j * trajectory.times), atol=CLOSE)


def test_matrix_states(kernels):
    rotation = np.array([[0.0, -1.0], [1.0, 0.0]])
    trajectory = integrate(kernels.matrix, {"X": np.eye(2)}, (0, 2), {"A": rotation})
    assert trajectory["X"].shape == (len(trajectory.times), 2, 2)
    expected = np.cos(2) * np.eye(2) + np.sin(2) * rotation
    np.testing.assert_allclose(trajectory.final["X"], expected, atol=CLOSE)


def test_the_field_at_the_parameters_is_made_once():
    made = []
    kernel = load_kernel("ott_antonsen")
    counted = replace(kernel, field=lambda *parameters: made.append(parameters) or kernel.field(*parameters))
    parameters = {"A": [[1, 0.25], [-0.25, 0.5]], "V": [[0.5, -1], [1, 0.25]], "beta": 1}
    trajectory = integrate(counted, {"R": 0.25 + 0.125j}, (0, 4), parameters)
    trajectory.at([0.5, 3.5])
    assert len(made) == 1 and len(trajectory.times) > 10


def test_times_and_dense_output(kernels):
    trajectory = integrate(kernels.oscillator, {"q": 1, "p": 0}, (0, 2), {"omega": 1})
    assert isinstance(trajectory, Trajectory)
    assert isinstance(trajectory.outcome, Finished)
    assert trajectory.times[0] == 0
    assert trajectory.times[-1] == trajectory.outcome.time == 2
    assert trajectory.final["q"] == trajectory["q"][-1] == trajectory.at(2)["q"]
    assert trajectory.error is None
    assert repr(trajectory).endswith("by DOP853 on by hand: finished at t = 2.0>")
    times = np.linspace(0, 2, 17)
    np.testing.assert_allclose(trajectory.at(times)["q"], np.cos(times), atol=CLOSE)
    assert trajectory.at(0.7)["q"] == pytest.approx(np.cos(0.7), abs=CLOSE)
    for outside in (-0.1, 2.1):
        with pytest.raises(ValueError, match=f"^t: {outside} lies outside the trajectory; expected 0.0 <= t <= 2.0"):
            trajectory.at(outside)


def test_dense_output_does_not_depend_on_when_it_is_asked_for(kernels):
    """At events the solver still stands at the step; later the step is done again."""

    def event(t, state):
        return state["q"] - 0.3

    trajectory = integrate(kernels.oscillator, {"q": 1, "p": 0}, (0, 9), {"omega": 1}, events=event)
    times = [time for time, _ in trajectory.events[0]]
    assert len(times) == 3
    for time, state in reversed(trajectory.events[0]):
        again = trajectory.at(time)
        assert (state["q"], state["p"]) == (again["q"], again["p"])
    # Up to a blow-up too, where the last attempted step failed.
    trajectory = integrate(kernels.square, {"x": 1.0}, (0, 2), {})
    times = (trajectory.times[:-1] + trajectory.times[1:]) / 2
    # An error of the blow-up time, of the size of the tolerance, counts against the time that is left.
    allowed = CLOSE + 1e-10 / (1 - times)
    assert (abs(trajectory.at(times)["x"] * (1 - times) - 1) < allowed).all()


def test_t_eval(kernels):
    trajectory = integrate(kernels.oscillator, {"q": 1, "p": 0}, (0, 2), {"omega": 1}, t_eval=[0.5, 1])
    assert trajectory.times.tolist() == [0.5, 1]
    np.testing.assert_allclose(trajectory["q"], np.cos([0.5, 1]), atol=CLOSE)
    # The final state is that of the end all the same.
    assert trajectory.final["q"] == pytest.approx(np.cos(2), abs=CLOSE)
    none = integrate(kernels.oscillator, {"q": 1, "p": 0}, (0, 2), {"omega": 1}, t_eval=[])
    assert none["q"].shape == (0,)


@pytest.mark.parametrize("x0", [0.3, -1.0, 5.0])
@pytest.mark.parametrize(("name", "exponent"), [("square", Fraction(1)), ("cube", Fraction(1, 2))])
def test_blow_up_is_an_outcome(kernels, name, exponent, x0):
    if name == "square":
        x0 = abs(x0)
    time, rate = (1 / x0, 1.0) if name == "square" else (1 / (2 * x0**2), 0.5**0.5)
    with np.errstate(all="raise"):
        trajectory = integrate(getattr(kernels, name), {"x": x0}, (0, 10), {})
    outcome = trajectory.outcome
    assert isinstance(outcome, BlewUp)
    low, high = outcome.bracket
    assert low < time < high
    # A hundred times the coarser tolerance.
    assert high - low < 1e-6 * time
    assert outcome.exponent == exponent
    assert outcome.rate == pytest.approx(rate, rel=1e-3)
    assert trajectory.times[-1] <= low
    assert np.isfinite(trajectory["x"]).all()
    assert abs(trajectory.final["x"]) > 1e3 * abs(x0)


def test_blow_up_of_a_component_that_is_no_power(kernels):
    outcome = integrate(kernels.steep, {"x": 0.0}, (0, 10), {}).outcome
    assert isinstance(outcome, BlewUp)
    assert outcome.bracket[0] < 1 < outcome.bracket[1]
    assert outcome.exponent is None
    assert "not recognised as a power" in str(outcome)


def test_events_before_a_blow_up(kernels):
    trajectory = integrate(kernels.square, {"x": 1.0}, (0, 10), {}, events=lambda t, state: state["x"] - 1000)
    assert trajectory.events[0][0][0] == pytest.approx(0.999, rel=CLOSE)


def test_a_singularity_without_growth_is_no_blow_up(kernels):
    outcome = integrate(kernels.root, {"x": 1.0}, (0, 10), {}).outcome
    assert isinstance(outcome, StepLimit)
    # x = sqrt(1 - 2 t) ends at t = 1/2; there DOP853 loses digits as the state vanishes.
    assert outcome.time == pytest.approx(0.5, abs=1e-6)
    assert "the right-hand side is singular there" in str(outcome)


def test_growth_beyond_doubles_is_no_blow_up(kernels):
    outcome = integrate(kernels.exponential, {"x": 1.0}, (0, 2000), {"rate": 1.0}).outcome
    assert isinstance(outcome, StepLimit)
    assert "too large for doubles" in str(outcome)


def test_an_initial_state_where_the_equation_is_not_defined(kernels):
    trajectory = integrate(kernels.root, {"x": 0.0}, (0, 1), {})
    assert isinstance(trajectory.outcome, StepLimit)
    assert "not finite at the initial state" in str(trajectory.outcome)
    assert trajectory.times.tolist() == [0.0]
    assert trajectory.final == {"x": 0.0}


def test_nothing_leaks(kernels):
    """The error state is scoped even while events run, and no warning comes out."""
    states = []

    def event(t, state):
        states.append(np.geterr())
        return 1.0

    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        expected = np.geterr()
        integrate(kernels.square, {"x": 1.0}, (0, 2), {}, events=event)
    assert all(state == expected for state in states)


def test_inputs_are_not_mutated(kernels):
    initial, parameters, times = {"X": np.eye(2)}, {"A": np.array([[0, 1], [1, 0]])}, np.array([0.0, 1.0])
    before = copy.deepcopy((initial, parameters, times))
    trajectory = integrate(kernels.matrix, initial, (0, 1), parameters, t_eval=times)
    trajectory.final["X"][:] = 7
    trajectory["X"][:] = 7
    for now, then in ((initial["X"], before[0]["X"]), (parameters["A"], before[1]["A"]), (times, before[2])):
        np.testing.assert_array_equal(now, then)


def test_what_is_returned_belongs_to_the_caller(kernels):
    def event(t, state):
        return state["X"][0, 0] - 0.5

    trajectory = integrate(kernels.matrix, {"X": np.eye(2)}, (0, 2), {"A": [[0, -1], [1, 0]]}, events=event)
    end, middle = trajectory.final["X"].copy(), trajectory.at(1)["X"].copy()
    for states in (trajectory.final, trajectory.at(2), trajectory.at(0), trajectory.states, trajectory.events[0][0][1]):
        states["X"][:] = 7
    np.testing.assert_array_equal(trajectory.at(2)["X"], end)
    np.testing.assert_array_equal(trajectory.at(1)["X"], middle)
    np.testing.assert_array_equal(trajectory.at(0)["X"], np.eye(2))


def test_step_limit(kernels, monkeypatch):
    monkeypatch.setattr(scipy_solver, "MAX_STEPS", 3)
    outcome = integrate(kernels.oscillator, {"q": 1, "p": 0}, (0, 1000), {"omega": 1}).outcome
    assert isinstance(outcome, StepLimit)
    assert "not reached in 3 steps" in str(outcome)


def decay(kernels, rate):
    """x' = -x, y' = -rate y, from (1, 1) to t = 100."""
    return integrate(kernels.matrix, {"X": np.ones((2, 2))}, (0, 100), {"A": [[-1, 0], [0, -rate]]})


def test_stiffness_is_told_from_accuracy(kernels, monkeypatch):
    outcome = decay(kernels, 1e6).outcome
    assert isinstance(outcome, StepLimit)
    assert "stiff" in str(outcome)
    # Stability bounds the steps near 6.1/rate: about 1.6e7 of them, found out long before the limit.
    assert "steps near 6" in str(outcome) and "e-06" in str(outcome) and "1.6e+07 more" in str(outcome)
    assert outcome.time < 0.1
    # Less stiff, the end is reached.
    assert isinstance(decay(kernels, 100).outcome, Finished)
    # A long integration that accuracy bounds is not called stiff.
    monkeypatch.setattr(scipy_solver, "MAX_STEPS", 1500)
    outcome = integrate(kernels.oscillator, {"q": 1, "p": 0}, (0, 10_000), {"omega": 1}).outcome
    assert isinstance(outcome, StepLimit)
    assert "stiff" not in str(outcome)


@pytest.mark.parametrize("name", ["linear_tokens_sphere", "softmax_tokens_sphere", "exponential_tokens_sphere"])
@pytest.mark.parametrize(("backend", "n", "d"), [("numpy", 50, 5), ("heyoka", 3, 2)])
def test_unit_tokens_keep_their_length_to_four_ulp(name, backend, n, d):
    """At the steps, between them and at events, to t = 10, where many tokens have met."""
    if backend != "numpy":
        pytest.importorskip(backend)
    kernel, rng = load_kernel(name, backend), np.random.default_rng(1)
    tokens = rng.normal(size=(n, d))
    tokens /= np.linalg.norm(tokens, axis=1, keepdims=True)
    parameters = {p.name: rng.normal(size=(d, d)) if p.shape else 1 for p in kernel.parameters}

    def event(t, state):
        return state["X"][0, 0]

    times = np.linspace(0, 10, 97)
    trajectory = integrate(kernel, {"X": tokens}, (0, 10), parameters, events=event)
    found = [state["X"][None] for _, state in trajectory.events[0]]
    without_events = integrate(kernel, {"X": tokens}, (0, 10), parameters, t_eval=times)["X"]
    lengths = np.linalg.norm(
        np.concatenate([trajectory["X"], trajectory.at(times)["X"], without_events, *found]), axis=-1
    )
    assert np.abs(lengths - 1).max() <= 4 * np.finfo(float).eps


def test_scaling_to_unit_length_keeps_the_order():
    """DOP853 is of order 8: with both tolerances at eps, errors are of size eps, at the cost of order 8."""
    kernel, rng = load_kernel("softmax_tokens_sphere"), np.random.default_rng(2)
    tokens = rng.normal(size=(6, 3))
    tokens /= np.linalg.norm(tokens, axis=1, keepdims=True)
    parameters = {"B": rng.normal(size=(3, 3)), "V": rng.normal(size=(3, 3))}
    exact = integrate(kernel, {"X": tokens}, (0, 2), parameters, digits=20).final["X"].astype(float)
    for tolerance in (1e-6, 1e-9, 1e-12):
        found = integrate(kernel, {"X": tokens}, (0, 2), parameters, rtol=tolerance, atol=tolerance)
        # Local errors add up over the time span, by less than a factor of 100 here.
        assert np.abs(found.final["X"] - exact).max() < 100 * tolerance
        # Errors eps cost eps^(-1/8) steps: four decimal digits triple the steps, where order 4 would take ten times.
        assert len(found.times) < 6 * tolerance ** (-1 / 8)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"initial": {"q": 1}}, "^initial: missing p"),
        ({"initial": {"q": 1, "p": "up"}}, "^p: entry 'up' is not a real number"),
        ({"parameters": {"omeg": 1}}, "^parameters: unknown name 'omeg'; did you mean 'omega'"),
        ({"t_span": (1, 0)}, "^t_span: .*not increasing"),
        ({"digits": 5}, "^digits: 5 is out of range"),
        ({"rtol": 0}, "^rtol: 0 is no usable tolerance"),
        ({"events": [1]}, "^events: 1 is not callable"),
        ({"t_eval": [0, 2]}, "^t_eval: some times lie outside"),
    ],
)
def test_bad_inputs(kernels, change, message):
    arguments = {"initial": {"q": 1, "p": 0}, "t_span": (0, 1), "parameters": {"omega": 1}} | change
    with pytest.raises(ValueError, match=message):
        integrate(kernels.oscillator, **arguments)


# Riccati equations without blow-up on the time span: b s0 (e^{2at} - 1)/a < 1.
riccati = st.tuples(st.floats(-1, 1), st.floats(-2, 0), st.floats(0.1, 3))


@settings(max_examples=15, deadline=None)
@given(system=riccati, times=st.tuples(st.floats(0.1, 1), st.floats(0.1, 1)))
def test_flows_compose(kernels, system, times):
    a, b, s0 = system
    first, second = times
    parameters = {"a": a, "b": b}
    middle = integrate(kernels.riccati, {"s": s0}, (0, first), parameters).final
    composed = integrate(kernels.riccati, middle, (0, second), parameters).final["s"]
    direct = integrate(kernels.riccati, {"s": s0}, (0, first + second), parameters).final["s"]
    assert composed == pytest.approx(direct, rel=CLOSE)


@settings(max_examples=15, deadline=None)
@given(system=riccati, scale=st.floats(0.2, 5))
def test_time_scales(kernels, system, scale):
    a, b, s0 = system
    slow = integrate(kernels.riccati, {"s": s0}, (0, 1), {"a": a, "b": b}).final["s"]
    fast = integrate(kernels.riccati, {"s": s0}, (0, 1 / scale), {"a": scale * a, "b": scale * b}).final["s"]
    assert fast == pytest.approx(slow, rel=CLOSE)
