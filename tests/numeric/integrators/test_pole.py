"""Poles ahead are located from Taylor coefficients, and only poles are."""

from fractions import Fraction

import mpmath
import pytest

from numeric.integrators.pole import grows_to_singularity, pole_ahead, power_series

ORDER = 60
DIGITS = 60


def power(exponent, distance):
    """The coefficients of (distance - h)^exponent."""
    return [mpmath.binomial(exponent, k) * (-1) ** k * distance ** (exponent - k) for k in range(ORDER + 1)]


@pytest.mark.parametrize("exponent", [Fraction(1), Fraction(1, 2), Fraction(3, 2), Fraction(2), Fraction(1, 3)])
@pytest.mark.parametrize("sign", [1, -1])
def test_exact_powers(exponent, sign):
    with mpmath.workdps(DIGITS):
        distance = mpmath.mpf(1) / 7
        alpha = mpmath.mpf(exponent.numerator) / exponent.denominator
        found = pole_ahead([sign * 5 * c for c in power(-alpha, distance)])
        assert found.exponent == exponent
        assert abs(found.distance - distance) <= found.radius
        # The radius allows for 20 bits of rounding; the rate inherits it.
        assert found.radius < mpmath.mpf(10) ** (8 - DIGITS)
        assert abs(found.rate - 5) < mpmath.mpf(10) ** (10 - DIGITS)


def test_a_further_singularity_widens_the_radius_and_nothing_else():
    with mpmath.workdps(DIGITS):
        near, far = mpmath.mpf(1) / 10, mpmath.mpf(1)
        coefficients = [a + 3 * b for a, b in zip(power(-1, near), power(-1, far), strict=True)]
        found = pole_ahead(coefficients)
        assert abs(found.distance - near) <= found.radius
        # 1/x has a pole where x = 0, at h = 13/40: (4/13)^60 = 2e-31 is left of its series at the pole of x.
        assert found.radius < mpmath.mpf(10) ** -30
        # The slope of a series converges as the series, but for a factor of its order and of 1/distance.
        assert abs(found.rate - 1) < mpmath.mpf(10) ** -27


def test_a_logarithm_is_no_pole():
    coefficients = [mpmath.mpf(1)] + [mpmath.mpf(1) / k for k in range(1, ORDER + 1)]
    assert grows_to_singularity(coefficients)
    assert pole_ahead(coefficients) is None


def test_what_does_not_grow_to_a_singularity():
    assert not grows_to_singularity([mpmath.mpf(-1) ** k for k in range(ORDER + 1)])
    assert not grows_to_singularity([-mpmath.mpf(1)] + [mpmath.mpf(1)] * ORDER)
    assert not grows_to_singularity([mpmath.mpf(0)] + [mpmath.mpf(1)] * ORDER)
    assert grows_to_singularity([mpmath.mpf(-2) ** -1] * ORDER)


def test_powers_of_a_series_multiply():
    with mpmath.workdps(30):
        x = [mpmath.mpf(1) / (k + 1) for k in range(12)]
        root = power_series(x, mpmath.mpf(1) / 2)
        square = [mpmath.fsum(root[j] * root[k - j] for j in range(k + 1)) for k in range(12)]
        assert all(abs(a - b) < mpmath.mpf(10) ** -28 for a, b in zip(x, square, strict=True))
