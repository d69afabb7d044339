"""Real and imaginary parts against SymPy's own, on expressions that SymPy can split as well."""

import pytest
import sympy as sp

from symbolic import canonical_reductions
from symbolic.derivation import Derivation
from symbolic.printing.realify import Splitter, real_system
from symbolic.reduction import Reduction, Variable

R, w = sp.symbols("R w", complex=True)
beta = sp.Symbol("beta", real=True)
A = sp.MatrixSymbol("A", 2, 2)


@pytest.mark.parametrize(
    "expression",
    [
        sp.I * R,
        (R + sp.I) * (R - 2) * beta,
        sp.conjugate(R) * R**3,
        1 / (R + 2),
        (R - sp.I / 2) ** -3,
        sp.re(R) * R + sp.I * sp.im(R**2),
        sp.Abs(R) * R,
        sp.exp(sp.I * beta) * sp.exp(R),
        sp.cos(R) + sp.sin(R) * sp.cos(beta),
        sp.log(beta**2 + 1) * R,
    ],
)
def test_parts_of_expressions(expression):
    split = Splitter()
    ((real, imaginary)) = (variable.symbol for variable in split.variable(Variable(R, "complex", "number")))
    split.variable(Variable(beta, "real", "number"))
    parts = split(expression)
    values = {real: sp.Rational(2, 3), imaginary: -sp.Rational(5, 7), beta: sp.Rational(3, 4)}
    number = expression.subs({R: values[real] + sp.I * values[imaginary], beta: values[beta]}).n(40)
    for part, expected in zip(parts, number.as_real_imag(), strict=True):
        assert not part.has(sp.I, sp.re, sp.im, sp.conjugate) and part.free_symbols <= values.keys()
        assert abs(part.subs(values).n(40) - expected) < sp.Float(10) ** -35  # 40 digits, less cancellation


def test_definitions_stay_definitions():
    """P is complex, h real although written with complex terms, and entries of A are real numbers."""
    P, h = sp.symbols("P h", complex=True)
    definitions = ((P, A[0, 0] * R + sp.I * A[0, 1]), (h, P * sp.conjugate(P)))
    state, parameters = (Variable(R, "disc", "order parameter"),), (Variable(A, "matrix", "score"),)
    reduction = Reduction("r", "r", None, None, state, parameters, definitions, {R: h * P}, (), (), Derivation("r"))
    real = real_system(reduction)
    names = [symbol.name for symbol, _ in real.definitions]
    assert names == ["P_re", "P_im", "h"]
    assert [variable.name for variable in real.state] == ["R_re", "R_im"]
    assert all(variable.domain == "real" for variable in real.state)
    values = dict(real.definitions)
    p_re, p_im, h_value = (values[symbol] for symbol, _ in real.definitions)
    r_re, r_im = (variable.symbol for variable in real.state)
    assert p_re == A[0, 0] * r_re and p_im == A[0, 0] * r_im + A[0, 1]
    (first, _), (second, _), (third, _) = real.definitions
    assert h_value == first**2 + second**2
    assert list(real.equations.values()) == [third * first, third * second]


#: The value of a polynomial at a complex number has no real form here; its kernel has no Taylor series.
REAL = [name for name in canonical_reductions() if name != "watanabe_strogatz_moments"]


@pytest.mark.parametrize("name", REAL)
def test_no_complex_number_is_left(name):
    real = real_system(canonical_reductions()[name]())
    for expression in [value for _, value in real.definitions] + list(real.equations.values()):
        assert not expression.has(sp.I, sp.re, sp.im, sp.conjugate)


def test_real_expressions_stay_as_they_are_written():
    split = Splitter()
    split.variable(Variable(beta, "real", "number"))
    expression = beta * (A[0, 1] + beta) ** 2 / 3
    assert split(expression) == (expression, 0)
