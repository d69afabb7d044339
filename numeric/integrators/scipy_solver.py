"""Double precision: SciPy's DOP853 on the flattened real state, with blow-up as an outcome.

Near a blow-up DOP853 shortens its steps until they vanish against the time; no NaN gets that far, as it rejects such
steps. The time at which it gives up is its own estimate of t*. How wrong that is shows in a second run with coarser
tolerances: the difference is the half-width of the bracket.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.integrate import DOP853

from numeric.integrators.pole import simple_exponent
from numeric.kernel import Kernel
from numeric.layout import Layout
from numeric.outcome import BlewUp, Finished, Outcome, StepLimit
from numeric.trajectory import Piece

MAX_STEPS = 200_000

#: Giving up is a blow-up when the state grows by its own size within this part of the time passed.
GROWTH = 1e-6

#: The second run's tolerances over the first's. Its error, and so the bracket, is larger by about this factor.
COARSER = 100.0
COARSEST = 1e-2

#: The exponent and the rate are read at a distance from t* of this many half-widths of the bracket, where the error of
#: t* no longer matters.
CLEAR_OF_ERROR = 1e4

Rhs = Callable[[float, np.ndarray], np.ndarray]

#: Time, flat state, and its rate of change.
Entry = tuple[float, np.ndarray, np.ndarray]


def flat_rhs(kernel: Kernel, layout: Layout, parameters: Mapping[str, Any]) -> Rhs:
    """The kernel's right-hand side on flat real states; NaN where it is not defined."""
    values = tuple(parameters.values())
    names = [argument.name for argument in kernel.state]

    def rhs(_: float, flat: np.ndarray) -> np.ndarray:
        try:
            rates = kernel.rhs(*layout.unflatten(flat).values(), *values)
        except np.linalg.LinAlgError:
            return np.full_like(flat, np.nan)
        return layout.flatten(dict(zip(names, rates, strict=True)))

    return rhs


def scipy_steps(
    rhs: Rhs, layout: Layout, start: float, end: float, initial: np.ndarray, rtol: float, atol: float
) -> Iterator[Piece | Outcome]:
    """The steps, then the outcome."""
    with np.errstate(all="ignore"):
        if not np.isfinite(rhs(start, initial)).all():
            yield StepLimit(start, "the right-hand side is not finite at the initial state")
            return
        solver = DOP853(rhs, start, initial, end, rtol=rtol, atol=atol)
    history = [(start, initial, solver.f)]
    while solver.status == "running":
        if len(history) > MAX_STEPS:
            yield StepLimit(solver.t, f"the end of the time span was not reached in {MAX_STEPS} steps")
            return
        # Not across the yield, where it would change the caller's error state.
        with np.errstate(all="ignore"):
            solver.step()
            if solver.status == "failed":
                break
            piece = Piece(solver.t_old, solver.t, solver.dense_output(), solver.y)
        history.append((solver.t, solver.y, solver.f))
        yield piece
    if solver.status == "finished":
        yield Finished(solver.t)
        return
    with np.errstate(all="ignore"):
        outcome = _failure(history, rhs, layout, end, rtol, atol)
    yield outcome


def _failure(history: list[Entry], rhs: Rhs, layout: Layout, end: float, rtol: float, atol: float) -> Outcome:
    """Why the steps became too small: a blow-up, or something else."""
    start, initial, _ = history[0]
    last, flat, _ = history[-1]
    name, block = layout.largest(flat)
    if not 0 < growth_time(history[-1], block) < GROWTH * (last - start):
        return StepLimit(
            last,
            "the steps became too small to change the time, but the state does not grow fast "
            "enough for a blow-up: the right-hand side is singular there or too large for doubles",
        )
    time = last + growth_time(history[-1], block)
    coarse = DOP853(rhs, start, initial, end, rtol=min(COARSER * rtol, COARSEST), atol=COARSER * atol)
    while coarse.status == "running":
        coarse.step()
    radius = max(abs(time - coarse.t), rtol * (time - start), 4 * np.spacing(time))
    bracket = (float(time - radius), float(time + radius))
    exponent, rate = power(history, block, time, CLEAR_OF_ERROR * radius)
    return BlewUp(name, bracket, rate, exponent, "" if exponent else "not recognised as a power of t* - t")


def growth_time(entry: Entry, block: slice) -> float:
    """|X|/|X|' of a state array: (t* - t)/alpha near C (t* - t)^(-alpha)."""
    _, flat, rate = entry
    state = flat[block] / np.abs(flat[block]).max()  # whose square does not overflow
    return float(np.abs(flat[block]).max() * (state @ state) / (state @ rate[block]))


def power(history: list[Entry], block: slice, time: float, distance: float) -> tuple[Fraction | None, float | None]:
    """The exponent alpha and the constant C of an array whose norm behaves like C (t* - t)^(-alpha).

    They are read off two steps, one about `distance` from t*, the other ten times as far: |X|/|X|' falls with slope
    1/alpha, and |X| (t* - t)^alpha is extrapolated linearly to t*.
    """
    near = next((entry for entry in reversed(history) if time - entry[0] >= distance), history[0])
    far = next((entry for entry in reversed(history) if time - entry[0] >= 10 * (time - near[0])), history[0])
    d_near, d_far = time - near[0], time - far[0]
    if d_near == d_far:
        return None, None
    slope = (growth_time(far, block) - growth_time(near, block)) / (d_far - d_near)
    exponent = simple_exponent(1 / slope) if slope > 0 else None
    if exponent is None:
        return None, None
    c_near, c_far = (
        float(np.linalg.norm(flat[block])) * d ** float(exponent) for (_, flat, _), d in ((near, d_near), (far, d_far))
    )
    return exponent, (c_near * d_far - c_far * d_near) / (d_far - d_near)
