"""Follow an integrator step by step and locate events on its dense output."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import mpmath
import numpy as np

from numeric.layout import Layout
from numeric.outcome import BlewUp, Outcome, StoppedByEvent
from numeric.trajectory import Piece, Solution

#: Points per step at which an event function is sampled. Steps are short against the radius of convergence, so that
#: two sign changes between samples are two nearly coincident roots.
SAMPLES = 5


class Watch:
    """One event function along the solution: remembers the last sample whose sign was known."""

    def __init__(
        self,
        function: Callable[..., Any],
        layout: Layout,
        number: Callable[[Any], Any],
        start: Any,
        initial: np.ndarray,
    ):
        self.function, self.layout, self.number = function, layout, number
        self.direction = getattr(function, "direction", 0)
        # As in SciPy: True stops at the first occurrence, an integer at that many.
        self.stop_after = int(getattr(function, "terminal", False))
        # A zero at the start is no event: orbits are often started on the section they return to.
        self.time, self.value = start, self._value(start, initial)

    def _value(self, time: Any, flat: np.ndarray) -> Any:
        return self.number(self.function(time, self.layout.unflatten(flat)))

    def crossings(self, piece: Piece, epsilon: float) -> Iterator[Any]:
        """The times in the piece at which the event function changes sign in the wanted direction."""
        for k in range(1, SAMPLES + 1):
            time = piece.start + (piece.end - piece.start) * k / SAMPLES if k < SAMPLES else piece.end
            value = self._value(time, piece.final if k == SAMPLES else piece.evaluate(time))
            before, before_time = self.value, self.time
            self.time, self.value = time, value
            rising = before < 0 <= value
            falling = before > 0 >= value
            if (rising and self.direction >= 0) or (falling and self.direction <= 0):
                yield bracketed_root(
                    lambda t: self._value(t, piece.evaluate(t)), before_time, time, before, value, epsilon
                )


def follow(
    steps: Iterator[Piece | Outcome],
    layout: Layout,
    start: Any,
    initial: np.ndarray,
    functions: Sequence[Callable[..., Any]],
    precision: int | None,
) -> Solution:
    """Run an integrator to its outcome, or to the first terminal event.

    `precision` is that of the numbers in use, in bits, or None for doubles; roots of event functions are located to
    a few units in the last place.
    """
    number = float if precision is None else mpmath.mpmathify
    epsilon = float(np.finfo(float).eps) if precision is None else mpmath.ldexp(1, -precision)
    watches = [Watch(function, layout, number, start, initial) for function in functions]
    pieces: list[Piece] = []
    events: list[list[tuple[Any, np.ndarray]]] = [[] for _ in functions]
    for step in steps:
        if not isinstance(step, Piece):
            if isinstance(step, BlewUp):
                # Beyond the lower end of the bracket the error exceeds the state itself.
                pieces = [piece for piece in pieces if piece.end <= step.time]
                events = [[event for event in found if event[0] <= step.time] for found in events]
            return Solution(layout, start, initial, pieces, events, step, precision)
        found = sorted((time, event) for event, watch in enumerate(watches) for time in watch.crossings(step, epsilon))
        for time, event in found:
            flat = step.final if time == step.end else step.evaluate(time)
            events[event].append((time, flat))
            if len(events[event]) == watches[event].stop_after:
                pieces.append(Piece(step.start, time, step.evaluate, flat))
                return Solution(layout, start, initial, pieces, events, StoppedByEvent(time, event), precision)
        pieces.append(step)
    raise AssertionError("an integrator ended without an outcome")


def bracketed_root(
    function: Callable[[Any], Any], low: Any, high: Any, at_low: Any, at_high: Any, epsilon: float
) -> Any:
    """A root between two points at which the function has opposite signs, by Chandrupatla's method.

    Inverse quadratic interpolation where it is safe and bisection elsewhere; the bracket always holds the root, and
    the result is off by at most a few epsilon relative to the larger end (to the width, when that is larger).

    >>> round(bracketed_root(lambda x: x**3 - 2, 1.0, 2.0, -1.0, 6.0, 2**-52), 12)
    1.259921049895
    """
    if at_high == 0:
        return high
    a, b, fa, fb = high, low, at_high, at_low
    c, fc = a, fa
    scale = max(abs(low), abs(high), abs(high - low)) * epsilon
    fraction: Any = 0.5
    while True:
        t = a + fraction * (b - a)
        ft = function(t)
        if ft == 0:
            return t
        if (ft > 0) == (fa > 0):
            c, fc = a, fa
        else:
            c, b, fc, fb = b, a, fb, fa
        a, fa = t, ft
        best = a if abs(fa) < abs(fb) else b
        tolerance = 2 * scale / abs(b - a)
        if tolerance >= 0.5:
            return best
        x = (a - b) / (c - b)
        y = (fa - fb) / (fc - fb)
        fraction = 0.5
        if y * y < x and (1 - y) * (1 - y) < 1 - x:
            fraction = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
        fraction = min(max(fraction, tolerance), 1 - tolerance)
