"""Attention vector fields: a score, a weighting of it, a value map, a feed-forward part, a space.

On R^d a token at x moves with velocity

    v(x) = ∫ w(s(x,y)) V y dm(y) / ∫ w(s(x,y)) dm(y)        (normalised weighting)
    v(x) = ∫ w(s(x,y)) V y dm(y)                            (unnormalised)

plus the feed-forward part A x + b if there is one; on the sphere with P_x v(x), P_x = I − x xᵀ.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import sympy as sp

from symbolic.notation import Average, Inner, VectorAverage, d
from symbolic.reduction import Variable
from symbolic.spaces import Euclidean, Space, Sphere

#: A token and the tokens that it attends to.
x = sp.MatrixSymbol("x", d, 1)
y = sp.MatrixSymbol("y", d, 1)

V = sp.MatrixSymbol("V", d, d)
#: The score matrix of softmax attention, B = KᵀQ, and of linear attention, A = QᵀK.
B = sp.MatrixSymbol("B", d, d)
SCORE_A = sp.MatrixSymbol("A", d, d)
#: The matrix and the bias of an affine feed-forward part. The papers call both this matrix and the score of
#: linear attention A; no field has both.
FEED_FORWARD_A = sp.MatrixSymbol("A", d, d)
b = sp.MatrixSymbol("b", d, 1)
beta = sp.Symbol("beta", real=True)

FEED_FORWARD = (None, "affine")


@dataclass(frozen=True)
class AttentionField(ABC):
    """What all attention fields share; a subclass states its score, weighting and parameters.

    Parameters
    ----------
    space : where tokens live, `Euclidean()` or `Sphere()`.
    feed_forward : None, or "affine" for + A x + b (on R^d only: it leaves the sphere).
    """

    space: Space = Euclidean()
    feed_forward: str | None = None

    normalised: ClassVar[bool]

    def __post_init__(self) -> None:
        if not isinstance(self.space, Space):
            raise ValueError(f"space: {self.space!r} should be Euclidean() or Sphere()")
        if self.feed_forward not in FEED_FORWARD:
            raise ValueError(f"feed_forward: {self.feed_forward!r} should be one of {FEED_FORWARD}")
        if self.feed_forward and isinstance(self.space, Sphere):
            raise ValueError("feed_forward: A x + b leaves the sphere; use space=Euclidean(), or feed_forward=None")

    @property
    @abstractmethod
    def score(self) -> sp.Expr:
        """s(x, y) in matrix form."""

    @abstractmethod
    def weighting(self, score: sp.Expr) -> sp.Expr:
        """The weight w(s) that a token with score s gets."""

    @property
    @abstractmethod
    def attention_parameters(self) -> tuple[Variable, ...]:
        """The parameters of score and value map."""

    @property
    def parameters(self) -> tuple[Variable, ...]:
        if not self.feed_forward:
            return self.attention_parameters
        return (
            *self.attention_parameters,
            Variable(FEED_FORWARD_A, "matrix", "feed-forward matrix"),
            Variable(b, "vector", "feed-forward bias"),
        )

    def attention(self) -> sp.MatrixExpr:
        """The attention part of the velocity at x, as averages over the law m of y."""
        weight = self.weighting(self.score)
        average = VectorAverage(sp.MatMul(weight, V, y), y)
        return sp.MatMul(1 / Average(weight, y), average) if self.normalised else average

    def velocity(self) -> sp.MatrixExpr:
        """The whole velocity at x, within the space."""
        velocity = self.attention()
        if self.feed_forward:
            velocity = sp.MatAdd(velocity, FEED_FORWARD_A * x, b)
        return self.space.project(x, velocity)


@dataclass(frozen=True)
class SoftmaxAttention(AttentionField):
    """Softmax attention: v(x) = ∫ V y e^{⟨Bx,y⟩} dm(y) / ∫ e^{⟨Bx,y⟩} dm(y), with B = KᵀQ.

    >>> SoftmaxAttention(feed_forward="affine").velocity()
    A*x + b + 1/(∫ exp(<B*x, y>) dm(y))*(∫ exp(<B*x, y>)*V*y dm(y))
    """

    normalised: ClassVar[bool] = True

    @property
    def score(self) -> sp.Expr:
        return Inner(B * x, y)

    def weighting(self, score: sp.Expr) -> sp.Expr:
        return sp.exp(score)

    @property
    def attention_parameters(self) -> tuple[Variable, ...]:
        return (Variable(B, "matrix", "score matrix"), Variable(V, "matrix", "value matrix"))


@dataclass(frozen=True)
class LinearAttention(AttentionField):
    """Linear attention: v(x) = ∫ β⟨x,Ay⟩ V y dm(y), with A = QᵀK.

    >>> LinearAttention(space=Sphere()).velocity()
    (I - x*x.T)*(∫ (beta*<x, A*y>)*V*y dm(y))
    """

    normalised: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.feed_forward:
            raise ValueError("feed_forward: linear attention has none (its score matrix is the A of the papers); use None")

    @property
    def score(self) -> sp.Expr:
        return beta * Inner(x, SCORE_A * y)

    def weighting(self, score: sp.Expr) -> sp.Expr:
        return score

    @property
    def attention_parameters(self) -> tuple[Variable, ...]:
        return (
            Variable(SCORE_A, "matrix", "score matrix"),
            Variable(V, "matrix", "value matrix"),
            Variable(beta, "real", "inverse temperature"),
        )
