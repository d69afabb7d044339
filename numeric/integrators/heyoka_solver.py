"""Double precision, compiled: heyoka's adaptive Taylor method on the flat real state.

heyoka has one tolerance. Its steps commit errors of about tolerance * max(1, largest entry of the state), so the
smaller of rtol and atol satisfies both, in the maximum norm: an entry far smaller than the largest is no more accurate
than that one. The tolerance is no less than the rounding of doubles, whatever atol is.

Unit tokens are scaled to unit length in what is returned; the steps need no help to keep them on the sphere to within
their errors.

An orbit that reaches its end is computed in one call, which keeps the final state only. Its steps are retraced when
they are asked for, with the same result, which costs less than to keep them always.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import heyoka as hy
import numpy as np

from numeric.backends.heyoka import LARGEST, system
from numeric.flat_inputs import Places
from numeric.integrators.events import follow
from numeric.integrators.idle import Borrowed, Idle
from numeric.integrators.scipy_solver import MAX_STEPS
from numeric.integrators.vanishing_steps import COARSER, COARSEST, Entry, failure
from numeric.kernel import Kernel
from numeric.layout import Layout
from numeric.outcome import Finished, Outcome, StepLimit
from numeric.trajectory import Piece, Solution

#: Compiled integrators, each for one kernel, shapes and tolerance.
idle: Idle[Any] = Idle(kept=64)

#: Equations longer than this, in terms as heyoka counts them when they are written out, are compiled in its compact
#: mode. Straight-line code would run twice as fast, but take seconds to compile. Moments in dimension 3 are shorter.
COMPACT_FROM = 4000

#: Steps this short against the time, in units in its last place, lead nowhere.
FEWEST_ULPS = 4

Equations = Sequence[tuple[hy.expression, hy.expression]]


def serves(kernel: Kernel, size: int) -> bool:
    """Whether a kernel with so many entries of states and parameters is compiled: "auto" leaves the others to NumPy."""
    return not kernel.automatic or size <= LARGEST


class Problem:
    """An initial value problem at states and parameters that were checked, one after the other in a vector."""

    def __init__(
        self, kernel: Kernel, places: Places, vector: np.ndarray, start: float, end: float, rtol: float, atol: float
    ):
        self.kernel, self.places, self.start, self.end, self.rtol, self.atol = kernel, places, start, end, rtol, atol
        self.layout = places.state
        self.initial, self.parameters = vector[: self.layout.size], vector[self.layout.size :]

    def integrator(self, coarser: float = 1.0) -> Borrowed[Any]:
        """A compiled integrator, with tolerances that are this much coarser."""
        kernel, places = self.kernel, self.places
        tolerance = min(max(coarser * min(self.rtol, self.atol), sys.float_info.epsilon), COARSEST)
        identity = kernel.digest or kernel.series  # equations typed by hand have no digest
        key = identity, tolerance, places.shapes
        return idle.borrowed(key, lambda: _compile(kernel, places.all.shapes, tolerance))

    def begin(self, integrator: Any) -> None:
        """Put an integrator at the start."""
        integrator.time = self.start
        integrator.state[:] = self.initial
        values = integrator.pars  # up to the last one that occurs
        if len(values):
            values[:] = self.parameters[: len(values)]


def _compile(kernel: Kernel, shapes: Mapping[str, tuple[int, ...]], tolerance: float) -> Any:
    equations = system(kernel, shapes)
    return hy.taylor_adaptive(
        equations, [0.0] * len(equations), tol=tolerance, compact_mode=needs_compact_mode(equations)
    )


def needs_compact_mode(equations: Equations) -> bool:
    """Whether equations are too long for straight-line code."""
    return sum(len(rate) for _, rate in equations) > COMPACT_FROM


def solve(problem: Problem, events: Sequence[Callable[..., Any]]) -> Solution:
    """The solution up to its outcome, or to the first terminal event."""
    if not events:
        with problem.integrator() as integrator:
            problem.begin(integrator)
            status, shortest, *_ = integrator.propagate_until(problem.end, max_steps=MAX_STEPS)
            final = problem.layout.with_unit_tokens(integrator.state.copy())
        # Steps that vanished on the way may have led across a singularity.
        vanishing = FEWEST_ULPS * math.ulp(max(abs(problem.start), abs(problem.end)))
        if status == hy.taylor_outcome.time_limit and shortest > vanishing:
            return Propagated(problem, final)
    return _follow(problem, events)


def _follow(problem: Problem, events: Sequence[Callable[..., Any]]) -> Solution:
    return follow(heyoka_steps(problem), problem.layout, problem.start, problem.initial, events, precision=None)


class Propagated(Solution):
    """A solution that reached its end, whose steps are retraced when they are asked for."""

    events, precision = (), None

    def __init__(self, problem: Problem, final: np.ndarray):
        self._problem, self._final = problem, final

    @property
    def layout(self) -> Layout:  # type: ignore[override]
        return self._problem.layout

    @property
    def start(self) -> float:
        return self._problem.start

    @property
    def initial(self) -> np.ndarray:  # type: ignore[override]
        return self._problem.initial

    @property
    def outcome(self) -> Outcome:  # type: ignore[override]
        return Finished(self._problem.end)

    @cached_property
    def pieces(self) -> Sequence[Piece]:  # type: ignore[override]
        return _follow(self._problem, ()).pieces

    @property
    def end(self) -> float:
        return self._problem.end

    @property
    def final(self) -> np.ndarray:
        return self._final

    def rows(self, times: Sequence[float]) -> Sequence[np.ndarray]:
        """In one call, without retracing the steps."""
        if not times:
            return []
        # A grid begins at the start. Up to the end the steps are the same, whichever times are asked for.
        grid = [*([self.start] if times[0] > self.start else []), *times, *([self.end] if times[-1] < self.end else [])]
        first = 1 if times[0] > self.start else 0
        with self._problem.integrator() as integrator:
            self._problem.begin(integrator)
            found = integrator.propagate_grid(grid, max_steps=MAX_STEPS)[-1]
        return [self.layout.with_unit_tokens(row) for row in found[first : first + len(times)]]


def heyoka_steps(problem: Problem) -> Iterator[Piece | Outcome]:
    """The steps one by one, then the outcome."""
    with problem.integrator() as integrator:
        problem.begin(integrator)
        orders, unit = np.arange(integrator.order + 1), problem.layout.with_unit_tokens
        time, state = problem.start, problem.initial
        history: list[Entry] = []
        for _ in range(MAX_STEPS):
            status = _step(integrator, problem.end, write_tc=True)
            coefficients = integrator.tc.copy()
            history.append((time, state, coefficients[:, 1]))
            if status == hy.taylor_outcome.err_nf_state:
                break
            before, time, state = time, integrator.time, integrator.state.copy()
            yield Piece(before, time, partial(_evaluate, coefficients, orders, before, unit), unit(state))
            if status == hy.taylor_outcome.time_limit:
                yield Finished(time)
                return
        else:
            yield StepLimit(time, f"the end of the time span was not reached in {MAX_STEPS} steps")
            return
    if not np.isfinite(history[0][2]).all():
        yield StepLimit(time, "the right-hand side is not finite at the initial state")
        return
    with np.errstate(all="ignore"):
        outcome = failure(history, problem.layout, problem.rtol, partial(_coarse_end, problem))
    yield outcome


def _evaluate(coefficients: np.ndarray, orders: np.ndarray, start: float, unit: Any, time: float) -> np.ndarray:
    return unit(coefficients @ (time - start) ** orders)


def _step(integrator: Any, end: float, write_tc: bool) -> Any:
    """One step; one that vanishes against the time counts as a failure."""
    time = integrator.time
    status = integrator.propagate_until(end, max_steps=1, write_tc=write_tc)[0]
    vanished = integrator.time - time < FEWEST_ULPS * math.ulp(time)
    if vanished and status == hy.taylor_outcome.step_limit:
        return hy.taylor_outcome.err_nf_state
    return status


def _coarse_end(problem: Problem) -> float:
    """Where a run with coarser tolerances gives up."""
    with problem.integrator(COARSER) as integrator:
        problem.begin(integrator)
        while _step(integrator, problem.end, write_tc=False) == hy.taylor_outcome.step_limit:
            pass
        return float(integrator.time)
