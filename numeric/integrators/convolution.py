"""Products of power series on whole numbers, in half the time that inner products of floating-point numbers take.

With 2^unit a step on which the terms of the series are of one size, or fall off, coefficient k of a sequence stands for
a whole number times 2^(-unit k), in units of the sequence's first one times 2^-precision. So every product of a
convolution has the same exponent, and their sum needs no rounding but the last. On steps shorter than 2^unit the
rounding of all orders together counts no more than that of the first few.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from operator import mul
from typing import Any

import gmpy2
import numpy as np

from numeric.backends.gmpy2 import arithmetic

#: Bits of whole numbers beyond the precision, as they are rounded towards minus infinity.
EXTRA_BITS = 2


class NotFinite(ArithmeticError):
    """A coefficient is infinite or not a number."""


#: How the entries of one coefficient are distributed to lists: one by one, by rows, or by columns from below, so that
#: an inner product of a row with a column read backwards is one sum over all orders.
Groups = Callable[[np.ndarray], list[list[Any]]]


def _entries(array: np.ndarray) -> list[list[Any]]:
    return [[entry] for entry in array.ravel().tolist()]


def _rows(array: np.ndarray) -> list[list[Any]]:
    return array.tolist()


def _columns(array: np.ndarray) -> list[list[Any]]:
    return array[::-1].T.tolist()


@dataclass
class Scaled:
    """A sequence of coefficients: the objects read so far, and the lists of their whole numbers."""

    read: list[Any]
    numbers: list[list[Any]]
    #: The exponent of the whole numbers of order 0, less that of the coefficients; none as long as all are zero.
    shift: int | None = None


class Convolutions:
    """`convolve` and `matmul` of the backend gmpy2, at its current precision, for sequences that grow."""

    def __init__(self, unit: int):
        self.unit = unit
        self.bits = gmpy2.get_context().precision + EXTRA_BITS
        # By the identity of the first coefficient, which is kept: a list of coefficients may be made anew by slicing.
        self._sequences: dict[tuple[int, Groups], Scaled] = {}

    def convolve(self, a: Sequence[Any], b: Sequence[Any], k: int) -> Any:
        if not (isinstance(a[0], np.ndarray) or isinstance(b[0], np.ndarray)):
            return arithmetic.convolve(a, b, k)  # a single sum does not pay for the conversions
        left, right = self._scaled(a, k, _entries), self._scaled(b, k, _entries)
        shapes = np.shape(a[0]), np.shape(b[0])
        shape = np.broadcast_shapes(*shapes)
        places = (np.broadcast_to(np.arange(prod(x)).reshape(x), shape).ravel().tolist() for x in shapes)
        products = [self._product(left, right, i, j, k) for i, j in zip(*places, strict=True)]
        return np.array(products, dtype=object).reshape(shape)

    def matmul(self, a: Sequence[np.ndarray], b: Sequence[np.ndarray], k: int) -> np.ndarray:
        left, right = self._scaled(a, k, _rows), self._scaled(b, k, _columns)
        rows, columns = range(a[0].shape[0]), range(b[0].shape[1])
        return np.array([[self._product(left, right, i, j, k) for j in columns] for i in rows], dtype=object)

    def _product(self, left: Scaled, right: Scaled, i: int, j: int, k: int) -> Any:
        """The inner product of two lists, one of them read backwards."""
        total = sum(map(mul, left.numbers[i], reversed(right.numbers[j])))
        shift = (left.shift or 0) + (right.shift or 0) + self.unit * k
        number = gmpy2.mpfr(total)
        return gmpy2.div_2exp(number, shift) if shift >= 0 else gmpy2.mul_2exp(number, -shift)

    def _scaled(self, coefficients: Sequence[Any], k: int, groups: Groups) -> Scaled:
        """The whole numbers of the coefficients of orders 0..k."""
        key = id(coefficients[0]), groups
        found = self._sequences.get(key)
        # Two sequences may begin alike, and one may be longer than is asked for.
        if found is None or len(found.read) > k + 1 or found.read[-1] is not coefficients[len(found.read) - 1]:
            found = self._sequences[key] = Scaled([], [[] for _ in groups(np.asarray(coefficients[0], dtype=object))])
        for order in range(len(found.read), k + 1):
            lists = groups(np.asarray(coefficients[order], dtype=object))
            if found.shift is None:
                sizes = [int(gmpy2.frexp(x)[0]) for entries in lists for x in entries if x]
                if sizes:
                    found.shift = self.bits - max(sizes) - self.unit * order
            shift = (found.shift or 0) + self.unit * order
            for numbers, entries in zip(found.numbers, lists, strict=True):
                numbers += [_whole(x, shift) for x in entries]
            found.read.append(coefficients[order])
        return found


def _whole(number: Any, shift: int) -> Any:
    """x 2^shift as a whole number."""
    try:
        mantissa, exponent = gmpy2.mpfr(number).as_mantissa_exp()
    except (OverflowError, ValueError):
        raise NotFinite from None
    shift += int(exponent)
    return mantissa << shift if shift >= 0 else mantissa >> -shift
