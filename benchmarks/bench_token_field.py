"""The field of n tokens under linear attention, d = 100, against array code written by hand.

With M = XᵀX/n the field is X(βVMAᵀ)ᵀ, less its radial part on the sphere, O(nd²) in all. For n = 200 the generated
kernels are compared with that, factorised by hand: the bar says that they take at most 1.15 times as long. For n = 2000
they are compared with the code that serves any attention, an n × n matrix of weights times the values, O(n²d): as one
writes it, and lean, with β and 1/n taken out of the n × n matrix by hand. The arithmetic bounds the lean ratio by
4n²d / (3nd² + 4d³) = 25, and the large products run closer to the peak of the machine than ours, so that 18 to 20 is
what there is to win. Each run is many calls. Errors are those of some tokens against the sum over all in extended
precision (where the machine has it), relative to the largest entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from side_by_side import Comparison, Side

from numeric import load_kernel

D, BETA = 100, 1.25

Field = Callable[[np.ndarray, np.ndarray, np.ndarray, float], np.ndarray]


def factorised(X: np.ndarray, A: np.ndarray, V: np.ndarray, beta: float) -> np.ndarray:
    M = X.T @ X / len(X)
    return X @ (beta * V @ M @ A.T).T


def weighted(X: np.ndarray, A: np.ndarray, V: np.ndarray, beta: float) -> np.ndarray:
    weights = beta * (X @ A @ X.T) / len(X)
    return weights @ (X @ V.T)


def weighted_lean(X: np.ndarray, A: np.ndarray, V: np.ndarray, beta: float) -> np.ndarray:
    return X @ (beta / len(X) * A) @ X.T @ (X @ V.T)


def on_sphere(field: Field) -> Field:
    def projected(X: np.ndarray, *parameters: np.ndarray) -> np.ndarray:
        U = field(X, *parameters)
        return U - (U * X).sum(1)[:, None] * X

    return projected


def exact(X: np.ndarray, A: np.ndarray, V: np.ndarray, beta: float, sphere: bool, some: slice) -> np.ndarray:
    """The field of some tokens, summed as it is defined."""
    X, A, V = (array.astype(np.longdouble) for array in (X, A, V))
    U = beta / np.longdouble(len(X)) * np.einsum("ij,jk->ik", X[some] @ A @ X.T, X @ V.T)
    return U - (U * X[some]).sum(1)[:, None] * X[some] if sphere else U


def comparison(n: int, sphere: bool, title: str, field: Field, calls: int, bar: float | None) -> Comparison:
    rng = np.random.default_rng(n)
    X, A, V = rng.normal(size=(n, D)), *rng.normal(size=(2, D, D)) / 10
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    kernel = load_kernel("linear_tokens_sphere" if sphere else "linear_tokens")
    hand = on_sphere(field) if sphere else field
    some = slice(0, n, n // 10)
    expected = exact(X, A, V, BETA, sphere, some)

    def error(rates: np.ndarray) -> float:
        return float(np.abs(rates[some] - expected).max() / np.abs(expected).max())

    def repeated(function: Callable[..., np.ndarray]) -> np.ndarray:
        for _ in range(calls):
            rates = function(X, A, V, BETA)
        return rates

    return Comparison(
        work=f"{calls} fields of {n} tokens{' on the sphere' if sphere else ''}",
        ours=Side(kernel.name, lambda: repeated(lambda *arrays: kernel.rhs(*arrays)[0]), error),
        theirs=Side(title, lambda: repeated(hand), error),
        tolerance=1e-14,
        bar=bar,
        repetitions=15,
    )


def comparisons() -> Iterator[Comparison]:
    yield comparison(200, False, "NumPy, factorised by hand", factorised, 200, 1 / 1.15)
    yield comparison(200, True, "NumPy, factorised by hand", factorised, 200, 1 / 1.15)
    yield comparison(2000, False, "NumPy, n × n weights", weighted, 5, 20)
    yield comparison(2000, False, "NumPy, n × n weights, lean", weighted_lean, 5, 20)
    yield comparison(2000, True, "NumPy, n × n weights", weighted, 5, None)
