"""Terminal printing of what SymPy does not print by itself."""

import pytest
import sympy as sp
from sympy.matrices.expressions.applyfunc import ElementwiseApplyFunction

from symbolic.printing.text import function_name

s = sp.Symbol("s", real=True)
X = sp.MatrixSymbol("X", 2, 2)


@pytest.mark.parametrize(("body", "name"), [(sp.exp(s), "exp"), (s**3, "s**3"), (1 + sp.tanh(s), "tanh(s) + 1")])
def test_names_of_functions_applied_entry_by_entry(body, name):
    assert function_name(ElementwiseApplyFunction(sp.Lambda(s, body), X)) == name
