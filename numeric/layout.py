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
            is_object = isinstance(value, np.ndarray) and value.dtype == object
            arrays += [_REAL(value), _IMAG(value)] if is_object else [value.real, value.imag]
        else:
            arrays.append(value)
    return arrays


def flatten(arguments: Sequence[Argument], values: Mapping[str, Any]) -> np.ndarray:
    """All entries as one real vector, complex arrays as real parts, then imaginary parts."""
    return np.concatenate(
        [part.ravel() if isinstance(part, np.ndarray) else [part] for part in real_arrays(arguments, values)]
    )


class Layout:
    """Where each state array lies in the flat real state: complex ones as real parts, then imaginary parts.

    It serves doubles and multiple precision numbers alike: `values` are the arrays that fix the shapes. `blocks`
    maps each name to its place.
    """

    def __init__(self, arguments: Sequence[Argument], values: Mapping[str, Any]):
        self.arguments = tuple(arguments)
        self.shapes = {argument.name: np.shape(values[argument.name]) for argument in arguments}
        self.blocks: dict[str, slice] = {}
        end = 0
        for argument in arguments:
            begin, end = end, end + prod(self.shapes[argument.name]) * (2 if argument.domain in COMPLEX else 1)
            self.blocks[argument.name] = slice(begin, end)
        self.size = end
        self._parts = [self._places(argument) for argument in arguments]
        self.unit_tokens = tuple(argument.name for argument in arguments if argument.domain == "unit tokens")

    def _places(self, argument: Argument) -> tuple[tuple[int, ...], Any, Any]:
        """The shape of an array, and where its real and its imaginary part lie: slices, or the indices of scalars."""
        shape, block = self.shapes[argument.name], self.blocks[argument.name]
        half = block.start + prod(shape)
        real, imaginary = slice(block.start, half), slice(half, block.stop)
        places = (real, imaginary) if shape else (real.start, imaginary.start)
        return shape, places[0], places[1] if argument.domain in COMPLEX else None

    def unpack(self, flat: np.ndarray) -> list[Any]:
        """The arrays of one flat state, in order: views of it, except for scalars and complex ones."""
        arrays = []
        for shape, real, imaginary in self._parts:
            value = flat[real] if imaginary is None else flat[real] + 1j * flat[imaginary]
            arrays.append(value.reshape(shape) if shape else value)
        return arrays

    def pack(self, arrays: Sequence[Any]) -> np.ndarray:
        """The flat state of doubles that holds these arrays; the inverse of `unpack`."""
        flat = np.empty(self.size)
        for value, (shape, real, imaginary) in zip(arrays, self._parts, strict=True):
            entries = value.ravel() if shape else value
            if imaginary is None:
                flat[real] = entries
            else:
                flat[real], flat[imaginary] = entries.real, entries.imag
        return flat

    def largest(self, flat: np.ndarray) -> tuple[str, slice]:
        """The state array that holds the largest entry of a flat vector."""
        entry = int(np.abs(flat).argmax())
        return next((name, block) for name, block in self.blocks.items() if entry < block.stop)

    def flatten(self, values: Mapping[str, Any]) -> np.ndarray:
        """The flat real state."""
        return flatten(self.arguments, values)

    def with_unit_tokens(self, flat: np.ndarray) -> np.ndarray:
        """A flat state of doubles with its unit tokens scaled to unit length; itself where there are none."""
        if not self.unit_tokens:
            return flat
        scaled = flat.copy()
        for name in self.unit_tokens:
            tokens = scaled[self.blocks[name]].reshape(self.shapes[name])  # a view
            tokens /= np.linalg.norm(tokens, axis=-1, keepdims=True)
        return scaled

    def split(self, flat: np.ndarray) -> list[Any]:
        """The real arrays of a flat state: what a kernel's Taylor recurrence takes."""
        arrays = []
        for argument in self.arguments:
            block, shape = flat[self.blocks[argument.name]], self.shapes[argument.name]
            parts = np.split(block, 2) if argument.domain in COMPLEX else [block]
            arrays += [part.reshape(shape)[()] for part in parts]
        return arrays

    def unflatten(self, flat: np.ndarray) -> dict[str, Any]:
        """The named arrays of a flat state; leading axes (times) stay in front."""
        states = {}
        for argument in self.arguments:
            block, shape = flat[..., self.blocks[argument.name]], self.shapes[argument.name]
            if argument.domain in COMPLEX:
                half = prod(shape)
                block = block[..., :half] + 1j * block[..., half:]
            states[argument.name] = block.reshape(flat.shape[:-1] + shape)[()]
        return states
