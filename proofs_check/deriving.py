"""What `attnflow derive` writes: text for a terminal, a LaTeX document, an HTML page, a graph."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from symbolic.derivation import StepResult
from symbolic.printing.book import Chapter, count, plural
from symbolic.printing.document import book_latex as latex
from symbolic.printing.graph import graph_dot, graph_svg
from symbolic.printing.html import book_html as html

__all__ = ["graph", "html", "latex", "summary", "text"]


def text(chapter: Chapter, seconds: float) -> str:
    """A reduction and its derivation, then what checking the steps gave."""
    reduction = chapter.reduction
    outcome = [f"FAILED: {failure}" for failure in chapter.failures]
    if not outcome:
        outcome = [f"{count(chapter.results)} verified in {seconds:.1f} s{_from_cache(chapter.results)}"]
    return "\n".join(
        [
            f"━━ {reduction.title} ({reduction.name}) ━━\n",
            reduction.text(),
            "",
            *(f"Assumed: {assumption}" for assumption in reduction.assumptions),
            *(f"Conserved: {invariant.statement}" for invariant in reduction.invariants),
            "\nDerivation\n",
            reduction.derivation.text(),
            "",
            *outcome,
            "",
        ]
    )


def summary(chapters: Sequence[Chapter], seconds: float) -> str:
    """How many derivations hold, in how many steps, and how many of those an earlier run had verified."""
    whole = [chapter for chapter in chapters if not chapter.failures]
    results = list(chain.from_iterable(chapter.results for chapter in whole))
    return (
        f"{len(whole)} of {plural(len(chapters), 'derivation')} verified: {count(results)} "
        f"in {seconds:.1f} s{_from_cache(results)}"
    )


def graph(chapter: Chapter, dot: bool) -> str:
    """The graph of a derivation, as SVG or as DOT."""
    derivation = chapter.reduction.derivation
    failed = [failure.step.name for failure in chapter.failures]
    return (graph_dot(derivation) if dot else graph_svg(derivation, failed)) + "\n"


def _from_cache(results: Sequence[StepResult]) -> str:
    known = sum(result.cached for result in results)
    return f" ({plural(known, 'step')} from the cache)" if known else ""
