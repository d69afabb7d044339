"""Poles ahead are located from Taylor coefficients, and only poles are."""

from fractions import Fraction

import mpmath
import pytest

from numeric.integrators.pole import pole_ahead, power_series, square_norm

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
        found = pole_ahead(square_norm([[sign * 5 * c for c in power(-alpha, distance)]]))
        assert found.exponent == exponent
        assert abs(found.distance - distance) <= found.radius
        # The radius allows for 20 bits of rounding and for terms up to 1e4 times the first; the rate inherits it.
        assert found.radius < mpmath.mpf(10) ** (11 - DIGITS)
        assert abs(found.rate - 5) < mpmath.mpf(10) ** (12 - DIGITS)


def test_a_further_singularity_widens_the_radius_and_nothing_else():
    with mpmath.workdps(DIGITS):
        near, far = mpmath.mpf(1) / 20, mpmath.mpf(1)
        coefficients = [a + 3 * b for a, b in zip(power(-1, near), power(-1, far), strict=True)]
        found = pole_ahead(square_norm([coefficients]))
        assert abs(found.distance - near) <= found.radius
        # 1/x has a pole where x = 0, at h = 23/80: (4/23)^60 = 3e-46 is left of its series at the pole of x.
        assert mpmath.mpf(10) ** -50 < found.radius < mpmath.mpf(10) ** -45
        # The slope of a series converges as the series, but for a factor of its order and of 1/distance.
        assert abs(found.rate - 1) < mpmath.mpf(10) ** -42


def test_entries_of_mixed_growth_have_a_norm_with_one():
    # (cos, sin) turns a growing and a regular part into entries that mix half-integer and integer powers.
    with mpmath.workdps(DIGITS):
        third = mpmath.mpf(1) / 3
        growing, regular = power(-third * 3 / 2, third), power(1, third)
        entries = [
            [3 * a / 5 + 4 * b / 5 for a, b in zip(growing, regular, strict=True)],
            [4 * a / 5 - 3 * b / 5 for a, b in zip(growing, regular, strict=True)],
        ]
        found = pole_ahead(square_norm(entries))
        assert found.exponent == Fraction(1, 2)
        assert abs(found.distance - third) <= found.radius


def test_a_logarithm_is_no_pole():
    assert pole_ahead([mpmath.mpf(1)] + [mpmath.mpf(1) / k for k in range(1, ORDER + 1)]) is None


def test_no_singularity_ahead():
    assert pole_ahead([mpmath.mpf(-1) ** k for k in range(ORDER + 1)]) is None  # 1/(1 + h)
    assert pole_ahead([1 / mpmath.factorial(k) for k in range(ORDER + 1)]) is None  # e^h


def test_powers_of_a_series_multiply():
    with mpmath.workdps(30):
        x = [mpmath.mpf(1) / (k + 1) for k in range(12)]
        root = power_series(x, mpmath.mpf(1) / 2)
        square = [mpmath.fsum(root[j] * root[k - j] for j in range(k + 1)) for k in range(12)]
        assert all(abs(a - b) < mpmath.mpf(10) ** -28 for a, b in zip(x, square, strict=True))
