"""Array operations as a graph without repeated nodes: what `field` and `series` are both written from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp

Shape = tuple[sp.Expr, ...]

SCALAR: Shape = ()


@dataclass(frozen=True, eq=False, repr=False)
class Node:
    """One array operation.

    `shape` is () for a scalar and (rows, columns) for everything else; there 1 also stands for an axis of
    any length along which the entries are equal, so that broadcasting expands it. `index` numbers the nodes
    in an order of evaluation. `real` says that no imaginary part can appear, `pure` that the value depends
    on numbers and sizes alone.
    """

    op: str
    args: tuple[Node, ...]
    data: Any
    shape: Shape
    real: bool
    pure: bool
    index: int


class Graph:
    """Makes nodes in a normal form, so that equal subexpressions, and transposes of each other, are one node.

    `scale` gives the size of an axis to compare costs with: products are associated so that they cost least.
    """

    def __init__(self, scale: Mapping[sp.Symbol, int]):
        self.scale = scale
        self._nodes: dict[tuple[Any, ...], Node] = {}
        self._factors: dict[Node, tuple[Node, ...]] = {}

    def node(self, op: str, args: Iterable[Node] = (), data: Any = None, shape: Shape = SCALAR, **flags: bool) -> Node:
        """The node of this operation, made when it is new."""
        args = tuple(args)
        key = (op, args, data, shape)
        if key not in self._nodes:
            real = flags.get("real", all(arg.real for arg in args))
            pure = flags.get("pure", bool(args) and all(arg.pure for arg in args))
            self._nodes[key] = Node(op, args, data, shape, real, pure, len(self._nodes))
        return self._nodes[key]

    def number(self, value: sp.Rational) -> Node:
        return self.node("number", data=sp.Rational(value), real=True, pure=True)

    def add(self, terms: Iterable[tuple[sp.Rational, Node]]) -> Node:
        """The sum of rational multiples of nodes.

        Terms that come with their transpose are added up first, as P and Pᵀ are then added exactly
        symmetrically: (a + b) + (a + b)ᵀ, where a + aᵀ + b + bᵀ rounds differently above and below the diagonal.
        """
        collected: dict[Node, sp.Rational] = {}
        constant = sp.S.Zero
        for coefficient, term in terms:
            if term.op == "number":
                constant += coefficient * term.data
            else:
                collected[term] = collected.get(term, sp.S.Zero) + coefficient
        collected = {term: coefficient for term, coefficient in collected.items() if coefficient != 0}
        if any(term.shape for term in collected):
            collected = {self.expand(term): coefficient for term, coefficient in collected.items()}
        halves: dict[Node, sp.Rational] = {}
        for term, coefficient in collected.items():
            mirror = self.transpose(term)
            if mirror is not term and collected.get(mirror) == coefficient and mirror not in halves:
                halves[term] = coefficient
        if halves and len(collected) > 2:
            half = self.add((coefficient, term) for term, coefficient in halves.items())
            pair = self.add([(sp.S.One, half), (sp.S.One, self.transpose(half))])
            rest = [(c, t) for t, c in collected.items() if t not in halves and self.transpose(t) not in halves]
            return self.add([(sp.S.One, pair), *rest, (constant, self.number(sp.S.One))])
        if constant != 0:
            collected[self.number(sp.S.One)] = constant
        if not collected:
            return self.number(0)
        if len(collected) == 1:
            ((term, coefficient),) = collected.items()
            return self.mul(coefficient, [term])
        ordered = sorted(collected, key=lambda term: term.index)
        shape = _broadcast([term.shape for term in ordered])
        return self.node("add", ordered, tuple(collected[term] for term in ordered), shape)

    def mul(self, coefficient: sp.Rational, factors: Iterable[Node]) -> Node:
        """The entrywise product of nodes with a rational number; scalars multiply every entry."""
        coefficient = sp.Rational(coefficient)
        kept = []
        for factor in factors:
            if factor.op == "number":
                coefficient *= factor.data
            else:
                kept.append(factor)
        if coefficient == 0 or not kept:
            return self.number(coefficient)
        if any(factor.shape for factor in kept):
            # Scalars are multiplied with each other before they are expanded to the shape of the matrices.
            scalars = [factor for factor in kept if not factor.shape and not factor.pure]
            if scalars:
                together = self.expand(self.mul(sp.S.One, scalars))
                kept = [together, *(factor for factor in kept if factor.shape or factor.pure)]
        if len(kept) == 1 and coefficient == 1:
            return kept[0]
        kept.sort(key=lambda factor: (not factor.pure, sum(size != 1 for size in factor.shape), factor.index))
        return self.node("mul", kept, coefficient, _broadcast([factor.shape for factor in kept]))

    def power(self, base: Node, exponent: sp.Rational) -> Node:
        """The entrywise power."""
        if exponent == 0:
            return self.number(1)
        if exponent == 1:
            return base
        if base.op == "number" and (base.data**exponent).is_Rational:
            return self.number(base.data**exponent)
        if base.op == "imaginary" and exponent.is_Integer:
            value = sp.I**exponent
            return self.number(value) if value.is_Rational else self.mul(value / sp.I, [base])
        return self.node("power", [base], sp.Rational(exponent), base.shape)

    def apply(self, function: str, argument: Node) -> Node:
        """The entrywise function: exp, cos, sin, log, abs, conj, real or imag."""
        if argument.real and function in ("conj", "real"):
            return argument
        if argument.real and function == "imag":
            return self.number(0)
        real = argument.real or function in ("abs", "real", "imag")
        return self.node(function, [argument], shape=argument.shape, real=real)

    def expand(self, node: Node) -> Node:
        """A scalar as a matrix of equal entries. Numbers and sizes broadcast by themselves."""
        if node.shape or node.pure:
            return node
        return self.node("expand", [node], shape=(sp.S.One, sp.S.One))

    def broadcast(self, node: Node, shape: Shape) -> Node:
        """The matrix with every axis of its full length."""
        node = self.expand(node)
        if node.shape == shape:
            return node
        return self.node("broadcast", [node], shape, shape)

    def transpose(self, node: Node) -> Node:
        if node.op == "transpose":
            return node.args[0]
        if self.symmetric(node):
            return node
        return self.node("transpose", [node], shape=node.shape[::-1])

    def symmetric(self, node: Node) -> bool:
        """Whether the matrix is known to equal its transpose."""
        if not node.shape or node.shape == (1, 1):
            return True
        if node.shape[0] != node.shape[1]:
            return False
        if node.op == "input":
            return node.data[1] == "covariance"
        if node.op in ("eye", "acg_second_moment", "acg_second_moment_of_factor"):
            return True
        if node.op == "matmul":
            factors = self._factors.get(node, node.args)
            return factors == tuple(self.transpose(factor) for factor in reversed(factors))
        if node.op == "add":
            terms = dict(zip(node.args, node.data, strict=True))
            return all(terms.get(self.transpose(term)) == coefficient for term, coefficient in terms.items())
        if node.op == "mul":
            return {self.transpose(factor) for factor in node.args} == set(node.args)
        if node.op in ("power", "inverse", "exp", "cos", "sin", "log", "abs"):
            return self.symmetric(node.args[0])
        return False

    def product(self, factors: Sequence[Node], sizes: Sequence[sp.Expr]) -> Node:
        """The matrix product of a chain, associated for the lowest cost.

        `sizes` are the lengths of the axes, rows of the first factor to columns of the last; a factor may be
        stored with length 1 along an axis that only broadcasts. A chain and its transpose share one node:
        S Wᵀ is (W S)ᵀ when S is symmetric.
        """
        factors = tuple(factors)
        mirrored = tuple(self.transpose(factor) for factor in reversed(factors))
        if mirrored in self._factors.values() and factors not in self._factors.values():
            return self.transpose(self._associate(mirrored, tuple(reversed(sizes))))
        return self._associate(factors, tuple(sizes))

    def _associate(self, factors: tuple[Node, ...], sizes: tuple[sp.Expr, ...]) -> Node:
        """Dynamic programming over the places where the last product may be taken; ties go to the left."""
        count = len(factors)
        cost = {(i, i + 1): 0 for i in range(count)}
        split = {}
        for width in range(2, count + 1):
            for i in range(count - width + 1):
                j = i + width
                options = []
                for k in range(i + 1, j):
                    left, right = (factors[i], factors[k - 1]), (factors[k], factors[j - 1])
                    work = self._cost(_outer(*left), _outer(*right), sizes[k])
                    options.append((cost[i, k] + cost[k, j] + work, -k))
                cost[i, j], best = min(options)
                split[i, j] = -best

        def build(i: int, j: int) -> Node:
            if j == i + 1:
                return factors[i]
            k = split[i, j]
            node = self._pair(build(i, k), build(k, j), sizes[k])
            if node.op == "matmul":
                self._factors.setdefault(node, factors[i:j])
            return node

        return build(0, count)

    def _cost(self, left: Shape, right: Shape, inner: sp.Expr) -> int:
        rows, columns, length = (self._size(size) for size in (left[0], right[1], inner))
        if inner == 1 or (left[1] == 1 and right[0] == 1):
            return rows * columns
        if left[1] == 1 or right[0] == 1:
            return rows * columns + length * (columns if left[1] == 1 else rows)
        return rows * length * columns

    def _size(self, size: sp.Expr) -> int:
        return int(sp.sympify(size).xreplace({symbol: sp.Integer(value) for symbol, value in self.scale.items()}))

    def _pair(self, left: Node, right: Node, inner: sp.Expr) -> Node:
        """One product. Where a factor is constant along the inner axis only the other one is summed over it."""
        if inner == 1:
            return self.mul(sp.S.One, [left, right])
        left_constant, right_constant = _outer(left, left)[1] == 1, _outer(right, right)[0] == 1
        if left_constant and right_constant:
            return self.mul(sp.S.One, [self.size(inner), left, right])
        if left_constant:
            return self.mul(sp.S.One, [left, self.sum(right, -2)])
        if right_constant:
            return self.mul(sp.S.One, [self.sum(left, -1), right])
        return self.node("matmul", [left, right], shape=(left.shape[0], right.shape[1]))

    def sum(self, node: Node, axis: int) -> Node:
        """The sum over one axis, which is kept with length 1."""
        shape = (node.shape[0], sp.S.One) if axis == -1 else (sp.S.One, node.shape[1])
        return self.node("sum", [node], axis, shape)

    def mean(self, node: Node) -> Node:
        """The mean of all entries."""
        if not node.shape:
            return node
        return node.args[0] if node.op == "expand" else self.node("mean", [node])

    def trace(self, node: Node) -> Node:
        return self.node("trace", [node])

    def inverse(self, node: Node) -> Node:
        return self.node("inverse", [node], shape=node.shape)

    def element(self, node: Node, row: int, column: int) -> Node:
        if not node.shape:
            return node
        if node.op == "expand":
            return node.args[0]
        if node.op == "transpose":
            return self.element(node.args[0], column, row)
        place = tuple(0 if size == 1 else i for size, i in zip(node.shape, (row, column), strict=True))
        return self.node("element", [node], place)

    def size(self, size: sp.Expr) -> Node:
        """The length of an axis: a number, a symbol, or an expression in such."""
        size = sp.sympify(size)
        if size.is_Rational:
            return self.number(size)
        if size.is_Symbol:
            return self.node("size", data=size, real=True, pure=True)
        if size.is_Add:
            return self.add((sp.S.One, self.size(term)) for term in size.args)
        if size.is_Mul:
            return self.mul(sp.S.One, [self.size(factor) for factor in size.args])
        raise ValueError(f"reduction: no array code for the size '{size}', which is no polynomial in sizes of arrays")


def reachable(outputs: Iterable[Node]) -> list[Node]:
    """The nodes that the outputs need, in order of evaluation."""
    found: set[Node] = set()
    pending = list(outputs)
    while pending:
        node = pending.pop()
        if node not in found:
            found.add(node)
            pending.extend(node.args)
    return sorted(found, key=lambda node: node.index)


def shiftable(outputs: Sequence[Node]) -> set[Node]:
    """The entrywise exponentials whose rows may be divided by any positive number without changing an output.

    Multiply every row i of E = exp(S) by c_i. A node is homogeneous of degree p when its rows are then
    multiplied by c_i**p. If all outputs have degree 0, as they do when E occurs as E M / (row sum of E), then
    exp(S − row maximum of S) may stand for E exactly, and cannot overflow.
    """
    nodes = reachable(outputs)
    found = set()
    for exponential in nodes:
        if exponential.op == "exp" and exponential.shape and exponential.shape[1] != 1:
            degrees: dict[Node, sp.Rational | None] = {}
            for node in nodes:
                degrees[node] = sp.S.One if node is exponential else _row_degree(node, degrees)
            if all(degrees[output] == 0 for output in outputs):
                found.add(exponential)
    return found


def _row_degree(node: Node, degrees: Mapping[Node, sp.Rational | None]) -> sp.Rational | None:
    """The degree of one node from those of its arguments; None when it is not homogeneous."""
    args: list[sp.Rational] = []
    for arg in node.args:
        if degrees[arg] is None:
            return None
        args.append(degrees[arg])
    if all(degree == 0 for degree in args):
        return sp.S.Zero
    if node.op == "mul":
        return sum(args, sp.S.Zero)
    if node.op == "add":
        return args[0] if len(set(args)) == 1 else None
    if node.op == "power":
        return node.data * args[0]
    if node.op == "broadcast" or (node.op == "sum" and node.data == -1):
        return args[0]
    if node.op == "matmul" and args[1] == 0:
        return args[0]
    return None


def _outer(first: Node, last: Node) -> Shape:
    """The stored shape of a product from its first and its last factor; numbers stand for constant matrices."""
    rows = first.shape[0] if first.shape else sp.S.One
    columns = last.shape[1] if last.shape else sp.S.One
    return rows, columns


def _broadcast(shapes: Sequence[Shape]) -> Shape:
    """The shape of an entrywise operation."""
    shapes = [shape for shape in shapes if shape]
    if not shapes:
        return SCALAR
    return tuple(next((size for size in sizes if size != 1), sp.S.One) for sizes in zip(*shapes, strict=True))
