"""The short way for inputs: what is there as doubles, in shapes seen before, goes straight into one vector.

Integrating a small compiled orbit takes some microseconds, and so would checking each array by itself. Here the vector
is checked; whatever is not found in order goes to `numeric.inputs.check_values`, which says what is wrong with it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from numeric.inputs import SLACK, check_values
from numeric.kernel import Kernel
from numeric.layout import Layout

FLOAT, NUMBERS = np.dtype(float), {int, float, complex, np.float64, np.complex128}

#: Of the modulus of an entry of a disc.
LARGEST_SQUARE = (1 + SLACK) ** 2

#: Domains in which every finite array of its shape lies, or is looked at here.
READ = {"real", "complex", "disc", "vector", "matrix", "tokens", "phases"}


class Places:
    """Where the states, and then the parameters, of a kernel lie in one vector."""

    def __init__(self, kernel: Kernel, state: Mapping[str, Any], parameters: Mapping[str, Any]):
        arguments = kernel.state + kernel.parameters
        self.state = Layout(kernel.state, state)
        self.all = Layout(arguments, {**state, **parameters})
        blocks = self.all.blocks.values()
        self.discs = [block for argument, block in zip(arguments, blocks, strict=True) if argument.domain == "disc"]
        self.shapes = tuple(self.all.shapes.values())


def flat_inputs(
    kernel: Kernel, initial: Mapping[str, Any], parameters: Mapping[str, Any], normalize: bool
) -> tuple[Places, np.ndarray]:
    """The checked states and parameters as one vector, which is nobody else's."""
    found = _read(kernel, initial, parameters)
    if found is None:
        groups = ("initial", kernel.state, initial), ("parameters", kernel.parameters, parameters)
        state, values = check_values(*groups, normalize=normalize)
        places = Places(kernel, state, values)
        if all(argument.domain in READ for argument in places.all.arguments):
            kernel.places.setdefault(places.shapes, places)
        found = places, places.all.pack([*state.values(), *values.values()])
    return found


def _read(
    kernel: Kernel, initial: Mapping[str, Any], parameters: Mapping[str, Any]
) -> tuple[Places, np.ndarray] | None:
    states, others = kernel.names
    try:
        if len(initial) != len(states) or len(parameters) != len(others):
            return None
        values = [initial[name] for name in states] + [parameters[name] for name in others]
        places = kernel.places.get(tuple(map(_shape, values)))
        if places is None:
            return None
        vector = places.all.pack(values)
    except (KeyError, TypeError, OverflowError):
        return None
    if not math.isfinite(np.vdot(vector, vector)):  # which may overflow, and does not decide then
        return None
    for disc in places.discs:
        parts = vector[disc]
        if not parts.dot(parts) <= LARGEST_SQUARE:
            return None
    return places, vector


def _shape(value: Any) -> tuple[int, ...] | None:
    """That of a number or of an array of doubles; nothing else has one here."""
    kind = type(value)
    if kind is np.ndarray:
        return value.shape if value.dtype is FLOAT else None
    return () if kind in NUMBERS else None
