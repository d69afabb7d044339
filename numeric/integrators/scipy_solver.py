"""Double precision: SciPy's DOP853 on the flattened real state, with blow-up as an outcome.

Near a blow-up DOP853 shortens its steps until they vanish against the time; no NaN gets that far, as it rejects such
steps. `numeric.integrators.vanishing_steps` says what that means.

Unit tokens are scaled to unit length after every step and wherever the state is evaluated. The exact solution has unit
length, so that this moves a token by no more than its error, and the order of the method stays (Hairer, Lubich and
Wanner, Geometric Numerical Integration, IV.4).

Of a step only its two ends are kept. Its interpolant, seven times as large, is made when a state in between is asked
for: by the solver while it stands there, by doing the step again later.

On a stiff equation it is stability that bounds the steps, not accuracy: h times the largest eigenvalue of dF/dz, which
two stages at the same time give an estimate of, then stays at the border of the stability region, 6.1 (Hairer, Nørsett
and Wanner, Solving Ordinary Differential Equations II, IV.2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy.integrate import DOP853

from numeric.integrators.vanishing_steps import COARSER, COARSEST, failure
from numeric.kernel import Kernel
from numeric.layout import Layout
from numeric.outcome import Finished, Outcome, StepLimit
from numeric.trajectory import Piece

MAX_STEPS = 200_000

#: Stiffness is looked for once in so many steps, and believed when found so many times in a row: a phase of it is no
#: reason to give up.
STIFFNESS_EVERY, STIFFNESS_TIMES = 50, 20

#: The border of DOP853's stability region.
STABILITY = 6.1

Rhs = Callable[[float, np.ndarray], np.ndarray]


def flat_rhs(kernel: Kernel, layout: Layout, parameters: Mapping[str, Any]) -> Rhs:
    """The kernel's vector field on flat real states; NaN where it is not defined."""
    try:
        with np.errstate(all="ignore"):
            field = kernel.field(*parameters.values())
    except np.linalg.LinAlgError:
        return lambda _, flat: np.full_like(flat, np.nan)

    def rhs(_: float, flat: np.ndarray) -> np.ndarray:
        try:
            return layout.pack(field(*layout.unpack(flat)))
        except np.linalg.LinAlgError:
            return np.full_like(flat, np.nan)

    return rhs


def scipy_steps(
    rhs: Rhs,
    layout: Layout,
    start: float,
    end: float,
    initial: np.ndarray,
    rtol: float,
    atol: float,
    first_step: float | None = None,
) -> Iterator[Piece | Outcome]:
    """The steps, then the outcome; without a first step SciPy chooses one, small enough to be safe."""
    with np.errstate(all="ignore"):
        if not np.isfinite(rhs(start, initial)).all():
            yield StepLimit(start, "the right-hand side is not finite at the initial state")
            return
        solver = DOP853(rhs, start, initial, end, rtol=rtol, atol=atol, first_step=first_step)
    history = [(start, initial)]
    between = Between(solver, rhs, layout, history)
    stiff = 0
    while solver.status == "running":
        # Not across the yield, where it would change the caller's error state.
        with np.errstate(all="ignore"):
            solver.step()
            if solver.status == "failed":
                break
            if layout.unit_tokens:
                solver.y = layout.with_unit_tokens(solver.y)
                solver.f = rhs(solver.t, solver.y)
        step = len(history)
        history.append((solver.t, solver.y))
        yield Piece(solver.t_old, solver.t, partial(between.state, step), solver.y)
        if step % STIFFNESS_EVERY == 0:
            stiff = stiff + 1 if step_times_eigenvalue(solver.K) > STABILITY else 0
        needed = (end - solver.t) / (solver.t - solver.t_old)
        if solver.status == "running" and (
            step == MAX_STEPS or (stiff >= STIFFNESS_TIMES and step + needed > MAX_STEPS)
        ):
            yield StepLimit(solver.t, _too_many_steps(solver, needed, stiff >= STIFFNESS_TIMES))
            return
    if solver.status == "finished":
        yield Finished(solver.t)
        return

    def coarse_end() -> float:
        coarse = DOP853(rhs, start, initial, end, rtol=min(COARSER * rtol, COARSEST), atol=COARSER * atol)
        while coarse.status == "running":
            coarse.step()
        return float(coarse.t)

    with np.errstate(all="ignore"):
        outcome = failure([(*entry, rhs(*entry)) for entry in history], layout, rtol, coarse_end)
    yield outcome


class Between:
    """The states within the steps that a solver has taken; `history` holds the ends of the steps so far."""

    def __init__(self, solver: DOP853, rhs: Rhs, layout: Layout, history: Sequence[tuple[float, np.ndarray]]):
        self.solver, self.rhs, self.layout, self.history = solver, rhs, layout, history
        self.interpolated = 0
        self.interpolant: Callable[[float], np.ndarray] | None = None

    def state(self, step: int, time: float) -> np.ndarray:
        """The flat state at a time within the step of this number, counted from 1."""
        if self.interpolated != step:
            with np.errstate(all="ignore"):
                self.interpolated, self.interpolant = step, self._interpolant(step)
        assert self.interpolant is not None
        return self.layout.with_unit_tokens(self.interpolant(time))

    def _interpolant(self, step: int) -> Callable[[float], np.ndarray]:
        if step == len(self.history) - 1 and self.solver.status != "failed":
            return self.solver.dense_output()
        (start, flat), (end, _) = self.history[step - 1 : step + 1]
        # Twice the tolerances, so that no rounding makes it refuse a step that it once took.
        rtol, atol = 2 * self.solver.rtol, 2 * self.solver.atol
        again = DOP853(self.rhs, start, flat, end, rtol=rtol, atol=atol, first_step=end - start)
        again.step()
        return again.dense_output()


def step_times_eigenvalue(stages: np.ndarray) -> np.ndarray:
    """Estimates of h times the largest |eigenvalue| of dF/dz, from the last two stages of a step, both at its end.

    `stages` has one stage a row, and one component of the state a row of that.
    """
    last = DOP853.n_stages - 1
    weights = DOP853.B - np.append(DOP853.A[last, :last], 0.0)
    apart = np.tensordot(weights, stages[: last + 1], 1)
    with np.errstate(all="ignore"):
        return np.linalg.norm(stages[last + 1] - stages[last], axis=0) / np.linalg.norm(apart, axis=0)


def _too_many_steps(solver: DOP853, needed: float, stiff: bool) -> str:
    if not stiff:
        return f"the end of the time span was not reached in {MAX_STEPS} steps"
    return (
        "the equations are stiff there. Stability, not accuracy, keeps the steps near "
        f"{solver.t - solver.t_old:.2g}, so that the end of the time span would take {needed:.1e} more, and more than "
        f"{MAX_STEPS} are not tried; use a shorter time span, or an implicit solver on the kernel's right-hand side"
    )
