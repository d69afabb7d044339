"""What it means in double precision that an integrator's steps vanish against the time: a blow-up, or something else.

The time at which an integrator gives up near a blow-up is its own estimate of t*. How wrong that is shows in a second
run with coarser tolerances: the difference is the half-width of the bracket.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from numeric.integrators.pole import simple_exponent
from numeric.layout import Layout
from numeric.outcome import BlewUp, Outcome, StepLimit

#: Giving up is a blow-up when the state grows by its own size within this part of the time passed.
GROWTH = 1e-6

#: The second run's tolerances over the first's. Its error, and so the bracket, is larger by about this factor.
COARSER = 100.0
COARSEST = 1e-2

#: The exponent and the rate are read at a distance from t* of this many half-widths of the bracket, where the error of
#: t* no longer matters.
CLEAR_OF_ERROR = 1e4

#: Time, flat state, and its rate of change.
Entry = tuple[float, np.ndarray, np.ndarray]


def failure(history: Sequence[Entry], layout: Layout, rtol: float, coarse_end: Callable[[], float]) -> Outcome:
    """Why the steps became too small: a blow-up, or something else.

    `coarse_end` is the time at which a run with COARSER tolerances gives up.
    """
    start = history[0][0]
    last, flat, _ = history[-1]
    name, block = layout.largest(flat)
    left = growth_time(history[-1], block)
    if not 0 < left < GROWTH * (last - start):
        return StepLimit(
            last,
            "the steps became too small to change the time, but the state does not grow fast "
            "enough for a blow-up: the right-hand side is singular there or too large for doubles",
        )
    time = last + left
    radius = max(abs(time - coarse_end()), rtol * (time - start), 4 * np.spacing(time))
    bracket = (float(time - radius), float(time + radius))
    exponent, rate = power(history, block, time, CLEAR_OF_ERROR * radius)
    return BlewUp(name, bracket, rate, exponent, "" if exponent else "not recognised as a power of t* - t")


def growth_time(entry: Entry, block: slice) -> float:
    """|X|/|X|' of a state array: (t* - t)/alpha near C (t* - t)^(-alpha)."""
    _, flat, rate = entry
    state = flat[block] / np.abs(flat[block]).max()  # whose square does not overflow
    return float(np.abs(flat[block]).max() * (state @ state) / (state @ rate[block]))


def power(history: Sequence[Entry], block: slice, time: float, distance: float) -> tuple[Fraction | None, float | None]:
    """The exponent alpha and the constant C of an array whose norm behaves like C (t* - t)^(-alpha).

    They are read off two steps, one about `distance` from t*, the other ten times as far: |X|/|X|' falls with slope
    1/alpha, and |X| (t* - t)^alpha is extrapolated linearly to t*.
    """
    near = next((entry for entry in reversed(history) if time - entry[0] >= distance), history[0])
    far = next((entry for entry in reversed(history) if time - entry[0] >= 10 * (time - near[0])), history[0])
    d_near, d_far = time - near[0], time - far[0]
    if d_near == d_far:
        return None, None
    slope = (growth_time(far, block) - growth_time(near, block)) / (d_far - d_near)
    exponent = simple_exponent(1 / slope) if slope > 0 else None
    if exponent is None:
        return None, None
    c_near, c_far = (
        float(np.linalg.norm(flat[block])) * d ** float(exponent) for (_, flat, _), d in ((near, d_near), (far, d_far))
    )
    return exponent, (c_near * d_far - c_far * d_near) / (d_far - d_near)
