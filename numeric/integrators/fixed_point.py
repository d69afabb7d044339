"""Taylor coefficients in fixed point, by compiled code: what `numeric.integrators.expansion` offers, much faster.

A run in double precision finds the sizes of all coefficients, hence the step, and how large every quantity becomes on
it. Then all is computed once more with whole numbers: on a step h every quantity q stands for the terms q_k h^k, in
units of its largest term times 2^-places. Rounding is an error of one such unit at each operation, which the digits
carried for rounding cover as they do in floating point. Where doubles do not reach, where numbers do not fit, or where
the recurrence is not the same for every order, there is no such expansion, and the caller takes another.

It needs numba.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Any

import gmpy2
import mpmath
import numpy as np

from numeric.backends.gmpy2 import from_mpmath
from numeric.integrators.expansion import (
    LOG2_RANGE,
    DoublePolynomials,
    Expansion,
    Polynomials,
    gmpy2_precision,
    leading,
)
from numeric.integrators.machine import BITS, HEADROOM, evaluate, exponents, run_doubles, run_integers
from numeric.integrators.program import CONVOLVE, NOTHING, PLAIN, Program, Term
from numeric.integrators.recurrence import NotRecurrent, recorded
from numeric.integrators.whole_numbers import size
from numeric.kernel import Kernel
from numeric.layout import Layout, real_arrays

#: Bits by which terms of the series may exceed the state.
TERM_BITS_PER_BIT = 1 / 10

#: No more memory than this for the digits of all coefficients, in bytes.
MEMORY = 1 << 28

#: A sum of this many products of two digits fits into 128 bits.
LARGEST_SUM = 1 << 16

#: Terms are negligible up to so many bits above the last one carried: a tenth of the local tolerance.
CONFIRMED_BITS = 16

#: How often the unit of time is adapted to the radius of convergence.
CORRECTIONS = 5


class FixedPoint:
    """Coefficients to so many bits of the state; or in doubles."""

    def __init__(
        self, kernel: Kernel, layout: Layout, parameters: dict[str, Any], order: int, bits: int, in_doubles: bool
    ):
        self.kernel, self.layout, self.order, self.in_doubles = kernel, layout, order, in_doubles
        with gmpy2_precision():
            self.parameters = [from_mpmath(array) for array in real_arrays(kernel.parameters, parameters)]
        self.bits = bits
        self.places = math.ceil((bits * (1 + TERM_BITS_PER_BIT) + HEADROOM) / BITS)
        self.point = self.places * BITS - HEADROOM
        self.unit = 0
        self.code: _Code | None = None
        self.late = np.arange(order // 2 + 1, order + 1)
        self.table_exponents = np.array([order.bit_length(), 1])

    def __call__(self, flat: np.ndarray) -> Expansion | None:
        with gmpy2_precision():
            try:
                arrays = [*map(from_mpmath, self.layout.split(flat)), *self.parameters]
                program, initial, entries = recorded(self.kernel.recurrence(), arrays)
                # Entries for constants mostly come from the parameters alone.
                if self.code is None or self.code.program is not program or self.code.entries != entries:
                    self.code = _Code(program, entries, self.places)
            except (ZeroDivisionError, NotRecurrent):
                return None
            code = self.code
            if program.sequences * self.places * self.order * 8 > MEMORY or self.places * self.order > LARGEST_SUM:
                return None
            doubles = np.array([*map(float, initial)])
            if not (code.fits_doubles and _fit_doubles(doubles, initial)):
                return None
            values = self._in_doubles(code, doubles)
        if values is None:
            return None
        unit, states = self.unit, values[program.states]
        largest = np.abs(states).max(axis=0).tolist()
        sizes = [math.log2(x) - k * unit if x else -math.inf for k, x in enumerate(largest)]

        def polynomials(log2_step: float) -> Polynomials | None:
            if self.in_doubles:
                return DoublePolynomials(states, unit)
            with gmpy2_precision():
                found = self._in_integers(code, initial, values, math.ceil(log2_step))
            return found if found is not None and self._confirms(found, expansion) else None

        expansion = Expansion(sizes, leading(states.T), polynomials)
        return expansion

    def _in_doubles(self, code: _Code, initial: np.ndarray) -> np.ndarray | None:
        """The coefficients times powers of the unit of time, which is adapted to the radius of convergence."""
        values = np.zeros((code.program.sequences, self.order + 1))
        for _ in range(CORRECTIONS):
            values[:] = 0
            values[code.starts, 0] = initial
            run_doubles(*code.sums, np.ldexp(1.0, self.unit * code.lags), code.doubles, values, self.order)
            with np.errstate(divide="ignore"):
                sizes = np.log2(np.abs(values[code.program.states]).max(axis=0))
            seen = np.flatnonzero(np.isfinite(sizes[1:])) + 1
            if np.isfinite(values).all():
                # The smaller terms of a sequence may leave the range: they do not matter beside the largest one.
                fitting = values if _in_range(np.abs(values).max(axis=1)) else None
                if len(seen) < 2:
                    return fitting
                first, last = seen[len(seen) // 2 - 1], seen[-1]
                change = -(sizes[last] - sizes[first]) / (last - first)
                if abs(change) <= max(1, LOG2_RANGE / 2 / self.order):
                    return fitting
            elif len(seen) < 2:
                return None
            else:
                change = -(sizes[seen[-1]] - sizes[seen[0]]) / (seen[-1] - seen[0]) - 1
            self.unit += round(change)
        return None

    def _confirms(self, found: FixedPointPolynomials, expansion: Expansion) -> bool:
        """Whether the terms of high order are no larger than doubles promised, or negligible.

        Where the state hardly moves, its rates are differences of nearly equal numbers, of which doubles may see none.
        """
        fit = expansion.fit
        promised = fit.log2_bound + self.late * (found.step - fit.log2_radius)
        negligible = expansion.sizes[0] - self.bits + CONFIRMED_BITS
        return bool((found.log2_terms()[self.late] <= np.maximum(promised + 1, negligible)).all())

    def _in_integers(
        self, code: _Code, initial: Sequence[Any], values: np.ndarray, step: int
    ) -> FixedPointPolynomials | None:
        """The entries of the state, precise on steps up to 2^step; None when some numbers do not fit."""
        states = code.program.states
        sizes = np.frexp(values)[1] + np.arange(self.order + 1) * (step - self.unit)
        sizes = np.where(values == 0, NOTHING, sizes).max(axis=1).astype(np.int64)
        found, shifts = exponents(*code.sums, step * code.lags, code.exponents, self.table_exponents, sizes)
        if found[states].max() > np.frexp(np.abs(values[states, 0]).max())[1] + self.point - self.bits:
            return None  # terms so large that their rounding counts
        shifts[code.is_product] -= self.point
        digits = np.zeros((code.program.sequences, self.places, self.order + 1), np.int64)
        digits[code.starts, :, 0] = _fixed(initial, found[code.starts], self.places)
        ends = (digits[:, :, 0] != 0).astype(np.int64)
        if not run_integers(*code.sums, shifts, code.digits, _table(self.order, self.places), digits, ends, self.order):
            return None
        return FixedPointPolynomials(digits[states], ends[states], found[states] - self.point, step)


class _Code:
    """A program in arrays, as compiled code reads it, and its constants in all forms in which they are used."""

    def __init__(self, program: Program, entries: list[Any], places: int):
        self.program, self.entries = program, entries
        self.starts = list(program.initial)
        outs, sums = zip(*program.instructions, strict=True)
        terms = np.array([term for terms in sums for term in terms], dtype=np.int64).reshape(-1, len(Term._fields))
        self.sums = np.array(outs), np.array([0, *accumulate(map(len, sums))]), terms
        kind, _, _, j, _, i, d = terms.T
        self.is_product = kind != PLAIN
        #: The powers of the unit of time by which terms lag behind their sums.
        self.lags = np.where(kind == CONVOLVE, d - i - j, j)
        self.constants, self.places = program.constants.values(entries), places
        self.doubles = np.array([*map(float, self.constants)])
        self.fits_doubles = _fit_doubles(self.doubles, self.constants)

    @cached_property
    def exponents(self) -> np.ndarray:
        return np.array([size(c) for c in self.constants], dtype=np.int64)

    @cached_property
    def digits(self) -> np.ndarray:
        return _fixed(self.constants, self.exponents, self.places)[:, :, None]


class FixedPointPolynomials(Polynomials):
    """Polynomials from fixed-point terms: those of order k are digits[x, :, k] 2^exponents[x] on a step 2^step."""

    def __init__(self, digits: np.ndarray, ends: np.ndarray, exponents: np.ndarray, step: int):
        self.digits, self.ends, self.exponents, self.step = digits, ends, exponents.tolist(), step

    def __call__(self, h: Any) -> np.ndarray:
        places = self.digits.shape[1]
        point = places * BITS - HEADROOM - 1
        tau = _digits([int(mpmath.nint(mpmath.ldexp(h, point - self.step)))], places).T
        sums, fit = evaluate(self.digits, self.ends, tau)
        if not fit:
            return super().__call__(h)
        numbers = map(mpmath.libmp.from_man_exp, _numbers(sums.T), self.exponents)
        return np.array([mpmath.mp.make_mpf(number) for number in numbers], dtype=object)

    def log2_terms(self) -> np.ndarray:
        """The base 2 logarithms of the largest term of each order at the end of the step."""
        places = self.digits.shape[1]
        terms = np.ldexp(1.0, BITS * np.arange(-places, 0)) @ self.digits
        with np.errstate(divide="ignore"):
            sizes = np.log2(np.abs(terms)) + np.array(self.exponents)[:, None]
        return sizes.max(axis=0) + places * BITS

    @cached_property
    def coefficients(self) -> list[list[Any]]:  # type: ignore[override]
        with gmpy2_precision():
            orders = range(self.digits.shape[2])
            return [
                [_scaled(number, exponent - k * self.step) for k, number in zip(orders, _numbers(digits), strict=True)]
                for digits, exponent in zip(self.digits, self.exponents, strict=True)
            ]


@lru_cache(maxsize=8)
def _table(order: int, places: int) -> np.ndarray:
    """The digits of k, with the exponent of the order, and of 1/k, with exponent 1."""
    point, orders = places * BITS - HEADROOM, range(1, order + 1)
    table = np.zeros((2, places, order + 1), np.int64)
    ones = 1 << point - 1
    table[0, :, 1:] = _digits([k << point - order.bit_length() for k in orders], places).T
    table[1, :, 1:] = _digits([(ones + k // 2) // k for k in orders], places).T
    return table


def _fit_doubles(doubles: np.ndarray, numbers: Sequence[Any]) -> bool:
    return _in_range(doubles) and np.count_nonzero(doubles) == sum(map(bool, numbers))


def _in_range(values: np.ndarray) -> bool:
    """Whether no number is so large or small that products of two might leave the range of doubles."""
    sizes = np.abs(values[values != 0])
    return not sizes.size or bool(sizes.min() > 2.0**-LOG2_RANGE and sizes.max() < 2.0**LOG2_RANGE)


def _scaled(number: Any, exponent: int) -> Any:
    number = gmpy2.mpfr(number)
    return gmpy2.mul_2exp(number, exponent) if exponent >= 0 else gmpy2.div_2exp(number, -exponent)


def _fixed(numbers: Sequence[Any], exponents: np.ndarray, places: int) -> np.ndarray:
    """Numbers times 2^(the bits of so many places - exponent) as digits, one a row."""
    point = places * BITS - HEADROOM
    pairs = zip(numbers, exponents.tolist(), strict=True)
    return _digits([int(gmpy2.rint(_scaled(x, point - exponent))) if x else 0 for x, exponent in pairs], places)


def _digits(numbers: Sequence[int], places: int) -> np.ndarray:
    """Signed digits in base 2^BITS, the lowest first, one number a row."""
    length = BITS // 8
    text = b"".join(number.to_bytes(places * length, "little", signed=True) for number in numbers)
    octets = np.zeros((len(numbers), places, 8), np.uint8)
    octets[:, :, :length] = np.frombuffer(text, np.uint8).reshape(len(numbers), places, length)
    digits = octets.view("<i8")[:, :, 0].astype(np.int64)
    for p in range(places):
        carry = (digits[:, p] >= 1 << BITS - 1).astype(np.int64)
        digits[:, p] -= carry << BITS
        if p + 1 < places:
            digits[:, p + 1] += carry  # above the highest digit it is the sign, which is now that digit's
    return digits


def _numbers(digits: np.ndarray) -> list[int]:
    """The whole numbers with these signed digits, one a column."""
    places, length = len(digits), BITS // 8
    digits = digits.copy()
    for p in range(places - 1):
        carry = digits[p] >> BITS
        digits[p] -= carry << BITS
        digits[p + 1] += carry
    octets = np.ascontiguousarray(digits.T).astype("<i8").view(np.uint8).reshape(-1, places, 8)
    text = np.ascontiguousarray(octets[:, :, :length]).tobytes()
    size = places * length
    return [int.from_bytes(text[i : i + size], "little", signed=True) for i in range(0, len(text), size)]
