"""The Riccati flow at 100 equidistant times against solve_ivp.

Σ' = AΣ + ΣAᵀ + VΣBΣ + ΣBᵀΣVᵀ, first with V = cI, A and B general, d = 20, and the last time within 1e-6 of the blow-up;
Σ(0) of full rank and of rank 6. solve_ivp integrates it as an expert would write it, with one product and its
transpose, by DOP853 at the loosest tolerance that is accurate enough; at equal error RK45 takes five times as long,
LSODA does not get there, and Radau takes seconds. The last time has condition 1e6.

Then, for information, V other than cI up to nine tenths of the time to blow-up, where all matrices have the same
eigenvectors, so that the solution is known. The tolerance rtol of solve_ivp is in brackets; 1e-13 is near the tightest
that it takes. riccati.flow has no tolerance: its errors are those of rounding, whatever V is. It takes fewer and longer
steps, with fewer calls but more arithmetic in each, which is what counts where both d and the rank are large: at equal
errors solve_ivp takes less time from 30 or so.

Errors are relative at each time, and the largest counts.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from flint import arb, arb_mat, ctx
from scipy.integrate import solve_ivp
from side_by_side import Comparison, Side

from numeric import riccati

D, COUNT, DIGITS, BAR = 20, 100, 50, 5

Problem = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def general(rank: int) -> Problem:
    """A, B, V = I/2 and Σ(0) of the given rank, all of order one."""
    rng = np.random.default_rng(rank)
    A, noise = rng.normal(size=(2, D, D)) / np.sqrt(D)
    factor = rng.normal(size=(D, rank)) / np.sqrt(rank)
    return A, np.eye(D) + 0.3 * noise, np.eye(D) / 2, factor @ factor.T


def in_digits(A: np.ndarray, B: np.ndarray, V: np.ndarray, Sigma0: np.ndarray, times: np.ndarray) -> np.ndarray:
    """The closed form Σ = E (I − Σ₀C)⁻¹ Σ₀ Eᵀ, which needs no factor, in ball arithmetic."""

    def matrix(rows: np.ndarray) -> arb_mat:
        return arb_mat([[arb(entry) for entry in row] for row in rows.tolist()])

    def covariance(time: float) -> list[list[float]]:
        exponential = (block * arb(time)).exp().tolist()
        E = arb_mat([row[D:] for row in exponential[D:]])
        C = E.transpose() * arb_mat([row[D:] for row in exponential[:D]])
        Sigma = E * (identity - start * C).solve(start) * E.transpose()
        assert all(entry.rel_accuracy_bits() > 80 for row in Sigma.tolist() for entry in row)
        return [[float(entry.mid()) for entry in row] for row in Sigma.tolist()]

    with ctx.workdps(DIGITS):
        identity, start = matrix(np.eye(D)), matrix(Sigma0)
        block = matrix(np.block([[-A.T, V[0, 0] * (B + B.T)], [np.zeros((D, D)), A]]))
        return np.array([covariance(time) for time in times])


def diagonal(d: int, rank: int) -> tuple[Problem, np.ndarray, np.ndarray]:
    """A problem with common eigenvectors and V other than cI, times before its blow-up, and its solution there."""
    rng = np.random.default_rng(1)
    Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
    a, b, v, start = rng.uniform(0.5, 1.5, size=(4, d))
    start[rank:] = 0
    growing = a[:rank], (v * b * start)[:rank]
    blow_up = np.min(np.log1p(growing[0] / growing[1]) / (2 * growing[0]))
    times = np.linspace(0, 0.9 * blow_up, COUNT)[:, None]
    growth = np.expm1(2 * a * times)
    solution = (growth + 1) * start / (1 - v * b * start * growth / a)
    A, B, V, Sigma0 = ((Q * values) @ Q.T for values in (a, b, v, start))
    return (A, B, V, (Sigma0 + Sigma0.T) / 2), times[:, 0], (Q * solution[:, None]) @ Q.T


def by_solve_ivp(problem: Problem, times: np.ndarray, rtol: float) -> np.ndarray:
    A, B, V, Sigma0 = problem
    d = len(A)
    scalar = np.array_equal(V, V[0, 0] * np.eye(d))

    def rhs(_: float, flat: np.ndarray) -> np.ndarray:
        Sigma = flat.reshape(d, d)
        valued = V[0, 0] * Sigma if scalar else V @ Sigma
        half = (A + valued @ B) @ Sigma
        return (half + half.T).ravel()

    span, flat = (0, times[-1]), Sigma0.ravel()
    solution = solve_ivp(rhs, span, flat, method="DOP853", t_eval=times, rtol=rtol, atol=rtol / 100)
    return solution.y.T.reshape(-1, d, d)


def comparison(
    work: str, problem: Problem, times: np.ndarray, exact: np.ndarray, tolerance: float, rtol: float, bar: float | None
) -> Comparison:
    def error(covariances: np.ndarray) -> float:
        return float(np.max(np.linalg.norm(covariances - exact, axis=(1, 2)) / np.linalg.norm(exact, axis=(1, 2))))

    return Comparison(
        work=work,
        ours=Side("riccati.flow", lambda: riccati.flow(*problem, times), error),
        theirs=Side(f"solve_ivp (DOP853, {rtol:.0e})", lambda: by_solve_ivp(problem, times, rtol), error),
        tolerance=tolerance,
        bar=bar,
        repetitions=21,
    )


def comparisons() -> Iterator[Comparison]:
    for rank in (D, 6):
        problem = general(rank)
        times = np.linspace(0, riccati.blow_up_time(*problem) * (1 - 1e-6), COUNT)
        work = f"Riccati flow to 1e-6 of blow-up, V = cI, rank {rank}"
        yield comparison(work, problem, times, in_digits(*problem, times), 2e-8, 2e-13, BAR)
    sizes = (2, 2, 1e-11), (20, 2, 1e-11), (20, 20, 1e-11), (20, 20, 1e-13), (50, 50, 1e-11), (50, 50, 1e-13)
    for d, rank, rtol in sizes:
        work = f"Riccati flow, V other than cI, d = {d}, rank {rank}"
        yield comparison(work, *diagonal(d, rank), 10 * rtol, rtol, bar=None)
