"""Pilots: runs with few digits that measure what the flow makes of errors, and see where it ends.

What the flow makes of local errors is a property of the flow, so it is measured: a pilot is run twice, the second time
with noise added before every step. If noise of relative size eta moves the final state by D (relative to its size),
then errors grow by D/eta all told.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import mpmath
import numpy as np

from numeric.integrators.blow_up import NEAR
from numeric.integrators.expansion import Multiprecision, Polynomials
from numeric.integrators.taylor import ORDER_FACTOR, Problem, run
from numeric.layout import Layout
from numeric.outcome import BlewUp, StepLimit
from numeric.trajectory import Solution

#: The noise of the first pilot, in decimal digits, and the largest effect of it that still counts as linear.
NOISE_DIGITS, LINEAR = 10, 1e-3

#: The digits that a pilot keeps beyond its noise.
PILOT_DIGITS = 4

#: By so many digits beyond those asked for errors are followed that change how the integration ends.
UNDECIDED_DIGITS = 100

#: Entries that do not move to so many digits beyond those asked for are at rest.
REST_DIGITS = 1000

#: Runs with noise or with other digits see something else when they take more steps than these, and so many times those
#: of the run before.
NOISY_STEPS, PILOT_STEPS, STEPS_PER_STEP = 100, 500, 10


@dataclass(frozen=True)
class Pilot:
    """A run with few digits, and the decimal digits that the flow costs: log10(final error / local error)."""

    clean: Solution
    growth: float
    noise_digits: int


def measured_growth(
    problem: Callable[[], Problem], events: Sequence[Callable[..., Any]], digits: int, noise_digits: int = NOISE_DIGITS
) -> Pilot | None:
    """The pilot, with the growth measured by a second run, to which noise of so many digits is added.

    When the noise grows to where the flow is no longer linear in it, or changes the outcome, the pilots are repeated
    with twice the digits, also when the run without noise gives up then. None when the first of all gives up or two of
    them at the same time, when the integration ends at a blow-up to the digits asked for, or when noise far below them
    still decides how it ends.
    """
    at_rest = cache(lambda: _at_rest(problem, digits + REST_DIGITS))
    previous: Solution | None = None
    while True:
        noise, pilot_digits = mpmath.mpf(10) ** -noise_digits, noise_digits + PILOT_DIGITS
        max_steps = math.inf if previous is None else _step_limit(previous, PILOT_STEPS)
        clean = run(problem, events, pilot_digits, max_steps=max_steps)
        if isinstance(clean.outcome, StepLimit):
            is_alike = False
            is_final = previous is None or (_alike(clean, previous) and _end_together(clean, previous, LINEAR))
        else:
            max_steps = _step_limit(clean, NOISY_STEPS)
            noisy = run(problem, events, pilot_digits, noise=Noise(noise, at_rest, clean), max_steps=max_steps)
            if agree(clean, noisy):
                growth = mpmath.log10(max(_distance(clean, noisy), noise) / noise)
                return Pilot(clean, max(0.0, float(growth)), noise_digits)
            is_alike = _alike(clean, noisy)
            is_final = not is_alike and _end_together(clean, noisy, mpmath.mpf(10) ** -digits)
        if is_final or not is_alike and noise_digits > digits + UNDECIDED_DIGITS:
            return None
        previous = clean
        noise_digits *= 2


def _step_limit(known: Solution, least: int) -> int:
    """What a run that sees the same as a known one does not exceed."""
    return least if isinstance(known.outcome, StepLimit) else max(least, STEPS_PER_STEP * len(known.pieces))


def _alike(solution: Solution, other: Solution) -> bool:
    return type(solution.outcome) is type(other.outcome)


def agree(solution: Solution, other: Solution) -> bool:
    """Whether they end alike, and as near to each other as what counts as linear."""
    return _alike(solution, other) and bool(_distance(solution, other) < LINEAR)


def _at_rest(problem: Callable[[], Problem], digits: int) -> list[bool]:
    """Which entries of the initial state do not move, to so many digits."""
    with mpmath.workdps(digits):
        given = problem()
        layout = Layout(given.kernel.state, given.initial)
        order = math.ceil(ORDER_FACTOR * NOISE_DIGITS * math.log(10))
        expansion = Multiprecision(given.kernel, layout, given.parameters, order)(layout.flatten(given.initial))
        state = expansion and expansion.polynomials(math.inf)
        return state.are_constant if state else [False] * layout.size


class Noise:
    """What a pilot adds to the state at the start and after every step, of a relative size.

    It has one sign for each entry, so that it cannot cancel where the flow keeps directions, and random size, so that
    it cannot where the flow rotates them. It comes before the first step too, which may be longer than those of a run
    with more digits, and as long as the time span from a state that only seems to be at rest in the `clean` pilot with
    its few digits. Entries `at_rest` from the start on get none while they stay so, as errors do not move them either.
    """

    def __init__(self, size: Any, at_rest: Callable[[], list[bool]], clean: Solution):
        self.size, self.at_rest, self.clean = size, at_rest, clean
        self.random = random.Random(0)
        self.signs = [self.random.choice((-1, 1)) for _ in clean.initial]
        self.every = np.ones(len(self.signs), bool)

    def at_start(self, flat: np.ndarray) -> np.ndarray:
        pieces = self.clean.pieces
        kept = np.abs(pieces[0].final - flat) < self.size * np.abs(flat).max() if pieces else ~self.every
        return self._on(flat, ~(kept & self.at_rest()) if kept.any() else self.every)

    def at_end(self, state: Polynomials, flat: np.ndarray) -> np.ndarray:
        """After a step on which the entries were these polynomials."""
        kept = state.are_constant
        return self._on(flat, ~(np.array(kept) & self.at_rest()) if any(kept) else self.every)

    def _on(self, flat: np.ndarray, moved: np.ndarray) -> np.ndarray:
        size = self.size * np.abs(flat).max()
        pairs = zip(self.signs, moved.tolist(), strict=True)
        return flat + np.array([size * sign * self.random.random() if is_moved else 0 for sign, is_moved in pairs])


def _end_together(solution: Solution, other: Solution, tolerance: Any) -> bool:
    """Whether they end at the same time, relative to the time passed."""
    time = solution.outcome.time
    return bool(abs(time - other.outcome.time) <= tolerance * abs(time - solution.start))


def _distance(solution: Solution, other: Solution) -> Any:
    """How far apart two solutions of the same outcome end, relative to the time passed and the size of the state."""
    outcome, pieces = solution.outcome, solution.pieces
    passed = outcome.time - solution.start
    if isinstance(outcome, BlewUp) and isinstance(other.outcome, BlewUp):
        # An error of t* is one of the last state that is kept, relative to the time left there.
        return abs(outcome.bracket[1] - other.outcome.bracket[1]) / (NEAR * passed)
    before = pieces[-2].final if len(pieces) > 1 else solution.initial
    size = max(np.abs(solution.final).max(), np.abs(before).max())
    apart = np.abs(solution.final - other.final).max()
    return max(abs(outcome.time - other.outcome.time) / passed, apart / size if size else apart)
