"""The equilibria of the Riccati equation for V = cI: the positive semidefinite solutions of the Bernoulli equation

    AΣ + ΣAᵀ + ΣSΣ = 0,    S = c(B + Bᵀ).

The range of a solution is a subspace that A maps to itself. With an orthonormal basis U of it, Σ = U X⁻¹ Uᵀ, where
X ≻ 0 solves the linear equation A_Uᵀ X + X A_U = −S_U with A_U = UᵀAU, S_U = UᵀSU. The flow linearised at Σ is
δ' = Wδ + δWᵀ with W = A + ΣS, whose eigenvalues are those of −A_U and those of A that A_U does not have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import schur, solve_continuous_lyapunov

from numeric.inputs import nearest
from numeric.matrices import EPS, check_matrices, rounding, scalar_of, symmetric

KINDS = ("definite", "stabilising", "antistabilising")


@dataclass(frozen=True)
class Equilibrium:
    """An equilibrium, its rank, and its residual |AΣ + ΣAᵀ + ΣSΣ| relative to the size of the terms."""

    Sigma: np.ndarray
    rank: int
    residual: float


def equilibrium(A: Any, B: Any, V: Any, kind: str = "definite") -> Equilibrium:
    """The equilibrium Σ of AΣ + ΣAᵀ + VΣBΣ + ΣBᵀΣVᵀ, V = cI, that is of the kind asked for. Each kind is unique.

    Parameters
    ----------
    A, B, V
        Real d × d matrices, V = cI.
    kind
        "definite": the positive definite one. Its range is everything.
        "stabilising": the one where all eigenvalues of A + ΣS have negative real parts, so that the flow returns to it.
        Its range is that of the eigenvalues of A with positive real parts, its rank their number.
        "antistabilising": the one where all of them have positive real parts, with the range of the others.

    Returns
    -------
    Equilibrium
        By a sorted Schur form and the method of Bartels and Stewart, in O(d³).

    Raises
    ------
    ValueError
        For V other than cI, and where there is none, with the eigenvalues that are in the way: two eigenvalues of A
        on the range that sum to zero, or for the last two kinds one with real part zero; a solution X that is not
        positive definite. Where S is definite on the range that is so exactly when an eigenvalue of A there has a real
        part of its sign.

    Examples
    --------
    In dimension one, 2aσ + 2bvσ² = 0:

    >>> equilibrium([[3]], [[2]], [[-1]]).Sigma.round(12).tolist()
    [[1.5]]
    >>> equilibrium([[-3]], [[2]], [[-1]], "stabilising").Sigma.tolist()
    [[0.0]]
    """
    A, S = _check(A, B, V)
    if kind not in KINDS:
        raise ValueError(f"kind: there is no {kind!r}{nearest(str(kind), KINDS)}; expected one of {', '.join(KINDS)}")
    basis, range_ = np.eye(len(A)), ""
    if kind != "definite":
        eigenvalues = np.linalg.eigvals(A)
        closest = eigenvalues[np.argmin(np.abs(eigenvalues.real))]
        if abs(closest.real) <= rounding(A):
            raise ValueError(
                f"A: has the eigenvalue {closest:.6g}; expected none on the imaginary axis, as no equilibrium is then "
                f"{kind}"
            )
        half, sign = ("rhp", "positive") if kind == "stabilising" else ("lhp", "negative")
        _, vectors, rank = schur(A, output="real", sort=half)
        basis, range_ = vectors[:, :rank], f" on the range of its eigenvalues with {sign} real parts"
    X = _inverse_on(basis, A, S)
    lowest = float(np.linalg.eigvalsh(X).min(initial=np.inf))
    if lowest <= rounding(X):
        raise _not_definite(basis.T @ A @ basis, basis.T @ S @ basis, lowest, range_)
    return _equilibrium(basis, X, A, S)


def equilibria(A: Any, B: Any, V: Any) -> tuple[Equilibrium, ...]:
    """All positive semidefinite equilibria Σ of AΣ + ΣAᵀ + VΣBΣ + ΣBᵀΣVᵀ, V = cI, from Σ = 0 to the largest rank.

    There is at most one for each set of real eigenvalues and conjugate pairs of A, and where there is one, there is one
    for every subset; so sets are extended by one eigenvalue at a time. Each costs O(d³), for each extension that is
    tried; there can be 2^d of them.

    Raises
    ------
    ValueError
        For V other than cI; when eigenvalues of A coincide to half of double precision, as there may then be infinitely
        many equilibria; when two eigenvalues of A sum to zero, each of which has an equilibrium on its own.

    Examples
    --------
    Each coordinate obeys 0 = 2aσ − 2σ², so that σ is 0 or, where that is positive, a:

    >>> found = equilibria([[1, 0], [0, 3]], [[1, 0], [0, 1]], [[-1, 0], [0, -1]])
    >>> [equilibrium.Sigma.diagonal().round(12).tolist() for equilibrium in found]
    [[0.0, 0.0], [1.0, 0.0], [0.0, 3.0], [1.0, 3.0]]
    """
    A, S = _check(A, B, V)
    eigenvalues, vectors = np.linalg.eig(A)
    gaps = np.abs(eigenvalues[:, None] - eigenvalues)[~np.eye(len(A), dtype=bool)]
    if gaps.min(initial=np.inf) <= np.sqrt(EPS) * np.linalg.norm(A):
        raise ValueError(
            f"A: has eigenvalues that coincide, {np.array2string(np.sort(eigenvalues), precision=6)}; expected simple "
            "ones, as the equilibria need not be finitely many otherwise"
        )
    spans = [
        np.stack([vector.real, vector.imag] if eigenvalue.imag else [vector.real], axis=1)
        for eigenvalue, vector in zip(eigenvalues, vectors.T, strict=True)
        if eigenvalue.imag >= 0
    ]
    order = np.argsort([span.shape[1] for span in spans], kind="stable")
    found = [_equilibrium(np.zeros((len(A), 0)), np.zeros((0, 0)), A, S)]
    sets: list[tuple[int, ...]] = [()]
    for chosen in sets:  # which grows
        for new in range(chosen[-1] + 1 if chosen else 0, len(spans)):
            basis = np.linalg.qr(np.hstack([spans[order[i]] for i in (*chosen, new)]))[0]
            X = _inverse_on(basis, A, S)
            if np.linalg.eigvalsh(X)[0] > rounding(X):
                sets.append((*chosen, new))
                found.append(_equilibrium(basis, X, A, S))
    return tuple(sorted(found, key=lambda one: one.rank))


def _check(A: Any, B: Any, V: Any) -> tuple[np.ndarray, np.ndarray]:
    A, B, V = check_matrices(A, B, V)
    scalar = scalar_of(V)
    if scalar is None:
        raise ValueError("V: is not a multiple of the identity; expected V = cI, the only case in closed form")
    return A, scalar * (B + B.T)


def _inverse_on(basis: np.ndarray, A: np.ndarray, S: np.ndarray) -> np.ndarray:
    """The solution X of A_Uᵀ X + X A_U = −S_U, which must be unique."""
    if basis.shape[1] == 0:
        return np.zeros((0, 0))
    part = basis.T @ A @ basis
    eigenvalues = np.linalg.eigvals(part)
    sums = np.abs(eigenvalues[:, None] + eigenvalues)
    i, j = np.unravel_index(np.argmin(sums), sums.shape)
    if sums[i, j] <= rounding(A):
        raise ValueError(
            f"A: the eigenvalues {eigenvalues[i]:.6g} and {eigenvalues[j]:.6g} sum to zero, so that A and -A share "
            "one; expected none shared, as AᵀX + XA = -S then has no unique solution"
        )
    return symmetric(solve_continuous_lyapunov(part.T, -basis.T @ S @ basis))


def _equilibrium(basis: np.ndarray, X: np.ndarray, A: np.ndarray, S: np.ndarray) -> Equilibrium:
    Sigma = symmetric(basis @ np.linalg.inv(X) @ basis.T)
    linear, quadratic = A @ Sigma, Sigma @ S @ Sigma
    size = 2 * np.linalg.norm(linear) + np.linalg.norm(quadratic)
    residual = float(np.linalg.norm(linear + linear.T + quadratic) / size) if size else 0.0
    return Equilibrium(Sigma, basis.shape[1], residual)


def _not_definite(A: np.ndarray, S: np.ndarray, lowest: float, range_: str) -> ValueError:
    """Where S is definite, the theorem of Lyapunov says that the sides of A's eigenvalues decide."""
    rates = np.linalg.eigvalsh(S)
    if rates[0] > rounding(S) or rates[-1] < -rounding(S):
        sign, side = ("positive", "negative") if rates[0] > 0 else ("negative", "positive")
        eigenvalues = np.linalg.eigvals(A)
        wrong = eigenvalues[np.argmax(eigenvalues.real * np.sign(rates[0]))]
        return ValueError(
            f"A: has the eigenvalue {wrong:.6g}; expected {side} real parts of all of them{range_}, as S = c(B + Bᵀ) "
            f"is {sign} definite: otherwise the solution X of AᵀX + XA = -S has the eigenvalue {lowest:.6g}, and no "
            "equilibrium is positive definite"
        )
    return ValueError(
        f"A, B, V: the solution X of AᵀX + XA = -c(B + Bᵀ){range_} has the eigenvalue {lowest:.6g}; expected all of "
        "them positive, as otherwise no equilibrium is positive definite"
    )
