"""The positive definite equilibrium of Gaussian laws under softmax attention with V = cI.

With S = c(B + Bᵀ) the precision X = Σ⁻¹ obeys a linear equation,

    Σ' = AΣ + ΣAᵀ + ΣSΣ,    X' = −(AᵀX + XA + S),

so the equilibrium is Σ = X⁻¹ with AᵀX + XA = −S, and deviations from it decay by ΔX' = −(AᵀΔX + ΔXA), whose
eigenvalues are −(λᵢ + λⱼ), λ those of A.
"""

from __future__ import annotations

from collections.abc import Iterable

import sympy as sp

from symbolic.components import DIMENSIONS, Components
from symbolic.derivation import Derivation
from symbolic.equilibria.planar import Equilibrium
from symbolic.fields import FEED_FORWARD_A as A
from symbolic.fields import B, V
from symbolic.gaussian_averages import Sigma
from symbolic.matrix_calculus import expand_matrix, symmetrise
from symbolic.notation import d, rate
from symbolic.reduction import Reduction

c = sp.Symbol("c", real=True)
S = sp.MatrixSymbol("S", d, d)
#: The precision Σ⁻¹, its value at the equilibrium, and a deviation from it.
X = sp.MatrixSymbol("X", d, d)
DeltaX = sp.MatrixSymbol("DeltaX", d, d)


class SmallestRealPart(sp.Function):
    """The smallest real part of the eigenvalues of a square matrix."""

    is_real = True


def bernoulli_equilibrium(reduction: Reduction) -> Equilibrium:
    """The equilibrium Σ = X⁻¹, AᵀX + XA = −S, of the moment equations at V = cI; verified for d = 1, 2, 3."""
    moments = reduction.derivation
    derivation = Derivation(moments.name)
    derivation.include(moments)
    derivation.define(
        "scalar_value",
        "A value matrix that is a multiple of the identity",
        sp.Eq(V, c * sp.Identity(d), evaluate=False),
        sp.Eq(S, c * (B + B.T), evaluate=False),
    )
    riccati = A * Sigma + Sigma * A.T + Sigma * S * Sigma
    derivation.conclude(
        "bernoulli",
        "Bernoulli equation of the covariance",
        sp.Eq(rate(Sigma), riccati, evaluate=False),
        step="scalar value matrix",
        premises=["moment_equations", "scalar_value"],
        why="Put in V = cI; Σ(cB)Σ + Σ(cBᵀ)Σ = ΣSΣ.",
        check=_check_bernoulli,
    )
    derivation.define("precision", "The precision, where Σ is invertible", sp.Eq(X, Sigma.I, evaluate=False))
    linear = -expand_matrix(symmetrise(X * riccati.xreplace({Sigma: X.I}) * X, [X]))
    derivation.conclude(
        "precision_equation",
        "It obeys a linear equation",
        sp.Eq(rate(X), linear, evaluate=False),
        step="derivative of an inverse",
        premises=["bernoulli", "precision"],
        why="X' = −XΣ'X, and XΣ = I.",
        check=_check_precision,
    )
    derivation.conclude(
        "lyapunov",
        "Its equilibrium",
        sp.Eq(A.T * X + X * A, -S, evaluate=False),
        step="equilibrium",
        premises=["precision_equation"],
        why="X' = 0.",
        check=_check_lyapunov,
    )
    decay = -(A.T * DeltaX + DeltaX * A)
    derivation.conclude(
        "linearisation",
        "Deviations from the equilibrium",
        sp.Eq(rate(DeltaX), decay, evaluate=False),
        step="linearisation",
        premises=["precision_equation"],
        why="The difference of two solutions of the linear equation.",
        check=_check_deviation,
    )
    return Equilibrium(
        state=X.I,
        exists_if=sp.Q.positive_definite(X),
        jacobian=decay,
        stable_if=sp.Gt(SmallestRealPart(A), 0),
        centre_if=sp.false,
        derivation=derivation,
    )


def _check_bernoulli(
    moments: tuple[sp.Equality, ...], scalar: tuple[sp.Equality, ...], result: sp.Equality
) -> Iterable[sp.Expr]:
    values = {relation.lhs: relation.rhs for relation in scalar}
    for dimension in DIMENSIONS:
        components = Components(dimension, symmetric=[Sigma])
        yield from components.difference(moments[1].rhs.xreplace(values), result.rhs.xreplace(values))


def _check_precision(bernoulli: sp.Equality, precision: sp.Equality, result: sp.Equality) -> Iterable[sp.Expr]:
    """Σ X' Σ = −Σ', with ΣX = XΣ = I cancelled when multiplied out."""
    moved = expand_matrix(Sigma * result.rhs.xreplace({precision.lhs: precision.rhs}) * Sigma)
    for dimension in DIMENSIONS:
        yield from Components(dimension, symmetric=[Sigma, S]).difference(moved, -bernoulli.rhs)


def _check_lyapunov(precision: sp.Equality, result: sp.Equality) -> Iterable[sp.Expr]:
    for dimension in DIMENSIONS:
        components = Components(dimension, symmetric=[X, S])
        yield from components.difference(-precision.rhs, result.lhs - result.rhs)


def _check_deviation(precision: sp.Equality, result: sp.Equality) -> Iterable[sp.Expr]:
    for dimension in DIMENSIONS:
        components = Components(dimension, symmetric=[X, DeltaX, S])
        moved = precision.rhs.xreplace({X: X + DeltaX}) - precision.rhs
        yield from components.difference(moved, result.rhs)
