"""Decide whether an expression vanishes identically: the test behind every check of a derivation."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass

import sympy as sp

#: Digits at which a witness is evaluated, and how small a value must be to count as zero there.
WITNESS_DIGITS = 50
WITNESS_ZERO = sp.Float(10) ** -40


@dataclass(frozen=True)
class Witness:
    """A rational point at which an expression that was claimed to vanish does not."""

    point: dict[sp.Basic, sp.Expr]
    value: sp.Expr

    def __str__(self) -> str:
        at = ", ".join(f"{symbol} = {value}" for symbol, value in self.point.items())
        return f"{sp.nsimplify(self.value) if self.value.is_Rational else self.value.n(6)} at {at or 'every point'}"


class Undecided(ArithmeticError):
    """An expression could neither be reduced to zero nor shown to differ from zero."""


def nonzero_witness(expression: sp.Expr, *, seed: int = 0, tries: int = 3) -> Witness | None:
    """A small rational point where `expression` does not vanish, or None when it vanishes identically.

    The expression is first reduced to a normal form (expansion, then common denominators, then
    simplification). Only zero counts as zero: a form that stays non-zero is evaluated at random
    small rational points at 50 digits, and the first value that is not zero is the witness.

    Raises
    ------
    Undecided
        When the normal form is not zero but vanishes at every point tried.

    >>> from sympy.abc import x, y
    >>> nonzero_witness((x + y)**2 - x**2 - 2*x*y - y**2) is None
    True
    >>> nonzero_witness(x - y).value != 0
    True
    """
    residual = sp.expand(expression)
    if residual == 0:
        return None
    residual = sp.expand(sp.numer(sp.together(residual)))
    if residual == 0:
        return None
    rng = random.Random(seed)
    symbols = sorted(_free_atoms(expression), key=str)
    for _ in range(tries):
        point = {symbol: _random_value(symbol, rng) for symbol in symbols}
        value = expression.subs(point).doit()
        if value.is_Rational:
            if value != 0:
                return Witness(point, value)
            continue
        number = sp.N(value, WITNESS_DIGITS)
        if number.is_number and abs(number) > WITNESS_ZERO:
            return Witness(point, number)
    if sp.simplify(residual) == 0:
        return None
    raise Undecided(f"neither reduced to zero nor shown to differ from it: {residual}")


def first_witness(expressions: Iterable[sp.Expr]) -> Witness | None:
    """The witness of the first expression that does not vanish, or None when all do."""
    for expression in expressions:
        witness = nonzero_witness(sp.sympify(expression))
        if witness is not None:
            return witness
    return None


def _free_atoms(expression: sp.Expr) -> set[sp.Basic]:
    """Symbols and matrix entries; a matrix symbol itself is no variable of a scalar expression."""
    entries = expression.atoms(sp.matrices.expressions.matexpr.MatrixElement)
    names = {entry.parent.name for entry in entries}
    return entries | {s for s in expression.free_symbols if s.name not in names and isinstance(s, sp.Symbol)}


def _random_value(symbol: sp.Basic, rng: random.Random) -> sp.Expr:
    def rational() -> sp.Rational:
        return sp.Rational(rng.choice([-1, 1]) * rng.randint(1, 9), rng.randint(2, 9))

    if symbol.is_integer:
        return sp.Integer(rng.randint(1, 5))
    if symbol.is_positive:
        return abs(rational())
    if symbol.is_real or not isinstance(symbol, sp.Symbol):
        return rational()
    return rational() + sp.I * rational()
