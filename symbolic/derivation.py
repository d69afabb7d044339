"""Derivations: directed acyclic graphs whose nodes are equations and whose edges are checked steps."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import networkx as nx
import sympy as sp

from symbolic.components import sizes_used
from symbolic.step_cache import StepCache, Verdict
from symbolic.zero import Undecided, Witness, nonzero_witness

#: Maps the relations of the premises, then the conclusion's, to expressions that must vanish identically.
Check = Callable[..., Iterable[sp.Expr]]


@dataclass(frozen=True)
class Equation:
    """A node: one equation (or a system of them) with a key to refer to it and a title to read."""

    key: str
    title: str
    relations: tuple[sp.Equality, ...]


@dataclass(frozen=True)
class Step:
    """An edge: from the premises to the conclusion by a named, justified rule that can be checked."""

    name: str
    premises: tuple[str, ...]
    conclusion: str
    why: str
    check: Check


@dataclass(frozen=True)
class StepResult:
    """What checking one step gave, in how many seconds; `cached` when an earlier run had checked it."""

    step: Step
    verdict: Verdict
    seconds: float
    cached: bool = False

    @property
    def identities(self) -> int:
        """How many identities reduced to zero."""
        return self.verdict.identities


class StepFailed(ArithmeticError):
    """A step of a derivation whose check left something that is not zero."""

    def __init__(self, step: Step, reason: Witness | Undecided):
        self.step, self.reason = step, reason
        super().__init__(f"step '{step.name}' does not give '{step.conclusion}': the residual is {reason}")


class Derivation:
    """A chain of equations from definitions to a result, every step of which can be checked.

    >>> x, y = sp.symbols("x y")
    >>> derivation = Derivation("square")
    >>> derivation.define("sum", "A sum", sp.Eq(y, x + 1))
    >>> derivation.conclude("squared", "Its square", sp.Eq(y**2, x**2 + 2*x + 1), step="squaring",
    ...     premises=["sum"], why="square both sides",
    ...     check=lambda given, result: [given.rhs**2 - result.rhs])
    >>> [(result.step.name, result.identities) for result in derivation.verify()]
    [('squaring', 1)]
    """

    def __init__(self, name: str):
        self.name = name
        self.equations: dict[str, Equation] = {}
        self.steps: dict[str, Step] = {}

    def define(self, key: str, title: str, *relations: sp.Equality) -> None:
        """Add an equation that starts the derivation: a definition, which has nothing to check."""
        if key in self.equations:
            raise ValueError(f"key: the derivation '{self.name}' already has an equation '{key}'")
        self.equations[key] = Equation(key, title, tuple(relations))

    def conclude(
        self,
        key: str,
        title: str,
        *relations: sp.Equality,
        step: str,
        premises: Iterable[str],
        why: str,
        check: Check,
    ) -> None:
        """Add an equation that follows from earlier ones, and how to check that it does.

        `check` receives the relations of the premises in order, then those of the conclusion (a single
        relation as itself, several as a tuple), and yields expressions that must vanish identically.
        """
        premises = tuple(premises)
        unknown = [premise for premise in premises if premise not in self.equations]
        if unknown:
            raise ValueError(f"premises: no equation {unknown} in the derivation '{self.name}'")
        if step in self.steps:
            raise ValueError(f"step: the derivation '{self.name}' already has a step '{step}'")
        self.define(key, title, *relations)
        self.steps[step] = Step(step, premises, key, why, check)

    def include(self, other: Derivation) -> None:
        """Continue from another derivation: take over its equations and steps."""
        self.equations.update(other.equations)
        self.steps.update(other.steps)

    def __getitem__(self, key: str) -> Any:
        """The relation of an equation; a tuple of them where there are several."""
        relations = self.equations[key].relations
        return relations[0] if len(relations) == 1 else relations

    @property
    def graph(self) -> nx.DiGraph:
        """The derivation as a graph: nodes carry `equation`, edges carry `step`."""
        graph = nx.DiGraph(name=self.name)
        for key, equation in self.equations.items():
            graph.add_node(key, equation=equation)
        for step in self.steps.values():
            graph.add_edges_from(((premise, step.conclusion) for premise in step.premises), step=step)
        return graph

    def verify(self, cache: StepCache | None = None) -> list[StepResult]:
        """Run the check of every step; with a cache, only of those that no earlier run found to hold.

        Raises
        ------
        StepFailed
            At the first step whose residual is not zero; the message names the step and a point where it
            is not, so that a wrong sign can be found.
        """
        return [self.verify_step(name, cache) for name in self.steps]

    def verify_step(self, name: str, cache: StepCache | None = None) -> StepResult:
        """Run the check of one step; raises `StepFailed` as `verify` does."""
        begin = time.perf_counter()
        step = self.steps[name]
        relations = [self[key] for key in (*step.premises, step.conclusion)]
        key = cache and cache.key(step.check, relations)
        known = cache.get(key) if cache and key else None
        verdict = known or _verdict(step, relations)
        if cache and key and not known:
            cache.put(key, verdict)
        return StepResult(step, verdict, time.perf_counter() - begin, cached=known is not None)

    def with_equation(self, key: str, *relations: sp.Equality) -> Derivation:
        """A copy in which one equation is replaced: how controls and tests plant an error."""
        if key not in self.equations:
            raise ValueError(f"key: no equation '{key}' in '{self.name}'; there are {list(self.equations)}")
        copy = Derivation(self.name)
        copy.include(self)
        copy.equations[key] = replace(self.equations[key], relations=tuple(relations))
        return copy

    def numbers(self) -> dict[str, int]:
        """The number of each equation when the derivation is printed, from 1 in order of appearance."""
        return {key: number for number, key in enumerate(self.equations, 1)}

    def step_to(self, key: str) -> Step | None:
        """The step that an equation follows by; None for a definition."""
        return next((step for step in self.steps.values() if step.conclusion == key), None)

    def latex(self) -> str:
        """The derivation as LaTeX: every equation numbered, every step with its justification."""
        # Imported here because printing needs the graph, not the graph printing.
        from symbolic.printing.latex import derivation_latex

        return derivation_latex(self)

    def text(self) -> str:
        """The derivation for a terminal: every equation numbered, every step with its justification."""
        from symbolic.printing.text import derivation_text

        return derivation_text(self)

    def markdown(self) -> str:
        """The derivation as Markdown with LaTeX equations: what a notebook shows."""
        from symbolic.printing.latex import derivation_markdown

        return derivation_markdown(self)

    _repr_markdown_ = markdown


def _verdict(step: Step, relations: list[Any]) -> Verdict:
    identities = 0
    with sizes_used() as sizes:
        for residual in step.check(*relations):
            try:
                witness = nonzero_witness(sp.sympify(residual))
            except Undecided as undecided:
                raise StepFailed(step, undecided) from undecided
            if witness is not None:
                raise StepFailed(step, witness)
            identities += 1
    if identities == 0:
        raise ValueError(f"step '{step.name}': its check yields no identity, so it cannot fail")
    return Verdict(identities, tuple(sizes))
