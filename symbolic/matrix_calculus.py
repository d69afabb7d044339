"""The little matrix calculus that derivations in general dimension need, on top of SymPy's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

import sympy as sp

from symbolic.notation import HeadMatrix, HeadSum, Inner


@cache
def expand_matrix(expression: sp.MatrixExpr) -> sp.MatrixExpr:
    """Multiply sums out and push transposes down to the symbols."""
    return sp.expand(expression.doit()).doit()


def symmetrise(expression: sp.MatrixExpr, symmetric: Iterable[sp.MatrixSymbol]) -> sp.MatrixExpr:
    """Replace the transpose of each symmetric symbol by the symbol."""
    return expression.doit().xreplace({symbol.T: symbol for symbol in symmetric}).doit()


def with_free_inverses(
    expressions: Iterable[sp.MatrixExpr], symmetric: Iterable[sp.MatrixSymbol]
) -> tuple[list[sp.MatrixExpr], list[sp.MatrixSymbol]]:
    """Replace every inverse by a free matrix, the inverse of a transpose by its transpose.

    Returns the expressions and all symmetric symbols, those of inverses of symmetric matrices included. An identity
    that holds with a free matrix holds with the inverse, and needs no inverse written out.
    """
    symmetric = list(symmetric)
    known: dict[sp.MatrixExpr, sp.MatrixExpr] = {}

    def free(inverse: sp.Inverse) -> sp.MatrixExpr:
        inside = symmetrise(expand_matrix(inverse.arg), symmetric)
        if inside not in known:
            name, shape = f"N_{len(known)}", inside.shape
            index = {part.args[1] for part in inside.atoms(HeadMatrix)}
            symbol = HeadMatrix(sp.Symbol(name), *index, *shape) if index else sp.MatrixSymbol(name, *shape)
            transposed = symmetrise(expand_matrix(inside.T), symmetric)
            known[transposed] = symbol.T
            known[inside] = symbol
            if transposed == inside:
                symmetric.append(symbol)
        return known[inside]

    return [expression.replace(lambda e: isinstance(e, sp.Inverse), free) for expression in expressions], symmetric


def gradient(scalar: sp.Expr, variable: sp.MatrixSymbol, symmetric: Iterable[sp.MatrixSymbol] = ()) -> sp.MatrixExpr:
    """The gradient, as a column, of a sum of multiples of inner products.

    >>> d = sp.Symbol("d", integer=True, positive=True)
    >>> x, b, S = sp.MatrixSymbol("x", d, 1), sp.MatrixSymbol("b", d, 1), sp.MatrixSymbol("S", d, d)
    >>> gradient(Inner(x, b) + Inner(x, S * x) / 2, x, symmetric=[S])
    S*x + b
    """
    total: sp.MatrixExpr = sp.ZeroMatrix(*variable.shape)
    for term in sp.Add.make_args(scalar):
        factor, inner = term.as_independent(Inner, as_Add=False)
        left, right = inner.args
        total = total + factor * _inner_gradient(left, right, variable)
    return expand_matrix(symmetrise(total, symmetric))


def bilinear_terms(expression: sp.Expr) -> list[tuple[sp.Expr, sp.MatrixExpr, sp.MatrixExpr]]:
    """The terms (c, a, b) of Σ c ⟨a, b⟩ with every sum inside the inner products multiplied out.

    >>> d = sp.Symbol("d", integer=True, positive=True)
    >>> x, y = sp.MatrixSymbol("x", d, 1), sp.MatrixSymbol("y", d, 1)
    >>> bilinear_terms(Inner(x + y, y))
    [(1, x, y), (1, y, y)]
    """
    terms = []
    for term in sp.Add.make_args(expression):
        factor, inner = term.as_independent(Inner, as_Add=False)
        left, right = (sp.MatAdd.make_args(expand_matrix(side)) for side in inner.args)
        for a in left:
            for b in right:
                (a_factor, a_rest), (b_factor, b_rest) = (sp.MatMul(side).as_coeff_mmul() for side in (a, b))
                terms.append((factor * a_factor * b_factor, a_rest.doit(), b_rest.doit()))
    return terms


@cache
def _inner_gradient(left: sp.MatrixExpr, right: sp.MatrixExpr, variable: sp.MatrixSymbol) -> sp.MatrixExpr:
    return sp.MatMul(left.T, right).diff(variable)


def affine_parts(
    expression: sp.MatrixExpr, variable: sp.MatrixSymbol
) -> tuple[sp.MatrixExpr, sp.MatrixExpr, sp.MatrixExpr]:
    """Split a column expression into M, c and a rest with expression = M variable + c + rest.

    The rest collects the terms in which the variable appears other than as the last factor.

    >>> d = sp.Symbol("d", integer=True, positive=True)
    >>> x, b, A = sp.MatrixSymbol("x", d, 1), sp.MatrixSymbol("b", d, 1), sp.MatrixSymbol("A", d, d)
    >>> affine_parts(A * x + b, x)
    (A, b, 0)
    """
    matrix: sp.MatrixExpr = sp.ZeroMatrix(variable.rows, variable.rows)
    offset: sp.MatrixExpr = sp.ZeroMatrix(*variable.shape)
    rest: sp.MatrixExpr = sp.ZeroMatrix(*variable.shape)
    for term in sp.MatAdd.make_args(expand_matrix(expression)):
        factors = sp.MatMul.make_args(term)
        if isinstance(term, HeadSum):
            summand, *over = term.args
            inner = [HeadSum(part, *over) for part in affine_parts(summand, variable)]
            matrix, offset, rest = (total + part for total, part in zip((matrix, offset, rest), inner, strict=True))
        elif variable not in term.free_symbols:
            offset = offset + term
        elif factors[-1] == variable and not any(variable in factor.free_symbols for factor in factors[:-1]):
            leading = sp.MatMul(*factors[:-1]) if len(factors) > 1 else sp.Identity(variable.rows)
            matrix = matrix + (leading if leading.is_Matrix else leading * sp.Identity(variable.rows))
        else:
            rest = rest + term
    return matrix.doit(), offset.doit(), rest.doit()


def time_derivative(expression: sp.MatrixExpr, rates: Mapping[sp.MatrixSymbol, sp.MatrixExpr]) -> sp.MatrixExpr:
    """The time derivative by the product rule; symbols without a rate are constant.

    >>> d = sp.Symbol("d", integer=True, positive=True)
    >>> A, E = sp.MatrixSymbol("A", d, d), sp.MatrixSymbol("E", d, d)
    >>> time_derivative(E.T * E, {E: A * E})
    E.T*A*E + E.T*A.T*E
    """

    def moved(part: sp.MatrixExpr) -> sp.MatrixExpr:
        match part:
            case sp.MatrixSymbol() if part in rates:
                return rates[part]
            case sp.MatAdd():
                return sp.MatAdd(*map(moved, part.args))
            case sp.Inverse():
                return -part * moved(part.arg) * part
            case sp.Transpose():
                return moved(part.arg).T
            case sp.MatMul() | sp.MatPow():
                factors = part.args if isinstance(part, sp.MatMul) else [part.base] * int(part.exp)
                places = [i for i, factor in enumerate(factors) if factor.is_Matrix]
                return sp.MatAdd(*(sp.MatMul(*factors[:i], moved(factors[i]), *factors[i + 1 :]) for i in places))
            case _:
                return sp.ZeroMatrix(*part.shape)

    return expand_matrix(moved(expression))


def in_letters(expression: sp.MatrixExpr, symmetric: Iterable[sp.MatrixSymbol] = ()) -> sp.Expr:
    """The expression with a letter that commutes with nothing in place of every matrix and every transpose.

    What is zero there follows from the laws of arithmetic alone, so it is zero for matrices of any size.

    >>> d = sp.Symbol("d", integer=True, positive=True)
    >>> A, S = sp.MatrixSymbol("A", d, d), sp.MatrixSymbol("S", d, d)
    >>> in_letters((S * A).T * S.inverse() - A.T, symmetric=[S])
    0
    """
    names = {symbol.name for symbol in symmetric}

    def letters(part: sp.Basic, transposed: bool) -> sp.Expr:
        match part:
            case sp.MatrixSymbol():
                mark = "ᵀ" if transposed and part.name not in names else ""
                return sp.Symbol(part.name + mark, commutative=False)
            case sp.MatAdd():
                return sp.Add(*(letters(term, transposed) for term in part.args))
            case sp.MatMul():
                factors = [letters(factor, transposed) for factor in part.args]
                return sp.Mul(*(reversed(factors) if transposed else factors))
            case sp.Transpose():
                return letters(part.arg, not transposed)
            case sp.MatPow():
                return letters(part.base, transposed) ** part.exp
            case sp.Identity():
                return sp.S.One
            case sp.ZeroMatrix():
                return sp.S.Zero
            case _:
                return part

    return sp.expand(letters(expression, False))
