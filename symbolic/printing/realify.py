"""Complex equations as real ones: every complex symbol becomes a pair of real symbols, every definition a pair.

Many solvers, and all Taylor arithmetic here, are real. SymPy's `as_real_imag` cannot do this, since it takes the
entries of matrix symbols for complex numbers and multiplies definitions out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce, singledispatchmethod
from typing import TypeAlias

import sympy as sp
from sympy.matrices.expressions.matexpr import MatrixElement

from symbolic.notation import Mean
from symbolic.reduction import Reduction, Variable

COMPLEX_DOMAINS = ("complex", "disc")

Name: TypeAlias = sp.Symbol | sp.MatrixSymbol
#: Real and imaginary part; the number 0 also stands for a zero matrix.
Pair: TypeAlias = tuple[sp.Expr, sp.Expr]


@dataclass(frozen=True)
class RealSystem:
    """The variables, definitions and equations of a reduction, with real symbols only."""

    state: tuple[Variable, ...]
    parameters: tuple[Variable, ...]
    definitions: tuple[tuple[Name, sp.Expr], ...]
    equations: dict[Name, sp.Expr]


def real_system(reduction: Reduction) -> RealSystem:
    """The same equations for real numbers: a complex `R` becomes `R_re`, `R_im`, in this order.

    Raises
    ------
    ValueError
        When an expression has no real and imaginary part in terms of functions that have array code, such as
        the logarithm or the square root of a complex number.
    """
    split = Splitter()
    state = tuple(real for variable in reduction.state for real in split.variable(variable))
    parameters = tuple(real for variable in reduction.parameters for real in split.variable(variable))
    definitions = [part for symbol, value in reduction.definitions for part in split.definition(symbol, value)]
    rates: list[sp.Expr] = []
    for variable in reduction.state:
        parts = split(reduction.equations[variable.symbol])
        # The rate of a real state is real, even where it takes cancellations to see it.
        rates += parts if variable.domain in COMPLEX_DOMAINS else parts[:1]
    equations = {variable.symbol: rate for variable, rate in zip(state, rates, strict=True)}
    return RealSystem(state, parameters, tuple(definitions), equations)


class Splitter:
    """Splits expressions into real and imaginary parts, by what is known of their symbols."""

    def __init__(self) -> None:
        self.parts: dict[sp.Basic, Pair] = {}

    def variable(self, variable: Variable) -> tuple[Variable, ...]:
        """A state or parameter as one or two real ones."""
        symbol = variable.symbol
        if variable.domain not in COMPLEX_DOMAINS:
            self.parts[symbol] = symbol, sp.S.Zero
            return (variable,)
        real, imaginary = self.parts[symbol] = _part(symbol, "re"), _part(symbol, "im")
        return (
            replace(variable, symbol=real, domain="real", meaning=f"real part of the {variable.meaning}"),
            replace(variable, symbol=imaginary, domain="real", meaning=f"imaginary part of the {variable.meaning}"),
        )

    def definition(self, symbol: Name, value: sp.Expr) -> list[tuple[Name, sp.Expr]]:
        """A definition as one or two real ones."""
        real, imaginary = self(value)
        if symbol.is_real or _vanishes(imaginary):
            self.parts[symbol] = symbol, sp.S.Zero
            return [(symbol, real)]
        self.parts[symbol] = _part(symbol, "re"), _part(symbol, "im")
        return list(zip(self.parts[symbol], (real, imaginary), strict=True))

    def __call__(self, expression: sp.Basic) -> Pair:
        """Real and imaginary part; what is real stays as it is written."""
        if expression in self.parts:
            return self.parts[expression]
        if expression == sp.I:
            return sp.S.Zero, sp.S.One
        if not expression.args or isinstance(expression, Name | sp.Lambda):
            return expression, sp.S.Zero
        parts = [self(arg) for arg in expression.args]
        if isinstance(expression, sp.conjugate | sp.re | sp.im) or not all(_vanishes(part) for _, part in parts):
            return self._split(expression)
        reals = [real for real, _ in parts]
        unchanged = all(new == old for new, old in zip(reals, expression.args, strict=True))
        return (expression if unchanged else expression.func(*reals)), sp.S.Zero

    @singledispatchmethod
    def _split(self, expression: sp.Basic) -> Pair:
        raise ValueError(f"reduction: no array code for the real and imaginary part of '{expression}'")

    @_split.register(sp.conjugate)
    def _(self, expression: sp.conjugate) -> Pair:
        real, imaginary = self(expression.args[0])
        return real, _negative(imaginary)

    @_split.register(sp.re)
    def _(self, expression: sp.re) -> Pair:
        return self(expression.args[0])[0], sp.S.Zero

    @_split.register(sp.im)
    def _(self, expression: sp.im) -> Pair:
        return self(expression.args[0])[1], sp.S.Zero

    @_split.register(sp.Abs)
    def _(self, expression: sp.Abs) -> Pair:
        real, imaginary = self(expression.args[0])
        return sp.sqrt(real**2 + imaginary**2), sp.S.Zero

    @_split.register(sp.Add)
    @_split.register(sp.MatAdd)
    def _(self, expression: sp.Expr) -> Pair:
        reals, imaginaries = zip(*map(self, expression.args), strict=True)
        return _sum(reals), _sum(imaginaries)

    @_split.register(sp.Mul)
    @_split.register(sp.MatMul)
    def _(self, expression: sp.Expr) -> Pair:
        return reduce(_times, map(self, expression.args))

    @_split.register(sp.HadamardProduct)
    def _(self, expression: sp.HadamardProduct) -> Pair:
        return reduce(lambda a, b: _times(a, b, sp.HadamardProduct), map(self, expression.args))

    @_split.register(sp.Pow)
    def _(self, expression: sp.Pow) -> Pair:
        base, exponent = expression.args
        if not exponent.is_Integer:
            raise ValueError(f"reduction: no array code for '{expression}', a root of a complex number")
        real, imaginary = self(base)
        if exponent < 0:
            modulus = real**2 + imaginary**2
            real, imaginary = real / modulus, -imaginary / modulus
        return reduce(_times, [(real, imaginary)] * abs(int(exponent)))

    @_split.register(sp.exp)
    def _(self, expression: sp.exp) -> Pair:
        real, imaginary = self(expression.args[0])
        return sp.exp(real) * sp.cos(imaginary), sp.exp(real) * sp.sin(imaginary)

    @_split.register(sp.cos)
    @_split.register(sp.sin)
    def _(self, expression: sp.Function) -> Pair:
        real, imaginary = self(expression.args[0])
        up, down = sp.exp(imaginary) / 2, sp.exp(-imaginary) / 2
        if isinstance(expression, sp.cos):
            return sp.cos(real) * (up + down), -sp.sin(real) * (up - down)
        return sp.sin(real) * (up + down), sp.cos(real) * (up - down)

    @_split.register(Mean)
    @_split.register(sp.Trace)
    @_split.register(sp.Transpose)
    @_split.register(MatrixElement)
    def _(self, expression: sp.Expr) -> Pair:
        matrix, *place = expression.args
        real, imaginary = (part if part == 0 else expression.func(part, *place) for part in self(matrix))
        return real, imaginary


def _part(symbol: Name, suffix: str) -> Name:
    if isinstance(symbol, sp.Symbol):
        return sp.Symbol(f"{symbol.name}_{suffix}", real=True)
    return sp.MatrixSymbol(f"{symbol.name}_{suffix}", *symbol.shape)


def _vanishes(expression: sp.Basic) -> bool:
    is_scalar = isinstance(expression, sp.Expr) and not expression.is_Matrix
    return expression == 0 or (is_scalar and sp.expand(expression) == 0)


def _times(a: Pair, b: Pair, matrices: type[sp.MatrixExpr] = sp.MatMul) -> Pair:
    """The product of two complex numbers or matrices; `matrices` says how matrices are multiplied."""

    def product(x: sp.Expr, y: sp.Expr) -> sp.Expr:
        if x == 0 or y == 0:
            return sp.S.Zero
        if x.is_Matrix and y.is_Matrix:
            return matrices(x, y)
        return sp.MatMul(x, y) if x.is_Matrix or y.is_Matrix else x * y

    real = _sum([product(a[0], b[0]), _negative(product(a[1], b[1]))])
    return real, _sum([product(a[0], b[1]), product(a[1], b[0])])


def _sum(terms: Iterable[sp.Expr]) -> sp.Expr:
    terms = [term for term in terms if term != 0]
    if not terms:
        return sp.S.Zero
    return reduce(lambda x, y: sp.MatAdd(x, y) if x.is_Matrix else x + y, terms)


def _negative(expression: sp.Expr) -> sp.Expr:
    return sp.MatMul(-1, expression) if expression.is_Matrix else -expression
