"""Random states and parameters of every kernel."""

import random

import gmpy2
import mpmath
import numpy as np
import pytest

from numeric import load_kernel
from numeric.inputs import COMPLEX
from numeric.layout import Layout

SIZES = {"n": 3, "d": 2, "r": 1}


def random_values(arguments, rng, zeros):
    """Positive numbers of moderate size, and some zeros, at the current precision."""
    values, choose = {}, random.Random(2)
    for argument in arguments:
        array = np.empty([SIZES.get(s, 2) if isinstance(s, str) else s for s in argument.shape], dtype=object)
        for place in np.ndindex(array.shape):
            number = mpmath.mpf(rng.randint(1, 20)) / rng.randint(25, 60)
            if argument.domain in ("matrix", "vector") and choose.random() < zeros:
                number = mpmath.mpf(0)
            array[place] = mpmath.mpc(number, number / 3) if argument.domain in COMPLEX else number
        values[argument.name] = array[()]
    return values


@pytest.fixture
def random_problem():
    """(name, scale of time, part of zeros) -> kernel, layout, flat state, parameters."""

    def problem(name, scale, zeros):
        kernel, rng = load_kernel(name), random.Random(1)
        state, parameters = random_values(kernel.state, rng, 0), random_values(kernel.parameters, rng, zeros)
        if "V" in parameters:  # the time scale, and with it all coefficients
            parameters["V"] = parameters["V"] * mpmath.mpf(scale)
        layout = Layout(kernel.state, state)
        return kernel, layout, layout.flatten(state), parameters

    return problem


@pytest.fixture
def disparate_problem(random_problem):
    """The same of a kernel whose W = A + V L Lᵀ B depends on L alone, beside which μ is huge."""
    kernel, layout, flat, parameters = random_problem("gaussian_factor", "1", 0)
    flat[: SIZES["d"]] *= mpmath.mpf(2) ** 158
    return kernel, layout, flat, parameters


@pytest.fixture
def assert_every_entry_is_precise():
    """(polynomials found, those expected, the logarithm of a step, bits) compares the terms of each entry with it."""

    def check(found, expected, step, bits):
        for series in zip(found.coefficients, expected.coefficients, strict=True):
            left, right = ([x * gmpy2.mpfr(2) ** (k * step) for k, x in enumerate(terms)] for terms in series)
            apart = max(abs(x - y) for x, y in zip(left, right, strict=True))
            # 10 bits for the roundings of up to a hundred operations for each of the orders.
            assert apart <= max(map(abs, right)) * gmpy2.mpfr(2) ** (10 - bits)

    return check
