"""What the parameters determine, set apart from what depends on the states: it is computed once for all states."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import sympy as sp

from symbolic.printing.render import hoisted, sizes_of
from symbolic.printing.ssa import Node
from symbolic.printing.translate import System

#: What is written where it is used though it is fixed, as it costs next to nothing.
FREE = ("input", "number", "imaginary", "size", "transpose")


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
