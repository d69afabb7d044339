"""Equations in MathML: well-formed, in elements that browsers know, and with our notation."""

import xml.etree.ElementTree as ET

import pytest
import sympy as sp
from sympy.matrices.expressions.applyfunc import ElementwiseApplyFunction

from symbolic import notation
from symbolic.notation import Average, Inner, LogMGF, LogMGFGradient, Mean, TimeDerivative, d, rate
from symbolic.printing.breaking import broken
from symbolic.printing.mathml import system_mathml

#: Elements of MathML Core, which browsers show.
CORE = {"math", "mfrac", "mi", "mn", "mo", "mover", "mroot", "mrow", "msqrt", "msub", "msubsup", "msup"}
CORE |= {"mtable", "mtd", "mtext", "mtr", "munder", "munderover"}

x, y = sp.MatrixSymbol("x", d, 1), sp.MatrixSymbol("y", d, 1)
A = sp.MatrixSymbol("A", d, d)
R, s, k = sp.Symbol("R", complex=True), sp.Symbol("s", real=True), sp.Symbol("k", positive=True)


def parsed(expression: sp.Basic) -> ET.Element:
    relation = sp.Eq(sp.Symbol("left"), expression, evaluate=False)
    return ET.fromstring(system_mathml([relation]))


def text(expression: sp.Basic) -> str:
    """What is printed to the right of the equals sign, without spaces and invisible operators."""
    whole = "".join(parsed(expression).itertext())
    return "".join(c for c in whole.partition("=")[2] if c not in " \u2061\u2062")


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (Inner(x, A * y), "⟨x,Ay⟩"),
        (Average(sp.exp(s), y), "∫esdm(y)"),
        (LogMGF(x), "K(x)"),
        (LogMGFGradient(A * x), "∇K(Ax)"),
        (TimeDerivative(LogMGF(x)), "∂tK(x)"),
        (Mean(x), "mean(x)"),
        (sp.conjugate(R), "R¯"),
        (rate(R), "R˙"),
        (rate(sp.Symbol("Sigma")), "Σ˙"),
        (sp.Symbol("x_perp"), "x⊥"),
        (A[0, 1], "A12"),
        (ElementwiseApplyFunction(sp.Lambda(s, sp.exp(s)), x), "exp.(x)"),
        (A.T, "AT"),
        (sp.Trace(A), "tr(A)"),
        (sp.Identity(d) - x * x.T, "I−xxT"),
        (sp.MatMul(-2, A, x), "−2Ax"),
        (sp.MatMul(1 / s, A), "As"),
        (sp.Function("Z")(k), "Z(k)"),
        (sp.re(R), "Re(R)"),
        (sp.im(R), "Im(R)"),
        (sp.I * R, "iR"),
        (sp.Abs(R), "|R|"),
        (R * sp.exp(-sp.I * s), "Re−is"),
        (sp.HadamardPower(x, -1), "x∘−1"),
    ],
)
def test_notation(expression, expected):
    assert text(expression) == expected


def test_every_node_of_the_notation_is_printed_by_a_method_of_its_own():
    from symbolic.printing.mathml import Printer

    nodes = [
        value.__name__
        for value in vars(notation).values()
        if isinstance(value, type) and issubclass(value, sp.Expr) and value.__module__ == notation.__name__
    ]
    assert len(nodes) >= 6
    assert all(hasattr(Printer, f"_print_{name}") for name in nodes)


def test_an_object_without_notation_is_printed_by_its_name():
    class Strange(sp.Expr):
        pass

    assert text(Strange(s, k)) == "Strange(s,k)"


def test_every_equation_is_well_formed_and_of_known_elements(book):
    for chapter in book:
        for equation in chapter.reduction.derivation.equations.values():
            formula = system_mathml(equation.relations)
            elements = list(ET.fromstring(formula).iter())
            assert {element.tag for element in elements} <= CORE
            assert "menclose" not in formula
            rows = [element for element in ET.fromstring(formula).find("mtable") if element.tag == "mtr"]
            assert len(rows) >= len(equation.relations)


def test_brackets_grow_around_fractions_alone():
    small, tall = parsed(sp.sin(s)), parsed(sp.sin(s / 3))
    assert {mo.get("stretchy") for mo in small.iter("mo") if mo.text in "()"} == {"false"}
    assert {mo.get("stretchy") for mo in tall.iter("mo") if mo.text in "()"} == {None}


def test_signs_are_escaped():
    assert "&lt;" in system_mathml([sp.Eq(R, sp.Piecewise((1, s < 2), (0, True)), evaluate=False)])


def test_long_sums_are_broken_into_lines_and_nothing_is_lost():
    terms = [sp.Symbol(f"a{i}") * (-1) ** i for i in range(40)]
    total = sp.Add(*terms)
    value = broken(total)
    assert len(value.parts) > 1
    assert sp.Add(*value.parts) == total
    assert len(parsed(total).find("mtable")) == len(value.parts)
    signs = [mo.text for mo in parsed(total).iter("mo") if mo.text in "+−"]
    assert (signs.count("+"), signs.count("−")) == (19, 20)


def test_a_long_sum_with_a_factor_keeps_both():
    total = sp.Add(*sp.symbols("b:40"))
    product = sp.Mul(s, total, evaluate=False)
    value = broken(product)
    assert value.factor * sp.Add(*value.parts) == product
    assert len(list(parsed(product).iter("mtable"))) == 2


def test_long_matrix_sums_are_broken_too():
    total = sp.MatAdd(*(sp.MatrixSymbol(f"M{i}", d, d) * A for i in range(30)))
    value = broken(total)
    assert len(value.parts) > 1
    assert sp.MatAdd(*value.parts).doit() == total.doit()
