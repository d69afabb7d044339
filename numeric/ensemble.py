"""Many orbits at once: ensembles of initial states and parameters, each member with an outcome of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
import psutil

from numeric.inputs import check_time_span, check_times, check_tolerances, check_values
from numeric.integrators.vanishing_steps import CLEAR_OF_ERROR, COARSER, COARSEST, GROWTH, growth_time, power
from numeric.integrators.vectorised import MAX_STEPS, End, Members, Run
from numeric.kernel import Kernel
from numeric.outcome import BlewUp, Finished, Outcome, StepLimit

#: Bytes per member besides its states: times, brackets, reasons, and what is needed to find them.
OVERHEAD = 100

REASONS = {
    End.VANISHING_STEPS: "the steps became too small to change the time, but the state does not grow fast "
    "enough for a blow-up: the right-hand side is singular there or too large for doubles",
    End.TOO_MANY_STEPS: f"the end of the time span was not reached in {MAX_STEPS} steps",
    End.STIFF: "the equations are stiff there. Stability, not accuracy, keeps the steps so short that the end of the "
    f"time span was not reached in {MAX_STEPS}; use a shorter time span, or an implicit solver on the kernel's "
    "right-hand side",
    End.UNDEFINED_START: "the right-hand side is not finite at the initial state",
}


@dataclass(frozen=True)
class Problem:
    """What was integrated, kept for the outcomes that are worked out on demand."""

    members: Members
    start: float
    end: float
    rtol: float
    atol: float

    def run(
        self, members: np.ndarray, end: Any, coarser: float = 1.0, times: Any = (), record: np.ndarray | None = None
    ) -> Run:
        """The integration of some members up to a time, or to times of their own."""
        end = np.broadcast_to(end, members.shape)
        rtol = self.rtol if coarser == 1 else min(coarser * self.rtol, COARSEST)
        record = np.empty((len(members), 0, self.members.dim)) if record is None else record
        return Run(self.members, members, self.start, end, rtol, coarser * self.atol, np.array(times), record)


@dataclass(frozen=True)
class Ensemble:
    """The solutions of many members. All arrays begin with the leading axes of the ensemble.

    Attributes
    ----------
    times
        The times asked for (`t_eval`).
    states
        Name -> array whose axes are the leading ones, time, and those of the state; `ensemble["R"]` is short for
        `ensemble.states["R"]`. Times that a member did not reach hold NaN (`reached` tells them).
    final
        Name -> array of the last good states: at the end of the time span, or at the times `reached`.
    reached
        The last time up to which each member was integrated.
    finished, blew_up
        Which members reached the end, and which left every bound before. Those that are neither were given up, for
        reasons that `outcome` states.
    bracket
        Lower and upper end (last axis) of an interval around the time of blow-up; NaN for members without.
    method
        What integrated them: "DOP853" on arrays of members, or "heyoka", which leaves members that come near a
        singularity to DOP853.
    """

    times: np.ndarray
    states: Mapping[str, Any]
    final: Mapping[str, Any]
    reached: Any
    finished: Any
    blew_up: Any
    bracket: np.ndarray
    method: str
    _reason: Any = field(repr=False)
    _problem: Problem = field(repr=False)

    def __getitem__(self, name: str) -> Any:
        return self.states[name]

    def outcome(self, index: int | tuple[int, ...] = ()) -> Outcome:
        """How one member ended, as `integrate` would say it; the index counts along the leading axes.

        The power of a blow-up is found here: two more integrations of that member.
        """
        leading = self._problem.members.leading
        index = index if isinstance(index, tuple) else (index,)
        if len(index) != len(leading):
            raise ValueError(f"index: {index} does not name a member; expected {len(leading)} integers, as the leading "
                             f"axes are {leading}")  # fmt: skip
        time = float(np.asarray(self.reached)[index])
        if np.asarray(self.finished)[index]:
            return Finished(time)
        if not np.asarray(self.blew_up)[index]:
            return StepLimit(time, REASONS[End(int(np.asarray(self._reason)[index]))])
        low, high = (float(end) for end in self.bracket[index])
        return self._blow_up(np.arange(prod(leading)).reshape(leading)[index], low, high)

    def _blow_up(self, member: int, low: float, high: float) -> BlewUp:
        problem, time = self._problem, (low + high) / 2
        distance = CLEAR_OF_ERROR * (high - low) / 2
        history = []
        for before in (time - 10 * distance, time - distance):
            if before > problem.start:
                ends = problem.run(np.array([member]), before).ends_of_all()
                history.append((float(ends.time[0]), ends.state[0], ends.rate[0]))
        name, block = problem.members.layout.largest(problem.run(np.array([member]), low).ends_of_all().state[0])
        exponent, rate = power(history, block, time, distance) if len(history) == 2 else (None, None)
        return BlewUp(name, (low, high), rate, exponent, "" if exponent else "not recognised as a power of t* - t")

    def __repr__(self) -> str:
        count, finished, blew_up = np.size(self.reached), int(np.sum(self.finished)), int(np.sum(self.blew_up))
        names, leading = ", ".join(self.final), self._problem.members.leading
        return (
            f"<Ensemble of {names} with leading axes {leading}, by {self.method}: of {count} members "
            f"{finished} finished, {blew_up} blew up, {count - finished - blew_up} were given up>"
        )


def integrate_ensemble(
    kernel: Kernel,
    initial: Mapping[str, Any],
    t_span: tuple[Any, Any],
    parameters: Mapping[str, Any],
    *,
    rtol: float = 1e-10,
    atol: float = 1e-12,
    t_eval: Sequence[Any] = (),
    normalize: bool = False,
) -> Ensemble:
    """Solve z' = F(z; parameters), z(t_span[0]) = initial, for many initial states and parameters in one call.

    In double precision by the pair DOP853 on arrays of members (`numeric.integrators.vectorised`). Steps and errors
    are controlled for each member by itself, as `integrate` does it, and the results agree with it to the tolerances.
    The cost is that of the kernel's array code, some hundred times less per orbit than one by one. Kernels of the
    backend "heyoka" run in machine code, several members in one vector and on all processors
    (`numeric.integrators.heyoka_batch`): some twenty times faster again for small systems. Compiling takes a fraction
    of a second for those, and several seconds for moments in dimension 6, once for each kernel, shapes and tolerance.

    Parameters
    ----------
    kernel
        From `compile_kernel` or `load_kernel`, of the backend "numpy" or "heyoka" (or "auto", which chooses).
    initial, parameters
        Name -> value, as for `integrate`, with leading axes that broadcast against each other: R of shape (5, 1) and
        beta of shape (7,) make an ensemble (5, 7). What depends on parameters without leading axes alone is computed
        once for all members.
    t_span
        Start and end, start < end.
    rtol, atol
        Relative (at least 1e-13) and absolute tolerance of the local errors of each member.
    t_eval
        Increasing times at which states are wanted.
    normalize
        Scale tokens on the sphere to unit length first, instead of refusing those that are not.

    Returns
    -------
    Ensemble
        A member that blows up (`blew_up`, with a bracket of the time) or that is given up keeps its last good state,
        and disturbs no other; `outcome(index)` is its sentence. Two further integrations of the members that blow up,
        one with coarser tolerances, find the brackets.

    Raises
    ------
    ValueError
        For inputs that do not fit, as for `integrate`; the message names the index of a member outside its domain.
        Also when the result would not fit into the memory available: it says how many members would.

    Examples
    --------
    >>> from numeric.kernel import Argument, Kernel
    >>> growth = Kernel("growth", "numpy", "", (Argument("x", (), "real"),), (), lambda: lambda x: (x * x,), None)
    >>> ensemble = integrate_ensemble(growth, {"x": [0.5, 1, 4]}, (0, 0.5), {})
    >>> ensemble.finished, ensemble.final["x"][:2].round(8)
    (array([ True,  True, False]), array([0.66666667, 2.        ]))
    >>> print(ensemble.outcome(2))    # doctest: +ELLIPSIS
    blew up between t = 0.2499999... and t = 0.250000... (|x| (t* - t) -> 1.0)
    """
    if kernel.backend in ("gmpy2", "mpmath"):
        raise ValueError(f"kernel: its backend is '{kernel.backend}'; expected 'numpy', as ensembles are in doubles")
    rtol, atol = check_tolerances(rtol, atol)
    groups = ("initial", kernel.state, initial), ("parameters", kernel.parameters, parameters)
    state, values = check_values(*groups, batch=True, normalize=normalize)
    start, end = check_time_span(t_span)
    times = np.array(check_times(t_eval, (start, end)))
    arguments = zip((*kernel.state, *kernel.parameters), (*state.values(), *values.values()), strict=True)
    leading = np.broadcast_shapes(*(np.shape(x)[: np.ndim(x) - len(argument.shape)] for argument, x in arguments))
    members = Members(kernel, leading, tuple(state.values()), tuple(values.values()))
    _check_memory(members.count, members.dim, len(times))
    return _integrate(Problem(members, start, end, rtol, atol), times)


def _check_memory(count: int, dim: int, times: int) -> None:
    """Refuse what does not fit, before anything is allocated."""
    # Flat states, rates and output, and the named arrays made of them.
    each = 8 * dim * (3 + 2 * times) + OVERHEAD
    available = psutil.virtual_memory().available
    if count * each > available:
        fewer = " or ask for fewer times" if times else ""
        raise ValueError(
            f"initial, parameters: {count:.3g} members with {times} output times need about {_bytes(count * each)}, "
            f"{_bytes(available)} are available; integrate at most {available // each:.1g} members at a time{fewer}"
        )


def _bytes(number: float) -> str:
    """A size in decimal units.

    >>> _bytes(3.2e12), _bytes(4.5e6)
    ('3.2 TB', '4.5 MB')
    """
    units = ["B", "kB", "MB", "GB", "TB"]
    while number >= 1000 and len(units) > 1:
        number, units = number / 1000, units[1:]
    return f"{number:.3g} {units[0]}"


def _is_compiled(members: Members) -> bool:
    if members.kernel.backend != "heyoka":
        return False
    from numeric.integrators import heyoka_solver

    return heyoka_solver.serves(members.kernel, members.layout.size + members.parameter_layout.size)


def _integrate(problem: Problem, times: np.ndarray) -> Ensemble:
    members = problem.members
    record = np.full((members.count, len(times), members.dim), np.nan)
    is_compiled = _is_compiled(members)
    if is_compiled:
        from numeric.integrators import heyoka_batch

        ends = heyoka_batch.ends_of_all(members, problem.start, problem.end, problem.rtol, problem.atol, times, record)
    else:
        ends = problem.run(np.arange(members.count), problem.end, times=times, record=record).ends_of_all()
    bracket = np.full((members.count, 2), np.nan)
    stuck = np.flatnonzero(ends.reason == End.VANISHING_STEPS)
    guesses = {}
    for member in stuck:
        time, flat, rate = ends.time[member], ends.state[member], ends.rate[member]
        _, block = members.layout.largest(flat)
        ahead = growth_time((time, flat, rate), block)
        if 0 < ahead < GROWTH * (time - problem.start):
            guesses[member] = time + ahead
    blown = np.array(list(guesses), dtype=int)
    if len(blown):
        guess = np.array(list(guesses.values()))
        coarse = problem.run(blown, problem.end, COARSER).ends_of_all().time
        least = np.maximum(problem.rtol * (guess - problem.start), 4 * np.spacing(np.abs(guess)))
        radius = np.maximum(np.abs(guess - coarse), least)
        bracket[blown] = np.stack((guess - radius, guess + radius), axis=-1)
        # Beyond the lower end of the bracket the error exceeds the state itself.
        low = np.maximum(guess - radius, problem.start)
        again = problem.run(blown, low).ends_of_all()
        ends.time[blown], ends.state[blown] = again.time, again.state
        record[blown] = np.where((times <= again.time[:, None])[..., None], record[blown], np.nan)

    def shaped(array: np.ndarray) -> Any:
        return array.reshape(members.leading + array.shape[1:])[()]

    blew_up = np.zeros(members.count, dtype=bool)
    blew_up[blown] = True
    return Ensemble(
        times,
        members.layout.unflatten(shaped(record)),
        members.layout.unflatten(shaped(ends.state)),
        shaped(ends.time),
        shaped(ends.reason == End.FINISHED),
        shaped(blew_up),
        shaped(bracket),
        "heyoka" if is_compiled else "DOP853",
        shaped(ends.reason),
        problem,
    )
