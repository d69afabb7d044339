"""The short way for inputs gives what the checks of each array give, or leaves them the word."""

import numpy as np
import pytest

from numeric import load_kernel
from numeric.flat_inputs import flat_inputs
from numeric.inputs import check_values
from numeric.layout import Layout

GOOD = {"A": np.array([[1.0, 2.0], [3.0, 4.0]]), "V": np.array([[0.0, 1.0], [-1.0, 0.5]]), "beta": 1.5}


@pytest.fixture
def kernel():
    """With shapes that were seen before."""
    kernel = load_kernel("ott_antonsen")
    flat_inputs(kernel, {"R": 0.1}, GOOD, False)
    return kernel


@pytest.mark.parametrize("R", [0.5, 0, 1j, np.complex128(0.3 - 0.4j), np.float64(-1), 1.0 + 1e-10])
@pytest.mark.parametrize("beta", [2, 0.5, np.float64(1e200), np.array(3.0), np.float32(0.25), "1/4", True])
@pytest.mark.parametrize("A", [GOOD["A"], GOOD["A"].T, GOOD["A"].tolist(), np.eye(2, dtype=int), 1e300 * GOOD["A"]])
def test_the_same_numbers_as_by_the_checks(kernel, R, beta, A):
    initial, parameters = {"R": R}, {"V": GOOD["V"], "beta": beta, "A": A}
    places, vector = flat_inputs(kernel, initial, parameters, False)
    state, values = check_values(("initial", kernel.state, initial), ("parameters", kernel.parameters, parameters))
    assert vector.tolist() == Layout(kernel.state + kernel.parameters, state | values).flatten(state | values).tolist()
    assert places.state.size == 2


@pytest.mark.parametrize(
    ("initial", "changes", "message"),
    [
        ({"R": 1.1}, {}, "R: has modulus 1.1"),
        ({"R": 0.8 + 0.8j}, {}, "R: has modulus"),
        ({"R": complex("nan")}, {}, "R: has entries that are infinite or not a number"),
        ({"R": 0.1}, {"beta": float("inf")}, "beta: has entries that are infinite"),
        ({"R": 0.1}, {"A": np.array([[1.0, np.nan], [0.0, 1.0]])}, "A: has entries that are infinite"),
        ({"R": 0.1}, {"A": np.eye(3)}, "A: has shape"),
        ({"R": 0.1}, {"A": np.ones(2)}, "A: has shape"),
        ({"R": 0.1}, {"A": 1j * np.eye(2)}, "A: entry"),
        ({"R": 0.1}, {"beta": 1j}, "beta: entry"),
        ({"R": 0.1}, {"beta": 10**400}, "beta: has entries that are infinite"),
        ({"Q": 0.1}, {}, "initial: unknown name 'Q'"),
        ({"R": 0.1, "Q": 1}, {}, "initial: unknown name 'Q'"),
        ({}, {}, "initial: missing R"),
        ([0.1], {}, "initial: list is not a mapping"),
        (0.1, {}, "initial: float is not a mapping"),
    ],
)
def test_what_is_wrong_is_said(kernel, initial, changes, message):
    with pytest.raises(ValueError, match=message):
        flat_inputs(kernel, initial, GOOD | changes, False)


def test_inputs_are_copied(kernel):
    A = GOOD["A"].copy()
    _, vector = flat_inputs(kernel, {"R": 0.1}, GOOD | {"A": A}, False)
    before = vector.copy()
    A[0, 0] = 7
    assert (vector == before).all()


def test_domains_that_need_more_are_always_checked():
    kernel = load_kernel("gaussian_moments")
    parameters = {name: np.eye(2) for name in "ABV"} | {"b": np.zeros(2)}
    flat_inputs(kernel, {"mu": np.zeros(2), "Sigma": np.eye(2)}, parameters, False)
    with pytest.raises(ValueError, match="Sigma: is not symmetric"):
        flat_inputs(kernel, {"mu": np.zeros(2), "Sigma": np.triu(np.ones((2, 2)))}, parameters, False)
    assert not kernel.places
