"""What a page about a reduction says, whatever the language it is written in: chapters of a book of derivations."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass

from symbolic.components import Sizes
from symbolic.derivation import Step, StepFailed, StepResult
from symbolic.reduction import Reduction
from symbolic.step_cache import StepCache

TITLE = "Reductions of attention flows"
INTRODUCTION = (
    "Every equation below was derived from an attention field and checked step by step: a check computes the "
    "conclusion of a step again from its premises, and what is left of their difference must vanish identically."
)


@dataclass(frozen=True)
class Chapter:
    """A reduction, and by the names of its steps what checking them gave."""

    reduction: Reduction
    outcomes: Mapping[str, StepResult | StepFailed]

    @property
    def failures(self) -> list[StepFailed]:
        """The steps that do not hold."""
        return [outcome for outcome in self.outcomes.values() if isinstance(outcome, StepFailed)]

    @property
    def results(self) -> list[StepResult]:
        """The steps that hold."""
        return [outcome for outcome in self.outcomes.values() if isinstance(outcome, StepResult)]

    @property
    def definitions(self) -> list[tuple[str, str]]:
        """What the reduction is about, as terms and sentences: field, law, assumptions, invariants."""
        reduction = self.reduction
        described = [("Field", f"`{reduction.field}`"), ("Law", law_description(reduction.law))]
        assumed = [("Assumed", assumption) for assumption in reduction.assumptions]
        return [*described, *assumed, *(("Conserved", invariant.statement) for invariant in reduction.invariants)]

    def sources(self, step: Step) -> list[int]:
        """The numbers of the premises of a step."""
        numbers = self.reduction.derivation.numbers()
        return [numbers[premise] for premise in step.premises]

    def verdict(self, step: Step) -> str:
        """What checking a step gave, in words."""
        outcome = self.outcomes[step.name]
        if isinstance(outcome, StepFailed):
            return f"does not hold: the residual is `{outcome.reason}`"
        return f"{plural(outcome.identities, 'identity')} reduced to zero{sizes_in_words(outcome.verdict.sizes)}"


def verified(reduction: Reduction, cache: StepCache | None = None) -> Chapter:
    """Check every step of a reduction's derivation, and go on after one that does not hold."""
    outcomes: dict[str, StepResult | StepFailed] = {}
    for name in reduction.derivation.steps:
        try:
            outcomes[name] = reduction.derivation.verify_step(name, cache)
        except StepFailed as failure:
            outcomes[name] = failure
    return Chapter(reduction, outcomes)


def count(results: Iterable[StepResult]) -> str:
    """How many steps there are, and identities in them."""
    identities = [result.identities for result in results]
    return f"{plural(len(identities), 'step')}, {plural(sum(identities), 'identity')}"


def plural(number: int, noun: str) -> str:
    """A number and a noun that agree.

    >>> plural(2, "identity")
    '2 identities'
    """
    several = noun.removesuffix("y") + "ies" if noun.endswith("y") else noun + "s"
    return f"{number} {noun if number == 1 else several}"


def sizes_in_words(sizes: Iterable[Sizes]) -> str:
    """For which sizes a check was made, as the end of a sentence; sizes that were part of others are left out.

    >>> sizes_in_words(((("d", 1),), (("d", 2),)))
    ' for d = 1, 2'
    >>> sizes_in_words(((("d", 2), ("n", 3)), (("d", 2),)))
    ' for (d, n) = (2, 3)'
    """
    whole = [size for size in sizes if not any(set(size) < set(other) for other in sizes)]
    by_symbols: dict[tuple[str, ...], list[str]] = {}
    for size in whole:
        values = ", ".join(str(value) for _, value in size)
        by_symbols.setdefault(tuple(symbol for symbol, _ in size), []).append(
            values if len(size) == 1 else f"({values})"
        )
    parts = [
        f"{names[0] if len(names) == 1 else '(' + ', '.join(names) + ')'} = {', '.join(values)}"
        for names, values in by_symbols.items()
    ]
    return f" for {' and '.join(parts)}" if parts else ""


def law_description(law: object) -> str:
    """A law as it is written in code, and the first paragraph of what its class says of it."""
    changed = (
        [f"{f.name}={getattr(law, f.name)!r}" for f in fields(law) if getattr(law, f.name) != f.default]
        if is_dataclass(law)
        else []
    )
    meaning = (inspect.getdoc(type(law)) or "").split("\n\n")[0].replace("\n", " ").rstrip(" ,:")
    return f"`{type(law).__name__}({', '.join(changed)})`" + (f" — {meaning}" if meaning else "")
