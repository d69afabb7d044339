"""Many orbits at once in double precision: the pair DOP853 on arrays of members, each with its own steps.

The tableau is SciPy's, and so is the control of errors and steps, applied to every member by itself: a member takes
(to rounding) the steps that `scipy.integrate.DOP853` takes with it alone. What is shared is the evaluation of the
right-hand side, once per stage for a pool of members. Members that end leave the pool and others take their place, so
that a member with many steps delays none of the others.

Flat states are columns: an array (dim, members) of doubles, whose rows are contiguous. All sums over stages and
components run along rows in a fixed order, so that a result depends neither on the order of the members nor on their
number, as long as that is so for the right-hand side.

What the right-hand side computes from parameters alone is computed once for a pool, and again when its members change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from enum import IntEnum
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from scipy.integrate import DOP853

from numeric.inputs import COMPLEX
from numeric.integrators.scipy_solver import STABILITY, STIFFNESS_TIMES, step_times_eigenvalue
from numeric.kernel import Argument, Kernel
from numeric.layout import Layout

#: A member is given up after this many tries of a step.
MAX_STEPS = 20_000

#: Doubles in the flat states of one pool: its stages and the temporary arrays of the right-hand side then fit into a
#: cache of 1 or 2 MB. Measured best for scalar states, and flat near the optimum.
POOL, SMALLEST_POOL = 8192, 64

STAGES = DOP853.n_stages
#: Stages, the rate at the new state, and the further stages of the dense output.
ROWS = len(DOP853.D[0])

#: The least and the largest factor between successive steps, and the safety factor, as in SciPy.
MIN_FACTOR, MAX_FACTOR, SAFETY = 0.2, 10.0, 0.9

TINY = float(np.finfo(float).tiny)

#: Stiffness is looked for in each member once in so many tries.
STIFFNESS_EVERY = 400


class End(IntEnum):
    """Why a member left the pool."""

    FINISHED = 0
    VANISHING_STEPS = 1
    TOO_MANY_STEPS = 2
    UNDEFINED_START = 3
    STIFF = 4


@dataclass(frozen=True)
class Ends:
    """The last good time, flat state (a row), its rate of change, and the reason to stop, for each member."""

    time: np.ndarray
    state: np.ndarray
    rate: np.ndarray
    reason: np.ndarray


class Members:
    """The members of an ensemble: their initial states and parameters, gathered on demand, and their rates.

    `states` and `parameters` are the arrays of the kernel's arguments, whose leading axes broadcast to `leading`; a
    member is a flat index into those axes.
    """

    def __init__(self, kernel: Kernel, leading: tuple[int, ...], states: Sequence[Any], parameters: Sequence[Any]):
        self.kernel, self.leading, self.count = kernel, leading, prod(leading)
        self._axes = leading or (1,)
        self.layout = _member_layout(kernel.state, states)
        self.parameter_layout = _member_layout(kernel.parameters, parameters)
        self.dim = self.layout.size
        shapes = self.layout.shapes.values()
        self._states = [np.broadcast_to(x, self._axes + shape) for x, shape in zip(states, shapes, strict=True)]
        # Parameters that all members have in common stay single: what depends on them alone is computed once for all.
        self._parameters = []
        for x, shape in zip(parameters, self.parameter_layout.shapes.values(), strict=True):
            common = np.size(x) == prod(shape)
            self._parameters.append(
                (common, np.reshape(x, shape)[()] if common else np.broadcast_to(x, self._axes + shape))
            )

    def initial(self, members: np.ndarray) -> np.ndarray:
        """Flat initial states as columns."""
        index = np.unravel_index(members, self._axes)
        flat = np.empty((self.dim, len(members)))
        _fill(self.layout, flat, [x[index] for x in self._states])
        return flat

    def rates(self, members: np.ndarray) -> Rates:
        """What the rates of change of some members are computed with."""
        return Rates(self, self._own_parameters(members))

    def _own_parameters(self, members: np.ndarray) -> list[np.ndarray | None]:
        """The parameters of some members (first axis); None for those that all have in common."""
        index = np.unravel_index(members, self._axes)
        return [None if common else x[index] for common, x in self._parameters]

    def flat_parameters(self, members: np.ndarray) -> np.ndarray:
        """The parameters of some members in the layout of `parameter_layout`, as columns."""
        flat = np.empty((self.parameter_layout.size, len(members)))
        _fill(self.parameter_layout, flat, self.with_common(self._own_parameters(members)))
        return flat

    def with_common(self, parameters: Sequence[np.ndarray | None]) -> list[Any]:
        """The parameters of some members, with those that all members have in common put in for None."""
        return [x if own is None else own for own, (_, x) in zip(parameters, self._parameters, strict=True)]

    def scale_unit_tokens(self, flat: np.ndarray) -> None:
        """Scale the unit tokens of flat states to unit length, in place."""
        for name in self.layout.unit_tokens:
            tokens = flat[self.layout.blocks[name]].reshape(*self.layout.shapes[name], -1)  # a view
            tokens /= np.sqrt((tokens * tokens).sum(axis=-2, keepdims=True))

    def arrays(self, flat: np.ndarray) -> list[np.ndarray]:
        """The arguments of the right-hand side, members first."""
        arrays = []
        count = flat.shape[1]
        for argument in self.kernel.state:
            block, shape = flat[self.layout.blocks[argument.name]], self.layout.shapes[argument.name]
            if argument.domain in COMPLEX:
                half = len(block) // 2
                array = np.empty((count, half), dtype=complex)
                array.real, array.imag = block[:half].T, block[half:].T
            else:
                array = np.ascontiguousarray(block.T)
            arrays.append(array.reshape((count, *shape)))
        return arrays


class Rates:
    """The right-hand side for some members, at their parameters (first axis; None for those in common).

    The field at these parameters is made when it is first needed, and serves all calls.
    """

    def __init__(self, members: Members, parameters: list[np.ndarray | None]):
        self.members, self.parameters = members, parameters

    @cached_property
    def _field(self) -> Callable[..., tuple[Any, ...]]:
        return self.members.kernel.field(*self.members.with_common(self.parameters))

    def __call__(self, flat: np.ndarray, out: np.ndarray) -> None:
        """The rates of change of flat states; NaN where the right-hand side is not defined."""
        try:
            _fill(self.members.layout, out, self._field(*self.members.arrays(flat)))
        except np.linalg.LinAlgError:
            # Some member has a singular matrix: find it by halving.
            half = flat.shape[1] // 2
            if not half:
                out[:] = np.nan
                return
            for part in (slice(half), slice(half, None)):
                self.take(np.arange(flat.shape[1])[part])(flat[:, part], out[:, part])

    def take(self, which: np.ndarray) -> Rates:
        return Rates(self.members, [None if x is None else x.take(which, axis=0) for x in self.parameters])

    def join(self, other: Rates) -> Rates:
        pairs = zip(self.parameters, other.parameters, strict=True)
        joined = [None if x is None or y is None else np.concatenate((x, y)) for x, y in pairs]
        return Rates(self.members, joined)


def _member_layout(arguments: Sequence[Argument], arrays: Sequence[Any]) -> Layout:
    """The layout of one member of arrays with leading axes."""
    pairs = zip(arguments, arrays, strict=True)
    return Layout(arguments, {a.name: np.empty(np.shape(x)[np.ndim(x) - len(a.shape) :]) for a, x in pairs})


def _fill(layout: Layout, flat: np.ndarray, arrays: Sequence[Any]) -> None:
    """Write named arrays (members first, or the same for all) into flat columns."""
    for argument, array in zip(layout.arguments, arrays, strict=True):
        block, shape = flat[layout.blocks[argument.name]], layout.shapes[argument.name]
        parts = (array.real, array.imag) if argument.domain in COMPLEX else (array,)
        size = len(block) // len(parts)
        for k, part in enumerate(parts):
            # A view: the transpose of the block with its last axis split.
            block[k * size : (k + 1) * size].T.reshape((flat.shape[1], *shape))[...] = part


@dataclass
class Pool:
    """The members under way: one column each. `slot` is their place in the results, `due` the next output time, and
    `stiff` how many times in a row they were found stiff."""

    rates: Rates
    slot: np.ndarray
    state: np.ndarray
    rate: np.ndarray
    time: np.ndarray
    end: np.ndarray
    step: np.ndarray
    tries: np.ndarray
    rejected: np.ndarray
    due: np.ndarray
    stiff: np.ndarray

    @property
    def columns(self) -> list[Any]:
        """Everything whose last axis is the member."""
        return [getattr(self, field.name) for field in fields(self)[1:]]

    def take(self, which: np.ndarray) -> Pool:
        # Several times as fast as x[..., which].
        return Pool(self.rates.take(which), *(x.take(which, axis=-1) for x in self.columns))

    def join(self, other: Pool) -> Pool:
        pairs = zip(self.columns, other.columns, strict=True)
        return Pool(self.rates.join(other.rates), *(np.concatenate(pair, axis=-1) for pair in pairs))


class Run:
    """One integration of some members, each from `start` to its own end.

    The flat states at `times` are written to `record`, an array (members, times, dim), as far as they are reached.
    """

    def __init__(
        self,
        field: Members,
        members: np.ndarray,
        start: float,
        end: np.ndarray,
        rtol: float,
        atol: float,
        times: np.ndarray,
        record: np.ndarray,
    ):
        self.field, self.members, self.start, self.end = field, members, start, end
        # Never 0: a component that is and stays 0 would have no scale.
        self.rtol, self.atol = rtol, max(atol, TINY)
        self.times, self.record = times, record
        states = np.empty((len(members), field.dim)), np.empty((len(members), field.dim))
        self.ends = Ends(np.full(len(members), start), *states, np.empty(len(members), dtype=np.int8))

    def ends_of_all(self) -> Ends:
        """Integrate."""
        count, dim = len(self.members), self.field.dim
        width = max(POOL // dim, SMALLEST_POOL)
        buffer = np.empty(ROWS * dim * (width + 1))
        with np.errstate(all="ignore"):
            admitted = min(count, width)
            pool = self._admit(np.arange(admitted))
            while admitted < count or len(pool.slot):
                # In bulk: the first steps of new members cost two more evaluations.
                if admitted < count and len(pool.slot) <= width - width // 16:
                    upto = min(count, admitted + width - len(pool.slot))
                    pool = pool.join(self._admit(np.arange(admitted, upto)))
                    admitted = upto
                    continue
                if len(pool.slot) == 1:
                    # NumPy adds up single columns in another order; two copies of the last member keep it.
                    pool = pool.take(np.zeros(2, dtype=int))
                size = len(pool.slot)
                pool = self._advance(pool, buffer[: ROWS * dim * size].reshape(ROWS, dim, size))
        return self.ends

    def _admit(self, slots: np.ndarray) -> Pool:
        """New members with their first steps; those without a finite rate end here."""
        members = self.members[slots]
        state, rates = self.field.initial(members), self.field.rates(members)
        rate = np.empty_like(state)
        rates(state, rate)
        reached = int(np.searchsorted(self.times, self.start, side="right"))
        self.record[slots, :reached] = state.T[:, None]
        step = self._first_step(state, rate, rates, self.end[slots] - self.start)
        tries, stiff, due = *np.zeros((2, len(slots)), dtype=int), np.full(len(slots), reached)
        time, rejected = np.full(len(slots), self.start), np.zeros(len(slots), dtype=bool)
        pool = Pool(rates, slots, state, rate, time, self.end[slots], step, tries, rejected, due, stiff)
        undefined = ~np.isfinite(rate).all(axis=0)
        return self._retire(pool, undefined, np.full(len(slots), End.UNDEFINED_START)) if undefined.any() else pool

    def _first_step(self, state: np.ndarray, rate: np.ndarray, rates: Rates, span: np.ndarray) -> np.ndarray:
        """The starting step of Hairer, Nørsett and Wanner (Solving Ordinary Differential Equations I, II.4)."""
        scale = self.atol + self.rtol * np.abs(state)
        d0, d1 = _norm(state / scale), _norm(rate / scale)
        h0 = np.minimum(np.where((d0 < 1e-5) | (d1 < 1e-5), 1e-6, 0.01 * d0 / d1), span)
        ahead = np.empty_like(state)
        rates(state + h0 * rate, ahead)
        d2 = _norm((ahead - rate) / scale) / h0
        h1 = np.where(
            (d1 <= 1e-15) & (d2 <= 1e-15),
            np.maximum(1e-6, h0 * 1e-3),
            (0.01 / np.maximum(d1, d2)) ** (1 / (DOP853.error_estimator_order + 1)),
        )
        # Of a number and NaN the number: a rate that is not finite there is left to the error control.
        return np.fmin(np.fmin(100 * h0, h1), span)

    def _advance(self, pool: Pool, stages: np.ndarray) -> Pool:
        """Try one step with every member, and let those go that end with it."""
        field, rates = self.field, pool.rates
        least = 10 * np.spacing(np.abs(pool.time))
        ahead = pool.time + np.maximum(pool.step, least)
        arrives = ahead >= pool.end
        time = np.where(arrives, pool.end, ahead)
        step = time - pool.time

        stages[0] = pool.rate
        for s in range(1, STAGES):
            rates(_ahead(pool.state, step, DOP853.A[s, :s], stages), stages[s])
        state = _ahead(pool.state, step, DOP853.B, stages)
        rates(state, stages[STAGES])

        scale = self.atol + self.rtol * np.maximum(np.abs(pool.state), np.abs(state))
        fifth = _sum_of_squares(_combine(DOP853.E5, stages) / scale)
        third = _sum_of_squares(_combine(DOP853.E3, stages) / scale)
        error = step * fifth / np.sqrt(np.maximum(fifth + 0.01 * third, TINY) * field.dim)
        accepted = error < 1
        factor = SAFETY * error ** (-1 / (DOP853.error_estimator_order + 1))
        # Of a number and NaN the number: steps to where nothing is defined become as short as they may.
        grown = np.fmin(factor, np.where(pool.rejected, 1.0, MAX_FACTOR))
        factor = np.where(accepted, grown, np.fmax(factor, MIN_FACTOR))

        if len(self.times):
            wanted = accepted & (pool.due < len(self.times))
            wanted[wanted] = self.times[pool.due[wanted]] <= time[wanted]
            if wanted.any():
                self._interpolate(pool, np.flatnonzero(wanted), stages, step, time, state)
        if field.layout.unit_tokens:
            # The exact solution keeps unit length: this moves a token by no more than its error.
            field.scale_unit_tokens(state)
            rates(state, stages[STAGES])
        np.copyto(pool.state, state, where=accepted)
        np.copyto(pool.rate, stages[STAGES], where=accepted)
        np.copyto(pool.time, time, where=accepted)
        pool.step = step * factor
        pool.tries += 1
        pool.rejected = ~accepted
        tested = np.flatnonzero(pool.tries % STIFFNESS_EVERY == 0)
        if len(tested):
            found = step_times_eigenvalue(stages[: STAGES + 1].take(tested, axis=-1)) > STABILITY
            pool.stiff[tested] = np.where(found, pool.stiff[tested] + 1, 0)

        finished, vanished = accepted & arrives, ~accepted & (pool.step < least)
        gone = finished | vanished | (pool.tries >= MAX_STEPS)
        if not gone.any():
            return pool
        too_many = np.where(pool.stiff >= STIFFNESS_TIMES, End.STIFF, End.TOO_MANY_STEPS)
        reason = np.where(finished, End.FINISHED, np.where(vanished, End.VANISHING_STEPS, too_many))
        return self._retire(pool, gone, reason)

    def _interpolate(
        self,
        pool: Pool,
        which: np.ndarray,
        stages: np.ndarray,
        step: np.ndarray,
        time: np.ndarray,
        state: np.ndarray,
    ) -> None:
        """The states of some members at the output times within their steps: the dense output of DOP853, of order 7."""
        # Two copies of a single one, for the reason given in `ends_of_all`.
        which = np.repeat(which, 2) if len(which) == 1 else which
        old, h, before, after = pool.state.take(which, axis=-1), step[which], pool.time[which], time[which]
        rows = stages.take(which, axis=-1)
        rates = pool.rates.take(which)
        for s, weights in enumerate(DOP853.A_EXTRA, start=STAGES + 1):
            rates(_ahead(old, h, weights[:s], rows), rows[s])
        change = state.take(which, axis=-1) - old
        first, last = h * rows[0], h * rows[STAGES]
        terms = [change, first - change, 2 * change - last - first, *(h * _combine(row, rows) for row in DOP853.D)]
        due, times = pool.due[which], np.append(self.times, np.inf)
        while (pending := times[due] <= after).any():
            x = (times[due] - before) / h
            value = np.zeros_like(old)
            for k, term in enumerate(reversed(terms)):
                value = (value + term) * (x if k % 2 == 0 else 1 - x)
            value += old
            self.field.scale_unit_tokens(value)
            self.record[pool.slot[which][pending], due[pending]] = value.T[pending]
            due += pending
        pool.due[which] = due

    def _retire(self, pool: Pool, gone: np.ndarray, reason: np.ndarray) -> Pool:
        """Write down how some members ended, and return the others."""
        slots = pool.slot[gone]
        self.ends.time[slots], self.ends.reason[slots] = pool.time[gone], reason[gone]
        self.ends.state[slots], self.ends.rate[slots] = pool.state[:, gone].T, pool.rate[:, gone].T
        return pool.take(np.flatnonzero(~gone))


def _combine(weights: np.ndarray, stages: np.ndarray) -> np.ndarray:
    """The sum of the first stages with these weights."""
    return np.einsum("s,sm->m", weights, stages[: len(weights)].reshape(len(weights), -1)).reshape(stages.shape[1:])


def _ahead(state: np.ndarray, step: np.ndarray, weights: np.ndarray, stages: np.ndarray) -> np.ndarray:
    """Where a step leads along that sum, computed in its place."""
    ahead = _combine(weights, stages)
    ahead *= step
    ahead += state
    return ahead


def _sum_of_squares(columns: np.ndarray) -> np.ndarray:
    return (columns * columns).sum(axis=0)


def _norm(columns: np.ndarray) -> np.ndarray:
    return np.sqrt(_sum_of_squares(columns) / len(columns))
