"""Recognise a blow-up while a Taylor integration approaches it, and bracket its time."""

from __future__ import annotations

import math
from collections import deque
from typing import Any

import mpmath
import numpy as np

from numeric.backends.gmpy2 import to_mpmath
from numeric.integrators.expansion import Expansion
from numeric.integrators.majorant import log2_size, power_of_two
from numeric.integrators.pole import pole_ahead, square_norm
from numeric.layout import Layout
from numeric.outcome import BlewUp

#: A blow-up is looked for when the time left is this small against the time passed since the start; one whose kind is
#: not recognised is followed until the radius of convergence is this small.
NEAR, NEAREST = 1e-3, 1e-10

#: How many successive estimates of t* must agree where there is no bound for the error of one.
ESTIMATES = 4

SETTLED = "t* is no isolated pole, so no remainder bound holds there: the bracket is where successive estimates settled"
UNKNOWN = "not recognised as a power of t* - t: the upper end is twice the radius of convergence there"


class Approach:
    """The successive estimates of t* along one integration.

    The bracket is, in this order: the interval that the remainder bound leaves for the pole (`pole_ahead`); where the
    leading power is recognised but corrections to it are not analytic at t*, the last estimates of t*, widened by twice
    their spread; otherwise from the time reached to twice the radius of convergence there.

    `tolerance` is the half-width, relative to the time passed, at which a bracket is tight enough, and `error` the
    relative error of t* that comes from the state.
    """

    def __init__(self, layout: Layout, start: Any, tolerance: Any, error: Any):
        self.layout, self.start, self.tolerance, self.error = layout, start, tolerance, error
        self.estimates: deque[Any] = deque(maxlen=ESTIMATES)

    def is_near(self, expansion: Expansion, time: Any) -> bool:
        """Whether there may be a blow-up so near to `time` that it is looked for."""
        is_small = expansion.fit.log2_radius <= math.log2(2 * NEAR) + log2_size(time - self.start)
        return is_small and _grows(expansion.leading)

    def outcome(self, expansion: Expansion, time: Any) -> BlewUp | None:
        """The blow-up ahead of `time`, once its bracket is tight, or as tight as it gets.

        Near a blow-up the expansion must be one to working precision; elsewhere it is not looked at.
        """
        state = expansion.polynomials(expansion.fit.log2_radius) if self.is_near(expansion, time) else None
        if state is None:
            self.estimates.clear()
            return None
        passed = time - self.start
        radius = power_of_two(expansion.fit.log2_radius)
        coefficients = to_mpmath(np.array(state.coefficients, dtype=object).T)
        name, block = self.layout.largest(coefficients[-1])
        pole = pole_ahead(square_norm(coefficients[:, block].T.tolist()))
        # A singularity of another array might come first: then the majorant's radius is shorter than the distance.
        if pole is None or pole.distance > min(NEAR * passed, 1.5 * radius):
            self.estimates.clear()
            if radius < NEAREST * passed:
                return BlewUp(name, (time, time + 2 * radius), note=UNKNOWN)
            return None
        estimate = time + pole.distance
        self.estimates.append(estimate)
        if pole.radius <= self.tolerance * passed:
            half, note = pole.radius, ""
        elif len(self.estimates) == ESTIMATES:
            half, note = 2 * (max(self.estimates) - min(self.estimates)), SETTLED
        else:
            return None
        if half > self.tolerance * passed:
            return None
        half += self.error * passed
        return BlewUp(name, (estimate - half, estimate + half), pole.rate, pole.exponent, note)


def _grows(series: np.ndarray) -> bool:
    """Whether the late coefficients all have the sign of the first: growth towards a real singularity ahead."""
    return all(series[len(series) // 2 :] * series[0] > 0)


def end_of_trust(outcome: BlewUp, start: Any) -> Any:
    """The time from which on an error of t* costs the state more than the factor 1/NEAR that guard digits cover."""
    last = outcome.bracket[1]
    return last - mpmath.mpf(NEAR) * (last - start)
