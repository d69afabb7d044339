"""What an integration returns: times, named states, events, an outcome, and the states in between."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import mpmath
import numpy as np

from numeric.exact import as_nested, to_real
from numeric.layout import Layout
from numeric.outcome import Outcome


@dataclass(eq=False)
class Piece:
    """The solution on [start, end]: `evaluate` gives the flat state at any time there, `final` that at the end."""

    start: Any
    end: Any
    evaluate: Callable[[Any], np.ndarray]
    final: np.ndarray


@dataclass(eq=False)
class Solution:
    """All that an integrator found, in terms of flat states.

    `events` holds for each event function its (time, flat state) pairs; `precision` is the working precision in bits,
    None for doubles; `error` the estimated error of the final state, None where there is no estimate.
    """

    layout: Layout
    start: Any
    initial: np.ndarray
    pieces: Sequence[Piece]
    events: Sequence[Sequence[tuple[Any, np.ndarray]]]
    outcome: Outcome
    precision: int | None
    error: Any = None

    @property
    def end(self) -> Any:
        return self.pieces[-1].end if self.pieces else self.start

    @property
    def final(self) -> np.ndarray:
        return self.pieces[-1].final if self.pieces else self.initial

    def rows(self, times: Sequence[Any]) -> Sequence[np.ndarray]:
        """The flat states at increasing times."""
        return [self.flat(time) for time in times]

    def table(self, times: Sequence[Any] | None) -> tuple[np.ndarray, dict[str, Any]]:
        """The times as far as they were reached, by default those of the steps, and the named states there."""
        with nullcontext() if self.precision is None else mpmath.workprec(self.precision):
            if times is None:
                times = [self.start, *(piece.end for piece in self.pieces)]
                rows: Sequence[np.ndarray] = [self.initial, *(piece.final for piece in self.pieces)]
            else:
                times = [time for time in times if time <= self.end]
                rows = self.rows(times)
            return np.array(times, dtype=self.initial.dtype), self.layout.unflatten(self.stack(rows))

    def flat(self, time: Any) -> np.ndarray:
        """The flat state at one time."""
        if not self.start <= time <= self.end:
            raise ValueError(f"t: {time} lies outside the trajectory; expected {self.start} <= t <= {self.end}")
        if time == self.start:
            return self.initial
        piece = self.pieces[bisect_left(self.pieces, time, key=lambda piece: piece.end)]
        return piece.final if time == piece.end else piece.evaluate(time)

    def at(self, times: Any) -> dict[str, Any]:
        """The named states at one time, or at a sequence of times (first axis)."""
        if self.precision is None:
            return self._at(float, times)
        with mpmath.workprec(self.precision):
            return self._at(to_real, times)

    def _at(self, convert: Callable[[Any], Any], times: Any) -> dict[str, Any]:
        times = as_nested(times)
        if isinstance(times, list | tuple):
            return self.layout.unflatten(self.stack([self.flat(convert(t)) for t in times]))
        return self.named(self.flat(convert(times)))

    def named(self, flat: np.ndarray) -> dict[str, Any]:
        """The named states of a flat one, as copies that their owner may change."""
        if self.precision is None:
            return self._named(flat)
        with mpmath.workprec(self.precision):
            return self._named(flat)

    def _named(self, flat: np.ndarray) -> dict[str, Any]:
        return dict(zip(self.layout.shapes, self.layout.unpack(flat.copy()), strict=True))

    def stack(self, rows: Sequence[np.ndarray]) -> np.ndarray:
        """Flat states as the rows of one array, which has the right shape for no rows too."""
        return np.array(rows, dtype=self.initial.dtype).reshape(len(rows), len(self.initial))


class Trajectory:
    """A solution of a kernel's equations.

    Attributes
    ----------
    times
        The times asked for (`t_eval`) as far as they were reached, or those of the integrator's own steps.
    states
        Name -> array whose first axis is time; `trajectory["Sigma"]` is short for `trajectory.states["Sigma"]`.
    final
        Name -> array at the last time that was reached.
    outcome
        How it ended; `str(outcome)` is a sentence (see `numeric.outcome`).
    events
        For each event function the list of its occurrences (time, states).
    error
        With `digits`: the estimated error of the final state, relative to the size of the whole state (its largest
        entry over the last step); infinite when there is no estimate, because this run or one that measures it gave up,
        or because errors far below 10^-digits decide how it ends. None in double precision, where only local errors are
        controlled.
    route
        The name of the kernel that was integrated: the one given, or that of an exact route (`numeric.exact_routes`).
    method
        What integrated it: "DOP853", "heyoka", or "Taylor series" for many digits.
    """

    def __init__(self, solution: Solution, route: str, method: str, wanted: Sequence[Any] | None):
        self._solution, self.route, self.method, self._wanted = solution, route, method, wanted

    @property
    def outcome(self) -> Outcome:
        return self._solution.outcome

    @property
    def error(self) -> Any:
        return self._solution.error

    @cached_property
    def final(self) -> Mapping[str, Any]:
        return self._solution.named(self._solution.final)

    @cached_property
    def events(self) -> list[list[tuple[Any, dict[str, Any]]]]:
        return [[(time, self._solution.named(flat)) for time, flat in found] for found in self._solution.events]

    @cached_property
    def _table(self) -> tuple[np.ndarray, Mapping[str, Any]]:
        return self._solution.table(self._wanted)

    @property
    def times(self) -> np.ndarray:
        return self._table[0]

    @property
    def states(self) -> Mapping[str, Any]:
        return self._table[1]

    def __getitem__(self, name: str) -> Any:
        return self.states[name]

    def at(self, t: Any) -> dict[str, Any]:
        """The states at a time, or at a sequence of times (then the first axis is time), by dense output.

        With `digits`, times may be exact ("1/3"), and the states are as accurate as those at the steps.

        Raises
        ------
        ValueError
            When a time lies outside the trajectory.
        """
        return self._solution.at(t)

    def __repr__(self) -> str:
        names, count = ", ".join(self.states), len(self.times)
        return f"<Trajectory of {names} at {count} times, by {self.method} on {self.route}: {self.outcome}>"
