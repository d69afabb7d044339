"""A reference for solutions in multiple precision, by a method that no side of a comparison uses.

Gragg's modified midpoint rule with 2, 4, 6, ... substeps, extrapolated by the scheme of Aitken and Neville (Hairer,
Nørsett, Wanner, "Solving Ordinary Differential Equations I", section II.9). It evaluates the right-hand side only: no
Taylor series, and no error control. How accurate it is shows in a run with more steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np

#: Columns of the extrapolation: its order is twice that.
COLUMNS = 22


def extrapolated(rhs: Callable[[np.ndarray], np.ndarray], start: np.ndarray, end: Any, steps: int) -> np.ndarray:
    """x(end), where x' = rhs(x) and x(0) = start, with steps of equal length at mpmath's current precision."""
    step, state = mpmath.mpmathify(end) / steps, start
    for _ in range(steps):
        slope, row = rhs(state), []
        for column in range(COLUMNS):
            row = _refined(row, _midpoint(rhs, state, slope, step, 2 * (column + 1)), column)
        state = row[-1]
    return state


def _midpoint(rhs: Callable[..., np.ndarray], state: np.ndarray, slope: np.ndarray, step: Any, count: int) -> Any:
    h = step / count
    before, now = state, state + h * slope
    for _ in range(count - 1):
        before, now = now, before + 2 * h * rhs(now)
    return (before + now + h * rhs(now)) / 2  # Gragg's smoothing


def _refined(row: list[np.ndarray], value: np.ndarray, column: int) -> list[np.ndarray]:
    """The next row of the scheme, from the errors' expansion in squares of the substeps."""
    refined = [value]
    for back, previous in enumerate(row):
        ratio = mpmath.mpf(column + 1) / (column - back)
        refined.append(refined[-1] + (refined[-1] - previous) / (ratio**2 - 1))
    return refined
