"""The covariance factor in double precision, for any V: L' = (A + V LLᵀ B) L, by Taylor series.

The Taylor coefficients are those of the kernel "gaussian_factor". A step of order p takes a few products of matrices
for each order (`numeric.integrators.stacked`), and O(p² d² r) operations for L of shape d × r. The errors are those of
rounding, and the polynomial gives the solution at any time within the step.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from numeric.integrators.stacked import stacked_arithmetic
from numeric.kernels import load_kernel
from numeric.matrices import EPS

#: Steps are ε^(1/p) of the distance to the nearest singularity, a fifth. Lower orders need more of them, and in higher
#: ones the work per order grows; from 20 to 28 the cost is nearly the same.
ORDER = 24

#: How many of the last coefficients bound the step: several, as all but every second or third of them may vanish.
LAST = 4

#: How much longer than the last a step may be. Coefficients that have underflowed would not bound it.
GROWTH = 100.0

MAX_STEPS = 50_000


@np.errstate(over="ignore", invalid="ignore")
def factors_at(
    A: np.ndarray, B: np.ndarray, V: np.ndarray, L: np.ndarray, times: np.ndarray
) -> tuple[np.ndarray, float]:
    """L at those of the increasing times >= 0 that are before its blow-up, and the time of that: inf for none in reach.

    Steps shrink in proportion to the time left to a blow-up. It counts as reached when they vanish against the time
    passed: the solution is then singular within some roundings of it.

    Raises
    ------
    ArithmeticError
        When there are too many steps, or numbers leave the range of double precision.
    """
    now, end = 0.0, float(times[-1])
    rate = np.linalg.norm(A) + np.linalg.norm(V) * np.linalg.norm(B) * np.linalg.norm(L) ** 2
    unit = end / max(float(rate) * end, 1.0)
    found = [L[None][times[:1] == 0]]
    ahead = times[times > 0]
    for _ in range(MAX_STEPS):
        if not len(ahead):
            return np.concatenate(found), math.inf
        # In units of |L| and of the last step, so that the coefficients do not leave the range of doubles.
        size = np.abs(L).max() or 1.0
        series = _coefficients(unit * A, size * size * B, unit * V, L / size)
        if not np.isfinite(series[-1]).all():
            raise ArithmeticError(f"the factored flow leaves the range of double precision near t = {now:.6g}")
        radius = unit * _radius(series)
        step = EPS ** (1 / ORDER) * radius
        if step <= 4 * EPS * now:
            return np.concatenate(found), now + radius
        reached = min(now + step, end)
        inside = int(np.searchsorted(ahead, reached, side="right"))
        *values, L = size * _values(series, (np.append(ahead[:inside], reached) - now) / unit)
        found.append(np.reshape(values, (inside, *L.shape)))
        ahead = ahead[inside:]
        now, unit = reached, min(step, end - reached)
    raise ArithmeticError(f"the factored flow did not get beyond t = {now:.6g} in {MAX_STEPS} steps")


def _coefficients(A: np.ndarray, B: np.ndarray, V: np.ndarray, L: np.ndarray) -> np.ndarray:
    """The Taylor coefficients of L, along a first axis."""
    mean = np.zeros(len(L))
    _, factors = _recurrence()(ORDER, mean, L, B, V, A, mean, stacked_arithmetic(ORDER))
    return np.array(factors)


@cache
def _recurrence() -> Callable[..., tuple[list[Any], ...]]:
    return load_kernel("gaussian_factor").recurrence()


def _radius(series: np.ndarray) -> float:
    """The radius of convergence, as the last coefficients show it."""
    sizes = np.abs(series).max(axis=(1, 2))
    roots = [(sizes[0] / sizes[k]) ** (1 / k) for k in range(ORDER + 1 - LAST, ORDER + 1) if sizes[k] > 0]
    return float(min([GROWTH / EPS ** (1 / ORDER), *roots]))


def _values(series: np.ndarray, times: np.ndarray) -> np.ndarray:
    """The polynomial at these times."""
    powers = np.vander(times, ORDER + 1, increasing=True)
    return (powers @ series.reshape(ORDER + 1, -1)).reshape(-1, *series.shape[1:])
