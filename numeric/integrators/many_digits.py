"""As many digits as asked for, delivered: a Taylor integration with guard digits for what the flow makes of errors.

`numeric.integrators.pilot` measures by how much local errors grow, and that many guard digits are added. The result
must end where the pilot did; else the pilots had too few digits to see what happens, and are repeated with more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import mpmath

from numeric.integrators.blow_up import NEAR, end_of_trust
from numeric.integrators.pilot import UNDECIDED_DIGITS, agree, measured_growth
from numeric.integrators.taylor import MARGIN_DIGITS, Problem, run
from numeric.outcome import BlewUp, Outcome, StepLimit
from numeric.trajectory import Solution

UNCONFIRMED = "unconfirmed, as runs with noise or with other digits end otherwise"


def solve(problem: Callable[[], Problem], events: Sequence[Callable[..., Any]], digits: int) -> Solution:
    """Integrate with a final error below 10^-digits, relative to the size of the state.

    The error is infinite where the integration gives up, and where pilots do not confirm how it ends.
    `problem` is called at each working precision that is used, so that inputs are converted exactly.
    """
    terminal = [event for event in events if getattr(event, "terminal", False)]
    problem = _once_for_each_precision(problem)
    pilot = measured_growth(problem, terminal, digits)
    while pilot is not None:
        local_digits = digits + MARGIN_DIGITS + math.ceil(pilot.growth)
        error = mpmath.mpf(10) ** (pilot.growth + 1 - local_digits)
        solution = run(problem, events, local_digits, error)
        if isinstance(solution.outcome, StepLimit):
            return replace(solution, error=mpmath.inf)
        if agree(solution, pilot.clean):
            return replace(_trusted(solution), error=error)
        more = 2 * pilot.noise_digits
        pilot = measured_growth(problem, terminal, digits, more) if more <= digits + UNDECIDED_DIGITS else None
    # Brackets of blow-up times are widened by 10^-digits, so that what is undecided counts as a blow-up.
    solution = run(problem, events, digits + MARGIN_DIGITS, mpmath.mpf(10) ** -digits / NEAR)
    return replace(_trusted(solution), outcome=_unconfirmed(solution.outcome), error=mpmath.inf)


def _once_for_each_precision(problem: Callable[[], Problem]) -> Callable[[], Problem]:
    at_precision = cache(lambda precision: problem())
    return lambda: at_precision(mpmath.mp.prec)


def _unconfirmed(outcome: Outcome) -> Outcome:
    if isinstance(outcome, StepLimit):
        return outcome
    return replace(outcome, note=f"{outcome.note}; {UNCONFIRMED}" if outcome.note else UNCONFIRMED)


def _trusted(solution: Solution) -> Solution:
    """Without what lies so near to a blow-up that the error of its time counts for more than was allowed for."""
    if not isinstance(solution.outcome, BlewUp):
        return solution
    with mpmath.workprec(solution.precision):
        end = end_of_trust(solution.outcome, solution.start)
    pieces = [piece for piece in solution.pieces if piece.start < end]
    events = [[event for event in found if event[0] <= pieces[-1].end] for found in solution.events]
    return replace(solution, pieces=pieces, events=events)
