"""Families of token distributions: what the reductions close on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from symbolic.spaces import Euclidean, Space, Sphere


class Law(ABC):
    """A family of laws; `lives_on` names the spaces that it makes sense on."""

    lives_on: ClassVar[str]

    @abstractmethod
    def admits(self, space: Space) -> bool:
        """Whether the family makes sense for tokens in this space."""


class _OnEuclidean(Law):
    lives_on = "R^d, space=Euclidean()"

    def admits(self, space: Space) -> bool:
        return isinstance(space, Euclidean)


@dataclass(frozen=True)
class Gaussian(_OnEuclidean):
    """Normal laws N(μ, Σ) on R^d, Σ of any rank: y = μ + L z with z standard normal and Σ = L Lᵀ.

    `factored` takes μ and the d × r factor L as the parameters in place of μ and Σ.
    """

    factored: bool = False

    def __str__(self) -> str:
        return "Gaussian(factored=True)" if self.factored else "Gaussian()"


@dataclass(frozen=True)
class GaussianOrbit(_OnEuclidean):
    """The images N(Gμ₀ + g, GΣ₀Gᵀ) of one normal law under affine maps x ↦ Gx + g, the maps as their parameters."""


@dataclass(frozen=True)
class WrappedCauchy(Law):
    """Laws on the circle whose doubled angle Ξ = 2θ has the Poisson kernel as its density,

    f(Ξ) = (1 − |R|²) / (2π |1 − R̄ e^{iΞ}|²),   ∫ e^{ikΞ} f dΞ = R^k  (k ≥ 0),

    with order parameter R in the unit disc.
    """

    lives_on: ClassVar[str] = "the circle, space=Sphere(2)"

    def admits(self, space: Space) -> bool:
        return space == Sphere(2)


@dataclass(frozen=True)
class AngularCentralGaussian(Law):
    """Laws on the sphere of y/|y| with y ~ N(0, Σ), Σ positive definite and given up to a positive factor:

    p(x) = Γ(d/2) / (2π^{d/2}) (det Σ)^{−1/2} ⟨x, Σ⁻¹x⟩^{−d/2}.

    `factored` takes a d × r factor L of Σ = L Lᵀ as the parameter in place of Σ, which may then have any rank.
    """

    factored: bool = False
    lives_on: ClassVar[str] = "spheres, space=Sphere(d)"

    def admits(self, space: Space) -> bool:
        return isinstance(space, Sphere)

    def __str__(self) -> str:
        return "AngularCentralGaussian(factored=True)" if self.factored else "AngularCentralGaussian()"


@dataclass(frozen=True)
class MoebiusOrbit(Law):
    """The images of one law on the circle under Möbius maps of e^{2iθ}, the maps as their parameters.

    The law is known by its moments ⟨w^k⟩, of w = e^{2iθ} and k = 1..K.
    """

    lives_on: ClassVar[str] = "the circle, space=Sphere(2)"

    def admits(self, space: Space) -> bool:
        return space == Sphere(2)


@dataclass(frozen=True)
class Tokens(Law):
    """The empirical law m = (1/n) Σ_j δ_{x_j} of finitely many tokens.

    `moved_by_group` takes the element of the group that moves all tokens as the parameter, in place of the tokens.
    """

    moved_by_group: bool = False
    lives_on: ClassVar[str] = "every space"

    def admits(self, space: Space) -> bool:
        return True

    def __str__(self) -> str:
        return "Tokens(moved_by_group=True)" if self.moved_by_group else "Tokens()"


@dataclass(frozen=True)
class GaussianMixture(_OnEuclidean):
    """Mixtures Σ w_i N(μ_i, Σ_i) on R^d of a given number of components."""

    components: int = 2

    def __post_init__(self) -> None:
        if isinstance(self.components, bool) or not isinstance(self.components, int) or self.components < 1:
            raise ValueError(f"components: {self.components!r} should be a positive integer")


@dataclass(frozen=True)
class SecondMoment(_OnEuclidean):
    """Any law on R^d, through its second moment M = ∫ x xᵀ dm alone."""


@dataclass(frozen=True)
class Equiangular(Law):
    """The empirical laws of n unit tokens with one inner product ρ = ⟨x_i, x_j⟩ for all i ≠ j.

    They exist for −1/(n − 1) ≤ ρ ≤ 1: corners of a regular simplex at the lower end, one point at the upper.
    """

    lives_on: ClassVar[str] = "spheres, space=Sphere(d)"

    def admits(self, space: Space) -> bool:
        return isinstance(space, Sphere)
