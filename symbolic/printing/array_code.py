"""Reductions as modules of plain array code: the vector field `field` and the Taylor recurrence `series`.

The text depends on the equations alone: the same reduction gives the same module in every process.
"""

from __future__ import annotations

import hashlib
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set

import sympy as sp
from sympy.matrices.expressions.applyfunc import ElementwiseApplyFunction
from sympy.printing.str import StrPrinter

from symbolic.printing.fixed_parts import FixedParts
from symbolic.printing.render import (
    Renderer,
    Statement,
    chosen_names,
    fit,
    opening_lines,
    sizes_of,
    suggested_names,
    written_often,
)
from symbolic.printing.series_code import series_text
from symbolic.printing.ssa import Node, reachable, shiftable
from symbolic.printing.translate import System, translate
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


def field_text(reduction: Reduction) -> str:
    """The function `field`, which takes the parameters and returns `rhs`: from the states to their time derivatives.

    Arrays may have any leading batch axes. What depends on parameters alone is computed once, before `rhs`.
    """
    system = translate(reduction.state, reduction.parameters, reduction.definitions, reduction.equations)
    fixed = FixedParts(system)
    system = fixed.system()
    used = reachable(system.rates)
    shifted = shiftable(system.rates)
    needed = fixed.needed(used)
    suggestions = suggested_names(system.definitions, system.state, system.rates)
    matrices = _only_as_matrices(system, used, needed)
    names: dict[Node, str] = {}

    def write(forced: Set[Node]) -> list[Statement]:
        assigned = written_often(system.rates, forced | suggestions.keys() | needed, shifted)
        statements = [node for node in used if node in assigned and node in fixed]
        statements += [node for node in used if node in assigned and node not in fixed]
        names.clear()
        names.update(chosen_names(system, [node for node in statements if node not in matrices], suggestions))
        names.update({matrix: names[parameter] for matrix, parameter in matrices.items()})
        renderer = Renderer("xp", names, shifted)
        return [
            # A plus makes a number of an array without axes, on which NumPy is several times slower.
            Statement(
                node,
                f"{names[node]} = {'+' if node.op == 'element' else ''}",
                *renderer.statement(node),
                indent="    " if node in fixed else " " * 8,
            )
            for node in statements
        ]

    statements = fit(write)
    arguments = [(names[node], variable) for node, variable in zip(system.inputs, system.variables, strict=True)]
    states, parameters = arguments[: len(system.state)], arguments[len(system.state) :]
    sizes = {size for node in used for size in sizes_of(node)}
    listed = ", ".join(name for name, _ in states)
    results = []
    for variable, rate in zip(system.state, system.rates, strict=True):
        results.append(names[rate] + ("[..., 0]" if len(variable.shape) == 1 else ""))
    return "\n".join(
        [
            f"def field({', '.join([*(name for name, _ in parameters), 'xp=np'])}):",
            '    """The vector field at these parameters; `xp` offers the array functions."""',
            *opening_lines(parameters, sizes & fixed.sizes, columns=system.parameters),
            *(line for statement in statements if statement.node in fixed for line in statement.lines()),
            "",
            f"    def rhs({listed}):",
            f'        """Time derivatives of {listed}."""',
            *opening_lines(states, sizes - fixed.sizes, columns=system.state, indent=" " * 8),
            *(line for statement in statements if statement.node not in fixed for line in statement.lines()),
            f"        return {', '.join(results)}" if len(results) > 1 else f"        return ({results[0]},)",
            "",
            "    return rhs",
        ]
    )


def _only_as_matrices(system: System, used: Iterable[Node], needed: Set[Node]) -> dict[Node, Node]:
    """The matrices of equal entries that stand for a scalar parameter everywhere, and may have its name."""
    uses = Counter(arg for node in used for arg in node.args)
    uses.update(system.rates)
    parameters = system.inputs[len(system.state) :]
    candidates = [node for node in used if node in needed and node.op == "expand" and node.args[0] in parameters]
    return {node: node.args[0] for node in candidates if uses[node.args[0]] == 1}


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
