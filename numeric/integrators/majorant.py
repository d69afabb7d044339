"""The error bound of a truncated Taylor series, from which order and step are chosen.

Hypothesis: a geometric majorant. For all k beyond half the order K the largest modulus among the k-th coefficients
obeys |c_k| <= M rho^-k. Then the remainder after order K at a step h < rho is

    |sum_{k>K} c_k h^k|  <=  M (h/rho)^(K+1) / (1 - h/rho).

By Cauchy's estimate such M exists for every rho below the radius of convergence. Both are read off the computed
coefficients: rho is the mean rate at which they fall from the third to the fourth quarter of 0..K, taken between the
peaks of |c_k| rho^k in each (so that zeros and oscillations do no harm), and M is twice the smallest constant with
which the hypothesis holds for every computed coefficient of the second half. What lies beyond K is extrapolated: this
is the one assumption, and it matters little, as the steps chosen have h/rho near 1/5.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np

#: No step comes closer to the estimated radius of convergence than this part of it.
LARGEST_RATIO = 0.9

#: The peaks of |c_k| rho^k depend on rho, which is found from them: after three rounds it hardly changes.
PEAK_ROUNDS = 3


@dataclass(frozen=True)
class Majorant:
    """M and rho as base 2 logarithms, since both may lie far outside the range of doubles; rho may be infinite."""

    order: int
    log2_bound: float
    log2_radius: float

    def log2_step(self, log2_tolerance: float) -> float:
        """The largest h (almost) whose remainder is at most the tolerance."""
        if self.log2_radius == math.inf:
            return math.inf
        # With q0 = (tolerance/M)^(1/(K+1)) and h/rho = q0 (1 - q0)^(1/(K+1)) <= q0 the bound is
        # q0^(K+1) (1 - q0)/(1 - h/rho) M <= tolerance.
        log2_ratio = min((log2_tolerance - self.log2_bound) / (self.order + 1), math.log2(LARGEST_RATIO))
        return self.log2_radius + log2_ratio + math.log2(1 - 2**log2_ratio) / (self.order + 1)

    def log2_remainder(self, log2_step: float) -> float:
        """The bound of the remainder at a step; infinite beyond the radius."""
        if self.log2_radius == math.inf:
            return -math.inf
        log2_ratio = log2_step - self.log2_radius
        if log2_ratio >= 0:
            return math.inf
        return self.log2_bound + (self.order + 1) * log2_ratio - math.log2(1 - 2**log2_ratio)


def majorant(log2_sizes: Sequence[float]) -> Majorant:
    """The majorant of a series whose coefficients 0..K have the given base 2 logarithms of their moduli.

    >>> fit = majorant([3.0 - k for k in range(21)])    # |c_k| = 8 / 2^k
    >>> fit.log2_bound, fit.log2_radius
    (4.0, 1.0)
    """
    sizes, order = np.asarray(log2_sizes), len(log2_sizes) - 1
    half, three_quarters = order // 2, 3 * order // 4
    if sizes[three_quarters + 1 :].max() == -math.inf:
        return Majorant(order, -math.inf, math.inf)
    # A third quarter of zeros says nothing: then all that comes before the fourth.
    begin = 0 if sizes[half + 1 : three_quarters + 1].max(initial=-math.inf) == -math.inf else half + 1
    orders, log2_radius = np.arange(order + 1), 0.0
    for _ in range(PEAK_ROUNDS):
        scaled = sizes + log2_radius * orders
        early = begin + int(scaled[begin : three_quarters + 1].argmax())
        late = three_quarters + 1 + int(scaled[three_quarters + 1 :].argmax())
        log2_radius = float(sizes[early] - sizes[late]) / (late - early)
    bound = float((sizes + log2_radius * orders)[half + 1 :].max())
    return Majorant(order, 1 + bound, log2_radius)


def log2_size(number: Any) -> float:
    """The base 2 logarithm of |x| for numbers outside the range of doubles too; -inf for zero.

    >>> log2_size(mpmath.mpf(2)**-5000)
    -5000.0
    """
    if not number:
        return -math.inf
    mantissa, exponent = mpmath.frexp(abs(number))
    return math.log2(mantissa) + exponent


def power_of_two(exponent: float) -> Any:
    """2^x, the inverse of `log2_size`, as precise as x."""
    if math.isinf(exponent):
        return mpmath.inf if exponent > 0 else mpmath.mpf(0)
    return mpmath.ldexp(mpmath.mpf(2.0 ** (exponent % 1)), math.floor(exponent))
