"""From matrix form to components: what a general-dimension equation says entry by entry for d = 1, 2, 3.

A step in matrix form is checked by writing both sides out with free symbols for every entry, and every average
over the law as an integral against a free density.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from functools import reduce as fold

import sympy as sp
from sympy.matrices.expressions.applyfunc import ElementwiseApplyFunction

from symbolic.notation import (
    Average,
    HeadMatrix,
    HeadSum,
    Inner,
    LogMGF,
    LogMGFGradient,
    Mean,
    PolynomialValue,
    VectorAverage,
    d,
)

#: The dimensions for which matrix identities are proved entry by entry.
DIMENSIONS = (1, 2, 3)
#: The number of heads that a sum over a symbolic number of them is written out for.
HEADS = 2

#: Values of symbolic sizes, each a symbol's name and its value.
Sizes = tuple[tuple[str, int], ...]
_USED: ContextVar[dict[Sizes, None] | None] = ContextVar("sizes used", default=None)


@contextmanager
def sizes_used() -> Iterator[dict[Sizes, None]]:
    """Collects, in order, the sizes for which something is written out in components: what a check was made for.

    >>> with sizes_used() as used:
    ...     _ = Components(2), Components(3)
    >>> list(used)
    [(('d', 2),), (('d', 3),)]
    """
    used: dict[Sizes, None] = {}
    token = _USED.set(used)
    try:
        yield used
    finally:
        _USED.reset(token)


class Components:
    """Writes expressions out in components at one dimension.

    Parameters
    ----------
    dimension : the value of d.
    symmetric : matrix symbols whose entries satisfy S_ij = S_ji.
    values : explicit matrices for matrix symbols, in place of free entries.
    atoms : points of equal weight that make up the law; without them averages are integrals against the density.
    density : the density of the law, as a function of the components of y; free, p(y_1, …, y_d), if omitted.
    angle : on the circle, the angle over which averages are taken; they stay averages of functions of it.
    log_mgf : the equations that define K(ξ) and K_Λ(ξ), so that they and their gradients can be written out.
    sizes : values of other symbolic sizes (n, the number of tokens).
    """

    def __init__(
        self,
        dimension: int,
        *,
        symmetric: Iterable[sp.MatrixSymbol] = (),
        values: Mapping[sp.Basic, sp.MatrixBase] | None = None,
        atoms: Sequence[sp.MatrixBase] = (),
        density: Callable[..., sp.Expr] | None = None,
        angle: sp.Symbol | None = None,
        log_mgf: Iterable[sp.Equality] = (),
        sizes: Mapping[sp.Symbol, int] | None = None,
    ):
        self.dimension = dimension
        self.symmetric = {symbol.name for symbol in symmetric}
        self.values = {symbol.name: matrix for symbol, matrix in (values or {}).items()}
        self.atoms = atoms
        self.density = density or sp.Function("p", positive=True)
        self.angle = angle
        self.log_mgf = {len(equation.lhs.args): equation for equation in log_mgf}
        self.sizes = {d: dimension, **(sizes or {})}
        if (used := _USED.get()) is not None:
            used[tuple((symbol.name, value) for symbol, value in self.sizes.items())] = None

    def entries(self, symbol: sp.MatrixSymbol) -> sp.ImmutableMatrix:
        """Free real symbols for the entries of a matrix symbol: x_1, x_2 for a vector, A_11, A_12, … for a matrix."""
        if symbol.name in self.values:
            return self.values[symbol.name]
        rows, columns = (int(sp.sympify(size).subs(self.sizes)) for size in symbol.shape)

        def entry(i: int, j: int) -> sp.Symbol:
            if columns == 1:
                return sp.Symbol(f"{symbol.name}_{i + 1}", real=True)
            if symbol.name in self.symmetric:
                i, j = min(i, j), max(i, j)
            return sp.Symbol(f"{symbol.name}_{i + 1}{j + 1}", real=True)

        return sp.ImmutableMatrix(rows, columns, entry)

    def __call__(self, expression: sp.Basic) -> sp.Expr | sp.ImmutableMatrix:
        """The expression with every matrix written out: a scalar, or an explicit matrix."""
        match expression:
            case sp.MatrixSymbol():
                return self.entries(expression)
            case sp.MatrixBase():
                return sp.ImmutableMatrix(expression.applyfunc(self))
            case sp.matrices.expressions.matexpr.MatrixElement():
                return self(expression.parent)[expression.i, expression.j]
            case sp.Identity() | sp.ZeroMatrix() | sp.OneMatrix():
                return expression.subs(self.sizes).as_explicit()
            case sp.MatAdd():
                return fold(lambda a, b: a + b, map(self, expression.args))
            case sp.MatMul():
                return fold(lambda a, b: a * b, map(self, expression.args))
            case sp.Transpose():
                return self(expression.arg).T
            case sp.Inverse():
                return self(expression.arg).inv()
            case sp.Trace():
                return self(expression.arg).trace()
            case sp.HadamardProduct():
                return fold(sp.matrix_multiply_elementwise, map(self, expression.args))
            case sp.HadamardPower():
                return self(expression.base).applyfunc(lambda entry: entry ** self(expression.exp))
            case ElementwiseApplyFunction():
                return self(expression.expr).applyfunc(expression.function)
            case Inner():
                left, right = map(self, expression.args)
                return (left.T * right)[0, 0]
            case Mean():
                matrix = self(expression.args[0])
                return sum(matrix) / (matrix.rows * matrix.cols)
            case PolynomialValue():
                coefficients, at = map(self, expression.args)
                return sum((entry * at**k for k, entry in enumerate(coefficients)), sp.S.Zero)
            case HeadMatrix():
                return self(expression.numbered())
            case HeadSum():
                summand, index, heads = expression.args
                numbers = range(1, self.sizes.get(heads, HEADS) + 1)
                return fold(lambda a, b: a + b, (self(summand.xreplace({index: sp.Integer(k)})) for k in numbers))
            case Average() | VectorAverage() if self.atoms:
                return self._mean_over_atoms(expression)
            case Average():
                return self._integral(self(expression.args[0]), expression)
            case VectorAverage():
                return self(expression.args[0]).applyfunc(lambda entry: self._integral(entry, expression))
            case LogMGF():
                return self._log_mgf(*map(self, expression.args))
            case LogMGFGradient():
                return self._log_mgf_gradient(*map(self, expression.args))
            case sp.Symbol() if expression in self.sizes:
                return sp.Integer(self.sizes[expression])
            case _ if expression.args:
                return expression.func(*map(self, expression.args))
            case _:
                return expression

    def difference(self, left: sp.Basic, right: sp.Basic) -> list[sp.Expr]:
        """The entries of left − right."""
        difference = self(left) - self(right)
        return list(difference) if isinstance(difference, sp.MatrixBase) else [difference]

    def _mean_over_atoms(self, average: Average | VectorAverage) -> sp.Expr | sp.ImmutableMatrix:
        integrand, variable, _ = average.args
        at_atom = copy(self)
        values = []
        for atom in self.atoms:
            at_atom.values = {**self.values, variable.name: atom}
            values.append(at_atom(integrand))
        return fold(lambda a, b: a + b, values) / len(values)

    def _integral(self, integrand: sp.Expr, average: Average | VectorAverage) -> sp.Expr:
        if self.angle is not None:
            return Average(integrand, self.angle, average.args[2])
        variables = tuple(self(average.args[1]))
        return linear_integral(integrand * self.density(*variables), variables)

    def _log_mgf(self, *arguments: sp.MatrixBase) -> sp.Expr:
        definition = self.log_mgf.get(len(arguments))
        if definition is None:
            raise ValueError("log_mgf: K appears in the expression, but the equation that defines it was not given")
        at_arguments = copy(self)
        names = (symbol.name for symbol in definition.lhs.args)
        at_arguments.values = {**self.values, **dict(zip(names, arguments, strict=True))}
        return at_arguments(definition.rhs)

    def _log_mgf_gradient(self, at: sp.MatrixBase, *curvature: sp.MatrixBase) -> sp.ImmutableMatrix:
        """Differentiate K under the integral sign in the components of ξ, then put ξ = at."""
        xi = sp.ImmutableMatrix([sp.Dummy(f"xi_{i}", real=True) for i in range(self.dimension)])
        function, point = self._log_mgf(xi, *curvature), dict(zip(xi, at, strict=True))
        return sp.ImmutableMatrix([linear_integrals(function.diff(component).subs(point)) for component in xi])


def linear_integral(integrand: sp.Expr, variables: tuple[sp.Symbol, ...]) -> sp.Expr:
    """∫ integrand d(variables) with sums split and constant factors taken out, so that equal integrals cancel."""
    limits = [(variable, -sp.oo, sp.oo) for variable in variables]
    total = sp.S.Zero
    for term in sp.Add.make_args(sp.expand_mul(integrand)):
        constant, rest = _split_exponents(term, variables).as_independent(*variables, as_Add=False)
        total += constant * sp.Integral(sp.powsimp(rest), *limits)
    return total


def linear_integrals(expression: sp.Expr) -> sp.Expr:
    """Bring every integral inside an expression to the form of `linear_integral`."""
    return expression.replace(
        lambda e: isinstance(e, sp.Integral),
        lambda e: linear_integral(e.function, e.variables),
    )


def _split_exponents(expression: sp.Expr, variables: tuple[sp.Symbol, ...]) -> sp.Expr:
    """e^(a + b) as e^a e^b, a free of the variables, both exponents expanded."""

    def split(exponent: sp.Expr) -> sp.Expr:
        constant, rest = sp.expand(exponent).as_independent(*variables, as_Add=True)
        return sp.exp(constant, evaluate=False) * sp.exp(rest) if constant != 0 else sp.exp(rest)

    return expression.replace(sp.exp, split)
