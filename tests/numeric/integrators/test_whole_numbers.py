"""Taylor coefficients from whole numbers against those from floating-point numbers."""

import math
import pkgutil

import gmpy2
import mpmath
import numpy as np
import pytest

from numeric import generated, load_kernel
from numeric.integrators.expansion import Multiprecision
from numeric.integrators.program import CONVOLVE, PLAIN, TABLE, Program, Term
from numeric.integrators.whole_numbers import NotFinite, WholeNumbers

ORDER, BITS = 40, 200

NAMES = sorted(module.name for module in pkgutil.iter_modules(generated.__path__))


@pytest.fixture(autouse=True)
def precision():
    with mpmath.workprec(BITS), gmpy2.context(precision=BITS):
        yield


@pytest.mark.parametrize("scale, zeros", [("1", 0), ("1e-9", 0), ("1e9", 0), ("1", 0.4), ("1", 1)])
@pytest.mark.parametrize("name", [name for name in NAMES if load_kernel(name).series is not None])
def test_whole_numbers_are_as_accurate_as_floating_point(random_problem, name, scale, zeros):
    kernel, layout, flat, parameters = random_problem(name, scale, zeros)
    precise = Multiprecision(kernel, layout, parameters, ORDER)
    floating = precise(flat)
    if precise.unit is None:
        assert floating.sizes[-1] == -math.inf  # a polynomial, to which no step is too long
        return
    step = precise.unit - 1
    whole = precise(flat)
    assert precise.whole_numbers is not None
    with mpmath.workprec(2 * BITS), gmpy2.context(precision=2 * BITS):
        exact = Multiprecision(kernel, layout, parameters, ORDER)(flat)
        powers = [gmpy2.mpfr(2) ** (k * step) for k in range(ORDER + 1)]

        def error(found):
            """In terms of the series on a step, relative to the state."""
            matrices = [np.array(x.polynomials(step).coefficients, dtype=object) for x in (found, exact)]
            return float(np.abs((matrices[0] - matrices[1]) * powers).max() / max(map(abs, flat)))

        # Three bits for what rounding does to a state that floating-point numbers happen to hit.
        assert error(whole) <= max(2 * error(floating), 2.0 ** (3 - BITS))


@pytest.mark.parametrize("unit", [-40, -4, 0, 30])
def test_units_that_were_not_foreseen(random_problem, unit):
    """Far below the radius of convergence they would hide late coefficients, far above it numbers are large."""
    kernel, layout, flat, parameters = random_problem("gaussian_moments", "1", 0)
    precise = Multiprecision(kernel, layout, parameters, ORDER)
    expected = precise(flat).polynomials(math.inf)
    precise.unit = unit
    step = mpmath.mpf(1) / 64
    found = precise(flat).polynomials(-6.0)
    assert np.abs(found(step) - expected(step)).max() < mpmath.mpf(2) ** (8 - BITS)


def test_a_small_entry_beside_a_huge_one(disparate_problem, assert_every_entry_is_precise):
    kernel, layout, flat, parameters = disparate_problem
    precise = Multiprecision(kernel, layout, parameters, ORDER)
    floating = precise(flat)
    step = precise.unit - 1
    whole = precise(flat)
    assert precise.whole_numbers is not None
    assert_every_entry_is_precise(whole.polynomials(step), floating.polynomials(step), step, BITS)


def test_lags():
    """x' = -y, y' = x x' with the convolution of x'[1:] and x, as powers have it: x = a[0] + a[1] t + ..."""
    terms = [
        (0, [Term(TABLE, 1, 1, 1, 1)]),  # x[k] = y[k - 1]/k
        (1, [Term(CONVOLVE, -1, 0, 0, 0, 1, 1), Term(PLAIN, 1, 0, 0)]),  # y[k] = x[k] - sum of x[1 + m] x[k - 1 - m]
    ]
    program = Program(terms, initial={0: 0, 1: 1}, states=[0, 1], sequences=2)
    a, b = [gmpy2.mpq(3, 4)], [gmpy2.mpq(-5, 4)]
    for k in range(1, ORDER + 1):
        a.append(b[k - 1] / k)
        b.append(a[k] - sum(a[1 + m] * a[k - 1 - m] for m in range(k)))
    initial = [gmpy2.mpfr(a[0]), gmpy2.mpfr(b[0])]
    found = WholeNumbers(program).coefficients(initial, [], ORDER, 0)
    for k, row in enumerate(found):
        for x, exact in zip(row, (a[k], b[k]), strict=True):
            assert abs(x - gmpy2.mpfr(exact)) < gmpy2.mpfr(2) ** (8 - BITS)


def test_what_is_not_finite():
    program = Program([(0, [Term(TABLE, 1, 0, 1, 1)])], initial={0: 0}, states=[0], sequences=1)
    with pytest.raises(NotFinite):
        WholeNumbers(program).coefficients([gmpy2.mpfr("nan")], [], ORDER, 0)
