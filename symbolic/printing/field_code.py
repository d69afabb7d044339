"""The vector field as array code: what the parameters determine, computed once, and a function `rhs` of the states."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence, Set
from dataclasses import replace

import sympy as sp

from symbolic.printing.render import (
    Renderer,
    Statement,
    chosen_names,
    fit,
    hoisted,
    opening_lines,
    sizes_of,
    suggested_names,
    written_often,
)
from symbolic.printing.ssa import Node, reachable, shiftable
from symbolic.printing.translate import System, translate
from symbolic.reduction import Reduction

#: What is written where it is used though it is fixed, as it costs next to nothing.
FREE = ("input", "number", "imaginary", "size", "transpose")


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
        before = [node for node in used if node in assigned and node in fixed]
        inside = [node for node in used if node in assigned and node not in fixed]
        names.clear()
        names.update(chosen_names(system, [node for node in before + inside if node not in matrices], suggestions))
        names.update({matrix: names[parameter] for matrix, parameter in matrices.items()})
        render = Renderer("xp", names, shifted)
        # A plus makes a number of an array without axes, on which NumPy is several times slower.
        openings = {node: f"{names[node]} = {'+' if node.op == 'element' else ''}" for node in before}
        return [
            *(Statement(node, openings[node], *render.statement(node)) for node in before),
            *(Statement(node, f"{names[node]} = ", *render.statement(node), indent=" " * 8) for node in inside),
        ]

    statements = fit(write)
    arguments = [(names[node], variable) for node, variable in zip(system.inputs, system.variables, strict=True)]
    states, parameters = arguments[: len(system.state)], arguments[len(system.state) :]
    sizes = {size for node in used for size in sizes_of(node)}
    listed = ", ".join(name for name, _ in states)
    results = [
        names[rate] + ("[..., 0]" if len(variable.shape) == 1 else "")
        for variable, rate in zip(system.state, system.rates, strict=True)
    ]
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


class FixedParts:
    """Tells the nodes that the parameters fix, and rewrites the others so that as much as possible of them is fixed.

    All fixed factors of a product are multiplied first, and all fixed terms of a sum are added first.
    """

    def __init__(self, system: System):
        self.given, self.graph = system, system.graph
        self._named = {node for _, node in system.definitions}
        self.sizes = {size for variable in system.parameters for size in variable.shape}
        self._fixed = dict.fromkeys(system.inputs[: len(system.state)], False)
        self._rewritten: dict[Node, Node] = {}

    def system(self) -> System:
        """The system with its definitions and rates rewritten."""
        definitions = tuple((name, self(node)) for name, node in self.given.definitions)
        return replace(self.given, definitions=definitions, rates=tuple(map(self, self.given.rates)))

    def __contains__(self, node: Node) -> bool:
        if node not in self._fixed:
            self._fixed[node] = sizes_of(node) <= self.sizes and all(arg in self for arg in node.args)
        return self._fixed[node]

    def __call__(self, node: Node) -> Node:
        """The same value, with its fixed parts apart."""
        if node in self or not node.args:
            return node
        if node not in self._rewritten:
            self._rewritten[node] = self._rewrite(node)
        return self._rewritten[node]

    def needed(self, used: Iterable[Node]) -> set[Node]:
        """The fixed nodes that others are computed from, less what costs nothing."""
        operands = {arg for node in used if node not in self for arg in node.args if arg in self}
        return {part for operand in operands for part in hoisted(operand, FREE)}

    def _rewrite(self, node: Node) -> Node:
        if node.op == "mul":
            return self._product(node.data, node.args)
        if node.op == "add":
            return self._sum([self._term(*pair) for pair in zip(node.data, node.args, strict=True)])
        return self.graph.node(node.op, map(self, node.args), node.data, node.shape, real=node.real, pure=node.pure)

    def _product(self, coefficient: sp.Rational, factors: Sequence[Node]) -> Node:
        others = [self(factor) for factor in factors if factor not in self]
        fixed = [factor for factor in factors if factor in self]
        if all(factor.pure for factor in fixed):
            return self.graph.mul(coefficient, [*fixed, *others])
        return self.graph.mul(sp.S.One, [self.graph.mul(coefficient, fixed), *others])

    def _term(self, coefficient: sp.Rational, term: Node) -> tuple[sp.Rational, Node]:
        """A multiple of a product that has a fixed factor is a product with another such factor, if it has no name."""
        has_fixed_factor = any(factor in self and not factor.pure for factor in term.args)
        if term.op == "mul" and abs(coefficient) != 1 and has_fixed_factor and term not in self._named:
            return sp.S.One, self._product(coefficient * term.data, term.args)
        return coefficient, self(term)

    def _sum(self, terms: Sequence[tuple[sp.Rational, Node]]) -> Node:
        others = [pair for pair in terms if pair[1] not in self]
        fixed = [pair for pair in terms if pair[1] in self]
        if len(fixed) > 1:
            fixed = [(sp.S.One, self.graph.add(fixed))]
        return self.graph.add([*fixed, *others])


def _only_as_matrices(system: System, used: Iterable[Node], needed: Set[Node]) -> dict[Node, Node]:
    """The matrices of equal entries that stand for a scalar parameter everywhere, and may have its name."""
    uses = Counter(arg for node in used for arg in node.args)
    uses.update(system.rates)
    parameters = system.inputs[len(system.state) :]
    candidates = [node for node in used if node in needed and node.op == "expand" and node.args[0] in parameters]
    return {node: node.args[0] for node in candidates if uses[node.args[0]] == 1}
