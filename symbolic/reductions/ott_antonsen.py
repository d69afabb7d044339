"""Wrapped Cauchy laws of the doubled angle under linear attention on the circle: the Ott–Antonsen equation.

    R' = iβ Im(P) R + (β/2)(Q − Q̄ R²),    (|R|²)' = β (1 − |R|²) Re(Q R̄),

P and Q as in the Kuramoto–Daido reduction: the circle |R| = 1 is invariant.

Source: "On the Diverse Dynamical Behaviors Arising in Deep Linear Transformers" (arXiv 2607.18584).

>>> from symbolic import LinearAttention, reduce, Sphere, WrappedCauchy
>>> reduce(LinearAttention(space=Sphere(2)), WrappedCauchy()).equations
{R: I*R*beta*im(P) + beta*(Q - R**2*conjugate(Q))/2}
"""

from __future__ import annotations

from collections.abc import Iterable

import sympy as sp

from symbolic.circle import harmonics
from symbolic.closure import circle_instance, refuse
from symbolic.derivation import Derivation
from symbolic.fields import AttentionField, beta
from symbolic.laws import WrappedCauchy
from symbolic.notation import Average, TimeDerivative, conjugate_parts, rate, without_parts
from symbolic.reduction import Invariant, Reduction, Variable
from symbolic.reductions.kuramoto_daido import (
    FIELD,
    P,
    Q,
    R,
    Xi,
    circle_obstruction,
    coefficients,
    is_linear_on_circle,
    mean_field_derivation,
    plane_parameters,
)

#: The index of a harmonic, and the moments Z_k = ∫ e^{ikΞ} dm.
k = sp.Symbol("k", integer=True, positive=True)
Z = sp.Function("Z")
#: The wave e^{iΞ} in the Poisson kernel.
e = sp.Symbol("e", complex=True, nonzero=True)
f = sp.Symbol("f", real=True)
modulus_squared = sp.Abs(R) ** 2

CANONICAL = {"ott_antonsen": (FIELD, WrappedCauchy())}


def matches(field: object, law: object) -> bool:
    return isinstance(field, AttentionField) and isinstance(law, WrappedCauchy)


def derive(field: AttentionField, law: WrappedCauchy) -> Reduction:
    """Derive the Ott–Antonsen equation.

    The continuity equation couples the moments Z_k = ∫ e^{ikΞ} dm of neighbouring k. On the family
    Z_k = R^k every one of them, for symbolic k, is the same equation for R: the family is kept.

    Raises
    ------
    NotClosed, ClosureUndecided
        For another field than linear attention.
    """
    if not is_linear_on_circle(field):
        refuse(field, law, circle_instance(field), circle_obstruction(field))
    derivation = Derivation("ott_antonsen")
    derivation.include(mean_field_derivation(field))
    velocity = derivation["kuramoto_daido"][2].rhs
    hierarchy = sp.I * k * sum(value * Z(k + shift) for shift, value in harmonics(velocity, Xi).items())
    derivation.conclude(
        "moments",
        "The hierarchy of moments Z_k of the doubled angle",
        sp.Eq(TimeDerivative(Z(k)), hierarchy, evaluate=False),
        step="continuity equation",
        premises=["kuramoto_daido"],
        why="Test the continuity equation with e^{ikΞ}: Z_k' = ∫ ik Ξ' e^{ikΞ} dm.",
        check=_check_hierarchy,
    )
    derivation.define(
        "poisson_kernel",
        "Wrapped Cauchy law: its density is the Poisson kernel, e = exp(iΞ)",
        sp.Eq(
            2 * sp.pi * f,
            (1 - modulus_squared) / ((1 - sp.conjugate(R) * e) * (1 - R / e)),
            evaluate=False,
        ),
    )
    derivation.conclude(
        "poisson_moments",
        "Its moments",
        sp.Eq(Z(k), R**k, evaluate=False),
        step="geometric series",
        premises=["poisson_kernel"],
        why="Partial fractions split the kernel into Σ_{k≥0} (R/e)^k and Σ_{k≥1} (R̄e)^k; Z_k goes with e^{−k}.",
        check=_check_poisson,
    )
    on_family = hierarchy.replace(Z, lambda index: R**index)
    order_rate = sp.expand(sp.powsimp(sp.expand(on_family / (k * R ** (k - 1)))))
    equation = _as_real_coefficients(order_rate)
    derivation.conclude(
        "ott_antonsen",
        "Ott–Antonsen equation",
        sp.Eq(rate(R), equation, evaluate=False),
        step="closure on the Poisson family",
        premises=["moments", "poisson_moments"],
        why="With Z_k = R^k, Z_k' = k R^{k−1} R'; the k-th equation is this one for every k, so the family is kept.",
        check=_check_closure,
    )
    radial = beta * (1 - modulus_squared) * sp.re(Q * sp.conjugate(R))
    derivation.conclude(
        "radius",
        "The modulus of the order parameter",
        sp.Eq(TimeDerivative(sp.Abs(R) ** 2), radial, evaluate=False),
        step="radial component",
        premises=["ott_antonsen"],
        why="(|R|²)' = 2 Re(R̄ R'); the rotation drops out and 1 − |R|² factors.",
        check=_check_radius,
    )
    p_value, q_value, _ = derivation["kuramoto_daido"]
    return Reduction(
        name="ott_antonsen",
        title="Ott–Antonsen equation of linear attention on the circle",
        field=field,
        law=law,
        state=(Variable(R, "disc", "order parameter of the doubled angle"),),
        parameters=plane_parameters(field),
        definitions=(*coefficients(field), (P, p_value.rhs), (Q, q_value.rhs)),
        equations={R: equation},
        assumptions=("the doubled angle has a wrapped Cauchy law", "|R| ≤ 1"),
        invariants=(Invariant("unit circle", "|R| = 1 is invariant: (|R|²)' has the factor 1 − |R|²"),),
        derivation=derivation,
    )


def _as_real_coefficients(order_rate: sp.Expr) -> sp.Expr:
    """Collect powers of R and write (P − P̄)/2i as Im P."""
    mirrored = order_rate.xreplace({sp.conjugate(P): P - 2 * sp.I * sp.im(P)})
    return sp.factor_terms(sp.expand(mirrored).coeff(R, 1) * R) + sp.factor(
        sp.expand(mirrored - mirrored.coeff(R, 1) * R)
    )


def _check_hierarchy(mean_field: tuple[sp.Equality, ...], hierarchy: sp.Equality) -> Iterable[sp.Expr]:
    """Both sides as polynomials in averages of e^{i(k+j)Ξ}."""
    tested = harmonics(sp.I * k * mean_field[2].rhs * sp.exp(sp.I * k * Xi), Xi)
    left = sum(value * Average(sp.exp(sp.I * frequency * Xi), Xi) for frequency, value in tested.items())
    right = hierarchy.rhs.replace(Z, lambda index: Average(sp.exp(sp.I * sp.expand(index) * Xi), Xi))
    yield left - right


def _check_poisson(kernel: sp.Equality, moments: sp.Equality) -> Iterable[sp.Expr]:
    forward, backward = sp.conjugate(R) * e, R / e
    yield without_parts(kernel.rhs) - (1 / (1 - backward) + forward / (1 - forward))
    # The coefficients g_k of 1/(1 − q), q = R/e, obey g_k − (R) g_{k−1} = 0 with g_0 = 1.
    coefficient = moments.rhs
    yield coefficient.subs(k, 1) - R
    yield sp.powsimp(sp.expand(coefficient.subs(k, k + 1) - R * coefficient))


def _check_closure(hierarchy: sp.Equality, moments: sp.Equality, result: sp.Equality) -> Iterable[sp.Expr]:
    on_family = hierarchy.rhs.replace(Z, lambda index: moments.rhs.subs(k, index))
    moved = moments.rhs.diff(R) * result.rhs
    yield sp.powsimp(sp.expand(without_parts(moved - on_family) / R**k))


def _check_radius(equation: sp.Equality, radius: sp.Equality) -> Iterable[sp.Expr]:
    real, _ = conjugate_parts(without_parts(2 * sp.conjugate(R) * equation.rhs))
    yield real - without_parts(radius.rhs)
