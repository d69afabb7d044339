"""Equilibria of planar reductions inside the unit disc, with their linearisation.

Equilibria are sought where the radial part xF + yG and the angular part xG − yF of the field vanish, factor by factor.
A last equation in one coordinate z must have a rational root in the parameters, or be

    α (1 − z)ⁿ + γ (1 + z)ⁿ = 0,  n odd,

which says n artanh z = ½ log(−γ/α) because (1 + z)/(1 − z) = e^{2 artanh z}.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product

import sympy as sp
from sympy.logic.boolalg import Boolean

from symbolic.derivation import Derivation
from symbolic.equilibria.signs import is_sum_of_squares, negative_if, positive_if, zero_if
from symbolic.invariants.families import Unsolved
from symbolic.invariants.planar import Field, gap, planar_derivation, planar_field, with_scalar_parameters, x, y
from symbolic.invariants.rational import without_common_factor
from symbolic.reduction import Reduction

#: The linearisation, and tanh of an angle.
J = sp.MatrixSymbol("J", 2, 2)
t = sp.Symbol("t", real=True)


@dataclass(frozen=True)
class Equilibrium:
    """An equilibrium of a reduction.

    Parameters
    ----------
    state : where it is, in the parameters.
    exists_if : the condition on the parameters under which it is there.
    jacobian : the linearisation at it: of (x', y') in (x, y) = (Re R, Im R) for a planar reduction.
    stable_if : the condition, where it exists, under which it attracts its neighbourhood exponentially.
    centre_if : the condition, where it exists, under which its eigenvalues are a pair ±iω ≠ 0.
    derivation : the reduction's derivation, continued to the equilibrium.
    """

    state: sp.Basic
    exists_if: Boolean
    jacobian: sp.MatrixBase | sp.MatrixExpr
    stable_if: Boolean
    centre_if: Boolean
    derivation: Derivation


@dataclass(frozen=True)
class _Point:
    """A solution (x*, y*).

    `coordinate` is the one that was solved for last, `solved` the other one in terms of it; where the last one is no
    rational expression, `given` has a parameter in terms of it.
    """

    coordinate: sp.Symbol
    solved: dict[sp.Symbol, sp.Expr]
    values: dict[sp.Symbol, sp.Expr]
    given: dict[sp.Symbol, sp.Expr]
    exists_if: Boolean


def planar_equilibria(reduction: Reduction) -> tuple[Equilibrium, ...]:
    """Every equilibrium with |R| < 1 at generic parameters."""
    scalar = with_scalar_parameters(reduction)
    field = planar_field(scalar)
    return tuple(_equilibrium(scalar, field, point) for point in _zeros(without_common_factor(field)))


def _zeros(field: Field) -> Iterator[_Point]:
    """The zeros of a field whose components have no common factor, at generic parameters."""
    if any(sp.Poly(component, x, y).total_degree() > 1 for component in field):
        parts = (x * field[0] + y * field[1], x * field[1] - y * field[0])
    else:
        parts = field
    for first, second in product(*map(_curves, parts)):
        solved, solution, other = _eliminated(first, second)
        (remaining,) = {x, y} - {solved}
        top = sp.numer(sp.cancel(other.subs(solved, solution)))
        if sp.expand(top) == 0:
            raise Unsolved(f"the equilibria fill the curve {other} = 0")
        for factor, _ in sp.factor_list(top, remaining)[1]:
            rests = (sp.numer(sp.cancel(component.subs(solved, solution))) for component in field)
            if all(sp.rem(rest, factor, remaining) == 0 for rest in rests):
                yield from _roots(factor, remaining, {solved: solution})


def _curves(polynomial: sp.Expr) -> list[sp.Expr]:
    """The factors that may vanish within the disc."""
    return [
        factor
        for factor, _ in sp.factor_list(polynomial, x, y)[1]
        if sp.expand(factor + gap) != 0 and not _is_positive(factor)
    ]


def _is_positive(polynomial: sp.Expr) -> bool:
    return polynomial.subs({x: 0, y: 0}).is_positive and is_sum_of_squares(polynomial)


def _eliminated(first: sp.Expr, second: sp.Expr) -> tuple[sp.Symbol, sp.Expr, sp.Expr]:
    """A coordinate in which one of two equations is linear, its value by that equation, and the other equation."""
    for equation, other in ((first, second), (second, first)):
        for coordinate in (x, y):
            polynomial = sp.Poly(equation, coordinate)
            if polynomial.degree() == 1 and not polynomial.LC().has(x, y):
                return coordinate, sp.cancel(-polynomial.TC() / polynomial.LC()), other
    raise Unsolved(f"neither is linear in a coordinate: {first} = 0, {second} = 0")


def _roots(polynomial: sp.Expr, coordinate: sp.Symbol, solved: dict[sp.Symbol, sp.Expr]) -> Iterator[_Point]:
    """The real roots of an irreducible polynomial between −1 and 1, and the other coordinate at them."""
    (other,) = solved
    degree = sp.degree(polynomial, coordinate)
    if degree == 1:
        top, bottom = sp.Poly(polynomial, coordinate).TC(), sp.Poly(polynomial, coordinate).LC()
        root = sp.cancel(-top / bottom)
        values = {coordinate: root, other: sp.cancel(solved[other].subs(coordinate, root))}
        yield _Point(coordinate, solved, values, {}, positive_if(gap.subs(values)))
    elif degree % 2 and not solved[other].has(coordinate):
        yield _hyperbolic_root(sp.Poly(polynomial, coordinate), solved)
    elif not is_sum_of_squares(polynomial):
        raise Unsolved(f"the roots of {polynomial} are no rational functions of the parameters")


def _hyperbolic_root(polynomial: sp.Poly, solved: dict[sp.Symbol, sp.Expr]) -> _Point:
    """The root of α (1 − z)ⁿ + γ (1 + z)ⁿ: tanh(n artanh z) = −(α + γ)/(γ − α)."""
    z, n = polynomial.gen, polynomial.degree()
    constant, slope = polynomial.coeff_monomial(1), polynomial.coeff_monomial(z) / n
    first, second = sp.expand((constant - slope) / 2), sp.expand((constant + slope) / 2)
    if sp.expand(polynomial.as_expr() - first * (1 - z) ** n - second * (1 + z) ** n) != 0:
        raise Unsolved(f"the roots of {polynomial.as_expr()} are no rational functions of the parameters")
    ratio = sp.cancel(constant / slope)
    multiple_angle = sp.cancel(((1 + z) ** n - (1 - z) ** n) / ((1 + z) ** n + (1 - z) ** n))
    parameter = min(constant.free_symbols | slope.free_symbols, key=str)
    (value,) = sp.solve(ratio + multiple_angle, parameter)
    root = -sp.tanh(sp.atanh(ratio) / n)
    return _Point(z, solved, {z: root, **solved}, {parameter: sp.cancel(value)}, positive_if(-first * second))


def _equilibrium(reduction: Reduction, field: Field, point: _Point) -> Equilibrium:
    """Linearise; signs are judged with the parameter of `given` written in terms of the coordinate."""
    jacobian = sp.ImmutableMatrix(field).jacobian([x, y])
    if point.given:
        judged = jacobian.subs(point.solved).subs(point.given).applyfunc(sp.cancel)
        known = [1 - point.coordinate, 1 + point.coordinate]
    else:
        judged = jacobian.subs(point.values).applyfunc(sp.factor)
        known = [point.exists_if.lhs] if isinstance(point.exists_if, sp.Gt) else []
    trace, determinant = sp.cancel(judged.trace()), sp.cancel(judged.det())
    derivation = planar_derivation(reduction, field)
    derivation.conclude(
        "equilibrium",
        "An equilibrium",
        *(sp.Eq(coordinate, value, evaluate=False) for coordinate, value in point.values.items()),
        step="equilibrium",
        premises=["planar"],
        why="x' = y' = 0 there."
        + " tanh of a multiple angle is a rational function of tanh of the angle." * bool(point.given),
        check=partial(_check_equilibrium, point=point),
    )
    linearised = jacobian.subs(point.values) if point.given else judged
    derivation.conclude(
        "linearisation",
        "Its linearisation",
        sp.Eq(J, linearised, evaluate=False),
        step="linearisation",
        premises=["planar", "equilibrium"],
        why="The derivatives of (x', y') in (x, y), there.",
        check=partial(_check_linearisation, point=point),
    )
    return Equilibrium(
        state=point.values[x] + sp.I * point.values[y],
        exists_if=point.exists_if,
        jacobian=linearised,
        stable_if=sp.And(negative_if(trace, known), positive_if(determinant, known)),
        centre_if=sp.And(zero_if(trace, known), positive_if(determinant, known)),
        derivation=derivation,
    )


def _check_equilibrium(
    planar: tuple[sp.Equality, ...], equilibrium: tuple[sp.Equality, ...], point: _Point
) -> Iterable[sp.Expr]:
    values = {relation.lhs: relation.rhs for relation in equilibrium}
    for component in planar:
        yield _in_tanh(component.rhs.subs(values), point)
    for hyperbolic in sp.Tuple(*values.values()).atoms(sp.tanh):
        # tanh(artanh(ratio)/n) = t when the ratio is tanh(n artanh t).
        (ratio,), angle = hyperbolic.atoms(sp.atanh), sp.Symbol("u")
        multiple = sp.expand_trig(sp.tanh(ratio / hyperbolic.args[0] * angle))
        yield _in_tanh(ratio.args[0], point) - multiple.subs(sp.tanh(angle), t)


def _check_linearisation(
    planar: tuple[sp.Equality, ...],
    equilibrium: tuple[sp.Equality, ...],
    linearisation: sp.Equality,
    point: _Point,
) -> Iterable[sp.Expr]:
    values = {relation.lhs: relation.rhs for relation in equilibrium}
    for i, component in enumerate(planar):
        for j, coordinate in enumerate((x, y)):
            difference = component.rhs.diff(coordinate).subs(values) - linearisation.rhs[i, j]
            yield _in_tanh(difference, point)


def _in_tanh(expression: sp.Expr, point: _Point) -> sp.Expr:
    """The expression with t for the hyperbolic tangent in it and the parameter that goes with it: rational in t."""
    if not point.given:
        return expression
    in_t = {parameter: value.subs(point.coordinate, -t) for parameter, value in point.given.items()}
    return expression.replace(lambda e: isinstance(e, sp.tanh), lambda e: t).subs(in_t)
