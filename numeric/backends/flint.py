"""Balls: numbers of python-flint with error bounds, and NumPy object arrays of them, at flint's current precision.

Every result encloses the exact value for all numbers in the balls given; comparisons hold only where they do for all of
them. Nothing here changes the precision; callers scope it, for example by `with flint.ctx.workprec(200)`. Inputs are
enclosed, never rounded: text such as "1/3" or "0.1", Fractions and Decimals by the quotient of their integers, floats
and mpmath numbers exactly.

A step of an integrator is no enclosure of the solution: what these balls prove is about `rhs` and `series` alone.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import flint
import mpmath
import numpy as np

from numeric.backends import Arithmetic
from numeric.backends.mpmath import polynomial
from numeric.exact import parts


def _real(value: Any) -> Any:
    if isinstance(value, flint.arb):
        return value
    if isinstance(value, str | Decimal):
        value = Fraction(value)
    if isinstance(value, numbers.Rational):
        return flint.arb(int(value.numerator)) / int(value.denominator)
    if isinstance(value, mpmath.mpf):
        if not mpmath.isfinite(value):
            raise ValueError(f"{value} is not finite")
        sign, mantissa, exponent, _ = value._mpf_
        return flint.arb((-int(mantissa) if sign else int(mantissa), int(exponent)))
    if isinstance(value, float | np.floating):
        return flint.arb(float(value))
    return flint.arb(value)


def _ball(value: Any) -> Any:
    if isinstance(value, flint.acb):
        return value
    if isinstance(value, str):
        real, imaginary = parts(value)
        return _real(real) if imaginary == "0" else flint.acb(_real(real), _real(imaginary))
    if isinstance(value, mpmath.mpc | complex | np.complexfloating):
        return flint.acb(_real(value.real), _real(value.imag))
    return _real(value)


class Balls(np.ndarray):
    """An object array of arb and acb. Python's complex numbers, which arb does not know, are enclosed too."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        plain = [flint.acb(x) if isinstance(x, complex) else _plain(x) for x in inputs]
        if "out" in options:
            options["out"] = tuple(map(_plain, options["out"]))
        return _view(getattr(ufunc, method)(*plain, **options))


def _plain(value: Any) -> Any:
    return value.view(np.ndarray) if isinstance(value, Balls) else value


def _view(values: Any) -> Balls:
    return np.asarray(values, dtype=object).view(Balls)


_balls = np.frompyfunc(_ball, 1, 1)


def _asarray(values: Any) -> Balls:
    return _view(_balls(np.asarray(_plain(values), dtype=object)))


def _elementwise(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return np.frompyfunc(function, 1, 1)


def _conjugate(ball: Any) -> Any:
    return ball.conjugate() if isinstance(ball, flint.acb) else ball


def _inverse(matrices: np.ndarray) -> np.ndarray:
    """Enclosures of the inverses; division by zero where a ball may hold a singular matrix."""
    result = _view(np.empty(matrices.shape, dtype=object))
    for place in np.ndindex(matrices.shape[:-2]):
        rows = matrices[place].tolist()
        is_complex = any(isinstance(entry, flint.acb) for row in rows for entry in row)
        matrix = (flint.acb_mat if is_complex else flint.arb_mat)(rows)
        result[place] = np.array(matrix.inv().tolist(), dtype=object)
    return result


def _product(rows: Sequence[Sequence[Any]], columns: Sequence[Sequence[Any]]) -> np.ndarray:
    """The product of two matrices, by flint's dot product, which bounds its rounding once for every entry."""
    is_complex = any(isinstance(entry, flint.acb) for line in (*rows, *columns) for entry in line)
    kind = flint.acb_mat if is_complex else flint.arb_mat
    return np.array((kind(rows) * kind(columns)).tolist(), dtype=object)


def _convolve(a: Sequence[Any], b: Sequence[Any], k: int) -> Any:
    left, right = a[: k + 1], b[k::-1]
    shape = np.broadcast_shapes(np.shape(left[0]), np.shape(right[0]))
    result = np.empty(shape, dtype=object)
    left, right = ([np.broadcast_to(x, shape) for x in terms] for terms in (left, right))
    for place in np.ndindex(shape):
        result[place] = _product([[x[place] for x in left]], [[x[place]] for x in right])[0, 0]
    return result[()]


def _matmul(a: Sequence[np.ndarray], b: Sequence[np.ndarray], k: int) -> np.ndarray:
    """The sum is one product, of the matrices [a[0] ... a[k]] and [b[k]; ...; b[0]]."""
    return _product(np.concatenate(a[: k + 1], axis=1).tolist(), np.concatenate(b[k::-1], axis=0).tolist())


arithmetic = Arithmetic(
    asarray=_asarray,
    broadcast_to=lambda values, shape: np.broadcast_to(values, shape, subok=True),
    eye=lambda size: _asarray(np.eye(size, dtype=int)),
    abs=_elementwise(abs),
    real=_elementwise(lambda x: x.real),
    imag=_elementwise(lambda x: x.imag),
    conj=_elementwise(_conjugate),
    exp=_elementwise(lambda x: x.exp()),
    log=_elementwise(lambda x: x.log()),
    sqrt=_elementwise(lambda x: x.sqrt()),
    cos=_elementwise(lambda x: x.cos()),
    sin=_elementwise(lambda x: x.sin()),
    linalg=SimpleNamespace(inv=_inverse, trace=np.linalg.trace),
    polynomial=polynomial,
    convolve=_convolve,
    matmul=_matmul,
)
