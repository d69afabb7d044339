"""Many orbits at once, compiled: heyoka's Taylor method with one member in each lane of the processor's vectors.

Each lane has its own steps and parameters. A lane stops the others when its state is no longer finite, which is how a
blow-up ends here. Members that did not reach the end for whatever reason are integrated by
`numeric.integrators.vectorised`, which finds out what happened to them.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import heyoka as hy
import numpy as np

from numeric.backends.heyoka import system
from numeric.integrators.heyoka_solver import COMPACT_FROM, FEWEST_ULPS
from numeric.integrators.vectorised import End, Ends, Members, Run

#: Twice the width of the vectors: the processor overlaps two of them, and there are half as many calls.
LANES = 2 * hy.recommended_simd_size()

#: Members per task of a thread: long against the start of a task, short enough that the threads end together.
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

    def task(first: int) -> None:
        members = np.arange(first, min(first + TASK, count))
        with _integrator(field, tolerance) as integrator:
            _propagate(integrator, field, members, start, end, times, record, ends.state, finished)

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        list(threads.map(task, range(0, count, TASK)))
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
            compact_mode=len(equations) > COMPACT_FROM,
        )
    try:
        yield integrator
    finally:
        if key not in _idle and len(_idle) >= KEPT:
            _idle.pop(next(iter(_idle)))
        _idle.setdefault(key, []).append(integrator)


def _propagate(
    integrator: hy.taylor_adaptive_batch_dbl,
    field: Members,
    members: np.ndarray,
    start: float,
    end: float,
    times: np.ndarray,
    record: np.ndarray,
    final: np.ndarray,
    finished: np.ndarray,
) -> None:
    """Integrate some members, batch after batch."""
    # The last batch is filled up with copies of the last member.
    filled = members[np.minimum(np.arange(-(-len(members) // LANES) * LANES), len(members) - 1)]
    initial, parameters = field.initial(filled), field.flat_parameters(filled)[: len(integrator.pars)]
    state, pars = integrator.state, integrator.pars
    grid = np.repeat(np.union1d([start], times)[:, None], LANES, axis=1)
    shortest = FEWEST_ULPS * math.ulp(max(abs(start), abs(end)))
    for first in range(0, len(filled), LANES):
        batch = slice(first, first + LANES)
        integrator.set_time(start)
        state[:], pars[:] = initial[:, batch], parameters[:, batch]
        if len(times):
            output = integrator.propagate_grid(grid, max_steps=MAX_STEPS)[-1][-len(times) :]
            for columns in output:
                field.scale_unit_tokens(columns)
            record[filled[batch]] = output.transpose(2, 0, 1)
            good = _arrived(integrator, shortest)
        if not len(times) or good.all():
            integrator.propagate_until(end, max_steps=MAX_STEPS)
            good = _arrived(integrator, shortest)
        field.scale_unit_tokens(state)
        final[filled[batch]], finished[filled[batch]] = state.T, good


def _arrived(integrator: hy.taylor_adaptive_batch_dbl, shortest: float) -> np.ndarray:
    """Which lanes reached the time asked for, without steps that vanished: these may lead across a singularity."""
    limit = hy.taylor_outcome.time_limit
    return np.array([outcome == limit and least > shortest for outcome, least, _, _ in integrator.propagate_res])
