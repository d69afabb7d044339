"""Gaussian laws as images of the initial one under affine maps, the maps as the state:

    G' = W G,    g' = W g + c,    G(0) = I,  g(0) = 0,
    μ = G μ₀ + g,    Σ = G Σ₀ Gᵀ,

W and c the parts of the affine field v(x) = W x + c, which depend on μ and Σ. Every token moves by the same map,
x(t) = G(t) x(0) + g(t), and the rank of Σ is that of Σ₀ because G stays invertible.

>>> from symbolic import GaussianOrbit, reduce, SoftmaxAttention
>>> reduce(SoftmaxAttention(feed_forward='affine'), GaussianOrbit()).equations
{G: W*G, g: W*g + c}
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import sympy as sp

from symbolic.components import DIMENSIONS, Components
from symbolic.derivation import Derivation
from symbolic.fields import AttentionField, x
from symbolic.gaussian_averages import Sigma, mu
from symbolic.laws import Gaussian, GaussianOrbit
from symbolic.notation import d, rate
from symbolic.reduction import Invariant, Reduction, Variable
from symbolic.reductions import gaussian_moments
from symbolic.reductions.gaussian_moments import FIELD, W

G = sp.MatrixSymbol("G", d, d)
g = sp.MatrixSymbol("g", d, 1)
mu_0 = sp.MatrixSymbol("mu_0", d, 1)
Sigma_0 = sp.MatrixSymbol("Sigma_0", d, d)

CANONICAL = {"gaussian_group": (FIELD, GaussianOrbit())}


def matches(field: object, law: object) -> bool:
    return isinstance(law, GaussianOrbit) and gaussian_moments.matches(field, Gaussian())


def derive(field: AttentionField, law: GaussianOrbit) -> Reduction:
    """From the affine field: x = G x(0) + g gives x' = W x + c when G' = W G and g' = W g + c."""
    moments = gaussian_moments.derive(field, Gaussian())
    derivation = Derivation("gaussian_group")
    derivation.include(moments.derivation)
    derivation.define(
        "orbit",
        "Images of the initial law under the affine maps x ↦ G x + g",
        sp.Eq(mu, G * mu_0 + g, evaluate=False),
        sp.Eq(Sigma, G * Sigma_0 * G.T, evaluate=False),
    )
    field_at_token, *definitions = derivation["affine_field"]
    translation = field_at_token.rhs.xreplace({x: g})
    derivation.conclude(
        "group_equations",
        "Equations of the affine map, from G = I and g = 0",
        sp.Eq(rate(G), W * G, evaluate=False),
        sp.Eq(rate(g), translation, evaluate=False),
        step="product rule",
        premises=["moments", "affine_field", "orbit"],
        why="G μ₀ + g and G Σ₀ Gᵀ then obey the moment equations, and G x(0) + g the equation of a token; "
        "equal at the start, they are equal for all time.",
        check=_check,
    )
    return replace(
        moments,
        name="gaussian_group",
        title=f"Affine maps that move Gaussian laws under {field}",
        law=law,
        state=(Variable(G, "matrix", "linear part of the map"), Variable(g, "vector", "translation part of the map")),
        parameters=(
            Variable(mu_0, "vector", "mean at the start"),
            Variable(Sigma_0, "covariance", "covariance at the start"),
            *moments.parameters,
        ),
        definitions=(
            *((relation.lhs, relation.rhs) for relation in derivation["orbit"]),
            *((relation.lhs, relation.rhs) for relation in definitions),
        ),
        equations={G: W * G, g: translation},
        assumptions=("G(0) = I, g(0) = 0", "Σ₀ is symmetric and positive semidefinite, of any rank"),
        invariants=(Invariant("rank", "G stays invertible, (det G)' = tr(W) det G, so rank Σ = rank Σ₀"),),
        derivation=derivation,
    )


def _check(
    moments: tuple[sp.Equality, ...],
    affine: tuple[sp.Equality, ...],
    orbit: tuple[sp.Equality, ...],
    result: tuple[sp.Equality, ...],
) -> Iterable[sp.Expr]:
    """Mean, covariance and a single token, for free W and c."""
    linear, translation = (relation.rhs for relation in result)
    mean, covariance = orbit
    in_map = {mean.lhs: mean.rhs, covariance.lhs: covariance.rhs}
    start = sp.MatrixSymbol("x_0", d, 1)
    at_token = affine[0].rhs.xreplace({x: G * start + g})
    pairs = (
        (linear * mu_0 + translation, moments[0].rhs.xreplace(in_map)),
        (linear * Sigma_0 * G.T + G * Sigma_0 * linear.T, moments[1].rhs.xreplace(in_map)),
        (linear * start + translation, at_token),
    )
    for dimension in DIMENSIONS:
        components = Components(dimension, symmetric=[Sigma_0])
        for moved, expected in pairs:
            yield from components.difference(moved, expected)
