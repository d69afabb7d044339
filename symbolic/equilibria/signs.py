"""Sign conditions on rational expressions, freed of the factors whose sign is known."""

from __future__ import annotations

from collections.abc import Iterable

import sympy as sp
from sympy.logic.boolalg import Boolean

from symbolic.invariants.families import roots_of_squares


def positive_if(expression: sp.Expr, known: Iterable[sp.Expr] = ()) -> Boolean:
    """The condition `expression` > 0, without even powers, sums of squares and factors known to be positive.

    Where one of the squares vanishes, the condition is to be read as a limit.

    >>> a, b = sp.symbols("a b", real=True)
    >>> positive_if(a * (b**2 + 1) / (4 * b**2))
    a > 0
    """
    number, rest = _open_factors(expression, known)
    return sp.Gt(number * rest, 0)


def negative_if(expression: sp.Expr, known: Iterable[sp.Expr] = ()) -> Boolean:
    """The condition `expression` < 0, in the same way."""
    number, rest = _open_factors(expression, known)
    return sp.Lt(number * rest, 0)


def zero_if(expression: sp.Expr, known: Iterable[sp.Expr] = ()) -> Boolean:
    """The condition `expression` = 0, without factors that can't vanish."""
    _, rest = _open_factors(expression, known)
    return sp.Eq(rest if expression != 0 else 0, 0)


def is_sum_of_squares(polynomial: sp.Expr) -> bool:
    """Whether a polynomial is a sum of squares with positive coefficients, so that it is never negative."""
    symbols = sorted(polynomial.free_symbols, key=str)
    return bool(symbols) and roots_of_squares(sp.expand(polynomial), symbols) is not None


def _open_factors(expression: sp.Expr, known: Iterable[sp.Expr]) -> tuple[sp.Expr, sp.Expr]:
    """The sign of the number in front, and the product of the factors of unknown sign."""
    top, bottom = sp.fraction(sp.cancel(expression))
    positive = {sp.expand(factor) for factor in known}
    sign, rest = sp.S.One, sp.S.One
    for part in (top, bottom):
        number, factors = sp.factor_list(part)
        sign *= sp.sign(number)
        for factor, power in factors:
            if power % 2 == 0 or factor.is_positive or factor in positive or is_sum_of_squares(factor):
                continue
            if sp.expand(-factor) in positive:
                sign = -sign
            else:
                rest *= factor
    return sign, rest
