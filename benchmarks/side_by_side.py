"""A comparison: the same work done by attnflow and by what a user would pick instead, as a ratio of times in one run.

Repetitions alternate between the two sides, so that a busy machine slows both. A ratio is measured only after both
results were found to be as accurate as asked; what is missed is reported with the profile that explains it.
"""

from __future__ import annotations

import cProfile
import pstats
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

HEADER = (
    "| work | against | error, ours | theirs | seconds, ours | theirs | ratio (least to largest) | bar |\n"
    "|---|---|---|---|---|---|---|---|"
)


@dataclass(frozen=True)
class Side:
    """One way to do the work: what it is called, how it runs, and the true error of what that returns."""

    name: str
    run: Callable[[], Any]
    error: Callable[[Any], float]


@dataclass(frozen=True)
class Comparison:
    """Two ways to do the same work.

    Attributes
    ----------
    work
        What is done, and by which of our functions.
    ours, theirs
        The two ways. What either needs once (compiling, converting inputs) is done before, unless it is part of the
        work.
    tolerance
        Both errors must be at most this before the ratio counts.
    bar
        The least ratio, time of theirs over time of ours; None where the comparison is for information.
    share
        The part of the work that theirs does; its time is divided by this (a loop over 100 of 10^5 orbits: 1e-3).
    repetitions
        How often each side runs.
    needs
        Import names of the packages without which the comparison is left out, and said to be.
    """

    work: str
    ours: Side
    theirs: Side
    tolerance: float
    bar: float | None = None
    share: float = 1.0
    repetitions: int = 5
    needs: tuple[str, ...] = ()


def rows(comparison: Comparison) -> Iterator[str]:
    """The row of the table for a comparison, then the lines that explain a missed bar."""
    missing = [package for package in comparison.needs if find_spec(package) is None]
    if missing:
        yield f"| {comparison.work} | {comparison.theirs.name} | not run without {', '.join(missing)} |||||| "
        return
    sides = comparison.ours, comparison.theirs
    errors = [float(side.error(side.run())) for side in sides]  # these first runs also warm both sides
    for side, error in zip(sides, errors, strict=True):
        if not error <= comparison.tolerance:
            raise AssertionError(f"{comparison.work}: {side.name} is off by {error:.1e} > {comparison.tolerance:.1e}")
    pairs = [(_seconds(sides[0].run), _seconds(sides[1].run)) for _ in range(comparison.repetitions)]
    ours, theirs = (median(side) for side in zip(*pairs, strict=True))
    ratios = sorted(b / a / comparison.share for a, b in pairs)
    ratio, bar = median(ratios), comparison.bar
    verdict = "" if bar is None else f"{bar:.3g}: {'reached' if ratio >= bar else 'missed'}"
    yield (
        f"| {comparison.work} | {comparison.theirs.name} | {errors[0]:.0e} | {errors[1]:.0e} | {ours:.3g} "
        f"| {theirs / comparison.share:.3g} | {ratio:.3g} ({ratios[0]:.3g} to {ratios[-1]:.3g}) | {verdict} |"
    )
    if bar is not None and ratio < bar:
        yield from ("", f"The bar is missed on: {comparison.work}. Share of the time by function:", "")
        yield from _profile(sides[0].run)


def _seconds(function: Callable[[], Any]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def _profile(function: Callable[[], Any]) -> Iterator[str]:
    """Where the time goes: the five functions with the most time of their own."""
    profiler = cProfile.Profile()
    profiler.runcall(function)
    stats = pstats.Stats(profiler)
    total = stats.total_tt  # type: ignore[attr-defined]
    entries = sorted(stats.stats.items(), key=lambda entry: -entry[1][2])[:5]  # type: ignore[attr-defined]
    for (file, _, name), (_, _, own, _, _) in entries:
        yield f"- {own / total:.0%} {Path(file).name} {name}"
