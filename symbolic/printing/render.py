"""Python text of array operations, and of the statements that compute them."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

import sympy as sp

from symbolic.printing.ssa import Node, reachable
from symbolic.printing.translate import System
from symbolic.reduction import Variable

#: Longest line of generated code.
WIDTH = 120

#: Binding strengths of Python operators; `*`, `/` and `@` bind alike, from the left.
SUM, PRODUCT, POWER, ATOM = range(4)


class Renderer:
    """Writes a node as a Python expression in terms of nodes that already have a name.

    `namespace` is the name of the object that offers the array functions.
    """

    def __init__(self, namespace: str, names: Mapping[Node, str], shifted: Set[Node]):
        self.namespace = namespace
        self.names = names
        self.shifted = shifted

    def __call__(self, node: Node, strength: int = SUM) -> str:
        """The text, in parentheses where it binds less than asked for."""
        text, own = (self.names[node], ATOM) if node in self.names else self.value(node)
        return text if own >= strength else f"({text})"

    def value(self, node: Node) -> tuple[str, int]:
        """The text of the operation itself, whether or not it has a name, and how strongly it binds."""
        return getattr(self, f"_{node.op}", self._function)(node)

    def _number(self, node: Node) -> tuple[str, int]:
        return self._product(node.data, [])

    def _imaginary(self, node: Node) -> tuple[str, int]:
        return "1j", ATOM

    def _size(self, node: Node) -> tuple[str, int]:
        return str(node.data), ATOM

    def _add(self, node: Node) -> tuple[str, int]:
        return " ".join(leading_sign(self.terms(node))), SUM

    def statement(self, node: Node) -> tuple[str, tuple[str, ...]]:
        """The text of the operation, and that of its terms when it is a sum."""
        return self.value(node)[0], tuple(self.terms(node)) if node.op == "add" else ()

    def keeps(self, term: Node) -> bool:
        """Whether a term of a sum is written."""
        return True

    def terms(self, node: Node) -> list[str]:
        """The signed terms of a sum, a positive one first where there is one."""
        pairs = [pair for pair in zip(node.data, node.args, strict=True) if self.keeps(pair[1])]
        pairs.sort(key=lambda pair: (pair[1].op == "number", bool(pair[0] < 0)))
        signs = ["-" if coefficient < 0 else "+" for coefficient, _ in pairs]
        texts = [self._multiple(abs(coefficient), term) for coefficient, term in pairs]
        return [f"{sign} {text}" for sign, text in zip(signs, texts, strict=True)]

    def _multiple(self, coefficient: sp.Rational, node: Node) -> str:
        if node.op == "number":
            return self._product(coefficient * node.data, [])[0]
        if node.op == "mul" and node not in self.names:
            return self._product(coefficient * node.data, node.args)[0]
        return self(node, PRODUCT) if coefficient == 1 else self._product(coefficient, [node])[0]

    def _mul(self, node: Node) -> tuple[str, int]:
        return self._product(node.data, node.args)

    def _product(self, coefficient: sp.Rational, factors: Sequence[Node]) -> tuple[str, int]:
        """A quotient of products: no number is ever rounded before it meets an array."""
        above = [factor for factor in factors if not self._is_reciprocal(factor)]
        below = [factor for factor in factors if self._is_reciprocal(factor)]
        sign, multiple = ("-" if coefficient < 0 else ""), abs(coefficient.p)
        upper = [str(multiple)] if multiple != 1 or not above else []
        for factor in above:
            upper.append(self(factor, POWER if upper else PRODUCT))
        lower = [str(coefficient.q)] if coefficient.q != 1 else []
        lower += [self._reciprocal(factor) for factor in below]
        numerator = " * ".join(upper)
        if not lower:
            return sign + numerator, PRODUCT if sign or len(upper) > 1 or above else ATOM
        if all(_is_whole(factor) for factor in factors):
            # Python would divide integers to a float: let the backend divide instead.
            numerator = f"{self.namespace}.asarray({numerator})"
        denominator = lower[0] if len(lower) == 1 else f"({' * '.join(lower)})"
        return f"{sign}{numerator} / {denominator}", PRODUCT

    def _is_reciprocal(self, node: Node) -> bool:
        return node.op == "power" and node.data < 0 and node not in self.names

    def _reciprocal(self, node: Node) -> str:
        base = node.args[0]
        return self(base, POWER) if node.data == -1 else self._raised(base, -node.data)[0]

    def _power(self, node: Node) -> tuple[str, int]:
        if node.data > 0:
            return self._raised(node.args[0], node.data)
        one = f"{self.namespace}.asarray(1)" if _is_whole(node) else "1"
        return f"{one} / {self._reciprocal(node)}", PRODUCT

    def _raised(self, base: Node, exponent: sp.Rational) -> tuple[str, int]:
        if exponent.q == 2:
            root = f"{self.namespace}.sqrt({self(base)})"
            return (root, ATOM) if exponent.p == 1 else (f"{root} ** {exponent.p}", POWER)
        power = str(exponent) if exponent.q == 1 else f"({self.namespace}.asarray({exponent.p}) / {exponent.q})"
        text = self(base, ATOM)
        return f"{text}**{power}" if text.isidentifier() and exponent.q == 1 else f"{text} ** {power}", POWER

    def _matmul(self, node: Node) -> tuple[str, int]:
        left, right = node.args
        first = self(left, PRODUCT if left.op == "matmul" else POWER)
        return f"{first} @ {self(right, POWER)}", PRODUCT

    def _transpose(self, node: Node) -> tuple[str, int]:
        return f"{self(node.args[0], ATOM)}.mT", ATOM

    def _sum(self, node: Node) -> tuple[str, int]:
        return f"{self(node.args[0], ATOM)}.sum(axis={node.data}, keepdims=True)", ATOM

    def _mean(self, node: Node) -> tuple[str, int]:
        return f"{self(node.args[0], ATOM)}.mean(axis=(-2, -1))", ATOM

    def _trace(self, node: Node) -> tuple[str, int]:
        return f"{self.namespace}.linalg.trace({self(node.args[0])})", ATOM

    def _inverse(self, node: Node) -> tuple[str, int]:
        return f"{self.namespace}.linalg.inv({self(node.args[0])})", ATOM

    def _eye(self, node: Node) -> tuple[str, int]:
        return f"{self.namespace}.eye({self(node.args[0])})", ATOM

    def _element(self, node: Node) -> tuple[str, int]:
        row, column = node.data
        return f"{self(node.args[0], ATOM)}[..., {row}, {column}]", ATOM

    def _expand(self, node: Node) -> tuple[str, int]:
        return f"{self.namespace}.asarray({self(node.args[0])})[..., None, None]", ATOM

    def _broadcast(self, node: Node) -> tuple[str, int]:
        (argument,) = node.args
        sizes = ", ".join(str(size) for size in node.data)
        text = self(argument, ATOM)
        shape = f"({sizes})" if argument.pure else f"{text}.shape[:-2] + ({sizes})"
        return f"{self.namespace}.broadcast_to({self(argument)}, {shape})", ATOM

    def _exp(self, node: Node) -> tuple[str, int]:
        exponent = self(node.args[0])
        if node in self.shifted:
            # A factor of each row, which cancels, keeps the largest entry of the row at 1.
            exponent += f" - {self(node.args[0], ATOM)}.max(axis=-1, keepdims=True)"
        return f"{self.namespace}.exp({exponent})", ATOM

    def _polynomial(self, node: Node) -> tuple[str, int]:
        coefficients, at = map(self, node.args)
        return f"{self.namespace}.polynomial({coefficients}, {at})", ATOM

    def _function(self, node: Node) -> tuple[str, int]:
        return f"{self.namespace}.{node.op}({self(node.args[0])})", ATOM


def leading_sign(terms: Sequence[str]) -> list[str]:
    """Signed terms as they start an expression: the sign of the first one without a space, or left out."""
    first, *others = terms
    return [first.removeprefix("+ ") if first.startswith("+ ") else "-" + first.removeprefix("- "), *others]


def _is_whole(node: Node) -> bool:
    """Whether the value is a Python integer (or 1j), which Python would divide in double precision."""
    if node.op in ("size", "imaginary"):
        return True
    if node.op == "number":
        return node.data.is_Integer
    if node.op in ("add", "mul"):
        coefficients = node.data if node.op == "add" else (node.data,)
        return all(c.is_Integer for c in coefficients) and all(_is_whole(arg) for arg in node.args)
    return node.op == "power" and node.data.is_Integer and _is_whole(node.args[0])


#: Operations that cost nothing, or next to nothing, to write out again.
TRIVIAL = ("input", "number", "imaginary", "size", "transpose", "element", "expand")

#: Names that generated functions use themselves.
RESERVED = ("np", "xp", "rhs", "order", "arithmetic", "k", "range")


class Names:
    """Identifiers, each given once."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = {*RESERVED, *taken}
        self._count = 0

    def __call__(self, suggestion: str) -> str:
        """The suggestion as an identifier, with underscores after it until it is new."""
        name = re.sub(r"\W", "_", suggestion)
        while name in self._taken or keyword.iskeyword(name) or not name.isidentifier():
            name = name + "_" if name[:1].isidentifier() else "_" + name
        self._taken.add(name)
        return name

    def temporary(self) -> str:
        """t1, t2, ..."""
        self._count += 1
        name = f"t{self._count}"
        return self.temporary() if name in self._taken else self(name)


@dataclass(frozen=True)
class Statement:
    """One line of code, `opening` + expression + `closing`, which is broken at the terms of a sum if need be."""

    node: Node
    opening: str
    text: str
    terms: tuple[str, ...]
    closing: str = ""
    indent: str = "    "

    def lines(self) -> list[str]:
        line = f"{self.indent}{self.opening}{self.text}{self.closing}"
        if len(line) <= WIDTH:
            return [line]
        opening, closing = (self.opening, self.closing) if self.closing else (self.opening + "(", ")")
        inner = [f"{self.indent}    {part}" for part in (leading_sign(self.terms) if self.terms else [self.text])]
        return [f"{self.indent}{opening}", *inner, f"{self.indent}{closing}"]


def suggested_names(
    definitions: Iterable[tuple[str, Node]], state: Sequence[Variable], rates: Sequence[Node]
) -> dict[Node, str]:
    """Names for the definitions, and for the rates that are no definitions."""
    named = [*definitions, *((f"{variable.name}_dot", rate) for variable, rate in zip(state, rates, strict=True))]
    suggestions: dict[Node, str] = {}
    for name, node in named:
        if node.op not in ("input", "number"):
            suggestions.setdefault(node, name)
    return suggestions


def chosen_names(system: System, statements: Iterable[Node], suggestions: Mapping[Node, str]) -> dict[Node, str]:
    """An identifier for every input and for every node that gets a statement."""
    fresh = Names(map(str, system.graph.scale))
    names = {node: fresh(variable.name) for node, variable in zip(system.inputs, system.variables, strict=True)}
    names.update({node: fresh(suggestions[node]) for node in statements if node in suggestions})
    for node in statements:
        if node not in names:
            names[node] = fresh(f"{names[node.args[0]]}_prime") if node.op == "derivative" else fresh.temporary()
    return names


def sizes_of(node: Node) -> set[sp.Symbol]:
    """The lengths of axes that the operation itself refers to."""
    if node.op == "size":
        return {node.data}
    return {size for axis in node.data for size in axis.free_symbols} if node.op == "broadcast" else set()


def opening_lines(
    arguments: Iterable[tuple[str, Variable]],
    sizes: Set[sp.Symbol],
    columns: Container[Variable],
    indent: str = "    ",
) -> list[str]:
    """Statements that read these sizes off named arguments, and turn the vectors among `columns` into columns."""
    reading, turning = [], []
    missing = set(sizes)
    for name, variable in arguments:
        for axis, size in enumerate(variable.shape):
            if size in missing:
                reading.append(f"{indent}{size} = {name}.shape[{axis - len(variable.shape)}]")
                missing.remove(size)
        if len(variable.shape) == 1 and variable in columns:
            turning.append(f"{indent}{name} = {name}[..., None]")
    if missing:
        listed = ", ".join(sorted(map(str, missing)))
        raise ValueError(f"reduction: no state or parameter has an axis of length {listed}")
    return reading + turning


def written_often(outputs: Sequence[Node], named: Iterable[Node], shifted: Set[Node]) -> set[Node]:
    """`named` and the operations that would otherwise be written out, and computed, more than once."""
    named = set(named)
    count = dict.fromkeys(reachable(outputs), 0)
    for output in outputs:
        count[output] += 1
    for node in reversed(count):
        if count[node] > 1 and node.op not in TRIVIAL:
            named.add(node)
        written = 1 if node in named else count[node]
        for arg in node.args:
            count[arg] += written * (2 if node.op == "broadcast" or node in shifted else 1)
    return named


def hoisted(node: Node, trivial: Container[str] = TRIVIAL) -> set[Node]:
    """The part of a constant that is worth computing once, before what uses it."""
    if node.op in trivial or (node.op == "power" and node.data == -1):
        return hoisted(node.args[0], trivial) if node.args else set()
    return {node}


def fit(write: Callable[[Set[Node]], list[Statement]]) -> list[Statement]:
    """The statements that `write` makes, no line longer than WIDTH if names can shorten them.

    `write` receives nodes that must have a name of their own. As long as a line is too long, the largest
    operand in it gets one.
    """
    forced: set[Node] = set()
    while True:
        statements = write(forced)
        named = {statement.node for statement in statements}
        for statement in statements:
            if max(map(len, statement.lines())) > WIDTH:
                inner = [arg for arg in statement.node.args if arg not in named and arg.op not in TRIVIAL]
                if inner:
                    forced.add(max(inner, key=lambda arg: (len(reachable([arg])), -arg.index)))
                    break
        else:
            return statements
