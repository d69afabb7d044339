"""Real matrices as the closed forms of the covariance use them."""

from __future__ import annotations

from typing import Any

import numpy as np

from numeric.inputs import check_values
from numeric.kernel import Argument

EPS = float(np.finfo(float).eps)


def check_matrices(A: Any, B: Any, V: Any, *Sigma0: Any) -> list[np.ndarray]:
    """Copies of A, B, V and, where it is given, Sigma0: square matrices of one size, or an error that names one."""
    names = ["A", "B", "V"]
    arguments = [Argument(name, ("d", "d"), "matrix") for name in names]
    if Sigma0:
        arguments.append(Argument("Sigma0", ("d", "d"), "covariance"))
    values = {argument.name: value for argument, value in zip(arguments, (A, B, V, *Sigma0), strict=True)}
    return list(check_values(("arguments", arguments, values))[0].values())


def scalar_of(V: np.ndarray) -> float | None:
    """c where V = cI exactly, None otherwise."""
    return float(V[0, 0]) if np.array_equal(V, V[0, 0] * np.eye(len(V))) else None


def rounding(matrix: np.ndarray) -> float:
    """What rounding does to the eigenvalues of a matrix: d ε times its norm."""
    return len(matrix) * EPS * float(np.linalg.norm(matrix))


def largest_eigenvalue(matrix: np.ndarray) -> float:
    """The largest eigenvalue of a symmetric matrix."""
    return float(np.linalg.eigvalsh(symmetric(matrix))[-1])


def positive_part(matrix: np.ndarray) -> np.ndarray:
    """A symmetric matrix with zeros in place of its negative eigenvalues."""
    eigenvalues, vectors = np.linalg.eigh(matrix)
    return (vectors * np.maximum(eigenvalues, 0)) @ vectors.T


def symmetric(matrix: np.ndarray) -> np.ndarray:
    """The symmetric part, of each matrix along leading axes."""
    return (matrix + matrix.mT) / 2
