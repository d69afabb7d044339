"""Equations and derivations for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING

import sympy as sp
from sympy.printing.pretty.pretty import PrettyPrinter
from sympy.printing.pretty.pretty_symbology import pretty_symbol
from sympy.printing.pretty.stringpict import prettyForm

if TYPE_CHECKING:
    from symbolic.derivation import Derivation

#: Columns that one line of an equation may take before SymPy breaks it.
WIDTH = 100


class Printer(PrettyPrinter):
    """SymPy's Unicode printer, with entries counted from 1, Mᵀ on the line, and f.(M) for f applied to every entry."""

    def __init__(self) -> None:
        super().__init__({"use_unicode": True, "wrap_line": True, "num_columns": WIDTH})

    def _print_MatrixElement(self, element: sp.matrices.expressions.matexpr.MatrixElement) -> prettyForm:
        return prettyForm(pretty_symbol(f"{element.parent.name}_{element.i + 1}{element.j + 1}"))

    def _print_ElementwiseApplyFunction(self, applied: sp.MatrixExpr) -> prettyForm:
        argument = prettyForm(*self._print(applied.expr).parens())
        return prettyForm(*prettyForm(function_name(applied) + ".").right(argument))

    def _print_Transpose(self, transpose: sp.Transpose) -> prettyForm:
        inner = self._print(transpose.arg)
        if not isinstance(transpose.arg, sp.MatrixSymbol):
            inner = prettyForm(*inner.parens())
        return prettyForm(*inner.right("ᵀ"))


def function_name(applied: sp.MatrixExpr) -> str:
    """The name of a function applied entry by entry: exp for Lambda(s, exp(s))."""
    variable = applied.function.variables[0]
    body = applied.function(variable)
    return type(body).__name__ if body.args == (variable,) else str(body)


def system_text(relations: Iterable[sp.Equality]) -> str:
    """Equations one below the other.

    >>> print(system_text([sp.Eq(sp.Symbol("y"), 2 * sp.Symbol("x"))]))
    y = 2⋅x
    """
    printer = Printer()
    lines = "\n".join(printer.doprint(relation) for relation in relations).split("\n")
    return "\n".join(line.rstrip() for line in lines)


def derivation_text(derivation: Derivation) -> str:
    """Numbered equations, each with the step that leads to it."""
    numbers = derivation.numbers()
    blocks = []
    for key, equation in derivation.equations.items():
        lines = [f"({numbers[key]}) {equation.title}"]
        if step := derivation.step_to(key):
            sources = ", ".join(f"({numbers[premise]})" for premise in step.premises)
            lines.append(textwrap.indent(textwrap.fill(f"{step.name}, from {sources}: {step.why}", WIDTH - 4), "    "))
        lines.append(textwrap.indent(system_text(equation.relations), "      "))
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)
