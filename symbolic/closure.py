"""Show that a family of laws is not kept, at an instance in one coordinate.

A density p moved by a velocity v obeys ∂ₜ log p = −(v' + v (log p)'), the continuity equation in score form. If
the family p_θ is kept, the residual v' + v (log p)' is a combination Σ θ_j' ∂ log p/∂θ_j of the m tangent
functions of the family, and the determinant of their values and the residual's,

    det [ ∂ log p/∂θ_1 (q_i), …, ∂ log p/∂θ_m (q_i), (v' + v (log p)')(q_i) ],    i = 1 … m + 1,

vanishes at all points q_i. One that does not is a proof that the family is left, up to the rounding of its
evaluation at 30 digits. An instance is enough to show that a family is left; that one is kept needs a derivation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import NoReturn

import mpmath
import sympy as sp

from symbolic.circle import phi, point, tangent, theta
from symbolic.components import Components
from symbolic.fields import AttentionField, x, y
from symbolic.notation import Average, m
from symbolic.reduction import ClosureUndecided, NotClosed
from symbolic.zero import Witness

#: The coordinate of a token in an instance.
q = sp.Symbol("q", real=True)
#: The digits at which determinants are evaluated, and what exceeds their rounding beyond doubt.
DIGITS = 30
ROUNDING = sp.Float(10) ** -15


@dataclass(frozen=True)
class Instance:
    """One law of a family in one coordinate q: the velocity there, and the parts of the determinant."""

    velocity: sp.Expr
    log_density: sp.Expr
    tangents: Sequence[sp.Expr]
    parameters: dict[sp.Basic, sp.Expr]

    @property
    def residual(self) -> sp.Expr:
        """v' + v (log p)'."""
        return self.velocity.diff(q) + self.velocity * self.log_density.diff(q)

    def witness(self, points: Sequence[sp.Rational]) -> Witness | None:
        """The determinant at m + 1 points if it shows that the family is left, otherwise None."""
        rows = [[evaluate(function, at) for function in (*self.tangents, self.residual)] for at in points]
        # Columns of length one, so that the determinant is compared with one.
        matrix = sp.Matrix(rows)
        scales = [matrix[:, j].norm() for j in range(matrix.cols)]
        if scales[-1] < ROUNDING:
            return None
        value = matrix.det(method="berkowitz") / sp.prod(scales)
        if abs(value) < ROUNDING:
            return None
        return Witness({**self.parameters, **{sp.Symbol(f"q_{i}"): at for i, at in enumerate(points, 1)}}, value)


def refuse(field: AttentionField, law: object, instance: Instance, obstruction: sp.Basic) -> NoReturn:
    """Raise NotClosed with the instance's witness, or ClosureUndecided when the instance shows nothing.

    `obstruction` is the term of the velocity that no derivation could bring into the family.
    """
    count_of_points = len(instance.tangents) + 1
    # Points of either sign away from the symmetries and the kinks that velocities have at 0.
    points = [sp.Rational(3 * (4 * k - 2 * count_of_points + 1), 4 * count_of_points) for k in range(count_of_points)]
    witness = instance.witness(points)
    if witness is None:
        why = "no derivation covers it, and the instance tried shows no term outside the tangent space."
        raise ClosureUndecided(field, law, obstruction, why)
    why = (
        "in an instance with one coordinate the score-form residual v' + v (log p)' is no combination of the "
        f"{len(instance.tangents)} tangent functions of the family; the determinant that would vanish is {witness}."
    )
    raise NotClosed(field, law, obstruction, why, witness)


def evaluate(expression: sp.Expr, at: sp.Rational) -> sp.Float:
    """The value at q = at, integrals by tanh-sinh quadrature, which the integrals of SymPy would take minutes for."""
    with mpmath.workdps(DIGITS + 10):
        integrals = {
            integral: sp.Float(_quadrature(integral, at), DIGITS) for integral in expression.atoms(sp.Integral)
        }
        return sp.N(expression.xreplace(integrals).subs(q, at), DIGITS)


def _quadrature(integral: sp.Integral, at: sp.Rational) -> mpmath.mpf:
    ((variable, lower, upper),) = integral.limits
    function = sp.lambdify(variable, integral.function.subs(q, at), "mpmath")
    ends = (lower, sp.S.Zero, upper) if lower == -sp.oo else (lower, upper)
    return mpmath.quad(function, [sp.lambdify([], end, "mpmath")() for end in ends])


def gaussian_instance(field: AttentionField) -> Instance:
    """N(1/3, 3/4) on the line."""
    mean, variance = sp.symbols("mu Sigma", positive=True)
    values = {mean: sp.Rational(1, 3), variance: sp.Rational(3, 4)}

    def log_density(at: sp.Expr) -> sp.Expr:
        return -((at - mean) ** 2) / (2 * variance) - sp.log(2 * sp.pi * variance) / 2

    tangents = [log_density(q).diff(parameter).subs(values) for parameter in (mean, variance)]
    return _on_the_line(field, lambda at: log_density(at).subs(values), tangents, values)


def mixture_instance(field: AttentionField) -> Instance:
    """Half N(−1, 1/2), half N(3/4, 3/2) on the line; the weights may change too."""
    names = sp.symbols("mu_1 Sigma_1 mu_2 Sigma_2 w", positive=True)
    first_mean, first_variance, second_mean, second_variance, weight = names
    values = dict(zip(names, map(sp.Rational, ("-1", "1/2", "3/4", "3/2", "1/2")), strict=True))

    def log_density(at: sp.Expr) -> sp.Expr:
        first = _normal(at, first_mean, first_variance)
        return sp.log(weight * first + (1 - weight) * _normal(at, second_mean, second_variance))

    tangents = [log_density(q).diff(parameter).subs(values) for parameter in names]
    return _on_the_line(field, lambda at: log_density(at).subs(values), tangents, values)


def circle_instance(field: AttentionField) -> Instance:
    """Angles uniform on a half circle, so that the doubled angle is uniform: R = 0 in the wrapped Cauchy family.

    There the tangent functions are cos 2θ and sin 2θ.
    """
    components = Components(2, values={x: point(theta), y: point(phi)}, angle=phi)
    names: dict[sp.Basic, sp.Expr] = {}
    expression = (tangent(theta).T * components(field.velocity()))[0]
    expression = _with_numbers(expression, {theta, phi, m}, names)
    expression = expression.replace(
        Average, lambda integrand, variable, law: sp.Integral(integrand / sp.pi, (variable, -sp.pi / 2, sp.pi / 2))
    ).subs(theta, q)
    return Instance(expression, sp.S.Zero, [sp.cos(2 * q), sp.sin(2 * q)], names)


def _on_the_line(
    field: AttentionField,
    log_density: Callable[[sp.Expr], sp.Expr],
    tangents: Sequence[sp.Expr],
    values: dict[sp.Basic, sp.Expr],
) -> Instance:
    components = Components(
        1, values={x: sp.ImmutableMatrix([q])}, density=lambda variable: sp.exp(log_density(variable))
    )
    names = dict(values)
    variable = sp.Symbol("y_1", real=True)
    velocity = _with_numbers(components(field.velocity())[0], {q, variable}, names)
    return Instance(velocity, log_density(q), tangents, names)


def _with_numbers(expression: sp.Expr, keep: set[sp.Symbol], names: dict[sp.Basic, sp.Expr]) -> sp.Expr:
    """Small rationals, all different, for the parameters of a field; they are added to `names`."""
    free = sorted(expression.free_symbols - keep, key=str)
    numbers = (sp.Rational(-1, 1) ** k * sp.Rational(k + 2, k + 3) for k in count())
    chosen = {symbol: sp.Integer(2) if symbol.is_integer else next(numbers) for symbol in free}
    names.update(chosen)
    return expression.subs(chosen)


def _normal(at: sp.Expr, mean: sp.Expr, variance: sp.Expr) -> sp.Expr:
    return sp.exp(-((at - mean) ** 2) / (2 * variance)) / sp.sqrt(2 * sp.pi * variance)
