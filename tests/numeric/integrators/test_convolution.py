"""Products of power series on whole numbers against exact rational arithmetic."""

import math
from fractions import Fraction

import gmpy2
import mpmath
import numpy as np
import pytest

from numeric import load_kernel
from numeric.integrators.convolution import Convolutions, NotFinite
from numeric.integrators.expansion import Multiprecision
from numeric.layout import Layout

PRECISION, ORDER = 150, 20


@pytest.fixture(autouse=True)
def precision():
    with mpmath.workprec(PRECISION), gmpy2.context(precision=PRECISION):
        yield


def sequence(rng, shape, log2_decay):
    """Random coefficients that fall off like 2^(-log2_decay k)."""
    numbers = rng.uniform(-1, 1, size=(ORDER + 1, *shape))
    scale = [gmpy2.mpfr(2) ** round(-log2_decay * k) for k in range(ORDER + 1)]
    to_mpfr = np.frompyfunc(gmpy2.mpfr, 1, 1)
    return [np.asarray(to_mpfr(numbers[k]) * scale[k], dtype=object) for k in range(ORDER + 1)]


def exact(array):
    return np.frompyfunc(lambda x: Fraction(*map(int, x.as_integer_ratio())), 1, 1)(array)


def assert_product(found, expected, k, unit):
    """To 2^-PRECISION of what terms of order k count on a step of 2^unit, for each product."""
    for x, y in zip(exact(found).ravel(), expected.ravel(), strict=True):
        assert abs(x - y) * Fraction(2) ** (unit * k) < 8 * (k + 1) * Fraction(2) ** -PRECISION


@pytest.mark.parametrize("log2_decay", [-6, 0, 2.5])
@pytest.mark.parametrize("error", [-1, 0, 1])
def test_products_of_series(log2_decay, error):
    rng, unit = np.random.default_rng(0), round(log2_decay) + error
    products = Convolutions(unit)
    a, b, c = (sequence(rng, shape, log2_decay) for shape in ((2, 3), (3, 4), (1, 3)))
    step = min(unit, round(log2_decay))  # where terms grow, they count by their own size
    for k in range(ORDER + 1):
        grown = [x[: k + 1] for x in (a, b, c)]
        product = sum(exact(a[m]) @ exact(b[k - m]) for m in range(k + 1))
        convolved = sum(exact(a[m]) * exact(c[k - m]) for m in range(k + 1))
        tail = sum(exact(a[m]) * exact(c[k - m]) for m in range(1, k + 1))
        assert_product(products.matmul(grown[0], grown[1], k), product, k, step)
        assert_product(products.convolve(grown[0], grown[2], k), convolved, k, step)
        if k:
            assert_product(products.convolve(grown[0][1:], grown[2][:k], k - 1), tail, k, step)


def test_sequences_that_begin_alike():
    one, two, three = (np.array([gmpy2.mpfr(x)], dtype=object) for x in (1, 2, 3))
    products = Convolutions(0)
    assert products.convolve([one, two], [one, two], 1)[0] == 4
    assert products.convolve([one, three], [one, two], 1)[0] == 5


def test_what_is_not_finite():
    bad = np.array([gmpy2.mpfr("inf")], dtype=object)
    with pytest.raises(NotFinite):
        Convolutions(0).convolve([bad], [bad], 0)


def test_steps_longer_than_foreseen():
    """A unit of time far below the radius of convergence would hide the late coefficients."""
    kernel = load_kernel("second_moment")
    state = {"M": np.array([[mpmath.mpf(1), mpmath.mpf(0)], [mpmath.mpf(0), mpmath.mpf(2)]], dtype=object)}
    parameters = {
        name: np.array([[mpmath.mpf(x) for x in row] for row in rows], dtype=object)
        for name, rows in {"A": [[1, 2], [0, 1]], "V": [[-1, 0], [1, -1]]}.items()
    }
    layout = Layout(kernel.state, state)
    flat = layout.flatten(state)
    precise = Multiprecision(kernel, layout, {**parameters, "beta": mpmath.mpf(1)}, ORDER)
    expected = precise(flat).polynomials(math.inf)
    step = mpmath.mpf(1) / 64
    for unit in (-40, -4, 0, 30):
        precise.unit = unit
        found = precise(flat).polynomials(-6.0)
        assert np.abs(found(step) - expected(step)).max() < mpmath.mpf(2) ** (8 - PRECISION)
