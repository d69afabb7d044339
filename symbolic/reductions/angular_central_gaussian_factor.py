"""Angular central Gaussian laws on the sphere with a factor of the covariance, Σ = L Lᵀ, as the state:

    L' = W L,    U = β V M Aᵀ,    W = U − tr(M U) I,    M = M(L Lᵀ).

L is d × r, so the rank of Σ never exceeds r, Σ stays positive semidefinite whatever the rounding, and M comes from the
singular values of L, which are accurate where the eigenvalues of Σ have long been lost. L and c L are the same law.

>>> from symbolic import AngularCentralGaussian, LinearAttention, Sphere, reduce
>>> reduce(LinearAttention(space=Sphere()), AngularCentralGaussian(factored=True)).equations
{L: W*L}
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import sympy as sp

from symbolic.components import Components
from symbolic.derivation import Derivation
from symbolic.fields import AttentionField
from symbolic.laws import AngularCentralGaussian
from symbolic.notation import SecondMomentOfACG, rate
from symbolic.reduction import Invariant, Reduction, Variable
from symbolic.reductions import angular_central_gaussian, projective
from symbolic.reductions.angular_central_gaussian import Sigma
from symbolic.reductions.gaussian_factor import r
from symbolic.reductions.projective import M, W, dimensions, in_dimension, matrices

CANONICAL = {"angular_central_gaussian_factor": (projective.FIELD, AngularCentralGaussian(factored=True))}


def matches(field: object, law: object) -> bool:
    return isinstance(field, AttentionField) and law == AngularCentralGaussian(factored=True)


def derive(field: AttentionField, law: AngularCentralGaussian) -> Reduction:
    """From the equation of the covariance: L' = W L gives (L Lᵀ)' = W Σ + Σ Wᵀ, which is Σ'.

    Raises
    ------
    NotClosed, ClosureUndecided
        Where the covariance has no equation.
    """
    covariances = angular_central_gaussian.derive(field, AngularCentralGaussian())
    covariance, matrix, moment = (in_dimension(symbol, field) for symbol in (Sigma, W, M))
    L = sp.MatrixSymbol("L", covariance.rows, r)
    derivation = Derivation("angular_central_gaussian_factor")
    derivation.include(covariances.derivation)
    derivation.define("factor", "A factor of the covariance, of any number of columns", sp.Eq(covariance, L * L.T))
    derivation.conclude(
        "factor_equation",
        "Equation of the factor",
        sp.Eq(rate(L), matrix * L, evaluate=False),
        step="product rule for the factor",
        premises=["covariance", "factor"],
        why="Both Σ and L Lᵀ obey (L Lᵀ)' = L' Lᵀ + L L'ᵀ = W Σ + Σ Wᵀ, so Σ = L Lᵀ once is Σ = L Lᵀ for all time.",
        check=_check,
    )
    return replace(
        covariances,
        name="angular_central_gaussian_factor",
        title=f"Covariance factor of angular central Gaussian laws under linear attention on {field.space}",
        law=law,
        state=(Variable(L, "matrix", "factor of the covariance, Σ = L Lᵀ, up to a factor"),),
        definitions=((moment, SecondMomentOfACG(L * L.T)), *matrices(derivation)),
        equations={L: matrix * L},
        assumptions=("Σ = L Lᵀ", "L and c L, c ≠ 0, are the same law"),
        invariants=(Invariant("rank", "the rank of L, hence of Σ, is conserved"),),
        derivation=derivation,
    )


def _check(covariance: sp.Equality, factor: sp.Equality, result: sp.Equality) -> Iterable[sp.Expr]:
    """For free W and every rank up to d."""
    square = factor.rhs
    L = square.args[0]
    product_rule = result.rhs * L.T + L * result.rhs.T
    for dimension in dimensions(L):
        for rank in range(1, dimension + 1):
            components = Components(dimension, sizes={r: rank})
            yield from components.difference(product_rule, covariance.rhs.xreplace({factor.lhs: square}))
