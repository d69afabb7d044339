"""The Riccati equation of the covariance: its flow, its blow-up time, its equilibria.

    Σ' = AΣ + ΣAᵀ + VΣBΣ + ΣBᵀΣVᵀ

For V = cI, S = c(B + Bᵀ) and Σ(0) = LLᵀ of any rank it is solved in closed form (derived and checked in
`symbolic.normal_forms.bernoulli_solution`),

    Σ(t) = e^{At} L (I − LᵀC(t)L)⁻¹ Lᵀ e^{Aᵀt},    C(t) = ∫₀ᵗ e^{Aᵀs} S e^{As} ds,

up to the first time at which λ_max(LᵀC(t)L) = 1, where it blows up. It also holds for B = 0, with S = 0.

No other V and B allow this: that VΣBΣ + ΣBᵀΣVᵀ = ΣSΣ for all Σ needs, for Σ = xxᵀ, that Vx is a multiple of x wherever
xᵀBx ≠ 0, and if that is nowhere, so that B is antisymmetric and S = 0, for Σ of rank two that V is a multiple of the
identity on almost every plane. For them the factor L is integrated (`numeric.factored_flow`).

The factor has as many columns as Σ(0) has eigenvalues above d ε times the largest, with ε = 2.2e-16.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import expm, solve_continuous_lyapunov
from scipy.linalg.lapack import dtrtrs
from scipy.optimize import brentq

from numeric import threshold
from numeric.bernoulli import Equilibrium, equilibria, equilibrium
from numeric.exact import as_nested, to_real
from numeric.factored_flow import factors_at
from numeric.matrices import EPS, check_matrices, largest_eigenvalue, positive_part, rounding, scalar_of, symmetric

__all__ = ["Equilibrium", "blow_up_time", "equilibria", "equilibrium", "flow"]

#: Comparison steps before the search for a blow-up gives up; a few are enough near one, some more over long times.
MAX_STEPS = 2000

#: How far one step looks, in units of 1/|A|: even where e^{At} is bounded it has lost half of its digits there.
REACH = 1e8

#: Within this time, in units of 1/|A|, the end is looked at first: most flows are asked for before their blow-up, and
#: C grows by no more than e^{2 NEAR}, which leaves a search from the end as accurate as one from the start.
NEAR = 10


def flow(A: Any, B: Any, V: Any, Sigma0: Any, times: Any) -> np.ndarray:
    """Σ at the given times, where Σ' = AΣ + ΣAᵀ + VΣBΣ + ΣBᵀΣVᵀ and Σ(0) = Sigma0.

    Parameters
    ----------
    A, B, V
        Real d × d matrices.
    Sigma0
        Symmetric positive semidefinite, of any rank.
    times
        One time, or increasing times, none negative.

    Returns
    -------
    numpy.ndarray
        Σ(t), exactly symmetric, of shape (d, d) for one time and (n, d, d) for n of them.

    Raises
    ------
    ValueError
        For inputs that do not fit, and for times at or beyond the blow-up, which the message names.
    ArithmeticError
        When double precision cannot decide whether a blow-up comes before the last time, as at the threshold between
        blow-up and decay; for V other than cI, when there are too many steps or numbers leave its range.

    Notes
    -----
    For V = cI the closed form carries the factor over at most 2/|A| at a time, so that neither e^{At} nor C loses
    digits over long times. Equal spacings share one exponential of a 2d × 2d matrix, and the times within 2/|A| are
    computed together; each costs O(d³). For any other V, L' = (A + VLLᵀB)L is integrated by Taylor series in steps of
    O(d²r), with r the rank. Either way Σ is formed from a factor with r columns, so that it keeps rank and
    semidefiniteness, and its relative error is a modest multiple of ε, times t*/(t* − t) near a blow-up at t*, which is
    the condition of the problem.

    Examples
    --------
    In dimension one with A = 0 it is 1/(1 − 2t), if V = B = 1 and Σ(0) = 1:

    >>> flow([[0]], [[1]], [[1]], [[1]], [0, 0.25]).round(12).tolist()
    [[[1.0]], [[2.0]]]
    >>> flow([[0]], [[1]], [[1]], [[1]], 1)
    Traceback (most recent call last):
    ValueError: times: 1.0 is not before the blow-up at t = 0.5; expected earlier times
    """
    A, B, V, Sigma = check_matrices(A, B, V, Sigma0)
    instants = _check_times(times)
    L = _factor(Sigma)
    scalar = scalar_of(V) if B.any() else 0.0
    if L.shape[1] == 0:
        path = np.broadcast_to(L, (len(instants), *L.shape))
    elif scalar is None:
        path = _general_path(A, B, V, L, instants)
    else:
        path = _closed_path(A, scalar * (B + B.T), L, instants)
    covariances = symmetric(path @ path.mT)
    return covariances if isinstance(as_nested(times), list | tuple) else covariances[0]


def blow_up_time(A: Any, B: Any, V: Any, Sigma0: Any, *, horizon: Any = None) -> float:
    """The time at which the solution of Σ' = AΣ + ΣAᵀ + VΣBΣ + ΣBᵀΣVᵀ, Σ(0) = Sigma0, blows up.

    Parameters
    ----------
    A, B, V, Sigma0
        As for `flow`.
    horizon
        Look for a blow-up up to this time only. Needed for V other than cI unless B = 0, and where S has eigenvalues
        of both signs while A is not Hurwitz: then nothing here proves that there is no blow-up.

    Returns
    -------
    float
        The time is right to rounding times its condition. Infinity means, without a horizon, that there is never a
        blow-up, and with one, that there is none up to it.

    Raises
    ------
    ValueError
        For inputs that do not fit, and when a horizon is needed.
    ArithmeticError
        When it cannot be decided, as at the threshold between blow-up and decay in high dimension.

    Notes
    -----
    For V = cI it is the first t with λ_max(LᵀC(t)L) = 1. Signs are decided up to d ε times the norm.

    - S ⪯ 0: never.
    - A = 0: 1/λ_max(LᵀSL), or never where that is not positive.
    - S ⪰ 0: λ_max(LᵀC(t)L) does not decrease; its root is bracketed by doubling t, then found by Brent's method. If A
      is Hurwitz, C tends to C∞ with AᵀC∞ + C∞A = −S, and λ_max(LᵀC∞L) < 1 proves that there is no root. Where that
      is 1 up to rounding, one ulp of the inputs is decisive, and rational arithmetic decides for the doubles that were
      given, for d <= 14 in less than a second (`numeric.threshold`); at equality there is none.
    - S of both signs: C ⪯ C₊, where C₊ is C with the positive part of S in place of S, and C ⪯ tS + tD₊, where D₊ is
      C with that of AᵀS + SA. The later root of λ_max(LᵀC₊L) = 1 and t λ_max(Lᵀ(S + D₊)L) = 1, both monotone problems,
      is a step that cannot pass the blow-up. Σ is carried over it; then the same again from there, until steps are
      lost in rounding. If A is Hurwitz the limit of C₊ proves that no blow-up is ahead.

    Every evaluation of C costs one exponential of a 2d × 2d matrix. For any other V the flow is followed until its
    steps vanish against the time.

    Examples
    --------
    >>> identity, zero = [[1, 0], [0, 1]], [[0, 0], [0, 0]]
    >>> blow_up_time(zero, [[1, 0], [0, 2]], identity, identity)
    0.25

    V and B of the same sign, but A Hurwitz and Σ(0) small:

    >>> blow_up_time([[-2]], [[1]], [[1]], [[0.25]])
    inf

    Σ(0) = 2 is the threshold, where Σ stays:

    >>> blow_up_time([[-2]], [[1]], [[1]], [[2]])
    inf
    """
    A, B, V, Sigma = check_matrices(A, B, V, Sigma0)
    limit = _check_horizon(horizon)
    L = _factor(Sigma)
    scalar = scalar_of(V) if B.any() else 0.0
    if scalar is not None:
        try:
            return _blow_up(A, scalar * (B + B.T), L, limit)
        except AtThreshold:
            time = threshold.blow_up_time(A, B, scalar, Sigma)
            if time is None:
                raise
            return time if time <= limit else math.inf
    if horizon is None:
        raise ValueError("horizon: is missing; expected a time to look up to, as V is not a multiple of the identity")
    if L.shape[1] == 0:
        return math.inf
    return factors_at(A, B, V, L, np.array([limit]))[1]


class AtThreshold(ArithmeticError):
    """In double precision there may be a late blow-up, or none."""


# The closed form


def _gramian(A: np.ndarray, S: np.ndarray, time: float) -> tuple[np.ndarray, np.ndarray]:
    """e^{At} and C(t), from a block exponential (Van Loan) over a time of at most 1/|A|, doubled from there.

    Over longer times the block exponential would contain e^{−Aᵀt}, and C would be a difference of large numbers.
    """
    d = len(A)
    doublings = max(0, math.ceil(math.log2(max(float(np.linalg.norm(A, 1)) * time, 1))))
    step = time / 2**doublings
    size = np.linalg.norm(S, 1) or 1.0
    block = expm(np.block([[-step * A.T, S / size], [np.zeros((d, d)), step * A]]))
    E = block[d:, d:]
    C = symmetric(E.T @ block[:d, d:]) * (size * step)
    for _ in range(doublings):
        C = symmetric(C + E.T @ C @ E)
        E = E @ E
    return E, C


def _multiples(E: np.ndarray, C: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """e^{At} and C(t) at 1 to `count` times the time of E and C, along a first axis; by doubling."""
    E, C = E[None], C[None]
    while (known := len(E)) < count:
        fresh = min(known, count - known)
        C = np.concatenate([C, symmetric(C[-1] + E[-1].T @ C[:fresh] @ E[-1])])
        E = np.concatenate([E, E[-1] @ E[:fresh]])
    return E, C


def _advance(L: np.ndarray, E: np.ndarray, C: np.ndarray) -> np.ndarray:
    """The factors E L R⁻ᵀ, where RRᵀ = I − LᵀCL, for E and C at one or more times along a first axis.

    LinAlgError where one of these matrices is not positive definite. Columns are kept apart by substitution, where an
    exchange of rows would mix large ones into small ones.
    """
    roots = np.linalg.cholesky(symmetric(np.eye(L.shape[1]) - L.T @ C @ L))
    grown = E @ L
    for root, factor in zip(roots, grown, strict=True):
        factor.T[:] = dtrtrs(root.T, factor.T, trans=1)[0]
    return grown


def _steps(A: np.ndarray, S: np.ndarray, time: float, many: int = 1) -> tuple[int, np.ndarray, np.ndarray]:
    """How many steps of at most 2/|A| make up the time, and stacks of E and C for one of them.

    Where it is one step, the stacks go on with its multiples up to 2/|A|, `many` at the most.
    """
    lengths = float(np.linalg.norm(A, 1)) * time / 2
    count = max(1, math.ceil(lengths))
    within = many if many * lengths <= 1 else max(1, int(1 / lengths))
    return count, *_multiples(*_gramian(A, S, time / count), within)


def _closed_path(A: np.ndarray, S: np.ndarray, L: np.ndarray, times: np.ndarray) -> np.ndarray:
    last = float(times[-1])
    blow_up = _blow_up(A, S, L, last)
    if last >= blow_up:
        raise _too_late(times, blow_up)
    path = [L[None]] if times[0] == 0 else []
    for number, spacing in _spacings(times if times[0] == 0 else np.concatenate([[0.0], times])):
        count, E, C = _steps(A, S, spacing, number)
        for done in range(0, number, len(E)):
            try:
                for _ in range(count - 1):
                    L = _advance(L, E, C)[0]
                path.append(_advance(L, E[: number - done], C[: number - done]))
            except np.linalg.LinAlgError:  # the last time is within rounding of the blow-up
                raise _too_late(times, last) from None
            L = path[-1][-1]
    return np.concatenate(path)


def _spacings(times: np.ndarray) -> Iterator[tuple[int, float]]:
    """Runs of spacings that are equal up to the rounding of the times, as (how many, spacing)."""
    gaps = np.diff(times)
    start = 0
    while start < len(gaps):
        stop = start + 1
        while stop < len(gaps) and abs(gaps[stop] - gaps[start]) <= 8 * EPS * times[-1]:
            stop += 1
        yield stop - start, float(times[stop] - times[start]) / (stop - start)
        start = stop


# Blow-up


def _blow_up(A: np.ndarray, S: np.ndarray, L: np.ndarray, limit: float) -> float:
    """The first t <= limit with λ_max(LᵀC(t)L) = 1, or infinity; `blow_up_time` describes the method."""
    rates = np.linalg.eigvalsh(S)
    if L.shape[1] == 0 or rates[-1] <= rounding(S):
        return math.inf
    if not A.any():
        fastest = largest_eigenvalue(L.T @ S @ L)
        time = 1 / fastest if fastest > rounding(S) * np.linalg.norm(L) ** 2 else math.inf
        return time if time <= limit else math.inf
    monotone = rates[0] >= -rounding(S)
    larger = S if monotone else positive_part(S)
    hurwitz = np.linalg.eigvals(A).real.max() < -rounding(A)
    if not (monotone or hurwitz or math.isfinite(limit)):
        raise ValueError(
            "horizon: is missing; expected a time to look up to, as S = c(B + Bᵀ) has eigenvalues of both signs and A "
            "is not Hurwitz"
        )
    larger_slope = positive_part(A.T @ S + S @ A)

    def first_order(L: np.ndarray, time: float) -> float:
        return largest_eigenvalue(_seen(A, larger, L, time)) - 1

    def second_order(L: np.ndarray, time: float) -> float:
        return time * max(largest_eigenvalue(L.T @ S @ L + _seen(A, larger_slope, L, time)), 0) - 1

    size = float(np.linalg.norm(A, 1))
    now = 0.0
    for _ in range(MAX_STEPS):
        if hurwitz:
            largest, error = _largest_ever(A, larger, L)
            if largest + error < 1:
                return math.inf
            if monotone and largest - error <= 1:  # the threshold between blow-up and none, up to rounding
                # C(t) is summed up over doublings, and so rounded more often than C∞.
                if math.isfinite(limit) and first_order(L, limit) < -10 * error:
                    return math.inf
                raise AtThreshold(
                    f"λ_max(LᵀC∞L) = {largest:.15g} with an error of up to {error:.1g}, too close to 1 to decide in "
                    "double precision between a late blow-up and none; expected earlier times, or a call of "
                    f"`blow_up_time` for d <= {threshold.LARGEST} and S that is positive definite, or semidefinite to "
                    "the last digit, as Σ(0) then must be too: this decides in rational arithmetic"
                )
        reach = min(limit - now, REACH / size)
        start = float(1 / (size + np.linalg.norm(S) * np.linalg.norm(L) ** 2))
        if monotone and size * reach <= NEAR:
            start = reach
        step = _first_root(partial(first_order, L), start, reach)
        if step is not None and not monotone:
            second = _first_root(partial(second_order, L), start, reach)
            step = None if second is None else max(step, second)
        if step is None:
            if reach == limit - now:
                return math.inf
            if monotone or not hurwitz:
                raise ArithmeticError(
                    f"no blow-up was found up to t = {now + reach:.6g}, and none is excluded later; an earlier horizon "
                    "restricts the question"
                )
            step = 1 / size
        if monotone:
            return step
        if step <= 4 * EPS * now:
            return now
        try:
            count, E, C = _steps(A, S, step)
            for _ in range(count):
                L = _advance(L, E, C)[0]
        except np.linalg.LinAlgError:  # singular up to rounding: the step has arrived
            return now + step
        now += step
    raise ArithmeticError(f"the search for a blow-up did not get beyond t = {now:.15g} in {MAX_STEPS} steps")


def _largest_ever(A: np.ndarray, S: np.ndarray, L: np.ndarray) -> tuple[float, float]:
    """λ_max(LᵀC∞L) for A Hurwitz, with a bound of its error: AᵀY + YA = −I bounds C∞'s by |residual| Y."""
    gramian = symmetric(solve_continuous_lyapunov(A.T, -S))
    weight = symmetric(solve_continuous_lyapunov(A.T, -np.eye(len(A))))
    residual = float(np.linalg.norm(A.T @ gramian + gramian @ A + S)) + 2 * rounding(A) * float(np.linalg.norm(gramian))
    largest, weighted = (largest_eigenvalue(L.T @ X @ L) for X in (gramian, weight))
    return largest, residual * weighted + len(A) * EPS * abs(largest)


def _seen(A: np.ndarray, S: np.ndarray, L: np.ndarray, time: float) -> np.ndarray:
    """LᵀC(t)L."""
    with np.errstate(over="ignore", invalid="ignore"):
        seen = symmetric(L.T @ _gramian(A, S, time)[1] @ L)
    if not np.isfinite(seen).all():
        raise ArithmeticError(
            f"no blow-up was found before C(t) leaves the range of double precision, at t = {time:.6g} or earlier, "
            "and none is excluded later; an earlier horizon restricts the question"
        )
    return seen


def _first_root(excess: Callable[[float], float], start: float, limit: float) -> float | None:
    """The root up to the limit of a function that does not decrease and is negative at 0, or None."""
    low, high = 0.0, min(limit, start)
    while excess(high) < 0:
        if high >= limit:
            return None
        low, high = high, min(2 * high, limit)
    return float(brentq(excess, low, high, xtol=EPS * high, rtol=4 * EPS))


# Any V


def _general_path(A: np.ndarray, B: np.ndarray, V: np.ndarray, L: np.ndarray, times: np.ndarray) -> np.ndarray:
    path, blow_up = factors_at(A, B, V, L, times)
    if blow_up < math.inf:
        raise _too_late(times, blow_up)
    return path


# Inputs


def _check_times(times: Any) -> np.ndarray:
    nested = as_nested(times)
    try:
        entries = nested if isinstance(nested, list | tuple) else [nested]
        checked = np.array([t if isinstance(t, float) else float(to_real(t)) for t in entries])
    except (TypeError, ValueError, ArithmeticError):
        raise ValueError(f"times: {times!r} are not numbers; expected a time or a sequence of times") from None
    if not (len(checked) and np.isfinite(checked).all() and checked[0] >= 0 and (np.diff(checked) > 0).all()):
        raise ValueError(f"times: {times!r} do not increase from 0 or later; expected finite increasing times >= 0")
    return checked


def _check_horizon(horizon: Any) -> float:
    if horizon is None:
        return math.inf
    try:
        limit = float(to_real(horizon))
    except (TypeError, ValueError, ArithmeticError):
        limit = math.nan
    if not 0 < limit < math.inf:
        raise ValueError(f"horizon: {horizon!r} is no positive finite time; expected one, or None")
    return limit


def _too_late(times: np.ndarray, blow_up: float) -> ValueError:
    first = times[np.argmax(times >= blow_up)] if times[-1] >= blow_up else times[-1]
    return ValueError(f"times: {first} is not before the blow-up at t = {blow_up:.15g}; expected earlier times")


def _factor(Sigma: np.ndarray) -> np.ndarray:
    """L with LLᵀ = Σ and as many columns as Σ has eigenvalues above d ε times the largest."""
    eigenvalues, vectors = np.linalg.eigh(symmetric(Sigma))
    kept = eigenvalues > len(Sigma) * EPS * max(eigenvalues[-1], 0)
    return vectors[:, kept] * np.sqrt(eigenvalues[kept])
