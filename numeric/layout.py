"""The flat real state of the integrators, and the named arrays that users see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from numeric.inputs import COMPLEX
from numeric.kernel import Argument

_REAL = np.frompyfunc(lambda z: z.real, 1, 1)
_IMAG = np.frompyfunc(lambda z: z.imag, 1, 1)


def real_arrays(arguments: Sequence[Argument], values: Mapping[str, Any]) -> list[Any]:
    """The values in order, each complex one as its real and its imaginary part; scalars stay scalars."""
    arrays = []
    for argument in arguments:
        value = values[argument.name]
        if argument.domain in COMPLEX:
            arrays += [_real(value), _imag(value)]
        else:
            arrays.append(value)
    return arrays


class Layout:
    """Where each state array lies in the flat real state: complex ones as real parts, then imaginary parts.

    It serves doubles and multiple precision numbers alike: `values` are the arrays that fix the shapes.
    """

    def __init__(self, arguments: Sequence[Argument], values: Mapping[str, Any]):
        self.arguments = tuple(arguments)
        self.shapes = {argument.name: np.shape(values[argument.name]) for argument in arguments}

    def flatten(self, values: Mapping[str, Any]) -> np.ndarray:
        """The flat real state."""
        return np.concatenate([np.ravel(part) for part in real_arrays(self.arguments, values)])

    def split(self, flat: np.ndarray) -> list[Any]:
        """The real arrays of a flat state: what a kernel's Taylor recurrence takes."""
        return real_arrays(self.arguments, self.unflatten(flat))

    def unflatten(self, flat: np.ndarray) -> dict[str, Any]:
        """The named arrays of a flat state; leading axes (times) stay in front."""
        states, offset = {}, 0

        def take(shape: tuple[int, ...]) -> Any:
            nonlocal offset
            begin, offset = offset, offset + prod(shape)
            return flat[..., begin:offset].reshape(flat.shape[:-1] + shape)[()]

        for argument in self.arguments:
            shape = self.shapes[argument.name]
            value = take(shape)
            states[argument.name] = value + 1j * take(shape) if argument.domain in COMPLEX else value
        return states


def _real(value: Any) -> Any:
    return _REAL(value) if getattr(value, "dtype", None) == object else value.real


def _imag(value: Any) -> Any:
    return _IMAG(value) if getattr(value, "dtype", None) == object else value.imag
