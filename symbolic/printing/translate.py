"""From SymPy expressions to array operations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import singledispatchmethod

import sympy as sp
from sympy.matrices.expressions.applyfunc import ElementwiseApplyFunction
from sympy.matrices.expressions.matexpr import MatrixElement

from symbolic.notation import Mean, PolynomialValue, SecondMomentOfACG
from symbolic.printing.ssa import Graph, Node
from symbolic.reduction import Variable

#: How long an axis is thought to be when products are associated: tokens are many, a factor's rank is low.
TOKENS, DIMENSION, RANK = 10**6, 10**3, 10**2
TOKEN_DOMAINS = ("tokens", "unit tokens", "phases")


@dataclass(frozen=True)
class System:
    """Equations as nodes of one graph: the inputs, the definitions, and the rates of the states."""

    graph: Graph
    state: tuple[Variable, ...]
    parameters: tuple[Variable, ...]
    inputs: tuple[Node, ...]
    definitions: tuple[tuple[str, Node], ...]
    rates: tuple[Node, ...]

    @property
    def variables(self) -> tuple[Variable, ...]:
        return self.state + self.parameters


def translate(
    state: tuple[Variable, ...],
    parameters: tuple[Variable, ...],
    definitions: Iterable[tuple[sp.Symbol | sp.MatrixSymbol, sp.Expr]],
    equations: Mapping[sp.Symbol | sp.MatrixSymbol, sp.Expr],
) -> System:
    """The array operations behind a system of equations.

    Raises
    ------
    ValueError
        When a state has no equation, a symbol no meaning, or an operation no array code.
    """
    translator = Translator(state + parameters)
    inputs = tuple(translator.meanings[variable.symbol] for variable in state + parameters)
    nodes = tuple((symbol.name, translator.define(symbol, value)) for symbol, value in definitions)
    missing = [variable.name for variable in state if variable.symbol not in equations]
    if missing:
        raise ValueError(f"reduction: no equation for the state {', '.join(missing)}")
    rates = tuple(translator.rate(variable, equations[variable.symbol]) for variable in state)
    return System(translator.graph, state, parameters, inputs, nodes, rates)


class Translator:
    """Translates the expressions of one system of equations into the nodes of one graph.

    `meanings` maps symbols to nodes: states and parameters from the start, definitions as they are added.
    """

    def __init__(self, variables: tuple[Variable, ...]):
        self.graph = Graph(axis_scales(variables))
        self.meanings: dict[sp.Basic, Node] = {}
        for variable in variables:
            shape = () if isinstance(variable.symbol, sp.Symbol) else tuple(variable.symbol.shape)
            real = variable.domain not in ("complex", "disc")
            data = (variable.name, variable.domain)
            self.meanings[variable.symbol] = self.graph.node("input", (), data, shape, real=real, pure=False)

    def define(self, symbol: sp.Symbol | sp.MatrixSymbol, expression: sp.Expr) -> Node:
        """The node of a definition, which later expressions may use by its symbol."""
        self.meanings[symbol] = self(expression)
        return self.meanings[symbol]

    def rate(self, state: Variable, expression: sp.Expr) -> Node:
        """The node of a state's time derivative, which has the shape of the state, and is real when that is."""
        node = self(expression)
        if self.meanings[state.symbol].real:
            node = self.graph.apply("real", node)
        if node.pure:
            node = self.graph.node("asarray", [node])
        return node if isinstance(state.symbol, sp.Symbol) else self.graph.broadcast(node, tuple(state.symbol.shape))

    def __call__(self, expression: sp.Basic) -> Node:
        if expression in self.meanings:
            return self.meanings[expression]
        node = self._translate(expression)
        return self.graph.expand(node) if isinstance(expression, sp.MatrixExpr) else node

    @singledispatchmethod
    def _translate(self, expression: sp.Basic) -> Node:
        raise ValueError(f"reduction: no array code for {type(expression).__name__}, in '{expression}'")

    @_translate.register(sp.Symbol)
    def _(self, expression: sp.Symbol) -> Node:
        if expression not in self.graph.scale:
            raise ValueError(f"reduction: '{expression}' is no state, parameter, earlier definition or size")
        return self.graph.size(expression)

    @_translate.register(sp.MatrixSymbol)
    def _(self, expression: sp.MatrixSymbol) -> Node:
        raise ValueError(f"reduction: '{expression}' is no state, parameter or earlier definition")

    @_translate.register(sp.Rational)
    def _(self, expression: sp.Rational) -> Node:
        return self.graph.number(expression)

    @_translate.register(sp.core.numbers.ImaginaryUnit)
    def _(self, expression: sp.Expr) -> Node:
        return self.graph.node("imaginary", real=False, pure=True)

    @_translate.register(sp.Add)
    @_translate.register(sp.MatAdd)
    def _(self, expression: sp.Expr) -> Node:
        # Of P + Pᵀ the term with fewer transposes is computed, the other one is recognised as its transpose.
        terms = sorted(expression.args, key=lambda term: len(term.find(sp.Transpose)))
        return self.graph.add(_coefficient(term, self) for term in terms)

    @_translate.register(sp.Mul)
    def _(self, expression: sp.Mul) -> Node:
        return self.graph.mul(sp.S.One, [self(factor) for factor in expression.args])

    @_translate.register(sp.MatMul)
    def _(self, expression: sp.MatMul) -> Node:
        scalars = [self(factor) for factor in expression.args if not factor.is_Matrix]
        matrices: list[sp.MatrixExpr] = []
        for factor in expression.args:
            if factor.is_Matrix:
                matrices += [factor.base] * int(factor.exp) if _is_positive_power(factor) else [factor]
        sizes = [matrices[0].rows, *(matrix.cols for matrix in matrices)]
        product = self.graph.product([self(matrix) for matrix in matrices], sizes)
        return self.graph.mul(sp.S.One, [*scalars, product])

    @_translate.register(sp.MatPow)
    def _(self, expression: sp.MatPow) -> Node:
        if _is_positive_power(expression):
            count = int(expression.exp)
            return self.graph.product([self(expression.base)] * count, [expression.rows] * (count + 1))
        if expression.exp == -1:
            full = self.graph.broadcast(self(expression.base), tuple(expression.shape))
            return self.graph.inverse(full)
        raise ValueError(f"reduction: no array code for the matrix power '{expression}'")

    @_translate.register(sp.Pow)
    def _(self, expression: sp.Pow) -> Node:
        return self._power(expression.base, expression.exp)

    @_translate.register(sp.HadamardPower)
    def _(self, expression: sp.HadamardPower) -> Node:
        return self._power(expression.base, expression.exp)

    def _power(self, base: sp.Expr, exponent: sp.Expr) -> Node:
        if not exponent.is_Rational:
            raise ValueError(f"reduction: no array code for '{base}' to the power '{exponent}', which is not rational")
        return self.graph.power(self(base), exponent)

    @_translate.register(sp.HadamardProduct)
    def _(self, expression: sp.HadamardProduct) -> Node:
        return self.graph.mul(sp.S.One, [self(factor) for factor in expression.args])

    @_translate.register(ElementwiseApplyFunction)
    def _(self, expression: ElementwiseApplyFunction) -> Node:
        (variable,) = expression.function.variables
        argument = self(expression.expr)
        self.meanings[variable] = argument
        value = self(expression.function.expr)
        del self.meanings[variable]
        return value

    @_translate.register(sp.Transpose)
    def _(self, expression: sp.Transpose) -> Node:
        return self.graph.transpose(self(expression.arg))

    @_translate.register(sp.Trace)
    def _(self, expression: sp.Trace) -> Node:
        return self.graph.trace(self.graph.broadcast(self(expression.arg), tuple(expression.arg.shape)))

    @_translate.register(Mean)
    def _(self, expression: Mean) -> Node:
        return self.graph.mean(self(expression.args[0]))

    @_translate.register(PolynomialValue)
    def _(self, expression: PolynomialValue) -> Node:
        return self.graph.node("polynomial", map(self, expression.args))

    @_translate.register(SecondMomentOfACG)
    def _(self, expression: SecondMomentOfACG) -> Node:
        """Of L Lᵀ from L, whose singular values are more accurate than the eigenvalues of the product."""
        (covariance,) = expression.args
        factors = sp.MatMul.make_args(covariance)
        if len(factors) == 2 and factors[1] == factors[0].T:
            return self.graph.node("acg_second_moment_of_factor", [self(factors[0])], shape=tuple(expression.shape))
        return self.graph.node("acg_second_moment", [self(covariance)], shape=tuple(expression.shape))

    @_translate.register(MatrixElement)
    def _(self, expression: MatrixElement) -> Node:
        row, column = expression.i, expression.j
        if not (row.is_Integer and column.is_Integer):
            raise ValueError(f"reduction: no array code for '{expression}', whose indices are not numbers")
        return self.graph.element(self(expression.parent), int(row), int(column))

    @_translate.register(sp.Identity)
    def _(self, expression: sp.Identity) -> Node:
        return self.graph.node("eye", (self.graph.size(expression.rows),), shape=tuple(expression.shape), pure=False)

    @_translate.register(sp.OneMatrix)
    def _(self, expression: sp.OneMatrix) -> Node:
        return self.graph.number(1)

    @_translate.register(sp.ZeroMatrix)
    def _(self, expression: sp.ZeroMatrix) -> Node:
        return self.graph.number(0)

    @_translate.register(sp.exp)
    @_translate.register(sp.cos)
    @_translate.register(sp.sin)
    @_translate.register(sp.log)
    def _(self, expression: sp.Function) -> Node:
        return self.graph.apply(expression.func.__name__, self(expression.args[0]))

    @_translate.register(sp.conjugate)
    def _(self, expression: sp.conjugate) -> Node:
        return self.graph.apply("conj", self(expression.args[0]))

    @_translate.register(sp.re)
    def _(self, expression: sp.re) -> Node:
        return self.graph.apply("real", self(expression.args[0]))

    @_translate.register(sp.im)
    def _(self, expression: sp.im) -> Node:
        return self.graph.apply("imag", self(expression.args[0]))

    @_translate.register(sp.Abs)
    def _(self, expression: sp.Abs) -> Node:
        return self.graph.apply("abs", self(expression.args[0]))


def axis_scales(variables: tuple[Variable, ...]) -> Mapping[sp.Symbol, int]:
    """The symbolic sizes of the arrays, and how long such an axis is thought to be."""
    scales: dict[sp.Symbol, int] = {}
    for variable in variables:
        shape = variable.shape
        for axis, size in enumerate(shape):
            for symbol in sorted(sp.sympify(size).free_symbols, key=str):
                if axis == 0 and variable.domain in TOKEN_DOMAINS:
                    scale = TOKENS
                elif len(shape) == 1 or shape[0] == shape[1] or variable.domain in TOKEN_DOMAINS:
                    scale = DIMENSION
                else:
                    scale = RANK
                scales[symbol] = max(scale, scales.get(symbol, 0))
    return scales


def _coefficient(term: sp.Expr, translate: Translator) -> tuple[sp.Rational, Node]:
    """A term of a sum as a rational number and the node that it multiplies.

    Numbers are split off terms that are written out, not off definitions, which keep their names.
    """
    if isinstance(term, sp.MatMul):
        scalar, matrices = term.as_coeff_mmul()
        number, scalar = scalar.as_coeff_Mul()
        rest = matrices if scalar == 1 else sp.MatMul(scalar, *matrices.args)
        return (number, translate(rest)) if number.is_Rational else (sp.S.One, translate(term))
    number, rest = term.as_coeff_Mul() if isinstance(term, sp.Mul) else (sp.S.One, term)
    return (number, translate(rest)) if number.is_Rational else (sp.S.One, translate(term))


def _is_positive_power(matrix: sp.MatrixExpr) -> bool:
    return isinstance(matrix, sp.MatPow) and matrix.exp.is_Integer and matrix.exp > 0
