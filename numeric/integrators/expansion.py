"""Taylor coefficients of the solution through a state, as the Taylor integrator uses them.

`Multiprecision` gives every coefficient to working precision, with gmpy2's numbers. `Doubles` gives 16 digits, which is
all that the pilots need.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import gmpy2
import mpmath
import numpy as np

from numeric.backends.gmpy2 import arithmetic, from_mpmath, to_mpmath
from numeric.backends.numpy import arithmetic as double_arithmetic
from numeric.integrators.majorant import log2_size
from numeric.kernel import Kernel
from numeric.layout import Layout, real_arrays

#: Doubles within 2^±500 can be multiplied without overflow or underflow.
LOG2_RANGE = 500


@dataclass(frozen=True)
class Expansion:
    """The solution through one state.

    `sizes` are the base 2 logarithms of the largest coefficient of each order; `components(log2_step)` the
    coefficients of each entry of the flat state, gmpy2's numbers or doubles, as precise as the terms of the series
    need to be on steps up to 2^log2_step.
    """

    sizes: list[float]
    components: Callable[[float], list[list[Any]]]


#: From a flat state to the expansion there, or None where this way of computing it does not serve.
Expand = Callable[[np.ndarray], Expansion | None]


def gmpy2_precision() -> Any:
    """A scope in which gmpy2 works as precisely as mpmath, and division by zero is an error in it too."""
    return gmpy2.context(precision=mpmath.mp.prec, trap_divzero=True)


class Multiprecision:
    """Coefficients at the working precision. There are none where the right-hand side is not defined."""

    def __init__(self, kernel: Kernel, layout: Layout, parameters: dict[str, Any], order: int):
        self.kernel, self.layout, self.order = kernel, layout, order
        with gmpy2_precision():
            self.parameters = [from_mpmath(array) for array in real_arrays(kernel.parameters, parameters)]

    def __call__(self, flat: np.ndarray) -> Expansion | None:
        with gmpy2_precision():
            try:
                state = map(from_mpmath, self.layout.split(flat))
                series = self.kernel.recurrence()(self.order, *state, *self.parameters, arithmetic)
                coefficients = from_mpmath(_stack(series))  # kernels written by hand may hold other constants
            except ZeroDivisionError:
                return None
            if not all(map(gmpy2.is_finite, coefficients[-1])):
                return None
            sizes = [log2_size(to_mpmath(size)) for size in np.abs(coefficients).max(axis=1)]
            return Expansion(sizes, lambda log2_step: coefficients.T.tolist())


class Doubles:
    """Coefficients in double precision, as long as none of them is far from 1 in size."""

    def __init__(self, kernel: Kernel, layout: Layout, parameters: dict[str, Any], order: int):
        self.kernel, self.layout, self.order = kernel, layout, order
        self.parameters = [_doubles(array) for array in real_arrays(kernel.parameters, parameters)]

    def __call__(self, flat: np.ndarray) -> Expansion | None:
        with np.errstate(all="ignore"):
            try:
                state = map(_doubles, self.layout.split(flat))
                series = self.kernel.recurrence()(self.order, *state, *self.parameters, double_arithmetic)
                coefficients = _stack(series).astype(float)
            except (ArithmeticError, np.linalg.LinAlgError):
                return None
        largest = np.abs(coefficients).max(axis=1).tolist()
        if not all(map(math.isfinite, largest)):
            return None
        sizes = [math.log2(size) if size else -math.inf for size in largest]
        if not all(abs(size) < LOG2_RANGE for size in sizes if size > -math.inf):
            return None
        return Expansion(sizes, lambda log2_step: coefficients.T.tolist())


def _doubles(value: Any) -> Any:
    return value.astype(float) if isinstance(value, np.ndarray) else float(value)


def _stack(series: Sequence[Sequence[Any]]) -> np.ndarray:
    """The coefficients of all real state arrays as one array: orders x components of the flat state."""
    return np.concatenate(
        [np.array([np.ravel(c) for c in coefficients], dtype=object) for coefficients in series], axis=1
    )
