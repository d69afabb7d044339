"""Families of token distributions: what the reductions close on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Gaussian:
    """Normal laws N(μ, Σ) on R^d, Σ of any rank: y = μ + L z with z standard normal and Σ = L Lᵀ.

    `factored` takes μ and the d × r factor L as the parameters in place of μ and Σ.
    """

    factored: bool = False

    def __str__(self) -> str:
        return "Gaussian(factored=True)" if self.factored else "Gaussian()"


@dataclass(frozen=True)
class GaussianOrbit:
    """The images N(Gμ₀ + g, GΣ₀Gᵀ) of one normal law under affine maps x ↦ Gx + g, the maps as their parameters."""


@dataclass(frozen=True)
class WrappedCauchy:
    """Laws on the circle whose doubled angle Ξ = 2θ has the Poisson kernel as its density,

    f(Ξ) = (1 − |R|²) / (2π |1 − R̄ e^{iΞ}|²),   ∫ e^{ikΞ} f dΞ = R^k  (k ≥ 0),

    with order parameter R in the unit disc.
    """


@dataclass(frozen=True)
class Tokens:
    """The empirical law m = (1/n) Σ_j δ_{x_j} of finitely many tokens."""


@dataclass(frozen=True)
class Equiangular:
    """The empirical laws of n unit tokens with one inner product ρ = ⟨x_i, x_j⟩ for all i ≠ j.

    They exist for −1/(n − 1) ≤ ρ ≤ 1: corners of a regular simplex at the lower end, one point at the upper.
    """
