"""Any precision: mpmath numbers, and NumPy object arrays of them, at the current mpmath working precision.

Nothing here changes that precision; callers scope it, for example by `with mpmath.workdps(50)`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import mpmath
import numpy as np

from numeric.angular_central import second_moment_mpmath, second_moment_of_factor_mpmath

_convert = np.frompyfunc(mpmath.mpmathify, 1, 1)


def _asarray(values: Any) -> np.ndarray:
    """An object array of mpf and mpc. Integers become mpf too, so that a quotient of them is not a float."""
    return np.asarray(_convert(values), dtype=object)


def _elementwise(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return np.frompyfunc(function, 1, 1)


def _eye(size: int) -> np.ndarray:
    return _asarray(np.eye(size))


def _inverse(matrices: np.ndarray) -> np.ndarray:
    result = np.empty(matrices.shape, dtype=object)
    for place in np.ndindex(matrices.shape[:-2]):
        result[place] = np.array(mpmath.inverse(mpmath.matrix(matrices[place].tolist())).tolist(), dtype=object)
    return result


def polynomial(column: np.ndarray, x: Any) -> Any:
    """Horner's rule."""
    value: Any = 0
    for entry in np.moveaxis(column[..., 0], -1, 0)[::-1]:
        value = value * x + entry
    return value


def _convolve(a: Sequence[Any], b: Sequence[Any], k: int) -> Any:
    """Every entry is an inner product that is rounded once."""
    left, right = a[: k + 1], b[k::-1]
    if not isinstance(left[0], np.ndarray) and not isinstance(right[0], np.ndarray):
        return mpmath.fdot(left, right)
    shape = np.broadcast_shapes(np.shape(left[0]), np.shape(right[0]))
    rows, others = (
        np.array([np.broadcast_to(x, shape) for x in terms], dtype=object).reshape(k + 1, -1).T.tolist()
        for terms in (left, right)
    )
    sums = [mpmath.fdot(row, other) for row, other in zip(rows, others, strict=True)]
    return np.array(sums, dtype=object).reshape(shape)


def _matmul(a: Sequence[np.ndarray], b: Sequence[np.ndarray], k: int) -> np.ndarray:
    """The sum is one product, of the matrices [a[0] ... a[k]] and [b[k]; ...; b[0]], each entry rounded once."""
    rows = np.concatenate(a[: k + 1], axis=1).tolist()
    columns = np.concatenate(b[k::-1], axis=0).T.tolist()
    return np.array([[mpmath.fdot(row, column) for column in columns] for row in rows], dtype=object)


arithmetic = SimpleNamespace(
    asarray=_asarray,
    broadcast_to=np.broadcast_to,
    eye=_eye,
    abs=_elementwise(mpmath.fabs),
    real=_elementwise(mpmath.re),
    imag=_elementwise(mpmath.im),
    conj=_elementwise(mpmath.conj),
    exp=_elementwise(mpmath.exp),
    log=_elementwise(mpmath.log),
    sqrt=_elementwise(mpmath.sqrt),
    cos=_elementwise(mpmath.cos),
    sin=_elementwise(mpmath.sin),
    linalg=SimpleNamespace(inv=_inverse, trace=np.linalg.trace),
    polynomial=polynomial,
    acg_second_moment=second_moment_mpmath,
    acg_second_moment_of_factor=second_moment_of_factor_mpmath,
    convolve=_convolve,
    matmul=_matmul,
)
