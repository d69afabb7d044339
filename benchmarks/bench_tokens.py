"""Very many tokens, and infinitely many, under linear attention.

Against what an expert would write: DOP853 of SciPy with the field in O(n), on the angles of the circle or on the n × d
array with two BLAS products, at the tolerances that make its integration error what is asked. Errors on the circle are
the largest over all tokens, against such a direct integration with tolerances a thousand times tighter. Infinitely many
tokens are judged by |M_n − M|, Frobenius norm, which sampling alone makes about 1/√n: both sides against Σ' = WΣ + ΣWᵀ
by DOP853 with rtol = 1e-11 and adaptive Gauss–Kronrod quadrature for M(Σ), with which the side of infinitely many is
asserted to agree to 1e-9.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.integrate import quad_vec, solve_ivp
from side_by_side import Comparison, Side

from numeric import integrate, load_kernel
from numeric.angular_central import second_moment_of_factor

END = 10

#: True error, and the tolerance with which the direct integration reaches it on both orbits.
ERROR, DIRECT = 1e-9, 1e-9

#: (A, V), and our tolerance for that error: tokens that keep moving, and tokens that gather in two clusters.
ORBITS = {
    "|α| < 0.9": ([[1.0, 0.5], [-0.25, 0.75]], [[0.4, 1.0], [-0.8, -0.5]], 3e-9),
    "|α| -> 1": ([[1.0, 0.3], [-0.2, 0.8]], [[0.6, 1.0], [-0.3, 0.4]], 1e-10),
}

#: V skew, so that the law keeps turning: with A = I as well the spectrum of Σ would not change at all.
DIMENSION, RATE = 100, 20.0


def field_on_the_circle(A: np.ndarray, V: np.ndarray, _: float, theta: np.ndarray) -> np.ndarray:
    """θ' = ⟨x^⊥, W x⟩, W = V M Aᵀ."""
    c, s = np.cos(theta), np.sin(theta)
    mixed = c @ s
    W = V @ np.array([[c @ c, mixed], [mixed, s @ s]]) @ A.T / len(theta)
    return c * (W[1, 0] * c + W[1, 1] * s) - s * (W[0, 0] * c + W[0, 1] * s)


def circle(name: str, count: int, bar: float) -> Comparison:
    *matrices, tolerance = ORBITS[name]
    A, V = map(np.array, matrices)
    rng = np.random.default_rng(0)
    theta = np.where(rng.random(count) < 0.3, rng.uniform(0, 2 * np.pi, count), rng.normal(0.5, 0.35, count))
    tokens = np.stack([np.cos(theta), np.sin(theta)], axis=-1)
    kernel, parameters = load_kernel("linear_tokens_sphere"), {"A": A, "V": V, "beta": 1.0}

    def ours() -> np.ndarray:
        options = {"rtol": tolerance, "atol": tolerance / 100, "t_eval": [END]}
        return integrate(kernel, {"X": tokens}, (0, END), parameters, **options)["X"][-1]

    def theirs(rtol: float = DIRECT) -> np.ndarray:
        field = partial(field_on_the_circle, A, V)
        options = {"method": "DOP853", "rtol": rtol, "atol": rtol / 10, "t_eval": [END]}
        final = solve_ivp(field, (0, END), theta, **options).y[:, -1]
        return np.stack([np.cos(final), np.sin(final)], axis=-1)

    exact = theirs(DIRECT / 1000)

    def error(final: np.ndarray) -> float:
        return float(np.abs(final - exact).max())

    return Comparison(
        work=f"{count:.0e} tokens on the circle, {name}, T = {END}",
        ours=Side("integrate", ours, error),
        theirs=Side("solve_ivp DOP853 on the angles", theirs, error),
        tolerance=ERROR,
        bar=bar,
        repetitions=3,
    )


def field_on_the_sphere(A: np.ndarray, V: np.ndarray, count: int, _: float, flat: np.ndarray) -> np.ndarray:
    """X' = U − ⟨x, u⟩ x by rows, U = X Wᵀ, W = β V XᵀX Aᵀ / n."""
    X = flat.reshape(count, DIMENSION)
    U = X @ (RATE / count * V @ (X.T @ X) @ A.T).T
    U -= np.einsum("ij,ij->i", X, U)[:, None] * X
    return U.ravel()


def infinitely_many() -> tuple[np.ndarray, dict[str, Any], Callable[..., np.ndarray], np.ndarray]:
    rng = np.random.default_rng(0)
    scale = DIMENSION**-0.5
    L = np.linalg.qr(rng.normal(size=(DIMENSION, DIMENSION)))[0] * np.exp(np.linspace(-1.5, 1.5, DIMENSION))
    A = np.eye(DIMENSION) + 0.1 * scale * rng.normal(size=(DIMENSION, DIMENSION))
    V = scale * rng.normal(size=(DIMENSION, DIMENSION))
    V = (V - V.T) / 2
    kernel, parameters = load_kernel("angular_central_gaussian_factor"), {"A": A, "V": V, "beta": RATE}

    def ours() -> np.ndarray:
        law = integrate(kernel, {"L": L}, (0, END), parameters, rtol=5e-10, atol=5e-12, t_eval=[END])
        return second_moment_of_factor(law.final["L"])

    return L, parameters, ours, reference(L, **parameters)


def reference(L: np.ndarray, A: np.ndarray, V: np.ndarray, beta: float) -> np.ndarray:
    def second_moment(Sigma: np.ndarray) -> np.ndarray:
        """∫₀^∞ λ(1 + 2sλ)⁻¹ Π_j(1 + 2sλ_j)^{−1/2} ds in the eigenbasis, with 2s = e^u; λ lie between e⁻⁶ and 1."""
        eigenvalues, basis = np.linalg.eigh(Sigma)

        def integrand(u: float) -> np.ndarray:
            t = np.exp(u) * eigenvalues / eigenvalues[-1]
            return 0.5 * t / (1 + t) * np.exp(-0.5 * np.log1p(t).sum())

        moments, _ = quad_vec(integrand, -45, 30, epsabs=1e-14, epsrel=1e-13, norm="max")
        return (basis * moments) @ basis.T

    def field(_: float, flat: np.ndarray) -> np.ndarray:
        Sigma = flat.reshape(A.shape)
        rate = beta * V @ second_moment((Sigma + Sigma.T) / 2) @ A.T @ Sigma
        return (rate + rate.T).ravel()

    options = {"method": "DOP853", "rtol": 1e-11, "atol": 1e-13, "t_eval": [END]}
    return second_moment(solve_ivp(field, (0, END), (L @ L.T).ravel(), **options).y[:, -1].reshape(A.shape))


def sphere(count: int, bar: float, tolerance: float, repetitions: int, problem: Any) -> Comparison:
    L, parameters, ours, exact = problem
    X = np.random.default_rng(1).normal(size=(count, DIMENSION)) @ L.T
    X /= np.linalg.norm(X, axis=1, keepdims=True)

    def theirs() -> np.ndarray:
        field = partial(field_on_the_sphere, parameters["A"], parameters["V"], count)
        options = {"method": "DOP853", "t_eval": [END], "rtol": tolerance, "atol": tolerance / 100}
        final = solve_ivp(field, (0, END), X.ravel(), **options).y[:, -1].reshape(X.shape)
        return final.T @ final / count

    def sampling_error(M: np.ndarray) -> float:
        return float(np.linalg.norm(M - exact))

    def own_error(M: np.ndarray) -> float:
        error = sampling_error(M)
        assert error <= ERROR, f"the law itself is off by {error:.1e}"
        return error

    return Comparison(
        work=f"n = ∞ at d = {DIMENSION}, T = {END}, second moment",
        ours=Side("integrate", ours, own_error),
        theirs=Side(f"{count:.0e} tokens by solve_ivp DOP853, rtol = {tolerance:.0e}", theirs, sampling_error),
        tolerance=4 / count**0.5,
        bar=bar,
        repetitions=repetitions,
    )


def comparisons() -> Iterator[Comparison]:
    yield circle("|α| < 0.9", 10**6, bar=100)
    yield circle("|α| -> 1", 10**6, bar=10)
    problem = infinitely_many()
    yield sphere(10**4, bar=5, tolerance=1e-9, repetitions=3, problem=problem)
    yield sphere(10**5, bar=50, tolerance=1e-9, repetitions=1, problem=problem)
