"""The program of a Taylor recurrence: what is done to sequences of coefficients between one order and the next.

An instruction (out, terms) sets out[k] to the sum of its terms, each with a sign:

    PLAIN     b[k - j]
    SCALE     constant a * b[k - j]
    TABLE     k^(1 or -1, as a is 0 or 1) * b[k - j]
    CONVOLVE  sum of a[i + m] b[j + k - d - m] over m = 0..k - d

`fused` merges instructions: a sum that is computed at once is rounded once, and its carries are resolved once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from operator import add, mul, neg
from typing import Any, NamedTuple

import gmpy2
import numpy as np

PLAIN, SCALE, TABLE, CONVOLVE = range(4)

#: The exponent of zero.
NOTHING = -(1 << 30)

#: Bits of a sum that double precision is sure to see.
SEEN = 45

#: A sum of no more than this many multiples is computed anew wherever it is used, instead of being stored.
SHORT = 2


class Term(NamedTuple):
    kind: int
    sign: int
    b: int
    j: int
    a: int = 0
    i: int = 0
    d: int = 0


Instruction = tuple[int, list[Term]]


class Constants:
    """Numbers that do not depend on k, as expressions in entries of a trace: equal expressions are one number."""

    def __init__(self) -> None:
        self._indices: dict[tuple[Any, ...], int] = {}

    def entry(self, index: int) -> int:
        return self._index("entry", index)

    def number(self, value: Any) -> int:
        return self._index("number", value)

    def combined(self, operation: Callable[..., Any], *operands: int) -> int:
        """The index of an operation's result, from those of its operands."""
        return self._index(operation, *operands)

    def _index(self, *key: Any) -> int:
        return self._indices.setdefault(key, len(self._indices))

    @property
    def entries(self) -> list[int]:
        """The entries that occur."""
        return [operands[0] for kind, *operands in self._indices if kind == "entry"]

    def values(self, entries: Sequence[Any]) -> list[Any]:
        """The numbers, from the values of `entries`, at gmpy2's current precision."""
        given, found = iter(entries), list[Any]()
        for kind, *operands in self._indices:
            if kind == "entry":
                found.append(next(given))
            elif kind == "number":
                found.append(gmpy2.mpfr(operands[0]))
            else:
                found.append(kind(*(found[index] for index in operands)))
        return found


@dataclass(eq=False)
class Program:
    """Instructions; `initial` maps sequences to the entries of a trace that are their coefficients of order 0, and
    `states` are the sequences of the entries of the flat state."""

    instructions: list[Instruction] = field(default_factory=list)
    constants: Constants = field(default_factory=Constants)
    initial: dict[int, int] = field(default_factory=dict)
    states: list[int] = field(default_factory=list)
    sequences: int = 0

    def fused(self) -> Program:
        """The same program with fewer instructions, and with what they do not read left out."""
        stored = {*self.states}
        uses: Counter[int] = Counter()
        for term in self._terms():
            uses.update(_read(term))
            if term.kind == CONVOLVE:
                stored |= {term.a, term.b}
            elif term.kind == TABLE or term.j:
                stored.add(term.b)
        inlined: dict[int, list[Term]] = {}
        instructions = []
        for out, terms in self.instructions:
            terms = self._merged(inlined, terms)
            is_short = len(terms) <= SHORT and all(map(_is_multiple, terms))
            if out not in stored and (uses[out] == 1 or is_short):
                inlined[out] = terms
                if all(map(_is_multiple, terms)):
                    continue
                # A multiple of a sum that is none cannot be taken apart, and is read as it is.
            instructions.append((out, terms))
        return replace(self, instructions=instructions)._without_unread()

    def _terms(self) -> Iterable[Term]:
        return (term for _, terms in self.instructions for term in terms)

    def _merged(self, inlined: dict[int, list[Term]], terms: Sequence[Term]) -> list[Term]:
        """Sums in the place of the terms that stand for them, and multiples of the same number as one."""
        multiples: dict[tuple[int, int], int] = {}
        result = []
        for term in self._expanded(inlined, terms):
            if not _is_multiple(term):
                result.append(term)
                continue
            factor = self._factor(term)
            place = term.b, term.j
            multiples[place] = self.constants.combined(add, multiples[place], factor) if place in multiples else factor
        signs = {self.constants.number(sign): sign for sign in (1, -1)}
        for (b, j), factor in multiples.items():
            result.append(Term(PLAIN, signs[factor], b, j) if factor in signs else Term(SCALE, 1, b, j, factor))
        return result

    def _expanded(self, inlined: dict[int, list[Term]], terms: Sequence[Term]) -> Iterable[Term]:
        for term in terms:
            parts = inlined.get(term.b) if _is_multiple(term) else None
            if parts is None or (term.kind == SCALE and not all(map(_is_multiple, parts))):
                yield term
            elif term.kind == PLAIN:
                yield from (part._replace(sign=term.sign * part.sign) for part in parts)
            else:
                for part in parts:
                    factor = self.constants.combined(mul, self._factor(term), self._factor(part))
                    yield Term(SCALE, 1, part.b, part.j, factor)

    def _factor(self, term: Term) -> int:
        """The index of the constant that a multiple has as its factor, with the sign."""
        if term.kind == PLAIN:
            return self.constants.number(term.sign)
        return term.a if term.sign == 1 else self.constants.combined(neg, term.a)

    def _without_unread(self) -> Program:
        """Without instructions that nothing reads, and with the sequences that are left numbered anew."""
        terms = dict(self.instructions)
        read, found = set(self.states), list(self.states)
        while found:
            new = {sequence for term in terms[found.pop()] for sequence in _read(term)} - read
            read |= new
            found += new
        number = {sequence: place for place, sequence in enumerate(sorted(read))}
        return Program(
            instructions=[
                (number[out], [_renumbered(term, number) for term in terms])
                for out, terms in self.instructions
                if out in read
            ],
            constants=self.constants,
            initial={number[sequence]: entry for sequence, entry in self.initial.items() if sequence in read},
            states=[number[sequence] for sequence in self.states],
            sequences=len(read),
        )


def _is_multiple(term: Term) -> bool:
    return term.kind in (PLAIN, SCALE)


def _read(term: Term) -> tuple[int, ...]:
    return (term.a, term.b) if term.kind == CONVOLVE else (term.b,)


def _renumbered(term: Term, number: dict[int, int]) -> Term:
    term = term._replace(b=number[term.b])
    return term._replace(a=number[term.a]) if term.kind == CONVOLVE else term


def exponents(  # type: ignore[no-untyped-def]  # compiled by numba too (`numeric.integrators.machine`)
    outs, bounds, terms, lags, constant_exponents, table_exponents, log2_sizes
):
    """Exponents of all sequences with room for their values, and how much larger that of each term is than its sum's.

    `log2_sizes` are those seen in double precision, which sees nothing that is 2^-SEEN of the terms of a sum; `lags`
    the logarithms of the steps by which terms lag behind, to the power of the lag.
    """
    result = log2_sizes.copy()
    shifts = np.zeros(len(terms), np.int64)
    for iteration in range(3):
        for instruction in range(len(outs)):
            out = outs[instruction]
            for t in range(bounds[instruction], bounds[instruction + 1]):
                kind, sign, b, j, a, i, d = terms[t]
                bound = result[b] + lags[t]
                if kind == SCALE:
                    bound += constant_exponents[a]
                elif kind == TABLE:
                    bound += table_exponents[a]
                elif kind == CONVOLVE:
                    bound += result[a]
                if iteration < 2:  # twice, as the rates, on which the states depend, come last
                    result[out] = max(result[out], bound - SEEN)
                else:
                    shifts[t] = bound - result[out]
    return result, shifts
