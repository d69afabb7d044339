"""Reflections that reverse the time of a planar reduction.

R → e^{iφ} R̄ maps orbits to orbits that are run backwards when R' = F(R) satisfies F(e^{iφ} R̄) = −e^{iφ} conj(F(R)).
With F = Σ f_{jk} R^j R̄^k and e^{iφ} = u/ū this says Re(f_{jk} u^{j−k−1}) = 0 for every j and k, a negative power of u
standing for a positive one of ū: polynomials in the parameters and in η, with u = 1 + iη, or with u = i for φ = π.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import sympy as sp

from symbolic.derivation import Derivation
from symbolic.invariants.families import Family, solution_families
from symbolic.invariants.planar import (
    Field,
    parameter_values,
    planar_derivation,
    planar_field,
    powers_of_state,
    require_planar,
    unknown_parameters,
    with_scalar_parameters,
    without_content,
    x,
    y,
)
from symbolic.notation import conjugate_parts, rate
from symbolic.reduction import Reduction
from symbolic.specialise import specialise

#: The slope of the axis of the reflection, tan(φ/2).
eta = sp.Symbol("eta", real=True)
#: The reflected point.
X, Y = sp.symbols("X Y", real=True)


@dataclass(frozen=True)
class Reversibility:
    """A reflection R → e^{iφ} R̄ that reverses time, for a family of parameters.

    Parameters
    ----------
    reflection : e^{iφ}, a number, or an expression in `eta` = tan(φ/2) and the parameters.
    values, conditions : the family, as in `FirstIntegral`; values may contain `eta`.
    reduction : the reduction at these values.
    derivation : the reduction's derivation, continued to the reversed equations of the reflected point.
    """

    reflection: sp.Expr
    values: Mapping[sp.Basic, sp.Basic]
    conditions: tuple[sp.Expr, ...]
    reduction: Reduction
    derivation: Derivation


def find_reversibility(reduction: Reduction) -> tuple[Reversibility, ...]:
    """Find the reflections R → e^{iφ} R̄ that reverse time, and for which parameters they do.

    An equilibrium on the axis of such a reflection that is a centre of the linearisation is surrounded by closed
    orbits, whether or not there is a Hamiltonian.

    Parameters
    ----------
    reduction : one with a single complex state; matrix parameters must be 2 × 2.

    Returns
    -------
    Every family of parameters, largest first.

    Raises
    ------
    ValueError
        When the state is not a single complex number.
    symbolic.invariants.families.Unsolved
        When the conditions on the parameters can't be solved by case distinction.

    >>> from symbolic import LinearAttention, Sphere, WrappedCauchy, reduce, specialise
    >>> general = reduce(LinearAttention(space=Sphere(2)), WrappedCauchy())
    >>> A, V, _ = (parameter.symbol for parameter in general.parameters)
    >>> found, = find_reversibility(specialise(general, {A: sp.eye(2), V: sp.Matrix([[1, 2], [-2, -1]])}))
    >>> found.reflection
    -1
    """
    require_planar(reduction)
    scalar = with_scalar_parameters(reduction)
    field = without_content(planar_field(scalar))
    unknowns = unknown_parameters(reduction, field)
    tilted = solution_families(reversal_conditions(field, 1 + sp.I * eta), [eta, *unknowns], hidden=[eta])
    upright = [
        family
        for family in solution_families(reversal_conditions(field, sp.I), unknowns)
        if not any(family.values in other for other in tilted)
    ]
    pairs = [(((1 + sp.I * eta) / (1 - sp.I * eta)).subs(family.values), family) for family in tilted]
    pairs += [(-sp.S.One, family) for family in upright]
    return tuple(_reversibility(reduction, scalar, reflection, family) for reflection, family in pairs)


def reversal_conditions(field: Field, axis: sp.Expr) -> list[sp.Expr]:
    """The polynomials that vanish exactly when the reflection in the line through 0 and `axis` reverses time."""
    conditions = []
    for (power, mirrored_power), coefficient in powers_of_state(field[0] + sp.I * field[1]).items():
        turns = power - mirrored_power - 1
        turned = coefficient * (axis**turns if turns >= 0 else sp.conjugate(axis) ** -turns)
        conditions.append(sp.factor(conjugate_parts(turned)[0]))
    return [condition for condition in dict.fromkeys(conditions) if condition != 0]


def _reversibility(reduction: Reduction, scalar: Reduction, reflection: sp.Expr, family: Family) -> Reversibility:
    values = parameter_values(reduction, family.values)
    member = specialise(reduction, values) if values else scalar
    field = planar_field(member)
    derivation = planar_derivation(member, field)
    cosine, sine = (sp.cancel(part) for part in conjugate_parts(reflection))
    derivation.define(
        "reflection",
        "A reflection of the plane",
        sp.Eq(X, cosine * x + sine * y, evaluate=False),
        sp.Eq(Y, sine * x - cosine * y, evaluate=False),
    )
    reflected = {x: X, y: Y}
    derivation.conclude(
        "reversed",
        "The reflected point obeys the same equations with time reversed",
        sp.Eq(rate(X), -field[0].subs(reflected, simultaneous=True), evaluate=False),
        sp.Eq(rate(Y), -field[1].subs(reflected, simultaneous=True), evaluate=False),
        step="reflection",
        premises=["planar", "reflection"],
        why="Differentiate the reflection and put in the equations at (x, y); the reflection is its own inverse.",
        check=_check_reversed,
    )
    return Reversibility(reflection, values, family.conditions, member, derivation)


def _check_reversed(
    planar: tuple[sp.Equality, ...], reflection: tuple[sp.Equality, ...], result: tuple[sp.Equality, ...]
) -> Iterable[sp.Expr]:
    reflected = {relation.lhs: relation.rhs for relation in reflection}
    for coordinate, conclusion in zip(reflection, result, strict=True):
        moved = sum(coordinate.rhs.diff(v) * r.rhs for v, r in zip((x, y), planar, strict=True))
        yield moved - conclusion.rhs.subs(reflected, simultaneous=True)
