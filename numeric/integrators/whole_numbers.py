"""The program of a recurrence as Python code on whole numbers, which is much faster than on floating-point numbers.

With 2^unit a step on which the terms of a series are of one size, or fall off, coefficient k of a sequence stands for
a whole number times 2^(-unit k), in units of the sequence's first one times 2^-precision. So all products in a
convolution have the same exponent, and only their sum is rounded. Numbers that turn out larger than foreseen have more
digits; on steps shorter than 2^unit the rounding of all orders counts no more than that of the first few.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from operator import mul
from typing import Any
from weakref import WeakKeyDictionary

import gmpy2
import numpy as np

from numeric.integrators.program import CONVOLVE, NOTHING, SCALE, TABLE, Program, Term, exponents

#: Bits of whole numbers beyond the precision, as they are rounded towards minus infinity.
EXTRA_BITS = 2


class NotFinite(ArithmeticError):
    """A number is infinite or not a number."""


class WholeNumbers:
    """Taylor coefficients by a program, at the precision that gmpy2 has now."""

    def __init__(self, program: Program):
        self.program, self.bits = program, gmpy2.get_context().precision + EXTRA_BITS
        self.outs, sums = zip(*program.instructions, strict=True)
        self.bounds = [0, *accumulate(map(len, sums))]
        self.terms = [term for terms in sums for term in terms]
        self.lags = [term.d - term.i - term.j if term.kind == CONVOLVE else term.j for term in self.terms]
        if program not in _codes:
            _codes[program] = _code(program)
        self.run = _codes[program]
        self.entries: list[Any] | None = None

    def coefficients(self, initial: Sequence[Any], entries: list[Any], order: int, unit: int) -> np.ndarray:
        """Those of the entries of the state, one order a row, from what `recorded` returns."""
        bits = self.bits
        if entries != self.entries:  # they mostly come from the parameters alone
            constants = self.program.constants.values(entries)
            self.constant_sizes = list(map(size, constants))
            self.constants = [_whole(x, bits - e) for x, e in zip(constants, self.constant_sizes, strict=True)]
            self.entries = entries
        sizes = [NOTHING] * self.program.sequences
        for sequence, number in zip(self.program.initial, initial, strict=True):
            sizes[sequence] = size(number)
        lags = [unit * lag for lag in self.lags]
        sizes, shifts = exponents(self.outs, self.bounds, self.terms, lags, self.constant_sizes, (0, 0), sizes)
        before, after = self._shifts(shifts.tolist())
        numbers: list[list[Any]] = [[0] for _ in sizes]
        for sequence, number in zip(self.program.initial, initial, strict=True):
            numbers[sequence][0] = _whole(number, bits - sizes[sequence])
        self.run(order, numbers, self.constants, before, after)
        columns = [
            [_number(x, bits - sizes[s] + unit * k) for k, x in enumerate(numbers[s])] for s in self.program.states
        ]
        return np.array(columns, dtype=object).T

    def _shifts(self, shifts: list[int]) -> tuple[list[int], list[int]]:
        """How far to shift each term to the left, and then each sum to the right."""
        before, after, bits = [0] * len(shifts), [], self.bits
        for first, last in zip(self.bounds, self.bounds[1:], strict=False):
            # What lies far below the last place is nothing, however far.
            net = [
                max(shifts[t] - (bits if self.terms[t].kind in (SCALE, CONVOLVE) else 0), -4 * bits)
                for t in range(first, last)
            ]
            right = max(0, -min(net))
            before[first:last] = [shift + right for shift in net]
            after.append(right)
        return before, after


#: The programs that were turned into Python code.
_codes: WeakKeyDictionary[Program, Callable[..., None]] = WeakKeyDictionary()


def _code(program: Program) -> Callable[..., None]:
    """run(order, s, c, before, after), which appends to the lists s[x] the numbers of orders 1..order."""
    lines, t = [], 0
    for number, (out, terms) in enumerate(program.instructions):
        parts = []
        for term in terms:
            parts.append(f"{'-' if term.sign < 0 else '+'} ({_value(term, t)})")
            t += 1
        lines.append(f"        s{out}.append(({' '.join(parts)}) >> after[{number}])")
    lists = ", ".join(f"s{x}" for x in range(program.sequences))
    header = ["def run(order, s, c, before, after):", f"    {lists}, = s", "    for k in range(1, order + 1):"]
    names: dict[str, Any] = {"mul": mul, "square": _square}
    exec("\n".join([*header, *lines]), names)
    run: Callable[..., None] = names["run"]
    return run


def _value(term: Term, t: int) -> str:
    """A term of order k, shifted, as Python code."""
    kind, _, b, j, a, i, d = term
    if kind == CONVOLVE:
        if i == j == d == 0:
            product = f"square(s{b})" if a == b else f"sum(map(mul, s{a}, reversed(s{b})))"
        else:
            left, right = f"s{a}[{i}:max({i}, {i - d + 1} + k)]", f"s{b}[{j}:max({j}, {j - d + 1} + k)]"
            product = f"sum(map(mul, {left}, reversed({right})))"
        return f"{product} << before[{t}]"
    number = f"s{b}[k - {j}]"
    if kind == TABLE and a == 1:
        return f"({number} << before[{t}]) // k"
    return f"{'k * ' if kind == TABLE else f'c[{a}] * ' if kind == SCALE else ''}{number} << before[{t}]"


def _square(numbers: list[Any]) -> Any:
    """The sum of numbers[m] numbers[-1 - m]: each product of two different numbers once."""
    half, odd = divmod(len(numbers), 2)
    total = 2 * sum(map(mul, numbers[:half], reversed(numbers)))
    return total + numbers[half] * numbers[half] if odd else total


def size(number: Any) -> int:
    """The least e with |x| < 2^e."""
    return int(gmpy2.frexp(number)[0]) if number else NOTHING


def _whole(number: Any, shift: int) -> Any:
    """x 2^shift as a whole number."""
    try:
        mantissa, exponent = number.as_mantissa_exp()
    except (OverflowError, ValueError):
        raise NotFinite from None
    if not mantissa:
        return mantissa
    shift += int(exponent)
    return mantissa << shift if shift >= 0 else mantissa >> -shift


def _number(whole: Any, shift: int) -> Any:
    """The inverse of `_whole`."""
    number = gmpy2.mpfr(whole)
    return gmpy2.div_2exp(number, shift) if shift >= 0 else gmpy2.mul_2exp(number, -shift)
