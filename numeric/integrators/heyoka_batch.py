"""Many orbits at once, compiled: heyoka's Taylor method with one member in each lane of the processor's vectors.

Each lane has its own steps and parameters. A lane stops the others when its state is no longer finite, which is how a
blow-up ends here. Members that did not reach the end for whatever reason are integrated by
`numeric.integrators.vectorised`, which finds out what happened to them.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import heyoka as hy
import numpy as np

from numeric.backends.heyoka import system
from numeric.integrators.heyoka_solver import FEWEST_ULPS, needs_compact_mode
from numeric.integrators.vectorised import End, Ends, Members, Run

#: Twice the width of the vectors: the processor overlaps two of them, and there are half as many calls.
LANES = 2 * hy.recommended_simd_size()

#: Members whose states and parameters are gathered at a time.
TASK = 512 * LANES

#: Steps after which the other integrator takes over. Towards a blow-up some 300 are taken.
MAX_STEPS = 2000

#: So many compiled systems are kept, each for one kernel, shapes and tolerance; the one compiled first goes first.
KEPT = 16

_idle: dict[tuple[object, ...], list[hy.taylor_adaptive_batch_dbl]] = {}


def ends_of_all(
    field: Members, start: float, end: float, rtol: float, atol: float, times: np.ndarray, record: np.ndarray
) -> Ends:
    """Integrate all members, as `numeric.integrators.vectorised.Run` does; the rates of finished ones are left out.

    The tolerance is the smaller of rtol and atol, as in `numeric.integrators.heyoka_solver`.
    """
    count = field.count
    states = np.full((count, field.dim), np.nan), np.full((count, field.dim), np.nan)
    ends = Ends(np.full(count, end), *states, np.full(count, End.FINISHED, dtype=np.int8))
    finished = np.zeros(count, dtype=bool)
    tolerance = max(min(rtol, atol), sys.float_info.epsilon)

    with _integrator(field, tolerance) as integrator:
        # One thread: a second one waits for Python's lock between batches, and both together were measured slower.
        for first in range(0, count, TASK):
            members = np.arange(first, min(first + TASK, count))
            task = Task(integrator, field, members, start, end, times)
            finished[members] = task.run()
            field.scale_unit_tokens(task.final)
            for columns in task.record:
                field.scale_unit_tokens(columns)
            ends.state[members], record[members] = task.final.T, task.record.transpose(2, 0, 1)
    rest = np.flatnonzero(~finished)
    if len(rest):
        own = np.full((len(rest), *record.shape[1:]), np.nan)
        others = Run(field, rest, start, np.full(len(rest), end), rtol, atol, times, own).ends_of_all()
        ends.time[rest], ends.reason[rest], record[rest] = others.time, others.reason, own
        ends.state[rest], ends.rate[rest] = others.state, others.rate
    return ends


@contextmanager
def _integrator(field: Members, tolerance: float) -> Iterator[hy.taylor_adaptive_batch_dbl]:
    """A compiled integrator for nobody else's use."""
    kernel, shapes = field.kernel, field.layout.shapes | field.parameter_layout.shapes
    key = (kernel.digest or kernel.series, tolerance, *shapes.values())
    try:
        integrator = _idle[key].pop()
    except LookupError:
        equations = system(kernel, shapes)
        integrator = hy.taylor_adaptive_batch(
            equations,
            np.zeros((len(equations), LANES)),
            tol=tolerance,
            compact_mode=needs_compact_mode(equations),
        )
    try:
        yield integrator
    finally:
        if key not in _idle and len(_idle) >= KEPT:
            _idle.pop(next(iter(_idle)))
        _idle.setdefault(key, []).append(integrator)


class Task:
    """Some members, batch after batch, on one integrator. `final` are their flat states as columns."""

    def __init__(
        self,
        integrator: hy.taylor_adaptive_batch_dbl,
        field: Members,
        members: np.ndarray,
        start: float,
        end: float,
        times: np.ndarray,
    ):
        self.integrator, self.start, self.end, self.times = integrator, start, end, times
        self.state, self.pars = integrator.state, integrator.pars
        self.initial = field.initial(members)
        self.parameters = field.flat_parameters(members)[: len(self.pars)]
        self.final = np.full_like(self.initial, np.nan)
        self.record = np.full((len(times), *self.initial.shape), np.nan)
        self.grid = np.repeat(np.union1d([start], times)[:, None], LANES, axis=1)
        self.shortest = FEWEST_ULPS * math.ulp(max(abs(start), abs(end)))

    def run(self) -> np.ndarray:
        """Integrate, and say who arrived."""
        count = self.initial.shape[1]
        arrived = np.ones(count, dtype=bool)
        for first in range(0, count, LANES):
            batch: Any = slice(first, first + LANES)  # much faster than an array of indices
            if first + LANES <= count and self._propagate(batch, batch) is None:
                continue
            batch = np.arange(first, min(first + LANES, count))
            arrived[batch] = False
            while len(batch):
                failed = self._propagate(batch, np.resize(batch, LANES))
                if failed is None:
                    arrived[batch] = True
                    break
                # Again without them, as they stopped the others.
                batch = batch[~failed[: len(batch)]]
        return arrived

    def _propagate(self, batch: Any, lanes: Any) -> np.ndarray | None:
        """One batch; the lanes are its members, repeated where there are too few. Returns the lanes that failed."""
        integrator = self.integrator
        integrator.set_time(self.start)
        self.state[:], self.pars[:] = self.initial[:, lanes], self.parameters[:, lanes]
        if len(self.times):
            output = integrator.propagate_grid(self.grid, max_steps=MAX_STEPS)[-1]
            failed = _failed(integrator, self.shortest)
            if failed is not None:
                return failed
        integrator.propagate_until(self.end, max_steps=MAX_STEPS)
        failed = _failed(integrator, self.shortest)
        if failed is None:
            count = self.final[:, batch].shape[1]
            self.final[:, batch] = self.state[:, :count]
            if len(self.times):
                self.record[:, :, batch] = output[-len(self.times) :, :, :count]
        return failed


def _failed(integrator: hy.taylor_adaptive_batch_dbl, shortest: float) -> np.ndarray | None:
    """Which lanes stopped before the time asked for, or after steps so short that they may lead across a singularity.

    None when all arrived. Lanes that were only stopped by others did not fail.
    """
    limit, stopped = hy.taylor_outcome.time_limit, hy.taylor_outcome.success
    results = integrator.propagate_res
    for outcome, least, _, _ in results:
        if outcome != limit or not least > shortest:
            break
    else:
        return None
    failed = np.array([outcome not in (limit, stopped) or not least > shortest for outcome, least, _, _ in results])
    return failed if failed.any() else np.ones_like(failed)
