"""Taylor recurrences: from the coefficients 0..k of the states to coefficient k + 1, by array operations.

Every product of two quantities that vary gets a list of coefficients of its own, with the convolution
(a b)_k = Σ_{j≤k} a_j b_{k−j}; what is linear is combined directly; functions obey the recurrence of the differential
equation that they solve, where s stands for the argument:

    e = exp s       k e_k = Σ_{j=1..k} j s_j e_{k−j}
    cos s, sin s    k cos_k = −Σ_{j=1..k} j s_j sin_{k−j},    k sin_k = Σ_{j=1..k} j s_j cos_{k−j}
    log s           k log_k = Σ_{j=1..k} j s_j (1/s)_{k−j}
    y = s^p         s_0 y_k = Σ_{j=1..k} ((p + 1) j/k − 1) s_j y_{k−j}
    Y = S⁻¹         Y_k = −Y_0 Σ_{j=1..k} S_j Y_{k−j}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from functools import reduce

import sympy as sp

from symbolic.printing.realify import real_system
from symbolic.printing.render import (
    ATOM,
    PRODUCT,
    SUM,
    Renderer,
    Statement,
    chosen_names,
    fit,
    hoisted,
    leading_sign,
    opening_lines,
    sizes_of,
    suggested_names,
    written_often,
)
from symbolic.printing.ssa import Node, reachable, shiftable
from symbolic.printing.translate import System, translate
from symbolic.reduction import Reduction

#: Operations with a recurrence of their own, when their argument varies.
RECURRENT = ("convolve", "derivative", "constant", "exp", "cos", "sin", "log", "power", "inverse")

#: Operations without one.
WITHOUT_RECURRENCE = ("acg_second_moment", "acg_second_moment_of_factor", "polynomial")


def series_text(reduction: Reduction) -> str:
    """The function `series`: the Taylor coefficients 0..order of the states, in real arithmetic.

    Where an operation has no recurrence, the function says so in an error.
    """
    whole = translate(reduction.state, reduction.parameters, reduction.definitions, reduction.equations)
    missing = sorted({node.op for node in reachable(whole.rates)} & set(WITHOUT_RECURRENCE))
    if missing:
        return f"series = None  # there is no Taylor recurrence for {missing[0]}"
    real = real_system(reduction)
    system = translate(real.state, real.parameters, real.definitions, real.equations)
    lowering = Lowering(system)
    rates = [lowering.rate(rate) for rate in system.rates]
    roots = [*rates, *lowering.partners(rates)]
    used = reachable(roots)
    shifted = {lowering(node) for node in shiftable(system.rates)}
    definitions = [(name, lowering(node)) for name, node in system.definitions]
    suggestions = suggested_names(definitions, system.state, rates)
    states = system.inputs[: len(system.state)]
    columns = {node: "[..., None]" for node, state in zip(states, system.state, strict=True) if len(state.shape) == 1}
    names: dict[Node, str] = {}

    def write(forced: Set[Node]) -> list[Statement]:
        assigned = written_often(roots, forced | suggestions.keys() | lowering.needed(used), shifted)
        lists = {*states, *filter(lowering.varies, assigned)}
        statements = [node for node in used if node in assigned]
        names.clear()
        names.update(chosen_names(system, statements, suggestions))
        first = SeriesRenderer(names, shifted, lists, lowering, index="0")
        later = SeriesRenderer(names, shifted, lists, lowering, index="k")
        constants, leading, loop = [], [], []
        for node in statements:
            name = names[node]
            if node not in lists:
                constants.append(Statement(node, f"{name} = ", *first.statement(node)))
            else:
                leading.append(Statement(node, f"{name} = [", *first.statement(node), "]"))
                loop.append(Statement(node, f"{name}.append(", *later.statement(node), ")", indent=" " * 8))
        begin = [Statement(node, f"{names[node]} = [", names[node] + columns.get(node, ""), (), "]") for node in states]
        steps = [
            Statement(node, f"{names[node]}.append(", f"{names[rate]}[k - 1] / k", (), ")", indent=" " * 8)
            for node, rate in zip(states, rates, strict=True)
        ]
        head = Statement(states[0], "for k in range(1, order + 1):", "", ())
        return [*constants, *begin, *leading, head, *steps, *loop]

    lines = [line for statement in fit(write) for line in statement.lines()]
    arguments = [(names[node], variable) for node, variable in zip(system.inputs, system.variables, strict=True)]
    sizes = {size for node in used for size in sizes_of(node)}
    results = [
        f"[x[..., 0] for x in {names[state]}]" if len(variable.shape) == 1 else names[state]
        for state, variable in zip(states, system.state, strict=True)
    ]
    described = ", ".join(names[state] for state in states)
    return "\n".join(
        [
            f"def series(order, {', '.join(names[node] for node in system.inputs)}, arithmetic):",
            f'    """Taylor coefficients 0..order of {described}; `arithmetic` computes with coefficients."""',
            *opening_lines(arguments, sizes, columns=system.parameters),
            *lines,
            f"    return {', '.join(results)}" if len(results) > 1 else f"    return ({results[0]},)",
        ]
    )


class Lowering:
    """Rewrites nodes into operations that are linear in what varies, and operations that have a recurrence."""

    def __init__(self, system: System):
        self.graph = system.graph
        self._varies = dict.fromkeys(system.inputs[: len(system.state)], True)
        self._lowered: dict[Node, Node] = {}

    def varies(self, node: Node) -> bool:
        """Whether a node depends on the state, or stands for a constant as a series."""
        if node not in self._varies:
            self._varies[node] = node.op == "constant" or any(map(self.varies, node.args))
        return self._varies[node]

    def __call__(self, node: Node) -> Node:
        if not self.varies(node) or node.op == "input":
            return node
        if node not in self._lowered:
            self._lowered[node] = self._lower(node, [self(arg) for arg in node.args])
        return self._lowered[node]

    def rate(self, node: Node) -> Node:
        """A rate, always as a series: that of a constant has further coefficients 0."""
        lowered = self(node)
        return lowered if self.varies(lowered) else self.graph.node("constant", [lowered], shape=lowered.shape)

    def _lower(self, node: Node, args: list[Node]) -> Node:
        if node.op == "add":
            return self.graph.add(zip(node.data, args, strict=True))
        if node.op == "mul":
            constants = self.graph.mul(sp.S.One, [arg for arg in args if not self.varies(arg)])
            product = reduce(self._convolve, [arg for arg in args if self.varies(arg)])
            return self.graph.mul(node.data, [constants, product])
        if node.op == "transpose":
            return self.graph.transpose(args[0])
        if node.op == "expand":
            return self.graph.expand(args[0])
        if node.op == "power":
            return self._power(args[0], node.data)
        if node.op == "abs":
            return self._power(self._convolve(args[0], args[0]), sp.Rational(1, 2))
        if node.op in ("exp", "cos", "sin", "log"):
            args.append(self._derivative(args[0]))
        if node.op == "log":
            args.append(self._power(args[0], sp.S.NegativeOne))
        return self.graph.node(node.op, args, node.data, node.shape)

    def _power(self, base: Node, exponent: sp.Rational) -> Node:
        """Whole powers by multiplication, all others by their recurrence."""
        if exponent.is_Integer and exponent > 0:
            if exponent == 1:
                return base
            half = self._power(base, exponent // 2)
            square = self._convolve(half, half)
            return self._convolve(square, base) if exponent % 2 else square
        args = [base] if exponent == -1 else [base, self._derivative(base)]
        return self.graph.node("power", args, exponent, base.shape)

    def _convolve(self, left: Node, right: Node) -> Node:
        """The product of two series; coefficients that are scalars broadcast by themselves."""
        factors = sorted((unexpanded(left), unexpanded(right)), key=lambda factor: factor.index)
        shape = self.graph.mul(sp.S.One, [left, right]).shape
        return self.graph.node("convolve", factors, shape=shape)

    def _derivative(self, node: Node) -> Node:
        return self.graph.node("derivative", [unexpanded(node)], shape=node.shape)

    def partner(self, node: Node) -> Node:
        """The sine that belongs to a cosine, and the other way round."""
        return self.graph.node("sin" if node.op == "cos" else "cos", node.args, shape=node.shape)

    def partners(self, outputs: Iterable[Node]) -> list[Node]:
        """The sines that the recurrences of cosines need, and the cosines for sines."""
        return [self.partner(node) for node in reachable(outputs) if node.op in ("cos", "sin") and self.varies(node)]

    def needed(self, used: Iterable[Node]) -> set[Node]:
        """The nodes that must have a name: series that recurrences refer to, and constants used in the loop."""
        needed = set()
        for node in used:
            if self.varies(node):
                if self.is_recurrent(node):
                    needed |= {node, *(unexpanded(arg) for arg in node.args if self.varies(arg))}
                constants = [arg for arg in node.args if not self.varies(arg) and not arg.pure]
                needed |= {part for constant in constants for part in hoisted(constant)}
        return {node for node in needed if node.op not in ("input", "number")}

    def is_recurrent(self, node: Node) -> bool:
        """Whether coefficient k is no linear function of the coefficients k of the arguments."""
        products = node.op == "matmul" and all(map(self.varies, node.args))
        return self.varies(node) and (node.op in RECURRENT or products)


class SeriesRenderer(Renderer):
    """Writes coefficient `index`, "0" or "k", of every node; scalars have no batch axes here."""

    def __init__(self, names: Mapping[Node, str], shifted: Set[Node], lists: Set[Node], lowering: Lowering, index: str):
        super().__init__("arithmetic", names, shifted)
        self.lists = lists
        self.lowering = lowering
        self.index = index

    def __call__(self, node: Node, strength: int = SUM) -> str:
        text = super().__call__(node, strength)
        return f"{text}[{self.index}]" if node in self.lists else text

    def statement(self, node: Node) -> tuple[str, tuple[str, ...]]:
        text, terms = super().statement(node)
        if self.index == "k" and node.op == "power" and self.lowering.varies(node):
            terms = tuple(self._power_terms(node))
        return text, terms

    def value(self, node: Node) -> tuple[str, int]:
        if self.index == "k" and self.lowering.is_recurrent(node):
            return self._recurrence(node), PRODUCT
        return super().value(node)

    def keeps(self, term: Node) -> bool:
        """Constants have no coefficient but the one of order 0."""
        return self.index == "0" or self.lowering.varies(term)

    def _recurrence(self, node: Node) -> str:
        """Coefficient k from earlier ones."""
        own = self.names[node]
        if node.op == "constant":
            return f"0 * {own}[0]"
        s, *rest = (self.names[unexpanded(arg)] for arg in node.args)
        match node.op:
            case "convolve" | "matmul":
                return f"arithmetic.{node.op}({s}, {rest[0]}, k)"
            case "derivative":
                return f"k * {s}[k]"
            case "exp":
                return f"arithmetic.convolve({rest[0]}, {own}, k - 1) / k"
            case "sin":
                return f"arithmetic.convolve({rest[0]}, {self.names[self.lowering.partner(node)]}, k - 1) / k"
            case "cos":
                return f"-arithmetic.convolve({rest[0]}, {self.names[self.lowering.partner(node)]}, k - 1) / k"
            case "log":
                return f"arithmetic.convolve({rest[0]}, {rest[1]}, k - 1) / k"
            case "inverse":
                return f"-{own}[0] @ arithmetic.matmul({s}[1:], {own}, k - 1)"
        return " ".join(leading_sign(self._power_terms(node)))

    def _power_terms(self, node: Node) -> list[str]:
        """Coefficient k of s**p: the two parts of the sum over ((p + 1) j/k - 1) s_j y_{k-j}."""
        own, s = self.names[node], self.names[unexpanded(node.args[0])]
        tail = f"- arithmetic.convolve({s}[1:], {own}, k - 1) / {s}[0]"
        factor = node.data + 1
        if factor == 0:
            return [tail]
        sign = "-" if factor < 0 else "+"
        multiple = f"{abs(factor.p)} * " if abs(factor.p) != 1 else ""
        below = f"{factor.q} * k" if factor.q != 1 else "k"
        prime = self.names[node.args[1]]
        return [f"{sign} {multiple}arithmetic.convolve({prime}, {own}, k - 1) / ({below} * {s}[0])", tail]

    def _convolve(self, node: Node) -> tuple[str, int]:
        left, right = node.args
        return f"{self(left, PRODUCT)} * {self(right, ATOM)}", PRODUCT

    def _derivative(self, node: Node) -> tuple[str, int]:
        return "", ATOM

    def _constant(self, node: Node) -> tuple[str, int]:
        (value,) = node.args
        return (self(value), ATOM) if value in self.names else self.value(value)

    def _element(self, node: Node) -> tuple[str, int]:
        row, column = node.data
        return f"{self(node.args[0], ATOM)}[{row}, {column}]", ATOM

    def _expand(self, node: Node) -> tuple[str, int]:
        (scalar,) = node.args
        return (self(scalar), ATOM) if scalar in self.names else self.value(scalar)

    def _broadcast(self, node: Node) -> tuple[str, int]:
        sizes = ", ".join(map(str, node.data))
        return f"arithmetic.broadcast_to({self(node.args[0])}, ({sizes}))", ATOM


def unexpanded(node: Node) -> Node:
    """Scalar coefficients broadcast by themselves."""
    return node.args[0] if node.op == "expand" else node
