"""Equations and derivations in LaTeX."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import sympy as sp
from sympy.printing.latex import LatexPrinter

from symbolic.printing.text import function_name

if TYPE_CHECKING:
    from symbolic.derivation import Derivation


class Printer(LatexPrinter):
    """SymPy's LaTeX printer with bars for conjugates, entries counted from 1, and f.(M) entry by entry."""

    def __init__(self) -> None:
        super().__init__({"mul_symbol": " "})

    def _print_MatrixElement(self, element: sp.matrices.expressions.matexpr.MatrixElement) -> str:
        return f"{self._print(element.parent)}_{{{element.i + 1}{element.j + 1}}}"

    def _print_ElementwiseApplyFunction(self, applied: sp.MatrixExpr) -> str:
        return rf"\operatorname{{{function_name(applied)}}}.\left({self._print(applied.expr)}\right)"


def system_latex(relations: Iterable[sp.Equality]) -> str:
    r"""Equations as one aligned block.

    >>> system_latex([sp.Eq(sp.Symbol("xdot"), sp.Symbol("x")**2)])
    '\\begin{aligned}\n\\dot{x} &= x^{2}\n\\end{aligned}'
    """
    printer = Printer()
    lines = [f"{printer.doprint(relation.lhs)} &= {printer.doprint(relation.rhs)}" for relation in relations]
    return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"


def derivation_latex(derivation: Derivation) -> str:
    """Numbered equations, each after the step that leads to it: the body of one align environment."""
    numbers = derivation.numbers()
    printer = Printer()
    step_to = {step.conclusion: step for step in derivation.steps.values()}
    lines = []
    for key, equation in derivation.equations.items():
        text = equation.title
        if step := step_to.get(key):
            sources = ", ".join(f"({numbers[premise]})" for premise in step.premises)
            text = f"{equation.title} — {step.name}, from {sources}: {step.why}"
        lines.append(rf"&\text{{{text}}}")
        relations = [f"{printer.doprint(relation.lhs)} = {printer.doprint(relation.rhs)}" for relation in equation.relations]
        tag = rf"\tag{{{numbers[key]}}}"
        lines += [rf"&\qquad {line}" for line in relations[:-1]] + [rf"&\qquad {relations[-1]} {tag}"]
    return "\\begin{align*}\n" + " \\\\\n".join(lines) + "\n\\end{align*}"
