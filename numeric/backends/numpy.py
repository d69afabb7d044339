"""Double precision: NumPy itself, with sums of products for Taylor coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from operator import matmul, mul
from types import SimpleNamespace
from typing import Any

import numpy as np

from numeric.angular_central import second_moment, second_moment_of_factor


def _asarray(values: Any) -> Any:
    """An array, or a number: NumPy is several times faster on those than on arrays without axes."""
    return np.asarray(values)[()]


def _polynomial(column: np.ndarray, x: Any) -> Any:
    """By powers rather than Horner's rule, which would be a loop over the coefficients."""
    powers = np.ones(np.broadcast_shapes(column.shape, (*np.shape(x), *column.shape[-2:])), x.dtype)
    powers[..., 1:, :] = np.asarray(x)[..., None, None]
    return (column * np.multiply.accumulate(powers, axis=-2)).sum(axis=(-2, -1))


def _convolve(a: Sequence[Any], b: Sequence[Any], k: int) -> Any:
    return sum(map(mul, a[: k + 1], b[k::-1]))


def _matmul(a: Sequence[Any], b: Sequence[Any], k: int) -> Any:
    return sum(map(matmul, a[: k + 1], b[k::-1]))


arithmetic = SimpleNamespace(
    asarray=_asarray,
    broadcast_to=np.broadcast_to,
    eye=np.eye,
    abs=np.abs,
    real=np.real,
    imag=np.imag,
    conj=np.conj,
    exp=np.exp,
    log=np.log,
    sqrt=np.sqrt,
    cos=np.cos,
    sin=np.sin,
    linalg=np.linalg,
    polynomial=_polynomial,
    acg_second_moment=second_moment,
    acg_second_moment_of_factor=second_moment_of_factor,
    convolve=_convolve,
    matmul=_matmul,
)
