"""Reductions as modules of plain array code: the vector field `field` and the Taylor recurrence `series`.

The text depends on the equations alone: the same reduction gives the same module in every process.
"""

from __future__ import annotations

import hashlib
import textwrap
from collections.abc import Mapping, Sequence

import sympy as sp
from sympy.matrices.expressions.applyfunc import ElementwiseApplyFunction
from sympy.printing.str import StrPrinter

from symbolic.printing.field_code import field_text
from symbolic.printing.series_code import series_text
from symbolic.reduction import Reduction, Variable

COMMUTATIVE = (sp.Add, sp.Mul, sp.MatAdd, sp.HadamardProduct)


def module_text(reduction: Reduction) -> str:
    """The source of a module with NAME, DIGEST, STATE, PARAMETERS, `field` and `series`.

    Parameters
    ----------
    reduction
        Its definitions and equations may use the operations that `symbolic.printing.translate` knows.

    Raises
    ------
    ValueError
        When a state has no equation, a symbol no meaning, or an operation no array code; the message shows it.

    >>> from symbolic.derivation import Derivation
    >>> x = sp.Symbol("x", real=True)
    >>> growth = Reduction("growth", "Quadratic growth", None, None, (Variable(x, "real", "size"),), (), (),
    ...     {x: x**2}, (), (), Derivation("growth"))
    >>> print(module_text(growth).split("\\n\\n\\n")[1])
    def field(xp=np):
        \"\"\"The vector field at these parameters; `xp` offers the array functions.\"\"\"
    <BLANKLINE>
        def rhs(x):
            \"\"\"Time derivatives of x.\"\"\"
            x_dot = x**2
            return (x_dot,)
    <BLANKLINE>
        return rhs
    """
    functions = [field_text(reduction), series_text(reduction)]
    constants = [
        f'NAME = "{reduction.name}"',
        f'DIGEST = "{digest(reduction)}"',
        _arguments_text("STATE", reduction.state),
        _arguments_text("PARAMETERS", reduction.parameters),
    ]
    head = "\n".join([_docstring(reduction), "", "import numpy as np", "", *constants])
    return "\n\n\n".join([head, *functions]) + "\n"


def digest(reduction: Reduction) -> str:
    """SHA-256 of the variables, definitions and equations; titles and derivations do not enter.

    It depends neither on the order in which SymPy keeps the operands of commutative operations nor on the
    numbers of its dummy symbols.
    """
    lines = []
    for role, variables in (("state", reduction.state), ("parameter", reduction.parameters)):
        lines += [f"{role} {_canonical_text(variable.symbol)} {variable.domain}" for variable in variables]
    lines += [f"{_canonical_text(symbol)} = {_canonical_text(value)}" for symbol, value in reduction.definitions]
    for variable in reduction.state:
        lines.append(f"{_canonical_text(variable.symbol)}' = {_canonical_text(reduction.equations[variable.symbol])}")
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _canonical_text(expression: sp.Basic, bound: Mapping[sp.Basic, str] | None = None) -> str:
    """`srepr` with sorted commutative operands, and bound variables named by their depth."""
    bound = bound or {}
    if expression in bound:
        return bound[expression]
    if not expression.args:
        return sp.srepr(expression)
    if isinstance(expression, sp.Lambda):
        bound = {**bound, **{variable: f"bound{len(bound)}" for variable in expression.variables}}
    texts = [_canonical_text(arg, bound) for arg in expression.args]
    if isinstance(expression, COMMUTATIVE):
        texts.sort()
    return f"{type(expression).__name__}({', '.join(texts)})"


class _Plain(StrPrinter):
    """Equations in ASCII for a docstring."""

    def _print_ElementwiseApplyFunction(self, expression: ElementwiseApplyFunction) -> str:
        (variable,) = expression.function.variables
        return self._print(expression.function.expr.xreplace({variable: sp.Symbol(self._print(expression.expr))}))

    def _print_OneMatrix(self, expression: sp.OneMatrix) -> str:
        return f"ones({self._print(expression.rows)}, {self._print(expression.cols)})"


def _docstring(reduction: Reduction) -> str:
    plain = _Plain({"order": None}).doprint
    relations = [f"{symbol} = {plain(value)}" for symbol, value in reduction.definitions]
    relations += [f"{state.symbol}' = {plain(reduction.equations[state.symbol])}" for state in reduction.state]
    lines = [f"{reduction.title.rstrip('.')}.", ""]
    for relation in relations:
        lines += textwrap.wrap(relation, 116, initial_indent=" " * 4, subsequent_indent=" " * 8, break_on_hyphens=False)
    lines += ["", f"Generated from the reduction {reduction.name}: change its derivation, not this file.", ""]
    text = "\n".join(lines).replace("\\", "\\\\").replace('"', "'")
    return f'"""{text}"""'


def _arguments_text(constant: str, variables: Sequence[Variable]) -> str:
    """A tuple of (name, shape, domain), several ones one a line."""
    entries = []
    for variable in variables:
        sizes = [str(size) if sp.sympify(size).is_Integer else f'"{size}"' for size in variable.shape]
        shape = f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"
        entries.append(f'("{variable.name}", {shape}, "{variable.domain}"),')
    if len(entries) < 2:
        return f"{constant} = ({''.join(entries)})"
    return "\n".join([f"{constant} = (", *(f"    {entry}" for entry in entries), ")"])
