"""The real solutions of polynomial conditions on parameters, as families: by exhaustive case distinction.

A condition that factors is one case for each factor; a condition c z + h = 0 that is linear in a parameter z is the
case z = −h/c with c ≠ 0 and the case c = h = 0; a sum of squares vanishes over the reals only where every square does.
Each distinction covers all parameters, so the cases in which no condition is left are the whole solution set.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, count

import sympy as sp


@dataclass(frozen=True)
class Family:
    """An irreducible set of parameters.

    `values` gives the determined parameters in terms of free ones, which reaches all of the set but a
    lower-dimensional part; `conditions` are polynomials that vanish exactly on the set; `dimension` is its own.
    """

    values: Mapping[sp.Symbol, sp.Expr]
    conditions: tuple[sp.Expr, ...]
    dimension: int

    def __contains__(self, values: Mapping[sp.Symbol, sp.Expr]) -> bool:
        """Whether parameters, given as numbers or expressions in free ones, satisfy the conditions."""
        return all(sp.cancel(condition.subs(values)) == 0 for condition in self.conditions)


class Unsolved(ArithmeticError):
    """Conditions of which none factors, is linear in a parameter, or is a sum of squares."""


def solution_families(
    conditions: Iterable[sp.Expr], unknowns: Sequence[sp.Symbol], hidden: Sequence[sp.Symbol] = ()
) -> list[Family]:
    """The irreducible families that make up the real solution set, largest first.

    Parameters
    ----------
    conditions : polynomials that must vanish. Other symbols than the unknowns stand for generic numbers.
    unknowns : real symbols; one that is known to be positive never vanishes. Where there is a choice, the last in
        the list are determined in terms of those before them.
    hidden : unknowns by which families are not told apart: their values are found, but a family is listed only when
        no other contains it whatever the hidden unknowns are.

    Raises
    ------
    Unsolved
        When a case is left in which no condition can be split or solved.

    >>> a, b, c = sp.symbols("a b c", real=True)
    >>> [family.values for family in solution_families([a * b, a * (c - 1)], [a, b, c])]
    [{a: 0}, {c: 1, b: 0}]
    """
    visible = [unknown for unknown in unknowns if unknown not in hidden]
    cases = sorted(_cases(list(conditions), list(unknowns)), key=lambda values: -_dimension(values, visible))
    families: list[Family] = []
    for values in cases:
        if not any(values in family for family in families):
            families.append(_family(values, visible))
    return families


def _cases(
    conditions: list[sp.Expr],
    unknowns: list[sp.Symbol],
    values: Mapping[sp.Symbol, sp.Expr] | None = None,
    nonzero: Sequence[sp.Expr] = (),
) -> Iterator[Mapping[sp.Symbol, sp.Expr]]:
    """The unknowns that each consistent case determines; `nonzero` is what must not vanish in this case."""
    values = values or {}
    split = [_factors(condition, unknowns, nonzero) for condition in conditions if sp.expand(condition) != 0]
    if [] in split or any(sp.expand(expression) == 0 for expression in nonzero):
        return
    if not split:
        yield values
        return
    split = [factors for factors in split if not any(set(other) < set(factors) for other in split)]
    simple = [factors[0] for factors in split if len(factors) == 1]
    for condition in simple:
        roots = roots_of_squares(condition, unknowns)
        if roots is not None:
            rest = [sp.Mul(*factors) for factors in split if factors != [condition]]
            yield from _cases([*roots, *rest], unknowns, values, nonzero)
            return
    products = [factors for factors in split if len(factors) > 1]
    pivot = _pivot(simple, unknowns, nonzero)
    if products and (pivot is None or _factors(pivot[2], unknowns, nonzero)):
        shortest = min(products, key=lambda factors: (len(factors), sum(len(sp.Add.make_args(f)) for f in factors)))
        rest = [sp.Mul(*factors) for factors in split if factors is not shortest]
        for i, factor in enumerate(shortest):
            yield from _cases([factor, *rest], unknowns, values, [*nonzero, *shortest[:i]])
        return
    if pivot is None:
        raise Unsolved(f"neither linear in a parameter nor a sum of squares: {', '.join(map(str, simple))}")
    condition, unknown, coefficient = pivot
    rest = [sp.Mul(*factors) for factors in split if factors != [condition]]
    constant = sp.expand(condition - coefficient * unknown)
    solution = sp.cancel(-constant / coefficient)
    if not (unknown.is_positive and solution.is_nonpositive):
        others = [other for other in unknowns if other != unknown]
        solved = {symbol: sp.cancel(value.subs(unknown, solution)) for symbol, value in values.items()}
        yield from _cases(
            [sp.numer(sp.cancel(expression.subs(unknown, solution))) for expression in rest],
            others,
            {**solved, unknown: solution},
            [coefficient, *(sp.numer(sp.cancel(expression.subs(unknown, solution))) for expression in nonzero)],
        )
    yield from _cases([coefficient, constant, *rest], unknowns, values, nonzero)


def _factors(condition: sp.Expr, unknowns: Sequence[sp.Symbol], nonzero: Sequence[sp.Expr]) -> list[sp.Expr]:
    """The factors of a condition that may vanish; none for a condition that can't be met."""
    excluded = {factor for expression in nonzero for factor in _irreducible(expression)}
    return [
        factor
        for factor in _irreducible(condition)
        if factor.free_symbols & set(unknowns) and factor.is_zero is not False and factor not in excluded
    ]


@cache
def _irreducible(polynomial: sp.Expr) -> tuple[sp.Expr, ...]:
    return tuple(factor for factor, _ in sp.factor_list(polynomial)[1])


def roots_of_squares(condition: sp.Expr, unknowns: Sequence[sp.Symbol]) -> list[sp.Expr] | None:
    """What must vanish for a sum of squares to vanish, such as (k − 1)² a² + b²; None for any other polynomial.

    Its terms are squares as monomials in the unknowns, or in all of them but one, or it becomes such a sum by
    completing the square in one unknown after the other.
    """
    if condition == 0:
        return []
    if any(sp.degree(condition, unknown) == 1 for unknown in unknowns):
        return None
    for i, unknown in enumerate([None, *unknowns]):
        variables = [other for other in unknowns if other != unknown] if i else list(unknowns)
        if condition.free_symbols & set(variables):
            roots = [_square_root(c, variables, powers) for powers, c in sp.Poly(condition, *variables).terms()]
            if None not in roots:
                return roots
    for unknown in unknowns:
        if sp.degree(condition, unknown) == 2:
            leading, linear, constant = sp.Poly(condition, unknown).all_coeffs()
            if leading.is_positive and linear != 0:
                rest = roots_of_squares(sp.expand(constant - linear**2 / (4 * leading)), unknowns)
                if rest is not None:
                    return [2 * leading * unknown + linear, *rest]
    return None


def _square_root(coefficient: sp.Expr, variables: Sequence[sp.Symbol], powers: Sequence[int]) -> sp.Expr | None:
    """The root of a term, up to a number, when the term is a positive multiple of a square."""
    number, factors = sp.factor_list(coefficient)
    every = [*factors, *zip(variables, powers, strict=True)]
    if not number.is_positive or any(power % 2 for _, power in every):
        return None
    return sp.Mul(*(factor ** (power // 2) for factor, power in every))


def _pivot(
    conditions: Sequence[sp.Expr], unknowns: Sequence[sp.Symbol], nonzero: Sequence[sp.Expr]
) -> tuple[sp.Expr, sp.Symbol, sp.Expr] | None:
    """A condition, an unknown in which it is linear, and its coefficient, as simple as there is."""
    pivots = [
        (condition, unknown, condition.coeff(unknown))
        for condition in map(sp.expand, conditions)
        for unknown in unknowns
        if unknown in condition.free_symbols and sp.degree(condition, unknown) == 1
    ]

    def cost(pivot: tuple[sp.Expr, sp.Symbol, sp.Expr]) -> tuple[int, int, int]:
        _, unknown, coefficient = pivot
        open_factors = _factors(coefficient, unknowns, nonzero)
        return len(open_factors), len(sp.Add.make_args(coefficient)), -unknowns.index(unknown)

    return min(pivots, key=cost, default=None)


def _family(values: Mapping[sp.Symbol, sp.Expr], visible: Sequence[sp.Symbol]) -> Family:
    """The closure of a case.

    The graph of the values is irreducible, and so is its closure; a denominator g is inverted by t g = 1, and what
    the Gröbner basis has without t and without hidden unknowns defines the closure.
    """
    inverse = sp.Dummy("t")
    fractions = {symbol: sp.fraction(sp.cancel(value)) for symbol, value in values.items()}
    graph = [sp.expand(bottom * symbol - top) for symbol, (top, bottom) in fractions.items()]
    bottoms = sp.lcm_list([bottom for _, bottom in fractions.values()] or [sp.S.One])
    if bottoms != 1:
        graph.append(inverse * bottoms - 1)
    used = sp.Tuple(*graph).free_symbols
    eliminated = [inverse, *sorted(used - set(visible) - {inverse}, key=str)]
    order = [*eliminated, *(symbol for symbol in reversed(visible) if symbol in used)]
    basis = sp.groebner(graph, *order, order="lex").exprs if graph else []
    conditions = tuple(sp.factor(e) for e in basis if not e.free_symbols & set(eliminated))
    return Family(_as_multiples(values), conditions, _dimension(values, visible))


def _dimension(values: Mapping[sp.Symbol, sp.Expr], visible: Sequence[sp.Symbol]) -> int:
    """The dimension of what the visible unknowns sweep out: the rank of their derivatives at a generic point."""
    point = sp.Matrix([values.get(symbol, symbol) for symbol in visible])
    free = sorted(point.free_symbols - set(values), key=str)
    generic = {symbol: sp.Rational(2 * i + 3, 3 * i + 2) for i, symbol in enumerate(free)}
    return point.jacobian(free).subs(generic).rank() if free else 0


def _as_multiples(values: Mapping[sp.Symbol, sp.Expr]) -> Mapping[sp.Symbol, sp.Expr]:
    """Write a free unknown z as c g, c new, when that removes a g from the denominators of all values."""
    denominator = sp.lcm_list([sp.denom(sp.cancel(value)) for value in values.values()] or [sp.S.One])
    free = sp.Tuple(*values.values()).free_symbols
    names = chain(["c"], (f"c_{i}" for i in count(1)))
    taken = {symbol.name for symbol in free | set(values)}
    multiple = next(sp.Symbol(name, real=True) for name in names if name not in taken)
    for divisor in sorted(free & set(denominator.free_symbols), key=str):
        for symbol in sorted(free - {divisor}, key=str, reverse=True):
            scaled = {symbol: multiple * divisor}
            put_in = {key: sp.cancel(value.subs(scaled)) for key, value in values.items()}
            if not any(sp.denom(value).has(divisor) for value in put_in.values()):
                return put_in | scaled
    return values
