"""Where equilibria on the invariant circle |R| = 1 are born in pairs: saddle-nodes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import sympy as sp
from sympy.logic.boolalg import Boolean

from symbolic.derivation import Derivation
from symbolic.equilibria.signs import positive_if
from symbolic.invariants.families import Unsolved
from symbolic.invariants.planar import Field, gap, planar_derivation, planar_field, with_scalar_parameters, x, y
from symbolic.invariants.rational import without_common_factor
from symbolic.notation import rate
from symbolic.reduction import Reduction

#: The tangent of half the angle of R, and the angle.
s = sp.Symbol("s", real=True)
Xi = sp.Symbol("Xi", real=True)
CIRCLE = {x: (1 - s**2) / (1 + s**2), y: 2 * s / (1 + s**2)}


@dataclass(frozen=True)
class SaddleNode:
    """A saddle-node of equilibria on the unit circle.

    Parameters
    ----------
    condition : the parameters at which it happens.
    state : where on the circle.
    two_if : the condition under which the two equilibria are there, close by.
    derivation : the reduction's derivation, continued to the fold.
    """

    condition: sp.Equality
    state: sp.Expr
    two_if: Boolean
    derivation: Derivation


def saddle_nodes(reduction: Reduction) -> tuple[SaddleNode, ...]:
    """Find the saddle-nodes of equilibria on |R| = 1 of a planar reduction that keeps this circle.

    On the circle R = (1 + is)²/(1 + s²) the angle moves by Ξ' = f(s)/(1 + s²)ᵐ with a polynomial f; two of its roots
    meet where its discriminant vanishes. Such a point is listed when f'' ≠ 0 and ∂f/∂p ≠ 0 there, p the parameter
    that passes through it: the two conditions that make it a saddle-node.

    Parameters
    ----------
    reduction : one with a single complex state (see `specialise`) and f of degree 2 in s.

    Raises
    ------
    ValueError
        When the circle is not invariant.
    symbolic.invariants.families.Unsolved
        When the discriminant has a factor that is not linear in any parameter, or f is not quadratic.

    >>> from symbolic import LinearAttention, Sphere, WrappedCauchy, reduce, specialise
    >>> v, w = sp.symbols("v w", positive=True)
    >>> general = reduce(LinearAttention(space=Sphere(2)), WrappedCauchy())
    >>> A, V, _ = (parameter.symbol for parameter in general.parameters)
    >>> fold, = saddle_nodes(specialise(general, {A: sp.eye(2), V: sp.Matrix([[v, w], [-w, -v]])}))
    >>> fold.condition, fold.state, fold.two_if
    (Eq(v, w), -I, v - w > 0)
    """
    scalar = with_scalar_parameters(reduction)
    field = planar_field(scalar)
    if sp.rem(sp.Poly(x * field[0] + y * field[1], x, y), sp.Poly(gap, x, y)) != 0:
        raise ValueError(f"reduction: {reduction.name} does not keep the circle |R| = 1")
    speed = _speed(without_common_factor(field))
    if sp.degree(speed, s) != 2:
        raise Unsolved(f"the equilibria on the circle are roots of {speed}, which is not quadratic")
    discriminant = sp.discriminant(speed, s)
    folds = []
    for factor, power in sp.factor_list(discriminant)[1]:
        if factor.is_zero is not False and power % 2:
            folds.append(_fold(scalar, field, speed, discriminant, factor))
    return tuple(folds)


def _speed(field: Field) -> sp.Expr:
    """f(s), without its powers of 1 + s² and its content."""
    angular = sp.numer(sp.cancel((x * field[1] - y * field[0]).subs(CIRCLE)))
    factors = [factor**power for factor, power in sp.factor_list(angular, s)[1] if sp.expand(factor - 1 - s**2) != 0]
    return sp.expand(sp.Mul(*factors))


def _fold(reduction: Reduction, field: Field, speed: sp.Expr, discriminant: sp.Expr, factor: sp.Expr) -> SaddleNode:
    parameters = [p for p in sorted(factor.free_symbols, key=str) if sp.degree(factor, p) == 1]
    if not parameters:
        raise Unsolved(f"{factor} is linear in no parameter")
    parameter = parameters[0]
    (value,) = sp.solve(factor, parameter)
    root = sp.cancel(-sp.Poly(speed, s).coeff_monomial(s) / (2 * sp.Poly(speed, s).LC())).subs(parameter, value)
    state = sp.cancel(((1 + sp.I * root) ** 2 / (1 + root**2)).subs(parameter, value))
    derivation = planar_derivation(reduction, field)
    angular = sp.factor((x * field[1] - y * field[0]).subs(CIRCLE))
    derivation.conclude(
        "on_the_circle",
        "The angle of R on the circle |R| = 1, s = tan(Ξ/2)",
        sp.Eq(rate(Xi), angular, evaluate=False),
        step="tangential component",
        premises=["planar"],
        why="Ξ' = (x y' − y x')/(x² + y²), at x = (1 − s²)/(1 + s²), y = 2s/(1 + s²).",
        check=lambda planar, circle: [(x * planar[1].rhs - y * planar[0].rhs).subs(CIRCLE) - circle.rhs],
    )
    derivation.conclude(
        "fold",
        "Two equilibria meet",
        sp.Eq(parameter, value, evaluate=False),
        sp.Eq(s, root, evaluate=False),
        step="fold",
        premises=["on_the_circle"],
        why="There Ξ' and its derivative in s vanish, its second derivative and its derivative in the parameter not.",
        check=_check_fold,
    )
    return SaddleNode(sp.Eq(parameter, value), state, positive_if(discriminant), derivation)


def _check_fold(circle: sp.Equality, fold: tuple[sp.Equality, ...]) -> Iterable[sp.Expr]:
    condition, place = fold
    at = {condition.lhs: condition.rhs, s: place.rhs}

    def there(expression: sp.Expr) -> sp.Expr:
        return sp.cancel(expression.subs(at, simultaneous=True))

    yield there(circle.rhs)
    yield there(circle.rhs.diff(s))
    for transversal in (circle.rhs.diff(s, 2), circle.rhs.diff(condition.lhs)):
        yield sp.S.Zero if there(transversal) != 0 else sp.S.One
