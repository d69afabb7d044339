"""Compiled: heyoka turns the equations into machine code, for one choice of shapes and all values of the parameters.

What is compiled is the Taylor integrator (`numeric.integrators.heyoka_solver`), from the real expressions that
`system` finds, or one step for many members (`numeric.integrators.heyoka_batch`). The numbers are doubles, and on
these `rhs` runs with NumPy.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from types import SimpleNamespace
from typing import Any

import numpy as np

from numeric.backends import from_extra, numpy
from numeric.inputs import COMPLEX
from numeric.kernel import Argument, Kernel
from numeric.layout import Layout

with from_extra("fast"):
    import heyoka as hy

arithmetic = numpy.arithmetic

#: Expressions are unrolled into scalars, whose number grows like the cube of the side of a matrix. This many entries
#: of states and parameters (Gaussian moments in dimension 8 have 336) take seconds to compile.
LARGEST = 400


def system(kernel: Kernel, shapes: Mapping[str, tuple[int, ...]]) -> list[tuple[hy.expression, hy.expression]]:
    """The kernel's equations as heyoka takes them: pairs of a real state variable and its time derivative.

    The variables follow the flat state of `numeric.layout` (complex arrays as real parts, then imaginary parts), and
    hy.par[i] is entry i of the parameters in the same layout: `Layout(kernel.parameters, values).flatten(values)`.
    So one compilation serves all values of the parameters.

    The equations are read off the first Taylor coefficients of `kernel.series`, run on expressions; it is real already.

    Parameters
    ----------
    kernel
        Of any backend.
    shapes
        The shape of every state and parameter array by name, without batch axes.

    Raises
    ------
    ValueError
        When there are more than LARGEST entries.

    >>> from numeric.kernel import Argument, Kernel
    >>> growth = Kernel("growth", "heyoka", "", (Argument("x", (), "real"),), (Argument("r", (), "real"),), None,
    ...     lambda order, x, r, arithmetic: ([x, r * x],))
    >>> system(growth, {"x": (), "r": ()})
    [(x0, (p0 * x0))]
    """
    variables, (_, rates) = taylor_coefficients(kernel, shapes, 1)
    return list(zip(variables, rates, strict=True))


def taylor_coefficients(
    kernel: Kernel, shapes: Mapping[str, tuple[int, ...]], order: int
) -> tuple[list[hy.expression], list[list[hy.expression]]]:
    """The state variables, and the Taylor coefficients 0..order of all of them, as in `system`."""
    sizes = [_size(argument, shapes) for argument in kernel.state + kernel.parameters]
    if sum(sizes) > LARGEST:
        raise ValueError(
            f"backend: heyoka unrolls arrays, and these have {sum(sizes)} entries; "
            f"expected at most {LARGEST}, for more use backend='numpy'"
        )
    count = sum(sizes[: len(kernel.state)])
    variables = [hy.expression(f"x{i}") for i in range(count)]
    parameters = [hy.par[i] for i in range(sum(sizes) - count)]
    states = _arrays(kernel.state, shapes, variables)
    lists = kernel.recurrence()(order, *states, *_arrays(kernel.parameters, shapes, parameters), _on_expressions)
    return variables, [
        [_expression(entry) for coefficients in lists for entry in np.ravel(coefficients[k])] for k in range(order + 1)
    ]


class _Expressions(np.ndarray):
    """An object array of expressions; a maximum, whose comparisons are no booleans, is an expression too."""

    def max(self, axis: int, keepdims: bool) -> Any:  # type: ignore[override]
        first, *others = np.moveaxis(self, axis, 0)
        for other in others:
            first = _larger(first, other)
        return np.expand_dims(first, axis).view(_Expressions) if keepdims else first


_larger = np.frompyfunc(lambda a, b: hy.select(hy.gt(a, b), a, b), 2, 1)


def _size(argument: Argument, shapes: Mapping[str, tuple[int, ...]]) -> int:
    return prod(shapes[argument.name]) * (2 if argument.domain in COMPLEX else 1)


def _arrays(arguments: tuple[Argument, ...], shapes: Mapping[str, tuple[int, ...]], entries: list[Any]) -> list[Any]:
    flat = np.empty(len(entries), dtype=object)
    flat[:] = entries
    return Layout(arguments, {name: np.empty(shape) for name, shape in shapes.items()}).split(flat.view(_Expressions))


def _expression(value: Any) -> hy.expression:
    return value if isinstance(value, hy.expression) else hy.expression(float(value))


def _asarray(values: Any) -> Any:
    return np.asarray(values, dtype=object).view(_Expressions)


def _elementwise(function: Any) -> Any:
    return np.frompyfunc(lambda x: function(_expression(x)), 1, 1)


def _inverse(matrix: np.ndarray) -> np.ndarray:
    """By Gauss-Jordan elimination in the given order: nothing is known of the sizes, so there is no pivoting."""
    size = len(matrix)
    rows = np.concatenate([matrix, _asarray(np.eye(size))], axis=1)
    for k in range(size):
        rows[k] = rows[k] / rows[k, k]
        for other in range(size):
            if other != k:
                rows[other] = rows[other] - rows[other, k] * rows[k]
    return rows[:, size:]


_on_expressions = SimpleNamespace(
    asarray=_asarray,
    broadcast_to=np.broadcast_to,
    eye=np.eye,
    abs=_elementwise(lambda x: hy.select(hy.lt(x, 0.0), -x, x)),
    exp=_elementwise(hy.exp),
    log=_elementwise(hy.log),
    sqrt=_elementwise(hy.sqrt),
    cos=_elementwise(hy.cos),
    sin=_elementwise(hy.sin),
    linalg=SimpleNamespace(inv=_inverse, trace=np.linalg.trace),
    convolve=numpy.arithmetic.convolve,
    matmul=numpy.arithmetic.matmul,
)
