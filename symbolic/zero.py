"""Decide whether an expression vanishes identically: the test behind every check of a derivation."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass

import sympy as sp
from sympy.core.function import AppliedUndef

from symbolic.notation import Average

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
        return f"{self.value.n(6) if self.value.has(sp.Float) else self.value} at {at or 'every point'}"


class Undecided(ArithmeticError):
    """An expression could neither be reduced to zero nor shown to differ from zero."""


def nonzero_witness(expression: sp.Expr, *, seed: int = 0, tries: int = 3) -> Witness | None:
    """A small rational point where `expression` does not vanish, or None when it vanishes identically.

    It vanishes when expansion reduces it to zero. Otherwise it is evaluated at random small rational
    points at 50 digits, averages over a free law being taken for a law of three atoms, and the first
    value that is not zero is the witness. Where there is none, common denominators and simplification
    must give zero: small values at points are never taken for a proof.

    Raises
    ------
    Undecided
        When the expression vanishes at every point tried, but does not reduce to zero.

    >>> from sympy.abc import x, y
    >>> nonzero_witness((x + y)**2 - x**2 - 2*x*y - y**2) is None
    True
    >>> nonzero_witness(x - y).value != 0
    True
    """
    if sp.expand(expression) == 0:
        return None
    rng = random.Random(seed)
    at_atoms = _under_atoms(expression)
    symbols = sorted(_free_atoms(at_atoms), key=str)
    for _ in range(tries):
        point = {symbol: _random_value(symbol, rng) for symbol in symbols}
        value = sp.expand(at_atoms.xreplace(point).doit())
        if not all(part.is_rational for part in value.as_real_imag()):
            value = sp.N(value, WITNESS_DIGITS)
        if value.is_number and not value.has(sp.nan, sp.zoo) and abs(value) > WITNESS_ZERO:
            return Witness(point, value)
    if sp.expand(sp.numer(sp.together(expression))) == 0 or sp.simplify(expression) == 0:
        return None
    raise Undecided(f"neither reduced to zero nor shown to differ from it: {expression}")


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


def _under_atoms(expression: sp.Expr) -> sp.Expr:
    """Averages over a free law taken for one particular law, of equal atoms at three rational points."""

    def from_density(integral: sp.Integral) -> sp.Expr:
        (density,) = integral.function.atoms(AppliedUndef)
        return _atomic_mean(integral.function.subs(density, 1), integral.variables)

    expression = expression.replace(lambda e: isinstance(e, sp.Integral) and e.has(AppliedUndef), from_density)
    return expression.replace(Average, lambda integrand, variable, law: _atomic_mean(integrand, (variable,)))


def _atomic_mean(integrand: sp.Expr, variables: tuple[sp.Symbol, ...]) -> sp.Expr:
    atoms = [[sp.Rational((i + 2) * j - 3, 4) for i, _ in enumerate(variables)] for j in range(3)]
    return sum(integrand.subs(dict(zip(variables, atom, strict=True))) for atom in atoms) / len(atoms)


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
