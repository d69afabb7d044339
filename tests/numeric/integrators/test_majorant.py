"""The bound that order and step come from, against series whose remainder is known."""

import math

import mpmath
import pytest

from numeric.integrators.majorant import log2_size, majorant, power_of_two

ORDER = 40


def geometric(k):
    return 3 * mpmath.mpf(2) ** -k


def exponential(k):
    return 5**k / mpmath.factorial(k)


def odd(k):
    return mpmath.mpf(3) ** -k if k % 2 else mpmath.mpf(0)


def oscillating(k):
    return mpmath.cos(k) * mpmath.mpf(2) ** k


def double_pole(k):
    return (k + 1) * mpmath.mpf(2) ** -k


def after_a_hump(k):
    return 1000 * mpmath.mpf(2) ** -k if k < 15 else mpmath.mpf(10) ** -5 * mpmath.mpf("1.5") ** -k


SERIES = [geometric, exponential, odd, oscillating, double_pole, after_a_hump]


@pytest.mark.parametrize("coefficient", SERIES)
@pytest.mark.parametrize("tolerance", ["1e-10", "1e-25", "1e-45"])
def test_the_remainder_at_the_step_is_below_the_tolerance(coefficient, tolerance):
    fit = majorant([log2_size(coefficient(k)) for k in range(ORDER + 1)])
    step = power_of_two(fit.log2_step(log2_size(mpmath.mpf(tolerance))))
    with mpmath.workdps(60):
        # 200 terms beyond the order: the rest is below 0.9^200 of the first.
        remainder = mpmath.fsum(coefficient(k) * step**k for k in range(ORDER + 1, ORDER + 200))
        assert 0 < abs(remainder) <= mpmath.mpf(tolerance)
    assert power_of_two(fit.log2_remainder(log2_size(step))) <= mpmath.mpf(tolerance) * (1 + mpmath.mpf(10) ** -10)


@pytest.mark.parametrize("coefficient", SERIES)
def test_the_hypothesis_holds_for_the_computed_second_half(coefficient):
    sizes = [log2_size(coefficient(k)) for k in range(ORDER + 1)]
    fit = majorant(sizes)
    # 1e-9: the rounding of logarithms of size up to a few hundred.
    assert all(sizes[k] <= fit.log2_bound - k * fit.log2_radius + 1e-9 for k in range(ORDER // 2 + 1, ORDER + 1))


def test_the_radius_of_a_geometric_series_is_found():
    fit = majorant([log2_size(geometric(k)) for k in range(ORDER + 1)])
    assert fit.log2_radius == pytest.approx(1, abs=1e-12)
    assert fit.log2_remainder(1.0) == math.inf


def test_a_polynomial_has_no_remainder():
    fit = majorant([0.0, 1.0, 2.0] + [-math.inf] * 30)
    assert fit.log2_step(-100.0) == math.inf
    assert fit.log2_remainder(50.0) == -math.inf


def test_logarithms_outside_the_range_of_doubles():
    tiny = mpmath.mpf(2) ** -100_000 * 3
    assert log2_size(tiny) == pytest.approx(math.log2(3) - 100_000, abs=1e-9)
    assert log2_size(mpmath.mpf(0)) == -math.inf
    # 1e-9: the rounding of the exponent, 1e5 times the spacing of doubles, times log 2.
    assert abs(power_of_two(log2_size(tiny)) / tiny - 1) < 1e-9
    assert power_of_two(-math.inf) == 0
    assert power_of_two(math.inf) == mpmath.inf
