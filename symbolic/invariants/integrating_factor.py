"""Integrating factors (1 − |R|²)^{−k} of planar reductions, and the Hamiltonians behind them.

With x' = F, y' = G the weight is an integrating factor when

    ∂ₓ[(1 − x² − y²)^{−k} F] + ∂_y[(1 − x² − y²)^{−k} G] = 0,

a polynomial identity in x and y: conditions on the parameters and on k. Where they hold there is an H, found by linear
algebra, with

    x' = (1 − x² − y²)^k ∂H/∂y,    y' = −(1 − x² − y²)^k ∂H/∂x,    H' = 0.

For the Ott–Antonsen equation (|R|²)' = β(1 − |R|²) Re(QR̄), so the identity divided by the weight is
div F + kβ Re(QR̄) = 0, and with a for A, v for V (symbolic.circle) its coefficients are

    Re(v₀a₀) = 0,    (k − 3) v₁a₁ = 0,    ā₁(v₀ + (k − 2)v̄₀) + v̄₁((k − 2)ā₀ − a₀) = 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import sympy as sp

from symbolic.invariants.families import solution_families
from symbolic.invariants.planar import (
    Field,
    FirstIntegral,
    H,
    conclude_conserved,
    gap,
    parameter_values,
    planar_derivation,
    planar_field,
    powers_of_state,
    unknown_parameters,
    with_scalar_parameters,
    without_content,
    x,
    y,
)
from symbolic.notation import conjugate_parts
from symbolic.reduction import Reduction
from symbolic.specialise import specialise

#: The exponent, when it is searched for.
k = sp.Symbol("k", real=True)
#: The degree of a numerator: one above the degree of the cubic field, so that its integral is reached.
DEGREE = 4


def weighted_families(reduction: Reduction, exponent: sp.Expr | None) -> tuple[FirstIntegral, ...]:
    """Every family of parameters with an integrating factor (1 − |R|²)^{−k}, k given or (None) whatever it is."""
    scalar = with_scalar_parameters(reduction)
    field = without_content(planar_field(scalar))
    unknowns = unknown_parameters(reduction, field)
    if exponent is None:
        families = solution_families(divergence_conditions(field, k), [k, *unknowns], hidden=[k])
    else:
        families = solution_families(divergence_conditions(field, exponent), unknowns)
    integrals = []
    for family in families:
        found = sp.sympify(family.values.get(k, k) if exponent is None else exponent)
        values = parameter_values(reduction, family.values)
        member = specialise(reduction, values) if values else scalar
        integral = _first_integral(member, found, values, family.conditions)
        if integral is not None:
            integrals.append(integral)
    return tuple(integrals)


def divergence_conditions(field: Field, exponent: sp.Expr) -> list[sp.Expr]:
    """The polynomials in the parameters and k that vanish exactly when (1 − x² − y²)^{−k} is an integrating factor.

    The identity, divided by the weight, is (1 − x² − y²)(∂ₓF + ∂_yG) + 2k (xF + yG) = 0; where the unit circle is
    invariant it has the factor 1 − x² − y². The coefficients are those of powers of R and R̄, by real and imaginary
    part.
    """
    identity = gap * (field[0].diff(x) + field[1].diff(y)) + 2 * exponent * (x * field[0] + y * field[1])
    quotient, remainder = sp.div(sp.Poly(identity, x, y), sp.Poly(gap, x, y))
    polynomial = quotient if remainder.is_zero else sp.Poly(identity, x, y)
    coefficients = powers_of_state(polynomial.as_expr()).values()
    parts = [sp.factor(part) for coefficient in coefficients for part in conjugate_parts(coefficient)]
    return [part for part in dict.fromkeys(parts) if part != 0]


def _first_integral(
    reduction: Reduction, exponent: sp.Expr, values: Mapping[sp.Basic, sp.Basic], conditions: Sequence[sp.Expr]
) -> FirstIntegral | None:
    field = planar_field(reduction)
    hamiltonian = integrate_weighted(field, exponent)
    if hamiltonian is None:
        return None
    derivation = planar_derivation(reduction, field)
    derivation.conclude(
        "integrating_factor",
        "An integrating factor",
        sp.Eq(sp.Symbol("mu"), gap ** (-exponent), evaluate=False),
        step="divergence condition",
        premises=["planar"],
        why="∂ₓ(μ x') + ∂_y(μ y') = 0 is a polynomial identity in x and y, linear in the exponent.",
        check=_check_divergence,
    )
    derivation.conclude(
        "hamiltonian",
        "The Hamiltonian",
        sp.Eq(H, hamiltonian, evaluate=False),
        step="integration",
        premises=["planar", "integrating_factor"],
        why="x' = μ⁻¹ ∂H/∂y and y' = −μ⁻¹ ∂H/∂x are linear equations for the coefficients of H.",
        check=_check_hamiltonian,
    )
    conclude_conserved(derivation, "hamiltonian")
    return FirstIntegral(hamiltonian, exponent, values, tuple(conditions), reduction, derivation)


def integrate_weighted(field: Field, exponent: sp.Expr) -> sp.Expr | None:
    """H with F = gap^k ∂H/∂y and G = −gap^k ∂H/∂x, of the form N gap^{1−k} + c log(gap); None when there is none."""
    monomials = [x**i * y**j for i in range(DEGREE + 1) for j in range(DEGREE + 1 - i)]
    unknowns = sp.symbols(f"n:{len(monomials)}")
    logarithmic = sp.Dummy("c")
    numerator = sum(c * monomial for c, monomial in zip(unknowns, monomials, strict=True))

    def weighted_gradient(variable: sp.Symbol) -> sp.Expr:
        rational = numerator.diff(variable) * gap + 2 * (exponent - 1) * variable * numerator
        return rational - 2 * logarithmic * variable * gap ** (exponent - 1)

    if not (exponent.is_Integer and exponent >= 1):
        logarithmic = sp.S.Zero
    equations = []
    for residual in (weighted_gradient(y) - field[0], weighted_gradient(x) + field[1]):
        equations += sp.Poly(sp.expand(residual), x, y).coeffs()
    free = [*unknowns, *sp.sympify(logarithmic).free_symbols]
    solution = sp.solve(equations, free, dict=True)
    if not solution:
        return None
    # What stays free multiplies constants, such as gap^{k−1} gap^{1−k} = 1.
    rest = dict.fromkeys(free, sp.S.Zero)
    value = (numerator * gap ** (1 - exponent) + logarithmic * sp.log(gap)).subs(solution[0]).subs(rest)
    rational, logs = value.as_independent(sp.log, as_Add=True)
    return sp.factor(rational) + logs


def _check_divergence(planar: tuple[sp.Equality, ...], weight: sp.Equality) -> Iterable[sp.Expr]:
    first, second = planar
    yield (weight.rhs * first.rhs).diff(x) + (weight.rhs * second.rhs).diff(y)


def _check_hamiltonian(
    planar: tuple[sp.Equality, ...], weight: sp.Equality, hamiltonian: sp.Equality
) -> Iterable[sp.Expr]:
    first, second = planar
    yield weight.rhs * first.rhs - hamiltonian.rhs.diff(y)
    yield weight.rhs * second.rhs + hamiltonian.rhs.diff(x)
