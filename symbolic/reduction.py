"""What a reduction is: the closed finite system that tokens obey, with everything that is known about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import sympy as sp

from symbolic.derivation import Derivation
from symbolic.notation import rate
from symbolic.zero import Witness

#: The values a variable may take: what numeric inputs are checked against.
DOMAINS = {
    "real": "a real number",
    "positive": "a positive real number",
    "complex": "a complex number",
    "disc": "a complex number of modulus at most 1",
    "vector": "a real vector",
    "matrix": "a real matrix",
    "covariance": "a symmetric positive semidefinite matrix",
    "tokens": "n tokens, one a row",
    "unit tokens": "n tokens of unit length, one a row",
    "phases": "n angles",
}


@dataclass(frozen=True)
class Variable:
    """A state or a parameter: its symbol (which carries the shape), its domain, and its meaning in words."""

    symbol: sp.Symbol | sp.MatrixSymbol
    domain: str
    meaning: str

    def __post_init__(self) -> None:
        if self.domain not in DOMAINS:
            raise ValueError(f"domain: '{self.domain}' is none of {', '.join(DOMAINS)}")

    @property
    def name(self) -> str:
        return self.symbol.name

    @property
    def shape(self) -> tuple[sp.Expr, ...]:
        """() for a scalar, (d,) for a vector, (rows, columns) for a matrix; entries may be symbols."""
        if isinstance(self.symbol, sp.Symbol):
            return ()
        rows, columns = self.symbol.shape
        return (rows,) if self.domain in ("vector", "phases") else (rows, columns)


@dataclass(frozen=True)
class Invariant:
    """A quantity that a reduction conserves, or a condition that it preserves."""

    name: str
    statement: str
    expression: sp.Expr | None = None


@dataclass(frozen=True)
class Reduction:
    """The closed system z' = F(z; parameters) obeyed by the parameters z of a law under a field.

    `equations` maps each state symbol to its time derivative, written with the symbols of `definitions`
    (auxiliary quantities, in order of use); `derivation` leads from the field to these equations.
    """

    name: str
    title: str
    field: object
    law: object
    state: tuple[Variable, ...]
    parameters: tuple[Variable, ...]
    definitions: tuple[tuple[sp.Symbol | sp.MatrixSymbol, sp.Expr], ...]
    equations: Mapping[sp.Symbol | sp.MatrixSymbol, sp.Expr]
    assumptions: tuple[str, ...]
    invariants: tuple[Invariant, ...]
    derivation: Derivation

    def expanded(self) -> dict[sp.Symbol | sp.MatrixSymbol, sp.Expr]:
        """The equations with every definition put in: functions of states and parameters alone."""
        values: dict[sp.Basic, sp.Expr] = {}
        for symbol, expression in self.definitions:
            values[symbol] = expression.xreplace(values)
        return {symbol: expression.xreplace(values) for symbol, expression in self.equations.items()}

    def relations(self) -> tuple[sp.Equality, ...]:
        """Definitions, then differential equations, each as an equality to print."""
        named = [sp.Eq(symbol, value, evaluate=False) for symbol, value in self.definitions]
        rates = [sp.Eq(rate(symbol), value, evaluate=False) for symbol, value in self.equations.items()]
        return (*named, *rates)

    def latex(self) -> str:
        """The definitions and equations as one aligned LaTeX system."""
        from symbolic.printing.latex import system_latex

        return system_latex(self.relations())

    def text(self) -> str:
        """The definitions and equations for a terminal."""
        from symbolic.printing.text import system_text

        return system_text(self.relations())

    def _repr_latex_(self) -> str:
        return f"$$\n{self.latex()}\n$$"


class NotClosed(ValueError):
    """The flow leaves the family of laws.

    `obstruction` is the term that does it; `why` says in words how it is known, and `witness` is the point and the
    value of a quantity that would vanish if the family were kept.
    """

    def __init__(self, field: object, law: object, obstruction: sp.Basic, why: str, witness: Witness):
        self.field, self.law, self.obstruction, self.why, self.witness = field, law, obstruction, why, witness
        super().__init__(f"{field} does not keep {law}: {why} The term that leaves the family is {obstruction}")

    def latex(self) -> str:
        """The obstruction in LaTeX."""
        from symbolic.printing.latex import Printer

        return Printer().doprint(self.obstruction)

    def _repr_latex_(self) -> str:
        return f"$$\n{self.latex()}\n$$"


class ClosureUndecided(ValueError):
    """Neither a reduction nor an obstruction was found; `residual` is the term that could not be decided."""

    def __init__(self, field: object, law: object, residual: sp.Basic, why: str):
        self.field, self.law, self.residual, self.why = field, law, residual, why
        super().__init__(f"undecided whether {field} keeps {law}: {why} The term in question is {residual}")
