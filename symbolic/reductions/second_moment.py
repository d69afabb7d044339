"""Any law on R^d under linear attention: the second moment closes.

    M' = W M + M Wᵀ,    M = ∫ x xᵀ dm,    W = β V M Aᵀ for one head.

Other fields do not close on M: two laws with the same M have different M'.

>>> from symbolic import LinearAttention, reduce, SecondMoment
>>> reduce(LinearAttention(), SecondMoment()).equations
{M: M*W.T + W*M}
"""

from __future__ import annotations

from collections.abc import Iterable

import sympy as sp

from symbolic.components import DIMENSIONS, Components
from symbolic.derivation import Derivation
from symbolic.fields import AttentionField, LinearAttention, x, y
from symbolic.gaussian_averages import M, averaged_velocity, define_averages
from symbolic.laws import SecondMoment
from symbolic.matrix_calculus import affine_parts
from symbolic.notation import LogMGFGradient, VectorAverage, d, rate
from symbolic.reduction import ClosureUndecided, Invariant, NotClosed, Reduction, Variable
from symbolic.zero import nonzero_witness

W = sp.MatrixSymbol("W", d, d)

CANONICAL = {"second_moment": (LinearAttention(), SecondMoment())}

#: Two laws of equal atoms on the line with the same second moment, 1.
SAME_SECOND_MOMENT = ((-1, 1, -1, 1, -1, 1, -1, 1), (-2, 0, 0, 0, 0, 0, 0, 2))


def matches(field: object, law: object) -> bool:
    return isinstance(field, AttentionField) and isinstance(law, SecondMoment)


def derive(field: AttentionField, law: SecondMoment) -> Reduction:
    """Derive the equation of M = ∫ x xᵀ dm.

    Raises
    ------
    NotClosed, ClosureUndecided
        For a field whose velocity is not W x with a W that depends on the law through M alone.
    """
    velocity = averaged_velocity(field)
    if velocity is None or velocity.has(LogMGFGradient) or field.activation is not None:
        _refuse(field, law)
    derivation = Derivation("second_moment")
    derivation.define("field", "Attention field", sp.Eq(rate(x), field.velocity(), evaluate=False))
    define_averages(derivation, velocity)
    matrix, _, _ = affine_parts(velocity, x)
    derivation.conclude(
        "linear_field",
        "The field is linear, through the second moment alone",
        sp.Eq(rate(x), W * x),
        sp.Eq(W, matrix),
        step="linear field",
        premises=["tilted_mean"],
        why="Collect the matrices in front of x.",
        check=_check_linear,
    )
    derivation.conclude(
        "second_moment_equation",
        "Second moment equation",
        sp.Eq(rate(M), W * M + M * W.T),
        step="product rule",
        premises=["linear_field", "second_moment"],
        why="(x xᵀ)' = x' xᵀ + x x'ᵀ under the average.",
        check=_check_product_rule,
    )
    return Reduction(
        name="second_moment",
        title=f"Second moment of any law under {field}",
        field=field,
        law=law,
        state=(Variable(M, "covariance", "second moment of the law"),),
        parameters=field.parameters,
        definitions=((W, matrix),),
        equations={M: derivation["second_moment_equation"].rhs},
        assumptions=("the law has a second moment",),
        invariants=(Invariant("rank", "the rank of M is conserved"),),
        derivation=derivation,
    )


def _refuse(field: AttentionField, law: SecondMoment) -> None:
    """Compare M' = 2 ∫ x v dm of two laws on the line that have the same M."""
    rates = [_rate_on_the_line(field, atoms) for atoms in SAME_SECOND_MOMENT]
    obstruction = VectorAverage(field.velocity().xreplace({x: y}) * y.T, y)
    witness = nonzero_witness(sp.simplify(rates[0] - rates[1]))
    if witness is None:
        why = "no derivation covers it, and the two laws tried have the same M'."
        raise ClosureUndecided(field, law, obstruction, why)
    first, second = (", ".join(map(str, atoms)) for atoms in SAME_SECOND_MOMENT)
    why = (
        f"the laws of equal atoms at {first} and at {second} have the same second moment, but their M' differ "
        f"by {witness}."
    )
    raise NotClosed(field, law, obstruction, why, witness)


def _rate_on_the_line(field: AttentionField, atoms: Iterable[int]) -> sp.Expr:
    points = [sp.ImmutableMatrix([atom]) for atom in atoms]
    velocities = [Components(1, values={x: point}, atoms=points)(field.velocity())[0] for point in points]
    return sum(2 * point[0] * velocity for point, velocity in zip(points, velocities, strict=True)) / len(points)


def _check_linear(tilted: sp.Equality, result: tuple[sp.Equality, ...]) -> Iterable[sp.Expr]:
    field, matrix = result
    for dimension in DIMENSIONS:
        components = Components(dimension, symmetric=[M])
        yield from components.difference(tilted.rhs, field.rhs.xreplace({W: matrix.rhs}))


def _check_product_rule(linear: tuple[sp.Equality, ...], moment: sp.Equality, result: sp.Equality) -> Iterable[sp.Expr]:
    """Both sides under the average, M as the average of y yᵀ."""
    velocity = linear[0].rhs.xreplace({x: y})
    moved = VectorAverage(velocity * y.T + y * velocity.T, y)
    for dimension in DIMENSIONS:
        yield from Components(dimension).difference(moved, result.rhs.xreplace({moment.lhs: moment.rhs}))
