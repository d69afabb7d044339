"""Blow-up or none, decided for the doubles that were given where double precision cannot: they are binary fractions.

For Σ' = AΣ + ΣAᵀ + ΣSΣ with S ⪰ 0 and A Hurwitz, C(t) = ∫₀ᵗ e^{Aᵀs} S e^{As} ds grows to the rational C∞ with
AᵀC∞ + C∞A = −S, and there is a blow-up, the first time with λ_max(ΣC(t)) = 1, exactly when λ_max(ΣC∞) > 1:

- If it is larger than 1, then λ_max(ΣC(t)), which is 0 at first and tends to it, passes 1.
- If not, suppose that for Σ = LLᵀ and some t, λ_max(LᵀC(t)L) = 1 with the unit eigenvector x. From t on xᵀLᵀC(s)Lx,
  which does not decrease, is at least 1 and at most 1. So it is constant, and as it is analytic in s it is 1 for all s;
  but at s = 0 it is 0. Hence there is no such t, also where the limit is 1.
- Where rounding has left Σ with a negative eigenvalue, S ≻ 0 serves: for t > 0 then C ≻ 0, and where the maximum
  λ_max(ΣC) = max xᵀΣx / xᵀC⁻¹x is positive it increases strictly, as C does; it does not reach its limit.

The eigenvalues of ΣC are real, because Σ or C is semidefinite, and a monic polynomial with real roots has a positive
one exactly when a coefficient is negative.
"""

from __future__ import annotations

import math

import numpy as np
from flint import arb, arb_mat, ctx, fmpq, fmpq_mat

#: Up to this dimension the decision takes less than a second: C∞ solves d(d + 1)/2 rational equations.
LARGEST = 14

#: The bits that the time is computed with, besides those that cancel.
BITS = 300


def blow_up_time(A: np.ndarray, B: np.ndarray, scalar: float, Sigma: np.ndarray) -> float | None:
    """The first t with λ_max(ΣC(t)) = 1, for S = scalar (B + Bᵀ), within an ulp; infinity when there is none.

    None where it is not decided: in dimensions above `LARGEST`, and where the doubles do not satisfy exactly what the
    proof needs (A Hurwitz, S ≻ 0 or both S ⪰ 0 and Σ ⪰ 0).
    """
    if len(A) > LARGEST:
        return None
    generator, half, start = _rational(A), _rational(B) * fmpq(*scalar.as_integer_ratio()), _rational(Sigma)
    identity, S, start = _rational(np.eye(len(A))), half + half.transpose(), (start + start.transpose()) / 2
    lowest = _lowest_coefficient(S)
    if lowest < 0 or (lowest == 0 and _lowest_coefficient(start) < 0):
        return None
    weight, limit = _lyapunov(generator, identity), _lyapunov(generator, S)
    # By Lyapunov's theorem A is Hurwitz exactly when AᵀY + YA = −I has a solution Y ≻ 0.
    if weight is None or limit is None or _lowest_coefficient(weight) <= 0:
        return None
    lowest = min((start * limit - identity).charpoly().coeffs())
    if lowest >= 0:
        return math.inf
    cancelled = max(0, int(lowest.q).bit_length() - int(lowest.p).bit_length())
    with ctx.workprec(BITS + cancelled):
        return _root(arb_mat(generator), arb_mat(start), arb_mat(limit), 1 / float(np.abs(A).max()))


def _root(A: arb_mat, start: arb_mat, limit: arb_mat, high: float) -> float | None:
    """The t from which on λ_max(ΣC(t)) > 1, by bisection, with C(t) = C∞ − e^{Aᵀt} C∞ e^{At}."""
    identity = arb_mat(A.nrows(), A.nrows(), 1)

    def beyond(time: float) -> bool:
        E = (A * arb(time)).exp()
        seen = start * (limit - E.transpose() * limit * E)
        return any(coefficient < 0 for coefficient in (seen - identity).charpoly().coeffs())

    low = 0.0
    while not beyond(high):
        low, high = high, 2 * high
        if math.isinf(high):
            return None
    while low < (middle := (low + high) / 2) < high:
        low, high = (low, middle) if beyond(middle) else (middle, high)
    return high


def _rational(matrix: np.ndarray) -> fmpq_mat:
    return fmpq_mat([[fmpq(*entry.as_integer_ratio()) for entry in row] for row in matrix.tolist()])


def _lowest_coefficient(symmetric: fmpq_mat) -> fmpq:
    """Positive for positive definite matrices, 0 for other semidefinite ones, negative for all others."""
    return min((-symmetric).charpoly().coeffs())


def _lyapunov(A: fmpq_mat, S: fmpq_mat) -> fmpq_mat | None:
    """The symmetric solution X of AᵀX + XA = −S, or None where there is not exactly one."""
    d = A.nrows()
    places = {(i, j): n for n, (i, j) in enumerate((i, j) for i in range(d) for j in range(i, d))}
    system, right = fmpq_mat(len(places), len(places)), fmpq_mat(len(places), 1)
    for (i, j), row in places.items():
        right[row, 0] = -S[i, j]
        for k in range(d):
            system[row, places[min(k, j), max(k, j)]] += A[k, i]
            system[row, places[min(i, k), max(i, k)]] += A[k, j]
    try:
        solution = system.solve(right)
    except ZeroDivisionError:
        return None
    return fmpq_mat([[solution[places[min(i, j), max(i, j)], 0] for j in range(d)] for i in range(d)])
