"""Root finding and the location of events on the steps of an integrator."""

import math
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest

from numeric import integrate
from numeric.integrators.events import bracketed_root
from numeric.outcome import Finished, StoppedByEvent


@pytest.mark.parametrize(
    ("function", "low", "high"),
    [
        (lambda x: x**3 - 2, 0, 2),
        (lambda x: x**9, -1, 2),  # flat at the root
        (lambda x: 1 if x > mpmath.mpf(1) / 3 else -1, 0, 1),  # no slope at all
        (lambda x: mpmath.exp(20 * x) - 2, 0, 1),  # steep
        (lambda x: x, -1, 1),
    ],
)
def test_roots_are_bracketed_to_full_precision(function, low, high):
    with mpmath.workdps(60):
        low, high = mpmath.mpf(low), mpmath.mpf(high)
        root = bracketed_root(function, low, high, function(low), function(high), mpmath.mp.eps)
        slack = 8 * mpmath.mp.eps * 2
        assert function(root) == 0 or function(root - slack) < 0 < function(root + slack)


def test_smooth_roots_take_few_evaluations():
    calls = []
    with mpmath.workdps(200):

        def function(x):
            calls.append(x)
            return mpmath.cos(x) - x

        bracketed_root(function, mpmath.mpf(0), mpmath.mpf(1), mpmath.mpf(1), mpmath.cos(1) - 1, mpmath.mp.eps)
    # Bisection would need 665.
    assert len(calls) < 40


def event(function, **attributes):
    for name, value in attributes.items():
        setattr(function, name, value)
    return function


@pytest.fixture(params=[None, 30])
def circle(request, kernels):
    """The harmonic oscillator q = cos t, p = -sin t, in double precision and with 30 digits."""
    tolerance = 1e-8 if request.param is None else 1e-30  # 100 times rtol: the growth over the time span

    def run(end, events):
        start, parameters = {"q": 1, "p": 0}, {"omega": 1}
        return integrate(kernels.oscillator, start, (0, end), parameters, events=events, digits=request.param)

    return SimpleNamespace(run=run, tolerance=tolerance)


def test_events_are_located(circle):
    trajectory = circle.run(20, lambda t, state: state["q"])
    with mpmath.workdps(50):
        expected = [mpmath.pi * (2 * k + 1) / 2 for k in range(6)]
        found = trajectory.events[0]
        assert len(found) == 6
        assert all(abs(t - e) < circle.tolerance for (t, _), e in zip(found, expected, strict=True))
        assert all(abs(state["q"]) < circle.tolerance for _, state in found)
        assert all(abs(abs(state["p"]) - 1) < circle.tolerance for _, state in found)
    assert isinstance(trajectory.outcome, Finished)


@pytest.mark.parametrize(("direction", "first"), [(1, 1.5), (-1, 0.5), (0, 0.5)])
def test_direction(circle, direction, first):
    trajectory = circle.run(20, event(lambda t, state: state["q"], direction=direction))
    assert float(trajectory.events[0][0][0]) == pytest.approx(first * math.pi, abs=1e-8)
    assert len(trajectory.events[0]) == (6 if direction == 0 else 3)


def test_terminal_events_stop_the_trajectory(circle):
    trajectory = circle.run(20, [lambda t, s: s["q"], event(lambda t, s: s["p"], terminal=True)])
    assert isinstance(trajectory.outcome, StoppedByEvent)
    assert trajectory.outcome.event == 1
    # The zero of p at the start is no event: the next is at pi.
    with mpmath.workdps(50):
        assert abs(trajectory.outcome.time - mpmath.pi) < circle.tolerance
    assert trajectory.times[-1] == trajectory.outcome.time == trajectory.events[1][0][0]
    assert len(trajectory.events[0]) == 1
    assert abs(trajectory.final["q"] + 1) < circle.tolerance
    with pytest.raises(ValueError, match="lies outside the trajectory"):
        trajectory.at(4)


def test_terminal_after_some_occurrences(circle):
    trajectory = circle.run(100, event(lambda t, s: s["p"], terminal=3, direction=-1))
    # Falling zeros of -sin t: 2 pi, 4 pi, 6 pi.
    assert len(trajectory.events[0]) == 3
    assert float(trajectory.outcome.time) == pytest.approx(6 * math.pi, abs=1e-8)


def test_several_roots_in_one_step_are_found():
    # x' = 1 is solved exactly by a single step over the whole time span.
    from numeric.kernel import Argument, Kernel

    def series(order, x0, arithmetic):
        return ([x0, mpmath.mpf(1)] + [mpmath.mpf(0)] * (order - 1),)

    clock = Kernel("clock", "numpy", "", (Argument("x", (), "real"),), (), lambda: lambda x: (np.ones_like(x),), series)
    trajectory = integrate(clock, {"x": 0}, (0, 1), {}, events=lambda t, s: (s["x"] - 0.3) * (s["x"] - 0.7), digits=20)
    assert len(trajectory.times) == 2
    with mpmath.workdps(20):
        assert [abs(t - e) < 1e-19 for (t, _), e in zip(trajectory.events[0], (0.3, 0.7), strict=True)] == [True, True]


def test_an_event_of_a_zero_at_a_sample_is_found_once(kernels):
    # The step ends exactly at the end of the time span, where the event function vanishes.
    def half(t, state):
        return t - mpmath.mpf(1) / 2

    trajectory = integrate(kernels.square, {"x": 1}, (0, "1/2"), {}, events=half, digits=20)
    assert [float(t) for t, _ in trajectory.events[0]] == [0.5]
