"""Locate a blow-up ahead from Taylor coefficients: the zero of a power of the reciprocal.

What is looked at is N = |X|^2, the sum of squares of all entries of a state array X. Unlike the entries, which may mix
several kinds of growth, it commonly behaves like C^2 (t* - t)^(-2 alpha) times an analytic function. Then
g = N^(-1/(2 alpha)) is analytic at t*, with a simple zero there. Its series, computed from that of N, converges beyond
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

#: Exponents are tried when they have a denominator up to 4 and the estimate from the last coefficients is this close,
#: half the least distance of two such. A wrong one does no harm: its g is not analytic at t*, and the bound of its
#: remainder never becomes small.
LARGEST_EXPONENT, LARGEST_DENOMINATOR, EXPONENT_SLACK = 20, 4, 1 / 24

#: How far beyond t* the series of g must converge (radius of convergence over distance, as a base 2 logarithm) to count
#: as analytic there. From coefficients of a function that is not, which fall like a power of k, it appears to converge
#: a little beyond t*.
CLEARANCE = 1.0

#: What rounding may have cost the series of g, in bits, besides its largest terms.
LOST_BITS = 20

NEWTON_STEPS = 60


@dataclass(frozen=True)
class Pole:
    """A singularity at `distance` ahead, up to `radius`; |X| (t* - t)^exponent -> rate.

    The radius is infinite when g is not analytic at t*: then the distance is an estimate without a bound.
    """

    distance: Any
    radius: Any
    exponent: Fraction
    rate: Any


def square_norm(components: Sequence[Sequence[Any]]) -> list[Any]:
    """The Taylor coefficients of the sum of squares of several series."""
    reverses = [series[::-1] for series in components]
    count = len(components[0])
    return [
        mpmath.fsum(mpmath.fdot(series[:k + 1], reverse[count - 1 - k:])
                    for series, reverse in zip(components, reverses, strict=True))
        for k in range(count)
    ]


def pole_ahead(square: Sequence[Any]) -> Pole | None:
    """The pole ahead of an array whose square norm has these coefficients; None when there is none to be seen.

    The zero r of the truncated series G of g is that of g up to `radius`, because the remainder bound of
    `numeric.integrators.majorant` leaves g > 0 at r - radius and g < 0 at r + radius.
    """
    double = _exponent(square)
    if double is None:
        return None
    series = power_series(square, -mpmath.mpf(double.denominator) / double.numerator)
    root = _first_zero(series)
    if root is None:
        return None
    distance, slope = root
    monomials = powers(distance, len(series))
    # As large as the rounding of the largest term of N, relative to N. Coefficients that this alone can explain are
    # taken for zero: often all but a few are.
    largest = max(c * monomial for c, monomial in zip(square, monomials, strict=True))
    rounding = mpmath.ldexp(series[0] * largest / square[0], LOST_BITS - mpmath.mp.prec)
    terms = zip(series, monomials, strict=True)
    fit = majorant([log2_size(c) if abs(c) * monomial > rounding else -math.inf for c, monomial in terms])
    remainder = power_of_two(fit.log2_remainder(log2_size(distance))) + rounding
    radius = 2 * remainder / -slope
    if log2_size(distance) > fit.log2_radius - CLEARANCE:
        radius = mpmath.inf
    else:
        below, above = evaluate(series, distance - radius), evaluate(series, distance + radius)
        if not (below > remainder and above < -remainder):
            radius = mpmath.inf
    return Pole(distance, radius, double / 2, (-slope) ** (-mpmath.mpf(double.numerator) / (2 * double.denominator)))


def simple_exponent(estimate: Any) -> Fraction | None:
    """The exponent of a pole that an estimate stands for, or None when it stands for none.

    >>> simple_exponent(0.499), simple_exponent(0.9), simple_exponent(-1)
    (Fraction(1, 2), None, None)
    """
    if not 0 < estimate < LARGEST_EXPONENT:
        return None
    exponent = Fraction(float(estimate)).limit_denominator(LARGEST_DENOMINATOR)
    return exponent if exponent > 0 and abs(estimate - float(exponent)) < EXPONENT_SLACK else None


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


def _exponent(series: Sequence[Any]) -> Fraction | None:
    """alpha from the last three coefficients, as a simple fraction, or None when it is none.

    For (t* - t)^(-alpha) the ratio of successive coefficients is (k - 1 + alpha)/(k rho), so that k times the
    ratio is linear in k: slope 1/rho and, at k = 0, the value (alpha - 1)/rho.
    """
    last = len(series) - 1
    ratio = last * series[last] / series[last - 1]
    slope = ratio - (last - 1) * series[last - 1] / series[last - 2]
    return simple_exponent(ratio / slope - last + 1) if slope > 0 else None


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
