"""Equations in MathML, as browsers show it without help: presentation markup of MathML Core."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import Any
from xml.dom.minidom import Document, Element, Text

import sympy as sp
from sympy.printing.mathml import MathMLPresentationPrinter
from sympy.printing.precedence import PRECEDENCE

from symbolic.printing.breaking import Broken, broken
from symbolic.printing.text import function_name

#: Characters of SymPy's that read better as others: i and e as they are written by hand.
CHARACTERS = {"&ImaginaryI;": "i", "&ExponentialE;": "e"}
BRACKETS = "()[]⟨⟩|"
#: What brackets around it grow with.
TALL = ("mfrac", "mtable", "msqrt", "mroot")


class _Page(Document):
    """A document in which text is text: SymPy hands it entities and a bare < for the markup."""

    def createTextNode(self, data: str) -> Text:
        return super().createTextNode(CHARACTERS.get(data) or re.sub(r"^-(?=\d|$)", "−", html.unescape(data)))


class Printer(MathMLPresentationPrinter):
    """SymPy's presentation printer for MathML Core, extended by the objects of `symbolic.notation`.

    Conjugates have bars and time derivatives dots; entries of matrices are counted from 1, and f.(M) is f applied to
    every entry.
    """

    def __init__(self) -> None:
        super().__init__({"mul_symbol": "\u2062"})
        self.dom = _Page()

    def element(self, tag: str, *children: Element | str, **attributes: str) -> Element:
        """A node with children; text stands for itself."""
        node = self.dom.createElement(tag)
        for name, value in attributes.items():
            node.setAttribute(name, value)
        for child in children:
            node.appendChild(self.dom.createTextNode(child) if isinstance(child, str) else child)
        return node

    def _operator(self, text: str, **attributes: str) -> Element:
        return self.element("mo", text, **attributes)

    def _row(self, *children: Element) -> Element:
        return self.element("mrow", *children)

    def _parentheses(self, inside: Element) -> Element:
        return self._row(self._operator("("), inside, self._operator(")"))

    def _call(self, name: Element, argument: sp.Basic) -> Element:
        return self._row(name, self._operator("\u2061"), self._parentheses(self._print(argument)))

    def _print_Symbol(self, symbol: sp.Symbol, style: str = "plain") -> Element:
        if (base := symbol.name.removesuffix("dot")) and base != symbol.name:
            return self.element("mover", self._print(sp.Symbol(base)), self._operator("˙"))
        if symbol.name.endswith("_perp"):
            base_symbol = sp.Symbol(symbol.name.removesuffix("_perp"))
            return self.element("msup", self._print(base_symbol), self._operator("⊥"))
        return super()._print_Symbol(symbol, style)

    def _print_MatrixSymbol(self, symbol: sp.MatrixSymbol) -> Element:
        return self._print_Symbol(symbol)

    def _print_AppliedUndef(self, function: sp.Expr) -> Element:
        arguments = [self._print(argument) for argument in function.args]
        separated = [part for argument in arguments for part in (self._operator(","), argument)][1:]
        name = self._print(sp.Symbol(type(function).__name__))
        return self._row(name, self._operator("\u2061"), self._parentheses(self._row(*separated)))

    def _print_Add(self, total: sp.Add, order: str | None = None) -> Element:
        first, *others = self._as_ordered_terms(total, order=order)
        return self._row(self._print(first), *map(self.continued, others))

    def continued(self, term: sp.Expr) -> Element:
        """A later term of a sum, after its sign."""
        printed: Element = self._print(term)
        first: Any = printed
        while first.tagName == "mrow" and first.firstChild is not None:
            first = first.firstChild
        if first.tagName == "mo" and first.firstChild.data == "−":
            first.setAttribute("form", "infix")
            return printed
        return self._row(self._operator("+", form="infix"), printed)

    def _print_Mul(self, product: sp.Mul) -> Element:
        """Sign, then factors, those with negative powers below a line; e^{−x} stays above."""
        if product.could_extract_minus_sign():
            return self._row(self._operator("-"), self._print(-product))
        numerator, denominator = sp.fraction(product, exact=True)
        if denominator != 1:
            return self.element("mfrac", self._print(numerator), self._print(denominator))
        first, *others = product.as_ordered_factors()
        row = self._row(self.parenthesize(first, PRECEDENCE["Mul"]))
        for factor in others:
            row.appendChild(self._operator("\u2062"))
            row.appendChild(self.parenthesize(factor, PRECEDENCE["Mul"]))
        return row

    def _print_conjugate(self, conjugate: sp.conjugate) -> Element:
        inside = self._print(conjugate.args[0])
        if isinstance(conjugate.args[0], sp.Symbol):
            return self.element("mover", inside, self._operator("¯"))
        # Browsers do not stretch an accent over more than a letter.
        return self.element("mrow", inside, style="border-top: .06em solid; padding-top: .1em")

    def _print_re(self, part: sp.re, exp: None = None) -> Element:
        return self._call(self.element("mi", "Re"), part.args[0])

    def _print_im(self, part: sp.im, exp: None = None) -> Element:
        return self._call(self.element("mi", "Im"), part.args[0])

    def _print_MatrixElement(self, element: sp.matrices.expressions.matexpr.MatrixElement) -> Element:
        indices = [self._print(index + 1) for index in element.indices]
        return self.element("msub", self._print(element.parent), self._row(*indices))

    def _print_ElementwiseApplyFunction(self, applied: sp.MatrixExpr) -> Element:
        return self._call(self.element("mi", f"{function_name(applied)}."), applied.expr)

    def _print_Transpose(self, transpose: sp.Transpose) -> Element:
        inner = self.parenthesize(transpose.arg, PRECEDENCE["Pow"])
        return self.element("msup", inner, self.element("mi", "T", mathvariant="normal"))

    def _print_Trace(self, trace: sp.Trace) -> Element:
        return self._call(self.element("mi", "tr"), trace.arg)

    def _print_Identity(self, identity: sp.Identity) -> Element:
        return self.element("mi", "I")

    def _print_OneMatrix(self, ones: sp.OneMatrix) -> Element:
        return self.element("mn", "𝟏")

    def _print_ZeroMatrix(self, zeros: sp.ZeroMatrix) -> Element:
        return self.element("mn", "0")

    def _print_HadamardPower(self, power: sp.HadamardPower) -> Element:
        base = self.parenthesize(power.base, PRECEDENCE["Pow"])
        exponent = self._row(self._operator("∘"), self._print(power.exp))
        return self.element("msup", base, exponent)

    def _print_MatMul(self, product: sp.MatMul) -> Element:
        """Sign, then a scalar and matrices, as a fraction when the scalar is one."""
        scalar, matrices = product.as_coeff_matrices()
        if scalar.could_extract_minus_sign():
            return self._row(self._operator("-"), self._print(sp.MatMul(-scalar, *matrices)))
        numerator, denominator = sp.fraction(scalar, exact=True)
        factors = [*([] if numerator == 1 else [numerator]), *matrices]
        if denominator != 1:
            above = sp.MatMul(*factors) if len(factors) > 1 else factors[0]
            return self.element("mfrac", self._print(above), self._print(denominator))
        row = self._row(self.parenthesize(factors[0], PRECEDENCE["Mul"]))
        for factor in factors[1:]:
            row.appendChild(self._operator("\u2062"))
            row.appendChild(self.parenthesize(factor, PRECEDENCE["Mul"]))
        return row

    def _print_Inner(self, inner: sp.Expr) -> Element:
        left, right = map(self._print, inner.args)
        return self._row(self._operator("⟨"), left, self._operator(","), right, self._operator("⟩"))

    def _print_Average(self, average: sp.Expr) -> Element:
        integrand, variable, law = map(self._print, average.args)
        measure = self._row(self._operator("d", lspace="0.2em", rspace="0"), law, self._parentheses(variable))
        return self._row(self._operator("∫"), integrand, measure)

    _print_VectorAverage = _print_Average

    def _print_LogMGF(self, function: sp.Expr) -> Element:
        return self._call(self._generating(function), function.args[0])

    def _print_LogMGFGradient(self, function: sp.Expr) -> Element:
        return self._call(self._row(self._operator("∇"), self._generating(function)), function.args[0])

    def _generating(self, function: sp.Expr) -> Element:
        """K, or K_Λ of the law reweighted by Λ."""
        name, curvature = self.element("mi", "K"), function.args[1:]
        return self.element("msub", name, self._print(curvature[0])) if curvature else name

    def _print_HeadMatrix(self, matrix: sp.MatrixExpr) -> Element:
        return self.element("msub", self._print(matrix.args[0]), self._print(matrix.args[1]))

    def _print_HeadSum(self, total: sp.MatrixExpr) -> Element:
        summand, index, heads = total.args
        below = self._row(self._print(index), self._operator("="), self.element("mn", "1"))
        sign = self.element("munderover", self._operator("∑"), below, self._print(heads))
        return self._row(sign, self.parenthesize(summand, PRECEDENCE["Add"]))

    def _print_TimeDerivative(self, derivative: sp.Expr) -> Element:
        with_respect_to = self.element("msub", self._operator("∂", rspace="0"), self.element("mi", "t"))
        return self._row(with_respect_to, self.parenthesize(derivative.args[0], PRECEDENCE["Mul"]))

    def _print_Mean(self, mean: sp.Expr) -> Element:
        return self._call(self.element("mi", "mean"), mean.args[0])

    def _print_SecondMomentOfACG(self, moment: sp.MatrixExpr) -> Element:
        return self._call(self.element("mi", "M"), moment.args[0])

    def _print_PolynomialValue(self, value: sp.Expr) -> Element:
        coefficients, at = map(self._print, value.args)
        return self._row(
            self.element("mi", "poly"), self._parentheses(self._row(coefficients, self._operator(","), at))
        )

    def _print_Basic(self, expression: sp.Basic) -> Any:
        """What has no notation of its own: its name and its arguments."""
        arguments = [self._print(argument) for argument in expression.args]
        separated = [part for argument in arguments for part in (self._operator(","), argument)][1:]
        return self._row(self.element("mi", type(expression).__name__), self._parentheses(self._row(*separated)))


def system_mathml(relations: Iterable[sp.Equality]) -> str:
    """Equations as one block, aligned at their equals signs, long sums broken into lines.

    >>> system_mathml([sp.Eq(sp.Symbol("Rdot"), sp.Symbol("R"))]).count("<mtr>")
    1
    """
    printer = Printer()
    rows = []
    for relation in relations:
        start = printer._print(relation.lhs), printer._operator("=")
        first, *others = _lines(printer, broken(relation.rhs))
        rows.append((*start, first))
        rows += [(printer._row(), printer._row(), line) for line in others]
    math = printer.element("math", _table(printer, rows), display="block")
    _set_brackets(math)
    return math.toxml()


def _lines(printer: Printer, value: Broken) -> list[Element]:
    """A value on one line, or a sum on several; with a factor before it, within brackets around the lines."""
    lines = [printer._print(value.parts[0]), *map(printer.continued, value.parts[1:])]
    if value.factor == 1:
        return lines
    factor = printer.parenthesize(value.factor, PRECEDENCE["Add"])
    block = printer._parentheses(_table(printer, [(line,) for line in lines]))
    return [printer._row(factor, printer._operator("\u2062"), block)]


def _table(printer: Printer, rows: Iterable[Iterable[Element]]) -> Element:
    cells = [[printer.element("mtd", cell) for cell in row] for row in rows]
    return printer.element("mtable", *(printer.element("mtr", *row) for row in cells), displaystyle="true")


def _set_brackets(math: Any) -> None:
    """Let brackets grow only around what is tall: browsers set those that may grow with space around them."""
    for bracket in math.getElementsByTagName("mo"):
        if bracket.firstChild.data in BRACKETS:
            inside = bracket.parentNode
            is_tall = any(inside.getElementsByTagName(tag) for tag in TALL)
            if not is_tall and not any(mo.firstChild.data == "∫" for mo in inside.getElementsByTagName("mo")):
                bracket.setAttribute("stretchy", "false")


def symbol_mathml(symbol: sp.Basic) -> str:
    """A symbol within a line of text."""
    printer = Printer()
    return printer.element("math", printer._print(symbol)).toxml()
