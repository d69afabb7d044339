"""Flat states: the quick ways for one state of doubles agree with the general ones."""

import numpy as np

from numeric.kernel import Argument
from numeric.layout import Layout

VALUES = {"x": 1.5, "Z": 0.25 - 3j, "m": np.array([1.0, 2.0, 3.0]), "S": np.arange(6.0).reshape(2, 3),
          "w": np.array([[1j, 2.0], [3 - 1j, 4.0]])}  # fmt: skip
ARGUMENTS = (
    Argument("x", (), "real"),
    Argument("Z", (), "disc"),
    Argument("m", ("d",), "vector"),
    Argument("S", ("n", "d"), "matrix"),
    Argument("w", ("k", "k"), "complex"),
)


def test_pack_and_unpack():
    layout = Layout(ARGUMENTS, VALUES)
    flat = layout.pack(VALUES.values())
    np.testing.assert_array_equal(flat, layout.flatten(VALUES))
    assert len(flat) == layout.size == 1 + 2 + 3 + 6 + 8
    for value, general in zip(layout.unpack(flat), layout.unflatten(flat).values(), strict=True):
        np.testing.assert_array_equal(value, general)
        assert np.shape(value) == np.shape(general) and isinstance(value, np.generic) == isinstance(general, np.generic)


def test_packed_states_are_copies():
    layout = Layout(ARGUMENTS, VALUES)
    flat = layout.pack(VALUES.values())
    layout.pack(layout.unpack(flat))[:] = 0
    np.testing.assert_array_equal(flat, layout.flatten(VALUES))
