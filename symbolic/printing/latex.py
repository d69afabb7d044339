"""Equations and derivations in LaTeX."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import sympy as sp
from sympy.printing.latex import LatexPrinter

from symbolic.printing.breaking import broken
from symbolic.printing.prose import prose_latex
from symbolic.printing.text import function_name

if TYPE_CHECKING:
    from symbolic.derivation import Derivation


class Printer(LatexPrinter):
    """SymPy's LaTeX printer with entries counted from 1, Re, Im and ⊥ as they are written, and f.(M) entry by entry."""

    def __init__(self) -> None:
        super().__init__({"mul_symbol": " "})

    def _print_MatrixElement(self, element: sp.matrices.expressions.matexpr.MatrixElement) -> str:
        return f"{self._print(element.parent)}_{{{element.i + 1}{element.j + 1}}}"

    def _print_Symbol(self, symbol: sp.Symbol, style: str = "plain") -> str:
        return super()._print_Symbol(symbol, style).replace("_{perp}", r"^{\perp}")

    _print_MatrixSymbol = _print_Symbol

    def _print_re(self, part: sp.re, exp: str | None = None) -> str:
        return rf"\operatorname{{Re}}\left({self._print(part.args[0])}\right)"

    def _print_im(self, part: sp.im, exp: str | None = None) -> str:
        return rf"\operatorname{{Im}}\left({self._print(part.args[0])}\right)"

    def _print_OneMatrix(self, ones: sp.OneMatrix, exp: str | None = None) -> str:
        return r"\mathbf{1}"

    def _print_Identity(self, identity: sp.Identity, exp: str | None = None) -> str:
        return "I"

    def _print_ElementwiseApplyFunction(self, applied: sp.MatrixExpr) -> str:
        return rf"\operatorname{{{function_name(applied)}}}.\left({self._print(applied.expr)}\right)"


def system_latex(relations: Iterable[sp.Equality]) -> str:
    r"""Equations as one aligned block.

    >>> system_latex([sp.Eq(sp.Symbol("xdot"), sp.Symbol("x")**2)])
    '\\begin{aligned}\n\\dot{x} &= x^{2}\n\\end{aligned}'
    """
    printer = Printer()
    lines = []
    for relation in relations:
        first, *others = _lines(printer, relation.rhs)
        lines.append(f"{printer.doprint(relation.lhs)} &= {first}")
        lines += [rf"&\quad {other}" for other in others]
    return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"


def _lines(printer: Printer, expression: sp.Expr) -> list[str]:
    """An expression on one line, or a long sum on several; within brackets where a factor stands before it."""
    value = broken(expression)
    lines = [printer.doprint(part) for part in value.parts]
    lines[1:] = [line if line.startswith("-") else f"+ {line}" for line in lines[1:]]
    if value.factor == 1:
        return lines
    block = r"\begin{aligned}" + r" \\ ".join(f"&{line}" for line in lines) + r"\end{aligned}"
    return [rf"{printer.doprint(value.factor)} \left({block}\right)"]


def derivation_latex(derivation: Derivation) -> str:
    """Numbered equations, each after the step that leads to it, as one align* environment."""
    numbers = derivation.numbers()
    lines = []
    for key, equation in derivation.equations.items():
        lines.append(rf"&\text{{{prose_latex(heading(derivation, key))}}}")
        *relations, last = map(_equality, equation.relations)
        lines += [rf"&\qquad {relation}" for relation in relations]
        lines.append(rf"&\qquad {last} \tag{{{numbers[key]}}}")
    return "\\begin{align*}\n" + " \\\\\n".join(lines) + "\n\\end{align*}"


def derivation_markdown(derivation: Derivation) -> str:
    """Headings in Markdown, every equation as a display of its own with its number as a tag."""
    numbers = derivation.numbers()
    blocks = []
    for key, equation in derivation.equations.items():
        title, _, reason = heading(derivation, key).partition(" — ")
        blocks.append(f"**{title}**" + (f" — {reason}" if reason else ""))
        blocks.append(f"$$\n{system_latex(equation.relations)} \\tag{{{numbers[key]}}}\n$$")
    return "\n\n".join(blocks)


def heading(derivation: Derivation, key: str) -> str:
    """The title of an equation, and after a dash the step that leads to it and why."""
    numbers = derivation.numbers()
    title = derivation.equations[key].title
    if step := derivation.step_to(key):
        sources = ", ".join(f"({numbers[premise]})" for premise in step.premises)
        return f"{title} — {step.name}, from {sources}: {step.why}"
    return title


def _equality(relation: sp.Equality) -> str:
    printer = Printer()
    return f"{printer.doprint(relation.lhs)} = {printer.doprint(relation.rhs)}"
