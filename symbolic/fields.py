"""Attention vector fields: a score, a weighting of it, value maps, a feed-forward part, a space.

On R^d a token at x moves with velocity

    v(x) = ∫ w(s(x,y)) V y dm(y) / ∫ w(s(x,y)) dm(y)        (normalised weights)
    v(x) = ∫ w(s(x,y)) V y dm(y)                            (unnormalised weights)

summed over heads, plus the feed-forward part A σ(x) + b if there is one; on the sphere with P_x v(x),
P_x = I − x xᵀ.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import sympy as sp
from sympy.matrices.expressions.applyfunc import ElementwiseApplyFunction

from symbolic.notation import Average, HeadMatrix, HeadSum, Inner, VectorAverage, d, h
from symbolic.reduction import Variable
from symbolic.spaces import Euclidean, Space, Sphere

#: A token and the tokens that it attends to.
x = sp.MatrixSymbol("x", d, 1)
y = sp.MatrixSymbol("y", d, 1)
#: The score, as the variable of a weighting.
s = sp.Symbol("s", real=True)

V = sp.MatrixSymbol("V", d, d)
#: The score matrix of softmax attention, B = KᵀQ, and of linear attention, A = QᵀK.
B = sp.MatrixSymbol("B", d, d)
SCORE_A = sp.MatrixSymbol("A", d, d)
Q = sp.MatrixSymbol("Q", d, d)
K = sp.MatrixSymbol("K", d, d)
#: The matrix and the bias of a feed-forward part. The papers call this matrix and the score matrix of linear
#: attention both A; no field has both.
FEED_FORWARD_A = sp.MatrixSymbol("A", d, d)
b = sp.MatrixSymbol("b", d, 1)
beta = sp.Symbol("beta", real=True)

#: The activations σ of a feed-forward part A σ(x) + b.
ACTIVATIONS: Mapping[str, sp.Expr] = {
    "affine": s,
    "relu": sp.Max(s, 0),
    "tanh": sp.tanh(s),
    "gelu": s * (1 + sp.erf(s / sp.sqrt(2))) / 2,
}
MEANINGS = {V: "value matrix", B: "score matrix", SCORE_A: "score matrix", Q: "query matrix", K: "key matrix"}


@dataclass(frozen=True)
class Head:
    """One attention head: its score s(x, y) and its value matrix."""

    score: sp.Expr
    value: sp.MatrixSymbol


@dataclass(frozen=True, kw_only=True)
class AttentionField(ABC):
    """An attention field; each subclass states a default score and weighting.

    Parameters
    ----------
    score : s(x, y), a scalar expression in `x`, `y` of this module and any matrix symbols and real symbols.
    weighting : w(s), an expression in the symbol `s` of this module and any parameters.
    space : where tokens live, `Euclidean()` or `Sphere()`.
    heads : the number of heads; with several, their matrices are numbered (B_1, V_1, B_2, …). A symbol leaves it
        general: sums over heads stay sums, and no kernel can be generated.
    feed_forward : None, or the activation σ of + A σ(x) + b, by name ("affine", "relu", "tanh", "gelu") or as an
        expression in `s`; on R^d only, because it leaves the sphere.

    Raises
    ------
    ValueError
        For a score that is no scalar, a weighting without s, or options that contradict each other.
    """

    score: sp.Expr = None
    weighting: sp.Expr = None
    space: Space = Euclidean()
    heads: int | sp.Symbol = 1
    feed_forward: str | sp.Expr | None = None

    normalised: ClassVar[bool]
    default_score: ClassVar[sp.Expr]
    default_weighting: ClassVar[sp.Expr]

    def __post_init__(self) -> None:
        for name in ("score", "weighting"):
            value = getattr(self, name)
            object.__setattr__(self, name, getattr(self, f"default_{name}") if value is None else value)
        _check_scalar("score", self.score)
        _check_scalar("weighting", self.weighting)
        if s not in self.weighting.free_symbols:
            raise ValueError(f"weighting: {self.weighting} should be an expression in the symbol s of symbolic.fields")
        if not isinstance(self.space, Space):
            raise ValueError(f"space: {self.space!r} should be Euclidean() or Sphere()")
        symbolic = isinstance(self.heads, sp.Symbol) and self.heads.is_integer and self.heads.is_positive
        if not symbolic and (isinstance(self.heads, bool) or not isinstance(self.heads, int) or self.heads < 1):
            raise ValueError(f"heads: {self.heads!r} should be a positive integer, or a symbol that stands for one")
        if self.feed_forward is None:
            return
        if isinstance(self.feed_forward, str) and self.feed_forward not in ACTIVATIONS:
            raise ValueError(
                f"feed_forward: {self.feed_forward!r} should be None, one of {', '.join(ACTIVATIONS)}, "
                "or an expression in s"
            )
        if isinstance(self.space, Sphere):
            raise ValueError("feed_forward: A σ(x) + b leaves the sphere; use space=Euclidean(), or feed_forward=None")
        if FEED_FORWARD_A in self.score.free_symbols:
            raise ValueError(
                "feed_forward: its matrix is called A, and so is one in the score; use other symbols there"
            )

    @property
    def attention_heads(self) -> tuple[Head, ...]:
        """The heads, their matrices numbered when there are several; one for all when their number is general."""
        if not isinstance(self.heads, int) or self.heads == 1:
            return (Head(self.score, V),)
        numbered = []
        for number in range(1, self.heads + 1):
            names = {matrix: matrix_of_head.numbered() for matrix, matrix_of_head in self._of_head(number).items()}
            numbered.append(Head(self.score.xreplace(names), names[V]))
        return tuple(numbered)

    def _of_head(self, index: int | sp.Symbol) -> dict[sp.MatrixSymbol, HeadMatrix]:
        """The matrices of score and value, each with that of head number `index`."""
        matrices = [symbol for symbol in _symbols(self.score) if isinstance(symbol, sp.MatrixSymbol)]
        return {
            matrix: HeadMatrix(sp.Symbol(matrix.name), index, *matrix.shape)
            for matrix in [*matrices, V]
            if matrix not in (x, y)
        }

    def over_heads(self, part: Callable[[Head], sp.MatrixExpr]) -> list[sp.MatrixExpr]:
        """What is to be added up for all heads: a part for each, or one sum when their number is general."""
        parts = [part(head) for head in self.attention_heads]
        if isinstance(self.heads, int):
            return parts
        return [HeadSum(part.xreplace(self._of_head(h)), h, self.heads) for part in parts]

    @property
    def activation(self) -> sp.Expr | None:
        """σ(s) of the feed-forward part, or None without one."""
        return ACTIVATIONS[self.feed_forward] if isinstance(self.feed_forward, str) else self.feed_forward

    @property
    def parameters(self) -> tuple[Variable, ...]:
        """Score matrices and value matrix head by head, scalars, then the feed-forward part."""
        variables: dict[sp.Basic, Variable] = {}
        for head in self.attention_heads:
            for symbol in [*_symbols(head.score), head.value, *_symbols(self.weighting)]:
                if symbol not in (x, y, s, d):
                    variables.setdefault(symbol, _parameter(symbol))
        matrices = [variable for variable in variables.values() if variable.shape]
        scalars = [variable for variable in variables.values() if not variable.shape]
        if self.feed_forward is None:
            return (*matrices, *scalars)
        return (
            *matrices,
            *scalars,
            Variable(FEED_FORWARD_A, "matrix", "feed-forward matrix"),
            Variable(b, "vector", "feed-forward bias"),
        )

    def weight(self, score: sp.Expr) -> sp.Expr:
        """w at a score."""
        return self.weighting.xreplace({s: score})

    def attention(self, head: Head) -> sp.MatrixExpr:
        """The attention of one head at x, as averages over the law m of y."""
        weight = self.weight(head.score)
        average = VectorAverage(sp.MatMul(weight, head.value, y), y)
        return sp.MatMul(1 / Average(weight, y), average) if self.normalised else average

    def feed_forward_part(self) -> sp.MatrixExpr:
        """A σ(x) + b, or zero."""
        if self.activation is None:
            return sp.ZeroMatrix(d, 1)
        inner = x if self.activation == s else ElementwiseApplyFunction(sp.Lambda(s, self.activation), x)
        return sp.MatAdd(FEED_FORWARD_A * inner, b)

    def velocity(self) -> sp.MatrixExpr:
        """The whole velocity at x, within the space."""
        parts = self.over_heads(self.attention)
        if self.activation is not None:
            parts += self.feed_forward_part().args
        return self.space.project(x, sp.MatAdd(*parts) if len(parts) > 1 else parts[0])

    def __str__(self) -> str:
        changed = [
            f"{name}={value}"
            for name, default in (("score", self.default_score), ("weighting", self.default_weighting))
            if (value := getattr(self, name)) != default
        ]
        if self.space != Euclidean():
            changed.append(f"space={self.space}")
        if self.heads != 1:
            changed.append(f"heads={self.heads}")
        if self.feed_forward is not None:
            changed.append(f"feed_forward={self.feed_forward!r}")
        return f"{type(self).__name__}({', '.join(changed)})"


class SoftmaxAttention(AttentionField):
    """Softmax attention: v(x) = ∫ V y e^{⟨Bx,y⟩} dm(y) / ∫ e^{⟨Bx,y⟩} dm(y), with B = KᵀQ.

    >>> SoftmaxAttention(feed_forward="affine").velocity()
    A*x + b + 1/(∫ exp(<B*x, y>) dm(y))*(∫ exp(<B*x, y>)*V*y dm(y))
    """

    normalised = True
    default_score = Inner(B * x, y)
    default_weighting = sp.exp(s)


class LinearAttention(AttentionField):
    """Linear attention: v(x) = ∫ β⟨x,Ay⟩ V y dm(y), with A = QᵀK; `weighting=s**p` gives power attention.

    >>> LinearAttention(space=Sphere()).velocity()
    (I - x*x.T)*(∫ (beta*<x, A*y>)*V*y dm(y))
    """

    normalised = False
    default_score = beta * Inner(x, SCORE_A * y)
    default_weighting = s


class ExponentialAttention(AttentionField):
    """Exponential attention, softmax without the denominator: v(x) = ∫ e^{β⟨x,Ay⟩} V y dm(y).

    >>> ExponentialAttention().velocity()
    ∫ exp(beta*<x, A*y>)*V*y dm(y)
    """

    normalised = False
    default_score = beta * Inner(x, SCORE_A * y)
    default_weighting = sp.exp(s)


class L2Attention(AttentionField):
    """L2 attention: softmax with the score −|Qx − Ky|².

    >>> L2Attention().score
    -<-K*y + Q*x, -K*y + Q*x>
    """

    normalised = True
    default_score = -Inner(Q * x - K * y, Q * x - K * y)
    default_weighting = sp.exp(s)


def _check_scalar(name: str, value: object) -> None:
    if not isinstance(value, sp.Expr) or isinstance(value, sp.MatrixExpr | sp.MatrixBase):
        raise ValueError(f"{name}: {value} is not a scalar; inner products of vectors are written Inner(a, b)")


def _symbols(expression: sp.Basic) -> list[sp.Basic]:
    """The free symbols in alphabetical order, matrix symbols among them."""
    return sorted(expression.free_symbols, key=str)


def _parameter(symbol: sp.Basic) -> Variable:
    meaning = "inverse temperature" if symbol == beta else MEANINGS.get(symbol)
    if isinstance(symbol, sp.MatrixSymbol):
        return Variable(symbol, "vector" if symbol.cols == 1 else "matrix", meaning or "matrix of a score")
    return Variable(symbol, "real", meaning or "parameter")
