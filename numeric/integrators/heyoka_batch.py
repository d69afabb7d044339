"""Many orbits at once, compiled: a step of Taylor's method is one function, which heyoka runs on arrays of members.

The function takes a state and the time that is left, and returns the state after one step and the time left then. It
is compiled from the kernel's own recurrence, runs on the processor's vectors and on all processors, and knows nothing
of other members: each has its own steps, and none waits for another. Those that end are replaced in bulk. (heyoka's
integrator for batches runs until the last of its few members arrives, which takes almost twice as many steps.)

Members that did not reach the end for whatever reason are integrated by `numeric.integrators.vectorised`, which finds
out what happened to them.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from functools import reduce
from itertools import chain

import heyoka as hy
import numpy as np

from numeric.backends.heyoka import system, taylor_coefficients
from numeric.integrators.heyoka_solver import FEWEST_ULPS, needs_compact_mode
from numeric.integrators.idle import Idle
from numeric.integrators.vectorised import End, Ends, Members, Run
from numeric.kernel import Kernel

#: Twice the width of the vectors: the processor overlaps two of them.
LANES = 2 * hy.recommended_simd_size()

#: Doubles that the members under way take: what steps start from and return, and parameters. These 2 MB are shared by
#: the processors. Measured best for scalar states, and flat near the optimum.
POOL = 2**18

#: New members enter when this part of the others has ended, as gathering their values costs the most when they are few.
VACANT = 1 / 8

#: Steps after which the other integrator takes over. Towards a blow-up some 300 are taken.
MAX_STEPS = 2000

#: States larger than this count as infinite.
LARGEST_STATE = 1e300

#: What is left of the time after a step that failed.
FAILED = -1.0


@dataclass(frozen=True)
class Compiled:
    """What is compiled: a step, (state, time left; parameters) -> (state, time left or FAILED), and for times within
    steps a polynomial, (Taylor coefficients 0, 1, ... of the state, time since the step began) -> state. The step then
    returns these coefficients too.
    """

    step: hy.cfunc_dbl
    polynomial: hy.cfunc_dbl | None


#: Compiled steps, each for one kernel, shapes and tolerance. In compact mode they have memory of their own, which two
#: threads must not share.
idle: Idle[Compiled] = Idle(kept=16)


def ends_of_all(
    field: Members, start: float, end: float, rtol: float, atol: float, times: np.ndarray, record: np.ndarray
) -> Ends:
    """Integrate all members, as `numeric.integrators.vectorised.Run` does; the rates of finished ones are left out.

    The tolerance is the smaller of rtol and atol, as in `numeric.integrators.heyoka_solver`.
    """
    count = field.count
    states = np.full((count, field.dim), np.nan), np.full((count, field.dim), np.nan)
    ends = Ends(np.full(count, end), *states, np.full(count, End.FINISHED, dtype=np.int8))
    kernel, shapes = field.kernel, field.layout.shapes | field.parameter_layout.shapes
    tolerance, dense = max(min(rtol, atol), sys.float_info.epsilon), len(times) > 0
    key = (kernel.digest or kernel.series, tolerance, dense, *shapes.values())
    with idle.borrowed(key, lambda: _compile(kernel, shapes, tolerance, dense)) as compiled:
        finished = Pool(compiled, field, start, end, times, ends.state, record).run()
    field.scale_unit_tokens(ends.state.T)
    for k in range(len(times)):
        field.scale_unit_tokens(record[:, k].T)
    rest = np.flatnonzero(~finished)
    if len(rest):
        own = np.full((len(rest), *record.shape[1:]), np.nan)
        others = Run(field, rest, start, np.full(len(rest), end), rtol, atol, times, own).ends_of_all()
        ends.time[rest], ends.reason[rest], record[rest] = others.time, others.reason, own
        ends.state[rest], ends.rate[rest] = others.state, others.rate
    return ends


def _compile(kernel: Kernel, shapes: dict[str, tuple[int, ...]], tolerance: float, dense: bool) -> Compiled:
    """The order and the length of a step are those of Jorba and Zou (A software package for the numerical integration
    of ODEs by means of high-order Taylor methods, Experimental Mathematics 14, 2005), as in heyoka's integrators: the
    last two terms estimate the radius of convergence rho, and a step is rho / e^2, with a safety factor. It ends where
    the time does. The state after it is checked to be finite.
    """
    order = max(2, math.ceil(1 - math.log(tolerance) / 2))
    variables, coefficients = taylor_coefficients(kernel, shapes, order)
    left = hy.expression("left")
    scale = _largest([hy.expression(1.0), *map(_size, variables)])
    radii = [hy.exp(hy.log(scale / _largest(list(map(_size, coefficients[k])))) / float(k)) for k in (order - 1, order)]
    # A member that failed stays where it is: what is left is negative then.
    step = _largest([_smaller(_smaller(*radii) * math.exp(-2 - 0.7 / (order - 1)), left), hy.expression(0.0)])
    state = _sums(coefficients, step)
    finite = hy.lt(hy.sum(list(map(_size, state))), hy.expression(LARGEST_STATE))
    rest = hy.select(finite, left - step, hy.expression(FAILED))
    compact = needs_compact_mode(system(kernel, shapes))
    if not dense:
        return Compiled(hy.cfunc([*state, rest], [*variables, left], batch_size=LANES, compact_mode=compact), None)
    terms = [[hy.expression(f"c{k}_{i}") for i in range(len(variables))] for k in range(order + 1)]
    time = hy.expression("time")
    return Compiled(
        hy.cfunc([*state, rest, *chain(*coefficients)], [*variables, left], batch_size=LANES, compact_mode=compact),
        hy.cfunc(_sums(terms, time), [*chain(*terms), time], batch_size=LANES, compact_mode=compact),
    )


def _sums(coefficients: list[list[hy.expression]], time: hy.expression) -> list[hy.expression]:
    """The Taylor polynomials, by Horner's rule."""
    return [reduce(lambda value, term: value * time + term, terms[::-1]) for terms in zip(*coefficients, strict=True)]


def _size(x: hy.expression) -> hy.expression:
    return hy.select(hy.lt(x, 0.0), -x, x)


def _smaller(a: hy.expression, b: hy.expression) -> hy.expression:
    return hy.select(hy.lt(a, b), a, b)


def _largest(values: list[hy.expression]) -> hy.expression:
    return reduce(lambda a, b: hy.select(hy.gt(a, b), a, b), values)


class Pool:
    """The members under way, one in each column; `slot` says which. Below their states, in row `dim`, is what is left
    of the time: positive on the way, zero for members that arrived, and FAILED for those that do not.

    Columns come in multiples of LANES, so that all are computed alike; where members are too few for that, some are
    there twice, which does no harm.
    """

    def __init__(
        self,
        compiled: Compiled,
        field: Members,
        start: float,
        end: float,
        times: np.ndarray,
        final: np.ndarray,
        record: np.ndarray,
    ):
        self.step, self.polynomial = compiled.step, compiled.polynomial
        self.field, self.span, self.final, self.record = field, end - start, final, record
        self.dim = field.dim
        self.outputs = np.append(end - times, -np.inf)  # what is left at the output times; then nothing is due
        self.shortest = FEWEST_ULPS * math.ulp(max(abs(start), abs(end)))
        self.arrived = np.zeros(field.count, dtype=bool)
        self.admitted = self.steps = 0
        # All columns are vacant at first.
        width = min(field.count, max(POOL // (2 * self.step.nouts + self.step.nparams), 1))
        self.slot = _whole_vectors(np.zeros(width, dtype=int))
        self.now = np.full((self.step.nouts, len(self.slot)), FAILED)
        self.after = np.empty_like(self.now)
        self.parameters = np.empty((self.step.nparams, len(self.slot)))
        self.since, self.due = np.zeros_like(self.slot), np.zeros_like(self.slot)

    def run(self) -> np.ndarray:
        """Integrate, and say who arrived."""
        self._replace(np.arange(len(self.slot)))
        while len(self.slot):
            self._advance()
            ended = np.flatnonzero(self.now[self.dim] <= 0)
            if len(ended) >= VACANT * len(self.slot):
                self._replace(ended)
        return self.arrived

    def _replace(self, ended: np.ndarray) -> None:
        """Write down the final states of members that ended, and give their columns to others, or up."""
        dim = self.dim
        good = ended[self.now[dim, ended] == 0]
        slots = self.slot[good]
        self.final[slots], self.arrived[slots] = self.now[:dim, good].T, True
        members = np.arange(self.admitted, min(self.admitted + len(ended), self.field.count))
        self.admitted += len(members)
        columns = ended[: len(members)]
        self.slot[columns], self.since[columns], self.due[columns] = members, self.steps, 0
        self.now[:dim, columns], self.now[dim, columns] = self.field.initial(members), self.span
        self.parameters[:, columns] = self.field.flat_parameters(members)[: len(self.parameters)]
        if len(members) < len(ended):
            which = _whole_vectors(np.flatnonzero(self.now[dim] > 0))
            self.slot, self.since, self.due = self.slot[which], self.since[which], self.due[which]
            self.now, self.parameters = self.now.take(which, axis=1), self.parameters.take(which, axis=1)
            self.after = np.empty_like(self.now)

    def _advance(self) -> None:
        """One step of all members."""
        parameters = {"pars": self.parameters} if len(self.parameters) else {}
        self.step(self.now[: self.dim + 1], outputs=self.after, **parameters)
        self.steps += 1
        left, length = self.after[self.dim], self.now[self.dim] - self.after[self.dim]
        # Steps that vanish may lead across a singularity.
        left[(left > 0) & ((length < self.shortest) | (self.steps - self.since >= MAX_STEPS))] = FAILED
        if self.polynomial is not None:
            self._record(self.polynomial)
        self.now, self.after = self.after, self.now

    def _record(self, polynomial: hy.cfunc_dbl) -> None:
        """The states at the output times within the last step."""
        series, before, left = self.after[self.dim + 1 :], self.now[self.dim], self.after[self.dim]
        until = np.searchsorted(-self.outputs, -left, side="right")
        counts = np.where(left >= 0, until - self.due, 0)
        # Pairs of a column and a time, as many at a time as fit into the cache.
        columns = np.repeat(np.arange(len(counts)), counts)
        due = np.arange(len(columns)) + np.repeat(self.due - np.cumsum(counts) + counts, counts)
        size = max(POOL // (polynomial.nvars + self.dim) // LANES, 1) * LANES
        for first in range(0, len(columns), size):
            pairs = _whole_vectors(np.arange(first, min(first + size, len(columns))))
            column, output = columns[pairs], due[pairs]
            inputs, found = np.empty((polynomial.nvars, len(pairs))), np.empty((self.dim, len(pairs)))
            series.take(column, axis=1, out=inputs[:-1], mode="clip")  # other modes make a copy
            inputs[-1] = before[column] - self.outputs[output]
            polynomial(inputs, outputs=found)
            self.record[self.slot[column], output] = found.T
        self.due += counts


def _whole_vectors(columns: np.ndarray) -> np.ndarray:
    """Some columns, the first ones repeated until their number is a multiple of LANES."""
    return np.resize(columns, math.ceil(len(columns) / LANES) * LANES)
