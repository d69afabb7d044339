"""Where to break an equation that is too long for a line: at the terms of a sum."""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

#: About how many characters fit on a line.
WIDTH = 72


@dataclass(frozen=True)
class Broken:
    """An expression as a factor times the sum of parts that fit on a line each."""

    parts: tuple[sp.Expr, ...]
    factor: sp.Expr = sp.S.One


def broken(expression: sp.Expr, width: int = WIDTH) -> Broken:
    """Break a sum, or a product of a sum and something short, that is longer than a line; nothing else.

    >>> x, y = sp.symbols("x y")
    >>> broken(x**2 + x * y + y**2, width=9).parts
    (x**2 + x*y, y**2)
    """
    if length(expression) <= width:
        return Broken((expression,))
    if isinstance(expression, sp.Add | sp.MatAdd):
        return Broken(_parts(expression, width))
    if isinstance(expression, sp.Mul):
        longest = max(expression.args, key=length)
        factor = expression / longest
        if isinstance(longest, sp.Add) and length(factor) < width // 2:
            return Broken(_parts(longest, width - length(factor)), factor)
    return Broken((expression,))


def length(expression: sp.Basic) -> int:
    """About how many characters wide an expression is when printed, each symbol one of them.

    >>> x, y = sp.symbols("x y")
    >>> length(x * y + 3), length(sp.exp(2 * x) * (x + y))
    (6, 12)
    """
    if isinstance(expression, sp.Number):
        return len(str(expression))
    if not expression.args or isinstance(expression, sp.MatrixSymbol):
        return 1
    inside = sum(map(length, expression.args))
    if isinstance(expression, sp.Add | sp.MatAdd):
        return inside + len(" + ") * (len(expression.args) - 1)
    if isinstance(expression, sp.Mul | sp.MatMul):
        return inside + len("()") * sum(isinstance(factor, sp.Add | sp.MatAdd) for factor in expression.args)
    is_mark = isinstance(
        expression, sp.Pow | sp.conjugate | sp.Transpose | sp.matrices.expressions.matexpr.MatrixElement
    )
    return inside if is_mark else inside + len("f()")


def _parts(total: sp.Expr, width: int) -> tuple[sp.Expr, ...]:
    is_matrix = isinstance(total, sp.MatAdd)
    lines: list[list[sp.Expr]] = []
    used = width
    for term in total.args if is_matrix else total.as_ordered_terms():
        needed = length(term) + len(" + ")
        if used + needed > width + len(" + "):
            lines.append([])
            used = 0
        lines[-1].append(term)
        used += needed
    return tuple(_sum(line, is_matrix) for line in lines)


def _sum(terms: list[sp.Expr], is_matrix: bool) -> sp.Expr:
    if len(terms) == 1:
        return terms[0]
    return sp.MatAdd(*terms) if is_matrix else sp.Add(*terms, evaluate=False)
