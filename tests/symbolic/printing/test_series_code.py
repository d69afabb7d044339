"""How much a Taylor recurrence computes: only products of what varies are convolutions, and none twice."""

import re

import pytest
import sympy as sp
from sympy.matrices.expressions.applyfunc import ElementwiseApplyFunction

from symbolic import canonical_reductions
from symbolic.derivation import Derivation
from symbolic.printing.series_code import series_text
from symbolic.reduction import Reduction, Variable

d, n = sp.symbols("d n", integer=True, positive=True)
x, y = sp.symbols("x y", real=True)
p = sp.Symbol("p", positive=True)
A, S = sp.MatrixSymbol("A", d, d), sp.MatrixSymbol("S", d, d)
v, b = sp.MatrixSymbol("v", d, 1), sp.MatrixSymbol("b", d, 1)


def series_of(state, parameters, equations):
    variables = [tuple(Variable(s, domain, s.name) for s, domain in group.items()) for group in (state, parameters)]
    return series_text(Reduction("r", "r", None, None, *variables, (), equations, (), (), Derivation("r")))


def convolutions(text):
    return len(re.findall(r"arithmetic\.(convolve|matmul)\(", text))


@pytest.mark.parametrize(
    ("state", "parameters", "equations", "count"),
    [
        ({v: "vector"}, {A: "matrix", b: "vector"}, {v: A * v + b}, 0),
        ({x: "real"}, {p: "positive"}, {x: sp.exp(p) * x / (1 + p) + sp.sqrt(p)}, 0),
        ({x: "real", y: "real"}, {p: "positive"}, {x: p * x * y, y: y * x / 2 - x}, 1),
        ({x: "real"}, {}, {x: x**8}, 3),
        ({x: "real"}, {}, {x: sp.exp(x)}, 1),
        ({x: "real"}, {}, {x: sp.sin(x) * sp.cos(x)}, 3),
        ({x: "positive"}, {}, {x: 1 / x}, 1),
        ({x: "positive"}, {}, {x: sp.sqrt(x)}, 2),
        ({S: "covariance"}, {A: "matrix"}, {S: A * S + S * A.T + S * A * S + S * A.T * S}, 1),
        ({S: "matrix"}, {A: "matrix"}, {S: A * (sp.Identity(d) + S).inverse()}, 1),
    ],
)
def test_number_of_convolutions(state, parameters, equations, count):
    assert convolutions(series_of(state, parameters, equations)) == count


@pytest.mark.parametrize(("name", "count"), [("gaussian_moments", 2), ("ott_antonsen", 9)])
def test_convolutions_of_derived_equations(name, count):
    """W μ and W Σ; and for R = x + iy: x², xy, y² and Im P, Re Q, Im Q times those of them that occur, see below.

    R' = iβ Im(P) R + (β/2)(Q − Q̄R²) has Im P times x and y, and the parts of Q times those of R²: 3 + 2 + 4.
    """
    assert convolutions(series_text(canonical_reductions()[name]())) == count


def test_constants_are_computed_once():
    text = series_of({x: "real"}, {p: "positive"}, {x: sp.cos(p) * x**2 / (3 * p + 1)})
    before, loop = text.split("for k in range")
    assert before.count("arithmetic.cos(p)") == 1 and "arithmetic.cos" not in loop
    assert before.count("3 * p") == 1 and "p" not in loop.replace("append", "")


def test_broadcast_factors_stay_small():
    """A column times a matrix is one convolution of (n, 1) with (n, d) arrays, and exp has no list of its transpose."""
    X = sp.MatrixSymbol("X", n, d)
    column = ElementwiseApplyFunction(sp.exp, X * sp.OneMatrix(d, 1))
    text = series_of({X: "tokens"}, {}, {X: sp.HadamardProduct(column * sp.OneMatrix(1, d), X)})
    assert convolutions(text) == 2 and "broadcast" not in text and ".mT" not in text
