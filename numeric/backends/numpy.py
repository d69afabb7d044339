"""Double precision: NumPy itself, with sums of products for Taylor coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from operator import matmul, mul
from types import SimpleNamespace
from typing import Any

import numpy as np


def _convolve(a: Sequence[Any], b: Sequence[Any], k: int) -> Any:
    return sum(map(mul, a[: k + 1], b[k::-1]))


def _matmul(a: Sequence[Any], b: Sequence[Any], k: int) -> Any:
    return sum(map(matmul, a[: k + 1], b[k::-1]))


arithmetic = SimpleNamespace(
    asarray=np.asarray,
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
    convolve=_convolve,
    matmul=_matmul,
)
