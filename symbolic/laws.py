"""Families of token distributions: what the reductions close on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Gaussian:
    """Normal laws N(μ, Σ) on R^d, Σ of any rank: y = μ + L z with z standard normal and Σ = L Lᵀ.

    `factored` takes μ and the d × r factor L as the parameters in place of μ and Σ.
    """

    factored: bool = False


@dataclass(frozen=True)
class WrappedCauchy:
    """Laws on the circle whose doubled angle Ξ = 2θ has the Poisson kernel as its density,

    f(Ξ) = (1 − |R|²) / (2π |1 − R̄ e^{iΞ}|²),   ∫ e^{ikΞ} f dΞ = R^k  (k ≥ 0),

    with order parameter R in the unit disc.
    """


@dataclass(frozen=True)
class AngularCentralGaussian:
    """Laws on the sphere of y/|y| with y ~ N(0, Σ), Σ positive definite and given up to a positive factor:

    p(x) = Γ(d/2) / (2π^{d/2}) (det Σ)^{−1/2} ⟨x, Σ⁻¹x⟩^{−d/2}.
    """


@dataclass(frozen=True)
class Tokens:
    """The empirical law m = (1/n) Σ_j δ_{x_j} of finitely many tokens.

    `moved_by_group` takes the element of the group that moves all tokens as the parameter, in place of the tokens.
    """

    moved_by_group: bool = False
