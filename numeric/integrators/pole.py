"""Locate a blow-up ahead from Taylor coefficients: the zero of a power of the reciprocal.

When a component behaves like C (t* - t)^(-alpha) times an analytic function, with alpha a simple fraction, then
g = |x|^(-1/alpha) is analytic at t*, with a simple zero there. Its series, computed from that of x, converges beyond
t*, up to the next singularity, so that t* follows with many digits from some way off.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import mpmath

from numeric.integrators.majorant import log2_size, majorant, power_of_two

#: Exponents are tried when they have a denominator up to 4 and the estimate from the last coefficients is this close. A
#: wrong one does no harm: its g is not analytic at t*, and the bound of its remainder never becomes small.
LARGEST_DENOMINATOR, EXPONENT_SLACK = 4, 0.02

#: What rounding may have cost the series of g, in bits.
LOST_BITS = 20

NEWTON_STEPS = 60


@dataclass(frozen=True)
class Pole:
    """A singularity at `distance` ahead, up to `radius`; |x| (t* - t)^exponent -> rate."""

    distance: Any
    radius: Any
    exponent: Fraction
    rate: Any


def grows_to_singularity(component: Sequence[Any]) -> bool:
    """Whether the late coefficients all have the sign of the first: the nearest singularity is real and ahead."""
    return bool(component[0]) and all(c * component[0] > 0 for c in component[len(component) // 2:])


def pole_ahead(component: Sequence[Any]) -> Pole | None:
    """The pole of a component that grows towards a real singularity, or None when it cannot be told from here.

    The zero r of the truncated series G of g is that of g up to `radius`, because the remainder bound of
    `numeric.integrators.majorant` leaves g > 0 at r - radius and g < 0 at r + radius.
    """
    exponent = _exponent(component)
    if exponent is None:
        return None
    power = mpmath.mpf(exponent.denominator) / exponent.numerator
    series = power_series([c * mpmath.sign(component[0]) for c in component], -power)
    root = _first_zero(series)
    if root is None:
        return None
    distance, slope = root
    rounding = mpmath.ldexp(series[0], LOST_BITS - mpmath.mp.prec)
    # Coefficients that rounding alone can explain are taken for zero: often all but a few are.
    monomials = powers(distance, len(series))
    fit = majorant([log2_size(c) if abs(c) * m > rounding else -math.inf for c, m in zip(series, monomials, strict=True)])
    remainder = power_of_two(fit.log2_remainder(log2_size(distance))) + rounding
    if mpmath.isinf(remainder):
        return None
    radius = 2 * remainder / -slope
    if not (evaluate(series, distance - radius) > remainder and evaluate(series, distance + radius) < -remainder):
        return None
    return Pole(distance, radius, exponent, (-slope) ** (-1 / power))


def power_series(x: Sequence[Any], exponent: Any) -> list[Any]:
    """The Taylor coefficients of x^a from those of x: k x_0 g_k = sum_{j=1..k} (a j - (k - j)) x_j g_{k-j}.

    >>> [int(c) for c in power_series([mpmath.mpf(1), mpmath.mpf(-1), 0, 0, 0], -1)]    # 1/(1 - h)
    [1, 1, 1, 1, 1]
    """
    series = [x[0] ** exponent]
    weighted = [exponent * j * c for j, c in enumerate(x)]
    for k in range(1, len(x)):
        weights = [weighted[j] - (k - j) * x[j] for j in range(1, k + 1)]
        series.append(mpmath.fdot(weights, series[::-1]) / (k * x[0]))
    return series


def evaluate(series: Sequence[Any], h: Any) -> Any:
    """The polynomial with these coefficients at h."""
    return mpmath.fdot(series, powers(h, len(series)))


def powers(h: Any, count: int) -> list[Any]:
    """1, h, h^2, ... (count of them)."""
    result = [mpmath.mpf(1)]
    for _ in range(count - 1):
        result.append(result[-1] * h)
    return result


def _exponent(component: Sequence[Any]) -> Fraction | None:
    """alpha from the last three coefficients, as a simple fraction, or None when it is none.

    For C (t* - t)^(-alpha) the ratio of successive coefficients is (k - 1 + alpha)/(k rho), so that k times the
    ratio is linear in k: slope 1/rho and, at k = 0, the value (alpha - 1)/rho.
    """
    last = len(component) - 1
    ratio = last * component[last] / component[last - 1]
    slope = ratio - (last - 1) * component[last - 1] / component[last - 2]
    if slope <= 0:
        return None
    estimate = float(ratio / slope) - last + 1
    exponent = Fraction(estimate).limit_denominator(LARGEST_DENOMINATOR)
    return exponent if exponent > 0 and abs(estimate - exponent) < EXPONENT_SLACK else None


def _first_zero(series: Sequence[Any]) -> tuple[Any, Any] | None:
    """The zero of a polynomial nearest ahead of 0 and the slope there, by Newton's method from 0."""
    derivative = [k * c for k, c in enumerate(series)][1:]
    h = mpmath.mpf(0)
    settled = mpmath.mpf(2) ** (10 - mpmath.mp.prec)
    for _ in range(NEWTON_STEPS):
        slope = evaluate(derivative, h)
        if slope >= 0:
            return None
        change = evaluate(series, h) / slope
        h -= change
        if h <= 0:
            return None
        if abs(change) <= settled * h:
            return h, slope
    return None
