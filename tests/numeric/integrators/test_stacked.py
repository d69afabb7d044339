"""Recurrences with stacked products against the sums over orders that they stand for."""

import numpy as np
import pytest

from numeric.backends.numpy import arithmetic
from numeric.integrators.stacked import stacked_arithmetic

ORDER = 12


@pytest.mark.parametrize("name", ["gaussian_moments", "gaussian_factor", "gaussian_moments_l2", "linear_tokens_sphere"])
def test_stacked_products(random_problem, name):
    kernel, layout, flat, parameters = random_problem(name, "1", 0)
    states = layout.split(flat.astype(float))
    values = [np.asarray(parameter, dtype=float) for parameter in parameters.values()]
    expected = kernel.series(ORDER, *states, *values, arithmetic)
    found = kernel.series(ORDER, *states, *values, stacked_arithmetic(ORDER))
    for xs, ys in zip(found, expected, strict=True):
        for x, y in zip(xs, ys, strict=True):
            np.testing.assert_allclose(x, y, atol=1e-13 * np.abs(y).max())


def test_orders_in_any_sequence_of_calls():
    """A product of few orders after one of many, and of a sequence with itself."""
    a = list(np.random.default_rng(0).normal(size=(ORDER + 1, 3, 3)))
    matmul = stacked_arithmetic(ORDER).matmul
    for k in (4, 2, ORDER, 0):
        expected = sum(a[j] @ a[k - j] for j in range(k + 1))
        np.testing.assert_allclose(matmul(a, a, k), expected, atol=1e-13)
