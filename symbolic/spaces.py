"""Where tokens live: Euclidean space, or the unit sphere with its tangential projection."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import sympy as sp


@dataclass(frozen=True)
class Space(ABC):
    """A space of tokens in R^d; `dimension` is d, or None for any dimension."""

    dimension: int | None = None
    lowest: ClassVar[int]

    def __post_init__(self) -> None:
        if self.dimension is not None and (not isinstance(self.dimension, int) or self.dimension < self.lowest):
            raise ValueError(
                f"dimension: {self.dimension!r} should be an integer >= {self.lowest}, or left out for any dimension"
            )

    @abstractmethod
    def project(self, x: sp.MatrixSymbol, velocity: sp.MatrixExpr) -> sp.MatrixExpr:
        """The part of a velocity at x that moves a token within the space."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.dimension or ''})"


@dataclass(frozen=True, repr=False)
class Euclidean(Space):
    """R^d: the velocity is taken as it is.

    >>> Euclidean()
    Euclidean()
    """

    lowest: ClassVar[int] = 1

    def project(self, x: sp.MatrixSymbol, velocity: sp.MatrixExpr) -> sp.MatrixExpr:
        return velocity


@dataclass(frozen=True, repr=False)
class Sphere(Space):
    """The unit sphere S^{d-1} in R^d, with the tangential projection P_x = I − x xᵀ.

    >>> Sphere(2)
    Sphere(2)
    """

    lowest: ClassVar[int] = 2

    def project(self, x: sp.MatrixSymbol, velocity: sp.MatrixExpr) -> sp.MatrixExpr:
        return sp.MatMul(sp.MatAdd(sp.Identity(x.rows), sp.MatMul(-1, x, x.T)), velocity)
