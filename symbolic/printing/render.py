"""Python text of array operations."""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from symbolic.printing.ssa import Node

#: Binding strengths of Python operators; `*`, `/` and `@` bind alike, from the left.
SUM, PRODUCT, POWER, ATOM = range(4)


class Renderer:
    """Writes a node as a Python expression in terms of nodes that already have a name.

    `namespace` is the name of the object that offers the array functions.
    """

    def __init__(self, namespace: str, names: dict[Node, str]):
        self.namespace = namespace
        self.names = names

    def __call__(self, node: Node, strength: int = SUM) -> str:
        """The text, in parentheses where it binds less than asked for."""
        text, own = self._text(node)
        return text if own >= strength else f"({text})"

    def _text(self, node: Node) -> tuple[str, int]:
        if node in self.names:
            return self.names[node], ATOM
        return getattr(self, f"_{node.op}", self._function)(node)

    def shifted_exponential(self, node: Node) -> str:
        """exp of a matrix up to a factor of each row, which keeps the largest entry of the row at 1."""
        exponent = node.args[0]
        largest = f"{self(exponent, ATOM)}.max(axis=-1, keepdims=True)"
        return f"{self.namespace}.exp({self(exponent)} - {largest})"

    def _number(self, node: Node) -> tuple[str, int]:
        return self._product(node.data, [])

    def _imaginary(self, node: Node) -> tuple[str, int]:
        return "1j", ATOM

    def _size(self, node: Node) -> tuple[str, int]:
        return str(node.data), ATOM

    def _add(self, node: Node) -> tuple[str, int]:
        return self._joined(self.terms(node)), SUM

    def terms(self, node: Node) -> list[str]:
        """The signed terms of a sum, a positive one first where there is one."""
        pairs = list(zip(node.data, node.args, strict=True))
        pairs.sort(key=lambda pair: (pair[1].op == "number", pair[0] < 0))
        signs = ["-" if coefficient < 0 else "+" for coefficient, _ in pairs]
        texts = [self._multiple(abs(coefficient), term) for coefficient, term in pairs]
        return [f"{sign} {text}" for sign, text in zip(signs, texts, strict=True)]

    @staticmethod
    def _joined(terms: Sequence[str]) -> str:
        text = " ".join(terms)
        return text.removeprefix("+ ") if text.startswith("+ ") else "-" + text.removeprefix("- ")

    def _multiple(self, coefficient: sp.Rational, node: Node) -> str:
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
        lower += [self._reciprocal(factor, alone=len(below) == 1 and not lower) for factor in below]
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

    def _reciprocal(self, node: Node, alone: bool) -> str:
        (base,) = node.args
        if node.data == -1:
            return self(base, POWER)
        return self._raised(base, -node.data)[0]

    def _power(self, node: Node) -> tuple[str, int]:
        if node.data < 0:
            return self._product(sp.S.One, [node])
        return self._raised(node.args[0], node.data)

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

    def _function(self, node: Node) -> tuple[str, int]:
        return f"{self.namespace}.{node.op}({self(node.args[0])})", ATOM


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
