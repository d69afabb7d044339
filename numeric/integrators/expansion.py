"""Taylor coefficients of the solution through a state, as the Taylor integrator uses them.

`Multiprecision` gives every coefficient to working precision, with gmpy2's numbers. `Doubles` gives 16 digits, which is
all that the pilots need.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, repeat
from operator import mul
from typing import Any

import gmpy2
import mpmath
import numpy as np

from numeric.backends.gmpy2 import arithmetic, dot, from_mpmath, to_mpmath
from numeric.integrators.majorant import Majorant, majorant
from numeric.integrators.recurrence import NotRecurrent, recorded
from numeric.integrators.stacked import stacked_arithmetic
from numeric.integrators.whole_numbers import NotFinite, WholeNumbers
from numeric.kernel import Kernel
from numeric.layout import Layout, real_arrays

#: Doubles within 2^±500 can be multiplied without overflow or underflow.
LOG2_RANGE = 500


class Polynomials:
    """The entries of the flat state as polynomials in the time since; `coefficients` are lists of gmpy2's numbers."""

    def __init__(self, coefficients: list[list[Any]]):
        self.coefficients = coefficients

    def __call__(self, h: Any) -> np.ndarray:
        """The values after a time h, as mpmath's numbers."""
        return _values(self.coefficients, h)

    def derivatives(self, h: Any) -> np.ndarray:
        with gmpy2_precision():
            return _values([[k * c for k, c in enumerate(series)][1:] for series in self.coefficients], h)

    @property
    def are_constant(self) -> list[bool]:
        return [not any(series[1:]) for series in self.coefficients]


def _values(coefficients: Sequence[Sequence[Any]], h: Any) -> np.ndarray:
    with gmpy2_precision():
        monomials = list(accumulate(repeat(from_mpmath(h), len(coefficients[0]) - 1), mul, initial=gmpy2.mpfr(1)))
        return to_mpmath(np.array([dot(series, monomials) for series in coefficients], dtype=object))


class DoublePolynomials(Polynomials):
    """Polynomials in double precision: column k of `matrix` has the coefficients of order k, times 2^(k unit)."""

    def __init__(self, matrix: np.ndarray, unit: int = 0):
        self.matrix, self.unit = matrix, unit
        self.orders = np.arange(matrix.shape[1])

    @cached_property
    def coefficients(self) -> list[list[Any]]:  # type: ignore[override]
        with gmpy2_precision():
            powers = [from_mpmath(mpmath.ldexp(1, -self.unit * k)) for k in self.orders.tolist()]
            return [[c * power for c, power in zip(row, powers, strict=True)] for row in self.matrix.tolist()]

    def _terms(self, h: Any) -> np.ndarray:
        # Neither h^k nor the coefficients need be doubles.
        mantissa, exponent = mpmath.frexp(h)
        return np.ldexp(self.matrix, (int(exponent) - self.unit) * self.orders) * float(mantissa) ** self.orders

    def __call__(self, h: Any) -> np.ndarray:
        return _numbers(self._terms(h).sum(axis=1))

    def derivatives(self, h: Any) -> np.ndarray:
        return _numbers(self._terms(h) @ self.orders) / h

    @property
    def are_constant(self) -> list[bool]:
        return [not any(row) for row in self.matrix[:, 1:].tolist()]


def _numbers(doubles: np.ndarray) -> np.ndarray:
    return np.array([mpmath.mpf(x) for x in doubles.tolist()], dtype=object)


@dataclass(frozen=True)
class Expansion:
    """The solution through one state.

    `sizes` are the base 2 logarithms of the largest coefficient of each order; `polynomials(log2_step)` the entries of
    the flat state, as precise as the terms of the series need to be on steps up to 2^log2_step, or None where that
    takes another way of computing the expansion. `leading` are the coefficients of the entry whose last one is largest,
    in any unit of time.
    """

    sizes: list[float]
    leading: np.ndarray
    polynomials: Callable[[float], Polynomials | None]

    @cached_property
    def fit(self) -> Majorant:
        return majorant(self.sizes)


def leading(coefficients: np.ndarray) -> np.ndarray:
    """The column whose last number is largest."""
    column: np.ndarray = coefficients[:, np.abs(coefficients[-1]).argmax()]
    return column


#: From a flat state to the expansion there, or None where this way of computing it does not serve.
Expand = Callable[[np.ndarray], Expansion | None]


def gmpy2_precision() -> Any:
    """A scope in which gmpy2 works as precisely as mpmath, and division by zero is an error in it too."""
    return gmpy2.context(precision=mpmath.mp.prec, trap_divzero=True)


class Multiprecision:
    """Coefficients at the working precision. There are none where the right-hand side is not defined.

    They are computed on whole numbers for steps as long as the radius of convergence at the last state, and on
    floating-point numbers where there was none, where the step is longer, or where the recurrence is no program.
    """

    def __init__(self, kernel: Kernel, layout: Layout, parameters: dict[str, Any], order: int):
        self.kernel, self.layout, self.order = kernel, layout, order
        self.unit: int | None = None
        self.whole_numbers: WholeNumbers | None = None
        with gmpy2_precision():
            self.parameters = [from_mpmath(array) for array in real_arrays(kernel.parameters, parameters)]

    def __call__(self, flat: np.ndarray) -> Expansion | None:
        unit = self.unit
        coefficients = self._coefficients(flat, unit)
        if coefficients is None:
            return None
        sizes = list(map(_log2_size, np.abs(coefficients).max(axis=1)))
        radius = majorant(sizes).log2_radius
        # Terms this small on the step were rounded to fewer digits than a radius needs.
        is_hidden = unit is not None and sizes[-1] + self.order * unit < sizes[0] - mpmath.mp.prec / 2
        self.unit = None if is_hidden or math.isinf(radius) else round(radius)

        def polynomials(log2_step: float) -> Polynomials:
            found = coefficients if unit is None or log2_step <= unit - 1 else self._coefficients(flat, None)
            assert found is not None
            return Polynomials(found.T.tolist())

        return Expansion(sizes, leading(coefficients), polynomials)

    def _coefficients(self, flat: np.ndarray, unit: int | None) -> np.ndarray | None:
        with gmpy2_precision():
            try:
                arrays = [*map(from_mpmath, self.layout.split(flat)), *self.parameters]
                found = None if unit is None else self._in_whole_numbers(arrays, unit)
                if found is None:
                    series = self.kernel.recurrence()(self.order, *arrays, arithmetic)
                    found = from_mpmath(_stack(series))  # kernels written by hand may hold other constants
            except (ZeroDivisionError, NotFinite):
                return None
            return found if all(map(gmpy2.is_finite, found[-1])) else None

    def _in_whole_numbers(self, arrays: Sequence[Any], unit: int) -> np.ndarray | None:
        try:
            program, initial, entries = recorded(self.kernel.recurrence(), arrays)
        except NotRecurrent:
            return None
        if self.whole_numbers is None or self.whole_numbers.program is not program:
            self.whole_numbers = WholeNumbers(program)
        return self.whole_numbers.coefficients(initial, entries, self.order, unit)


class Doubles:
    """Coefficients in double precision, as long as none of them is far from 1 in size."""

    def __init__(self, kernel: Kernel, layout: Layout, parameters: dict[str, Any], order: int):
        self.kernel, self.layout, self.order = kernel, layout, order
        self.parameters = [_doubles(array) for array in real_arrays(kernel.parameters, parameters)]

    def __call__(self, flat: np.ndarray) -> Expansion | None:
        with np.errstate(all="ignore"):
            try:
                state = map(_doubles, self.layout.split(flat))
                series = self.kernel.recurrence()(self.order, *state, *self.parameters, stacked_arithmetic(self.order))
                coefficients = _stack(series).astype(float)
            except (ArithmeticError, np.linalg.LinAlgError):
                return None
        largest = np.abs(coefficients).max(axis=1).tolist()
        if not all(map(math.isfinite, largest)):
            return None
        sizes = [math.log2(size) if size else -math.inf for size in largest]
        if not all(abs(size) < LOG2_RANGE for size in sizes if size > -math.inf):
            return None
        return Expansion(sizes, leading(coefficients), lambda log2_step: DoublePolynomials(coefficients.T))


def _log2_size(number: Any) -> float:
    """As `numeric.integrators.majorant.log2_size`, of gmpy2's numbers."""
    exponent, mantissa = gmpy2.frexp(number)
    return math.log2(mantissa) + int(exponent) if number else -math.inf


def _doubles(value: Any) -> Any:
    return value.astype(float) if isinstance(value, np.ndarray) else float(value)


def _stack(series: Sequence[Sequence[Any]]) -> np.ndarray:
    """The coefficients of all real state arrays as one array: orders x components of the flat state."""
    return np.concatenate(
        [np.array([np.ravel(c) for c in coefficients], dtype=object) for coefficients in series], axis=1
    )
