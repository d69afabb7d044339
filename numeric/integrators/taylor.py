"""Taylor series of high order in multiple precision: as many digits as asked for, delivered.

Local errors. The coefficients c_0..c_K come from the kernel's recurrence. The step h is the largest for which the
remainder bound of `numeric.integrators.majorant` is at most eps times the largest entry of the state, no term c_k h^k
is so large that its rounding matters, and the state does not shrink to less than an eighth (unless it passes through
zero, changing by more than that in an eighth of the step). Order: the recurrence costs between K (overhead) and K^2
(convolutions), and buys a step h/rho of eps^(1/K). The cost per unit of time, K^p eps^(-1/K), is least at
K = log(1/eps)/p, with p between 1 and 2.

Global errors. What the flow makes of local errors is a property of the flow, so it is measured: a pilot with few
digits is run twice, the second time with noise added before every step. If noise of relative size eta moves the final
state by D (relative to its size), then errors grow by D/eta all told, and that many guard digits are added. The result
must end where the pilot did; else the pilots had too few digits to see what happens, and are repeated with more.

Numbers. Recurrences and polynomials are evaluated with gmpy2's numbers, all else with mpmath's, which are what users
get; both have the same precision, so that conversions are exact. An inner product sum_j a_j b_{k-j} rounds every
product to 2^-prec of itself, where mpmath rounds the sum once. That adds at most half of what the factors, rounded
themselves, contribute in either case, which the digits carried for rounding cover. Recurrences run on whole numbers
from the second step on (`numeric.integrators.whole_numbers`), or compiled (`numeric.integrators.fixed_point`).
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from typing import Any

import mpmath
import numpy as np

from numeric.integrators.blow_up import NEAR, Approach, end_of_trust
from numeric.integrators.events import follow
from numeric.integrators.expansion import Doubles, Expand, Multiprecision, Polynomials
from numeric.integrators.majorant import log2_size, power_of_two
from numeric.kernel import Kernel
from numeric.layout import Layout
from numeric.outcome import BlewUp, Finished, Outcome, StepLimit
from numeric.trajectory import Piece, Solution

MAX_STEPS = 20_000

#: Whether compiled code is used where numba is installed. Tests and benchmarks turn it off.
COMPILED = True

#: Up to so many digits compiled code is faster, and its sums have room.
COMPILED_DIGITS = 700

#: The order over log(1/eps): 1/p (see above), as measured from 30 to 100 digits; the minimum is flat.
ORDER_FACTOR = 0.6

#: The same for compiled code, where the cost of a step that does not depend on the order weighs more.
COMPILED_ORDER_FACTOR = 0.8

#: And for compiled pilots in double precision, where coefficients cost next to nothing.
PILOT_ORDER_FACTOR = 1.6

#: Decimal digits carried beyond the local tolerance, for rounding inside the recurrences.
ROUNDING_DIGITS = 6

#: Further digits, by which terms c_k h^k may exceed the state. On e^(i t) the steps chosen make terms of
#: 10^(0.055 digits), so that this hardly ever limits them.
TERM_DIGITS, TERM_DIGITS_PER_DIGIT = 3, 1 / 16

#: The state may shrink to this part of its size in one step, as errors count relative to it. It passes through zero
#: when it changes by more than that in this part of the step.
PART = 1 / 8

#: Entries that have fallen by so many bits or more below the largest, and below the working precision, count as zero:
#: far smaller ones would leave the range of doubles.
NEGLIGIBLE_BITS = 250

#: Decimal digits added to the measured growth of errors, which is that of one sample of noise: one of them for what
#: the sample missed, and one that stays in hand.
MARGIN_DIGITS = 2

#: The noise of the first pilot, in decimal digits, and the largest effect of it that still counts as linear.
NOISE_DIGITS, LINEAR = 10, 1e-3

#: By so many digits beyond those asked for errors are followed that change how the integration ends.
UNDECIDED_DIGITS = 100

UNCONFIRMED = "unconfirmed, as runs with noise or with other digits end otherwise"

#: Entries that do not move to so many digits beyond those asked for are at rest.
REST_DIGITS = 1000

#: Runs with noise or with other digits see something else when they take more steps than these, and so many times those
#: of the run before.
NOISY_STEPS, PILOT_STEPS, STEPS_PER_STEP = 100, 500, 10

#: The digits that a pilot keeps beyond its noise, and up to how many in all it works in double precision.
PILOT_DIGITS, DOUBLE_DIGITS = 4, 14


@dataclass(frozen=True)
class Problem:
    """An initial value problem, its numbers converted at the current working precision."""

    kernel: Kernel
    initial: dict[str, Any]
    parameters: dict[str, Any]
    start: Any
    end: Any


def solve(problem: Callable[[], Problem], events: Sequence[Callable[..., Any]], digits: int) -> Solution:
    """Integrate with a final error below 10^-digits, relative to the size of the state.

    `problem` is called at each working precision that is used, so that inputs are converted exactly.
    """
    terminal = [event for event in events if getattr(event, "terminal", False)]
    problem = _once_for_each_precision(problem)
    pilot = measured_growth(problem, terminal, digits, NOISE_DIGITS)
    while pilot is not None:
        local_digits = digits + MARGIN_DIGITS + math.ceil(pilot.growth)
        error = mpmath.mpf(10) ** (pilot.growth + 1 - local_digits)
        solution = _run(problem, events, local_digits, error)
        if isinstance(solution.outcome, StepLimit) or _agree(solution, pilot.clean):
            return replace(_trusted(solution), error=error)
        noise_digits = 2 * pilot.noise_digits
        pilot = (
            measured_growth(problem, terminal, digits, noise_digits)
            if noise_digits <= digits + UNDECIDED_DIGITS
            else None
        )
    # Brackets of blow-up times are widened by 10^-digits, so that what is undecided counts as a blow-up.
    solution = _run(problem, events, digits + MARGIN_DIGITS, mpmath.mpf(10) ** -digits / NEAR)
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


@dataclass(frozen=True)
class Pilot:
    """A run with few digits, and the decimal digits that the flow costs: log10(final error / local error)."""

    clean: Solution
    growth: float
    noise_digits: int


def measured_growth(
    problem: Callable[[], Problem], events: Sequence[Callable[..., Any]], digits: int, noise_digits: int
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
        clean = _run(problem, events, pilot_digits, max_steps=max_steps)
        if isinstance(clean.outcome, StepLimit):
            is_alike = False
            is_final = previous is None or (_alike(clean, previous) and _end_together(clean, previous, LINEAR))
        else:
            max_steps = _step_limit(clean, NOISY_STEPS)
            noisy = _run(problem, events, pilot_digits, noise=Noise(noise, at_rest, clean), max_steps=max_steps)
            if _agree(clean, noisy):
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


def _agree(solution: Solution, other: Solution) -> bool:
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
        self.all = np.ones(len(self.signs), bool)

    def at_start(self, flat: np.ndarray) -> np.ndarray:
        pieces = self.clean.pieces
        kept = np.abs(pieces[0].final - flat) < self.size * np.abs(flat).max() if pieces else ~self.all
        return self._on(flat, ~(kept & self.at_rest()) if kept.any() else self.all)

    def at_end(self, state: Polynomials, flat: np.ndarray) -> np.ndarray:
        """After a step on which the entries were these polynomials."""
        kept = state.are_constant
        return self._on(flat, ~(np.array(kept) & self.at_rest()) if any(kept) else self.all)

    def _on(self, flat: np.ndarray, moved: np.ndarray) -> np.ndarray:
        size = self.size * np.abs(flat).max()
        pairs = zip(self.signs, moved.tolist(), strict=True)
        return flat + np.array([size * sign * self.random.random() if is_moved else 0 for sign, is_moved in pairs])


def _end_together(solution: Solution, other: Solution, tolerance: Any) -> bool:
    """Whether they end at the same time, relative to the time passed."""
    time = solution.outcome.time
    return bool(abs(time - other.outcome.time) <= tolerance * abs(time - solution.start))


def _distance(clean: Solution, noisy: Solution) -> Any:
    """How far apart two solutions of the same outcome end, relative to the time passed and the size of the state."""
    outcome, other, pieces = clean.outcome, noisy.outcome, clean.pieces
    passed = outcome.time - clean.start
    if isinstance(outcome, BlewUp) and isinstance(other, BlewUp):
        # An error of t* is one of the last state that is kept, relative to the time left there.
        return abs(outcome.bracket[1] - other.bracket[1]) / (NEAR * passed)
    before = pieces[-2].final if len(pieces) > 1 else clean.initial
    size = max(np.abs(clean.final).max(), np.abs(before).max())
    apart = np.abs(clean.final - noisy.final).max()
    return max(abs(outcome.time - other.time) / passed, apart / size if size else apart)


def _run(
    problem: Callable[[], Problem],
    events: Sequence[Callable[..., Any]],
    local_digits: int,
    error: Any = 0,
    noise: Noise | None = None,
    max_steps: float = math.inf,
) -> Solution:
    with mpmath.workdps(local_digits + ROUNDING_DIGITS + _term_digits(local_digits)):
        given = problem()
        layout = Layout(given.kernel.state, given.initial)
        initial = layout.flatten(given.initial)
        steps = taylor_steps(given, layout, initial, local_digits, error, noise, max_steps)
        return follow(steps, layout, given.start, initial, events, mpmath.mp.prec)


def taylor_steps(
    problem: Problem,
    layout: Layout,
    flat: np.ndarray,
    local_digits: int,
    error: Any,
    noise: Noise | None,
    max_steps: float,
) -> Iterator[Piece | Outcome]:
    """The steps, then the outcome, at the current working precision.

    `error` is the relative error of the final state that brackets of blow-up times allow for.
    """
    compiled = COMPILED and local_digits <= COMPILED_DIGITS and find_spec("numba") is not None
    in_doubles = local_digits <= DOUBLE_DIGITS
    factor = ORDER_FACTOR
    if compiled:
        factor = PILOT_ORDER_FACTOR if in_doubles else COMPILED_ORDER_FACTOR
    order = math.ceil(factor * local_digits * math.log(10))
    log2_eps = -local_digits * math.log2(10)
    approach = Approach(layout, problem.start, mpmath.mpf(10) ** (MARGIN_DIGITS - local_digits), error * NEAR)
    precise = Multiprecision(problem.kernel, layout, problem.parameters, order)
    given = problem.kernel, layout, problem.parameters, order
    expand: Expand = precise
    if compiled:
        from numeric.integrators.fixed_point import FixedPoint

        bits = math.ceil((local_digits + ROUNDING_DIGITS) * math.log2(10))
        expand = FixedPoint(*given, bits, in_doubles)
    elif in_doubles:
        expand = Doubles(*given)
    if noise is not None:
        flat = noise.at_start(flat)
    time = problem.start
    steps = int(min(MAX_STEPS, max_steps))
    chosen = expand
    for _ in range(steps):
        expansion = chosen(flat) or precise(flat)
        if expansion is None:
            yield StepLimit(time, "the right-hand side is not defined there")
            return
        if approach.is_near(expansion, time):
            # What lies beyond the step is extrapolated, and needs all digits.
            expansion = precise(flat) or expansion

        sizes, fit = expansion.sizes, expansion.fit
        blow_up = approach.outcome(expansion, time)
        if blow_up is not None and blow_up.time < problem.end:
            yield blow_up
            return

        log2_left = log2_size(problem.end - time)
        # From a state that is zero on: relative to what it becomes.
        log2_scale = sizes[0] if sizes[0] > -math.inf else sizes[1] + min(fit.log2_radius, log2_left)
        log2_step = min(fit.log2_step(log2_eps + log2_scale), _log2_rounding_step(sizes, log2_scale, local_digits))
        state = expansion.polynomials(min(log2_step, log2_left))
        if state is None:
            chosen = precise
            continue
        chosen = expand
        while True:
            end = problem.end if log2_step >= log2_left else time + power_of_two(log2_step)
            if end == time:
                yield StepLimit(time, "the steps became too small to change the time")
                return
            piece = _piece(state, time, end)
            if not _shrinks(state, piece, sizes[0] + math.log2(PART)):
                break
            log2_step = min(log2_step, log2_left) - 1

        if noise is not None:
            piece = replace(piece, final=noise.at_end(state, piece.final))
        yield piece
        if end == problem.end:
            yield Finished(end)
            return
        time, flat = end, _without_negligible(piece.final, flat)
    yield StepLimit(time, f"the end of the time span was not reached in {steps} steps")


def _piece(state: Polynomials, start: Any, end: Any) -> Piece:
    def evaluate(time: Any) -> np.ndarray:
        return state(time - start)

    return Piece(start, end, evaluate, evaluate(end))


def _without_negligible(flat: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Zero for entries that have become negligible, unless they are constants, which may multiply what is large.

    That is an error far below the local ones, which the flow magnifies no more than it magnifies those.
    """
    # The mantissa of a zero has no bits.
    sizes = [exponent + bits if bits else -math.inf for _, _, exponent, bits in (entry._mpf_ for entry in flat)]
    least = max(sizes) - max(mpmath.mp.prec, NEGLIGIBLE_BITS)
    if min(sizes) >= least:
        return flat
    return np.where((np.array(sizes) < least) & (flat != before), mpmath.mpf(0), flat)


def _term_digits(local_digits: int) -> int:
    """The decimal digits by which terms of the series may exceed the state."""
    return TERM_DIGITS + math.ceil(TERM_DIGITS_PER_DIGIT * local_digits)


def _log2_rounding_step(log2_sizes: Sequence[float], log2_scale: float, local_digits: int) -> float:
    """The largest h for which no term |c_k| h^k exceeds the state by more digits than there are for that."""
    largest = log2_scale + _term_digits(local_digits) * math.log2(10)
    sizes = np.array(log2_sizes[1:])
    orders = np.flatnonzero(sizes > -math.inf)
    return float(((largest - sizes[orders]) / (orders + 1)).min(initial=math.inf))


def _shrinks(state: Polynomials, piece: Piece, log2_least: float) -> bool:
    """Whether the state becomes smaller than that and is not just passing through zero."""
    if log2_size(np.abs(piece.final).max()) >= log2_least:
        return False
    step = piece.end - piece.start
    return log2_size(np.abs(state.derivatives(step)).max() * step * PART) < log2_least
