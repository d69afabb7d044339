"""heyoka's expressions against NumPy, and its orbits against closed forms and SciPy."""

import numpy as np
import pytest

from numeric import load_kernel
from numeric.layout import Layout
from symbolic import canonical_reductions

hy = pytest.importorskip("heyoka")

from numeric.backends.heyoka import system  # noqa: E402

SIZES = {"n": 3, "d": 2, "r": 1}


def random_values(kernel, rng):
    """Any values near those of the domain; positive ones where roots and logarithms need it."""
    values = {}
    for argument in kernel.state + kernel.parameters:
        shape = tuple(SIZES.get(size, size) for size in argument.shape)
        value = rng.normal(size=shape)
        if argument.domain in ("complex", "disc"):
            value = (value + 1j * rng.normal(size=shape)) / 4
        elif argument.domain == "covariance":
            value = value @ value.T + np.eye(len(value))
        elif argument.domain == "positive":
            value = np.exp(value)
        values[argument.name] = value
    return values


@pytest.mark.parametrize("name", canonical_reductions())
def test_expressions_are_those_of_numpy(name):
    kernel = load_kernel(name)
    rng = np.random.default_rng(3)
    values = random_values(kernel, rng)
    pairs = system(kernel, {name: np.shape(value) for name, value in values.items()})
    variables, rates = zip(*pairs, strict=True)
    compiled = hy.cfunc(list(rates), vars=list(variables), compact_mode=True)
    for _ in range(3):
        values = random_values(kernel, rng)
        state = Layout(kernel.state, values)
        parameters = Layout(kernel.parameters, values).flatten(values)
        expected = kernel.rhs(*values.values())
        expected = state.flatten(dict(zip(state.blocks, expected, strict=True)))
        found = compiled(state.flatten(values), pars=parameters)
        # Sums and products in another order, and an inverse of condition number 1e3 at most.
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11 * np.abs(expected).max())
