"""Taylor series of high order in multiple precision, with bounded local errors.

Local errors. The coefficients c_0..c_K come from the kernel's recurrence. The step h is the largest for which the
remainder bound of `numeric.integrators.majorant` is at most eps times the largest entry of the state, no term c_k h^k
is so large that its rounding matters, and the state does not shrink to less than an eighth (unless it passes through
zero, changing by more than that in an eighth of the step). Order: the recurrence costs between K (overhead) and K^2
(convolutions), and buys a step h/rho of eps^(1/K). The cost per unit of time, K^p eps^(-1/K), is least at
K = log(1/eps)/p, with p between 1 and 2.

Numbers. Recurrences and polynomials are evaluated with gmpy2's numbers, all else with mpmath's, which are what users
get; both have the same precision, so that conversions are exact. An inner product sum_j a_j b_{k-j} rounds every
product to 2^-prec of itself, where mpmath rounds the sum once. That adds at most half of what the factors, rounded
themselves, contribute in either case, which the digits carried for rounding cover. Recurrences run on whole numbers
from the second step on (`numeric.integrators.whole_numbers`), or compiled (`numeric.integrators.fixed_point`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np

from numeric.integrators.blow_up import NEAR, Approach
from numeric.integrators.events import follow
from numeric.integrators.expansion import Doubles, Expand, Multiprecision, Polynomials
from numeric.integrators.majorant import log2_size, power_of_two
from numeric.kernel import Kernel
from numeric.layout import Layout
from numeric.outcome import Finished, Outcome, StepLimit
from numeric.trajectory import Piece, Solution

if TYPE_CHECKING:
    from numeric.integrators.pilot import Noise

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

#: Up to so many digits pilots work in double precision.
DOUBLE_DIGITS = 14

#: Decimal digits added to the measured growth of errors, which is that of one sample of noise: one of them for what
#: the sample missed, and one that stays in hand.
MARGIN_DIGITS = 2


@dataclass(frozen=True)
class Problem:
    """An initial value problem, its numbers converted at the current working precision."""

    kernel: Kernel
    initial: dict[str, Any]
    parameters: dict[str, Any]
    start: Any
    end: Any


def run(
    problem: Callable[[], Problem],
    events: Sequence[Callable[..., Any]],
    local_digits: int,
    error: Any = 0,
    noise: Noise | None = None,
    max_steps: float = math.inf,
) -> Solution:
    """Integrate with local errors below 10^-local_digits, relative to the size of the state.

    `error` is the relative error of the final state that brackets of blow-up times allow for.
    """
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
    """The steps of `run`, then the outcome, at the current working precision."""
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
