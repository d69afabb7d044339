"""Any precision, fast: MPFR numbers of gmpy2, and NumPy object arrays of them, at gmpy2's current precision.

Nothing here changes that precision; callers scope it, for example by `with gmpy2.context(precision=200)`. The
Taylor integrator computes with this arithmetic and converts at its door by `from_mpmath` and `to_mpmath`, exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import mul
from types import SimpleNamespace
from typing import Any

import gmpy2
import mpmath
import numpy as np

from numeric.backends.mpmath import arithmetic as _mpmath
from numeric.backends.mpmath import polynomial


def _from_mpmath(number: Any) -> Any:
    if isinstance(number, gmpy2.mpfr | gmpy2.mpc):
        return number
    if isinstance(number, mpmath.mpc):
        return gmpy2.mpc(_from_mpmath(number.real), _from_mpmath(number.imag))
    if not isinstance(number, mpmath.mpf):
        return gmpy2.mpc(number) if isinstance(number, complex) else gmpy2.mpfr(number)
    sign, mantissa, exponent, _ = number._mpf_
    if not mantissa:
        return gmpy2.mpfr(float(number))  # zero, or not finite
    signed = gmpy2.mpfr(-mantissa if sign else mantissa)
    return gmpy2.mul_2exp(signed, exponent) if exponent >= 0 else gmpy2.div_2exp(signed, -exponent)


def _to_mpmath(number: Any) -> Any:
    if isinstance(number, gmpy2.mpc):
        return mpmath.mpc(_to_mpmath(number.real), _to_mpmath(number.imag))
    if isinstance(number, mpmath.mpf | mpmath.mpc):
        return number
    if not gmpy2.is_finite(number):
        return mpmath.mpf(float(number))
    mantissa, exponent = number.as_mantissa_exp()
    return mpmath.mp.make_mpf(mpmath.libmp.from_man_exp(mantissa, int(exponent)))


#: Conversion of numbers and arrays: exact, where gmpy2's precision is no less than that of the numbers.
from_mpmath, to_mpmath = np.frompyfunc(_from_mpmath, 1, 1), np.frompyfunc(_to_mpmath, 1, 1)


def _asarray(values: Any) -> np.ndarray:
    """An object array of mpfr and mpc. Integers become mpfr too, so that a quotient of them is not a float."""
    return np.asarray(from_mpmath(values), dtype=object)


def _elementwise(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return np.frompyfunc(function, 1, 1)


def _inverse(matrices: np.ndarray) -> np.ndarray:
    with mpmath.workprec(gmpy2.get_context().precision):
        return _asarray(_mpmath.linalg.inv(to_mpmath(matrices)))


def _by_mpmath(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def converted(array: np.ndarray) -> np.ndarray:
        with mpmath.workprec(gmpy2.get_context().precision):
            return _asarray(function(to_mpmath(array)))

    return converted


def dot(left: Sequence[Any], right: Sequence[Any]) -> Any:
    """An inner product: each product is rounded, then their sum."""
    return gmpy2.fsum(map(mul, left, right))


def _convolve(a: Sequence[Any], b: Sequence[Any], k: int) -> Any:
    left, right = a[: k + 1], b[k::-1]
    if not isinstance(left[0], np.ndarray) and not isinstance(right[0], np.ndarray):
        if a is b and k > 1:  # a square: each product of two different terms once
            half = (k + 1) // 2
            twice = 2 * dot(left[:half], right[:half])
            return twice if k % 2 else twice + left[half] * left[half]
        return dot(left, right)
    shape = np.broadcast_shapes(np.shape(left[0]), np.shape(right[0]))
    rows, others = (
        np.array([np.broadcast_to(x, shape) for x in terms], dtype=object).reshape(k + 1, -1).T.tolist()
        for terms in (left, right)
    )
    return np.array(list(map(dot, rows, others)), dtype=object).reshape(shape)


def _matmul(a: Sequence[np.ndarray], b: Sequence[np.ndarray], k: int) -> np.ndarray:
    """The sum is one product, of the matrices [a[0] ... a[k]] and [b[k]; ...; b[0]]."""
    rows = np.concatenate(a[: k + 1], axis=1).tolist()
    columns = np.concatenate(b[k::-1], axis=0).T.tolist()
    return np.array([[dot(row, column) for column in columns] for row in rows], dtype=object)


arithmetic = SimpleNamespace(
    asarray=_asarray,
    broadcast_to=np.broadcast_to,
    eye=lambda size: _asarray(np.eye(size)),
    abs=_elementwise(abs),
    real=_elementwise(lambda x: x.real),
    imag=_elementwise(lambda x: x.imag),
    conj=_elementwise(lambda x: x.conjugate()),
    exp=_elementwise(gmpy2.exp),
    log=_elementwise(gmpy2.log),
    sqrt=_elementwise(gmpy2.sqrt),
    cos=_elementwise(gmpy2.cos),
    sin=_elementwise(gmpy2.sin),
    linalg=SimpleNamespace(inv=_inverse, trace=np.linalg.trace),
    polynomial=polynomial,
    acg_second_moment=_by_mpmath(_mpmath.acg_second_moment),
    acg_second_moment_of_factor=_by_mpmath(_mpmath.acg_second_moment_of_factor),
    convolve=_convolve,
    matmul=_matmul,
)
