"""Taylor recurrences of matrices in double precision, with one product of matrices for each sum over orders.

With the coefficients of a side by side, and those of b on top of each other, the first at the bottom,
Σ_j a[j] @ b[k − j] is the product of the first columns of the one with the last rows of the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np

from numeric.backends.numpy import arithmetic


def stacked_arithmetic(order: int) -> SimpleNamespace:
    """NumPy's arithmetic for one run of a recurrence up to this order, on arrays without batch axes."""
    wide: dict[int, Wide] = {}
    tall: dict[int, Tall] = {}

    def matmul(a: Sequence[np.ndarray], b: Sequence[np.ndarray], k: int) -> np.ndarray:
        # Sequences grow, and remain the same objects.
        if id(a) not in wide:
            wide[id(a)] = Wide(a, order)
        if id(b) not in tall:
            tall[id(b)] = Tall(b, order)
        return wide[id(a)].first(k) @ tall[id(b)].first(k)

    return SimpleNamespace(**vars(arithmetic) | {"matmul": matmul})


class Wide:
    """The coefficients of a sequence side by side."""

    def __init__(self, sequence: Sequence[np.ndarray], order: int):
        self.sequence, self.filled = sequence, 0
        rows, self.size = sequence[0].shape
        self.array = np.empty((rows, (order + 1) * self.size))

    def first(self, k: int) -> np.ndarray:
        """Those of orders 0..k."""
        for n in range(self.filled, k + 1):
            self.array[:, n * self.size : (n + 1) * self.size] = self.sequence[n]
        self.filled = max(self.filled, k + 1)
        return self.array[:, : (k + 1) * self.size]


class Tall:
    """The coefficients of a sequence on top of each other, in reverse."""

    def __init__(self, sequence: Sequence[np.ndarray], order: int):
        self.sequence, self.filled, self.order = sequence, 0, order
        self.size, columns = sequence[0].shape
        self.array = np.empty(((order + 1) * self.size, columns))

    def first(self, k: int) -> np.ndarray:
        """Those of orders k..0."""
        for n in range(self.filled, k + 1):
            self.array[(self.order - n) * self.size : (self.order - n + 1) * self.size] = self.sequence[n]
        self.filled = max(self.filled, k + 1)
        return self.array[(self.order - k) * self.size :]
