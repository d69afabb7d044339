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
from operator import mul
from typing import Any

import gmpy2
import numpy as np

from numeric.backends.gmpy2 import from_mpmath
from numeric.integrators.expansion import LOG2_RANGE, Expand, Expansion, gmpy2_precision
from numeric.integrators.machine import BITS, exponents, run_doubles, run_integers
from numeric.integrators.recurrence import CONVOLVE, SUM, NotRecurrent, Program, recorded
from numeric.kernel import Kernel
from numeric.layout import Layout, real_arrays

#: Bits by which terms of the series may exceed the state.
TERM_BITS_PER_BIT = 1 / 10

#: Bits at the upper end of a number for its sign, and for what double precision misjudged.
HEADROOM = 4

#: No more memory than this for the digits of all coefficients, in bytes.
MEMORY = 1 << 28

#: A sum of this many products of two digits fits into 128 bits.
LARGEST_SUM = 1 << 14

#: The exponent of zero.
NOTHING = -(1 << 30)

#: How often the unit of time is adapted to the radius of convergence.
CORRECTIONS = 5


class FixedPoint:
    """Coefficients to so many bits of the state, where `precise` takes over when numbers do not fit; or in doubles."""

    def __init__(
        self, kernel: Kernel, layout: Layout, parameters: dict[str, Any], order: int, bits: int, precise: Expand | None
    ):
        self.kernel, self.layout, self.order, self.precise = kernel, layout, order, precise
        with gmpy2_precision():
            self.parameters = [from_mpmath(array) for array in real_arrays(kernel.parameters, parameters)]
        self.bits = bits
        self.places = math.ceil((bits * (1 + TERM_BITS_PER_BIT) + HEADROOM) / BITS)
        self.point = self.places * BITS - HEADROOM
        self.unit = 0
        self.program: Program | None = None
        orders = range(1, order + 1)
        self.table_exponents = np.array([order.bit_length(), 1])
        self.table = np.zeros((2, self.places, order + 1), np.int64)
        ones = 1 << self.point - 1
        self.table[0, :, 1:] = _digits([k << self.point - order.bit_length() for k in orders], self.places).T
        self.table[1, :, 1:] = _digits([(ones + k // 2) // k for k in orders], self.places).T

    def __call__(self, flat: np.ndarray) -> Expansion | None:
        with gmpy2_precision():
            try:
                arrays = [*map(from_mpmath, self.layout.split(flat)), *self.parameters]
                program, given = recorded(self.kernel.recurrence(), arrays)
                if program is not self.program:
                    self._read(program)
            except (ZeroDivisionError, NotRecurrent):
                return None
            assert self.program is not None
            if self.program.sequences * self.places * self.order * 8 > MEMORY:
                return None
            if self.places * self.order > LARGEST_SUM:
                return None
            initial = [given[entry] for entry in self.program.initial.values()]
            constants = [_constant(given, key) for key in self.program.constants]
            doubles = np.array([*map(float, initial), *map(float, constants)])
            if not _in_range(doubles) or np.count_nonzero(doubles) != sum(map(bool, (*initial, *constants))):
                return None
            values = self._in_doubles(doubles[: len(initial)], doubles[len(initial) :])
        if values is None:
            return None
        unit = self.unit
        largest = np.abs(values[self.program.states]).max(axis=0).tolist()
        sizes = [math.log2(size) - k * unit if size else -math.inf for k, size in enumerate(largest)]

        def components(log2_step: float) -> list[list[Any]]:
            if self.precise is None:
                return np.ldexp(values[program.states], -unit * np.arange(self.order + 1)).tolist()
            with gmpy2_precision():
                found = self._in_integers(initial, constants, values, math.ceil(log2_step))
            if found is None:
                expansion = self.precise(flat)
                assert expansion is not None
                return expansion.components(log2_step)
            return found

        return Expansion(sizes, components)

    def _read(self, program: Program) -> None:
        self.program = program
        self.rows = np.array(program.rows, dtype=np.int64).reshape(-1, 9)
        code, _, _, i, _, _, j, _, d = self.rows.T
        #: The powers of the unit of time by which the two terms of an instruction lag behind its result.
        self.lag_a = np.where(code == SUM, i, 0)
        self.lag_b = np.where(code == CONVOLVE, d - i - j, j)

    def _in_doubles(self, initial: np.ndarray, constants: np.ndarray) -> np.ndarray | None:
        """The coefficients times powers of the unit of time, which is adapted to the radius of convergence."""
        assert self.program is not None
        values = np.zeros((self.program.sequences, self.order + 1))
        for _ in range(CORRECTIONS):
            values[:] = 0
            values[list(self.program.initial), 0] = initial
            scales = [np.ldexp(1.0, self.unit * lag) for lag in (self.lag_a, self.lag_b)]
            run_doubles(self.rows, *scales, constants, values, self.order)
            with np.errstate(divide="ignore"):
                sizes = np.log2(np.abs(values[self.program.states]).max(axis=0))
            seen = np.flatnonzero(np.isfinite(sizes[1:])) + 1
            if np.isfinite(values).all():
                if len(seen) < 2:
                    return values if _in_range(values) else None
                first, last = seen[len(seen) // 2 - 1], seen[-1]
                change = -(sizes[last] - sizes[first]) / (last - first)
                if abs(change) <= max(1, LOG2_RANGE / 2 / self.order):
                    return values if _in_range(values) else None
            elif len(seen) < 2:
                return None
            else:
                change = -(sizes[seen[-1]] - sizes[seen[0]]) / (seen[-1] - seen[0]) - 1
            self.unit += round(change)
        return None

    def _in_integers(
        self, initial: Sequence[Any], constants: Sequence[Any], values: np.ndarray, step: int
    ) -> list[list[Any]] | None:
        """The coefficients of the state, precise on steps up to 2^step; None when some numbers do not fit."""
        assert self.program is not None
        sizes = np.frexp(values)[1] + np.arange(self.order + 1) * (step - self.unit)
        sizes = np.where(values == 0, NOTHING, sizes).max(axis=1).astype(np.int64)
        sizes[self.program.states] = sizes[self.program.states].max()  # errors count relative to the whole state
        steps = [step * lag for lag in (self.lag_a, self.lag_b)]
        constant_exponents = np.array([_exponent(c) for c in constants], dtype=np.int64)
        found, shift_a, shift_b = exponents(self.rows, *steps, constant_exponents, self.table_exponents, sizes)
        shift_b = np.where(self.rows[:, 0] == SUM, shift_b, shift_b + self.point)
        room = self.point - self.bits
        if found[self.program.states].max() > np.frexp(np.abs(values[self.program.states, 0]).max())[1] + room:
            return None  # terms so large that their rounding counts
        digits = np.zeros((self.program.sequences, self.places, self.order + 1), np.int64)
        starts = list(self.program.initial)
        digits[starts, :, 0] = self._fixed(initial, found[starts])
        ends = (digits[:, :, 0] != 0).astype(np.int64)
        fixed = self._fixed(constants, constant_exponents)[:, :, None]
        if not run_integers(self.rows, shift_a, shift_b, fixed, self.table, digits, ends, self.order):
            return None
        scales = {
            e: [_scaled(1, e - self.point - k * step) for k in range(self.order + 1)]
            for e in set(found[self.program.states].tolist())
        }
        return [
            list(map(mul, map(gmpy2.mpfr, _numbers(digits[x])), scales[int(found[x])])) for x in self.program.states
        ]

    def _fixed(self, numbers: Sequence[Any], scales: np.ndarray) -> np.ndarray:
        shifts = [self.point - int(scale) if number else 0 for number, scale in zip(numbers, scales, strict=True)]
        wholes = [int(gmpy2.rint(_scaled(number, shift))) for number, shift in zip(numbers, shifts, strict=True)]
        return _digits(wholes, self.places)


def _in_range(values: np.ndarray) -> bool:
    """Whether no number is so large or small that products of two might leave the range of doubles."""
    sizes = np.abs(values[values != 0])
    return not sizes.size or bool(sizes.min() > 2.0**-LOG2_RANGE and sizes.max() < 2.0**LOG2_RANGE)


def _constant(given: Sequence[Any], key: tuple[tuple[str, Any], bool]) -> Any:
    (kind, number), is_reciprocal = key
    value = gmpy2.mpfr(given[number] if kind == "entry" else number)
    return 1 / value if is_reciprocal else value


def _exponent(number: Any) -> int:
    """The least e with |x| < 2^e."""
    return int(gmpy2.frexp(number)[0]) if number else NOTHING


def _scaled(number: Any, exponent: int) -> Any:
    number = gmpy2.mpfr(number)
    return gmpy2.mul_2exp(number, exponent) if exponent >= 0 else gmpy2.div_2exp(number, -exponent)


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
