"""The moment equations with a factor of the covariance, Σ = L Lᵀ, as the state:

    μ' = W μ + c,    L' = W L,    W = A + V L Lᵀ B.

L is d × r, so the rank of Σ never exceeds r and Σ stays positive semidefinite whatever the rounding.

>>> from symbolic import Gaussian, reduce, SoftmaxAttention
>>> reduce(SoftmaxAttention(feed_forward='affine'), Gaussian(factored=True)).equations
{mu: W*mu + c, L: W*L}
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import sympy as sp

from symbolic.components import DIMENSIONS, Components
from symbolic.derivation import Derivation
from symbolic.fields import AttentionField
from symbolic.gaussian_averages import Sigma, mu
from symbolic.laws import Gaussian
from symbolic.matrix_calculus import expand_matrix
from symbolic.notation import d, rate
from symbolic.reduction import Invariant, Reduction, Variable
from symbolic.reductions import gaussian_moments
from symbolic.reductions.gaussian_moments import FIELD, W

#: The number of columns of the factor: the largest rank that Σ can have.
r = sp.Symbol("r", integer=True, positive=True)
L = sp.MatrixSymbol("L", d, r)

CANONICAL = {"gaussian_factor": (FIELD, Gaussian(factored=True))}


def matches(field: object, law: object) -> bool:
    return law == Gaussian(factored=True) and gaussian_moments.matches(field, Gaussian())


def derive(field: AttentionField, law: Gaussian) -> Reduction:
    """From the moment equations: L' = W L gives (L Lᵀ)' = W Σ + Σ Wᵀ, which is Σ'."""
    moments = gaussian_moments.derive(field, Gaussian())
    derivation = Derivation("gaussian_factor")
    derivation.include(moments.derivation)
    derivation.define("factor", "A factor of the covariance, of any number of columns", sp.Eq(Sigma, L * L.T))
    in_factor = {Sigma: L * L.T}
    definitions = {symbol: expand_matrix(value.xreplace(in_factor)) for symbol, value in moments.definitions}
    derivation.conclude(
        "factor_equations",
        "Equations of the factor",
        sp.Eq(rate(L), W * L),
        sp.Eq(W, definitions[W]),
        step="product rule",
        premises=["moments", "affine_field", "factor"],
        why="Both Σ and L Lᵀ obey (L Lᵀ)' = L' Lᵀ + L L'ᵀ = W Σ + Σ Wᵀ, so Σ = L Lᵀ once is Σ = L Lᵀ for all time.",
        check=_check,
    )
    return replace(
        moments,
        name="gaussian_factor",
        title=f"Mean and covariance factor of Gaussian laws under {field}",
        law=law,
        state=(moments.state[0], Variable(L, "matrix", "factor of the covariance, Σ = L Lᵀ")),
        definitions=tuple(definitions.items()),
        equations={mu: moments.equations[mu], L: W * L},
        assumptions=("Σ = L Lᵀ",),
        invariants=(Invariant("rank", "the rank of L, hence of Σ, is conserved"),),
        derivation=derivation,
    )


def _check(
    moments: tuple[sp.Equality, ...],
    affine: tuple[sp.Equality, ...],
    factor: sp.Equality,
    result: tuple[sp.Equality, ...],
) -> Iterable[sp.Expr]:
    """For d = 1, 2, 3 and every rank up to d."""
    factor_rate, matrix = result
    in_factor = {Sigma: factor.rhs, W: matrix.rhs}
    product_rule = factor_rate.rhs * L.T + L * factor_rate.rhs.T
    for dimension in DIMENSIONS:
        for rank in range(1, dimension + 1):
            components = Components(dimension, sizes={r: rank})
            yield from components.difference(affine[1].rhs.xreplace({Sigma: factor.rhs}), matrix.rhs)
            yield from components.difference(product_rule.xreplace(in_factor), moments[1].rhs.xreplace(in_factor))
