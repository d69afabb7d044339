"""Compiled fixed-point Taylor coefficients against those of gmpy2, and the digits that both deliver."""

import math
import pkgutil

import gmpy2
import mpmath
import numpy as np
import pytest

from numeric import generated, integrate, load_kernel
from numeric.integrators.expansion import Multiprecision

pytest.importorskip("numba")
from numeric.integrators.fixed_point import FixedPoint

ORDER, BITS = 40, 200

NAMES = sorted(module.name for module in pkgutil.iter_modules(generated.__path__))


@pytest.mark.parametrize("scale, zeros", [("1", 0), ("1e-9", 0), ("1e9", 0), ("1", 0.4), ("1", 1)])
@pytest.mark.parametrize("name", [name for name in NAMES if load_kernel(name).series is not None])
def test_fixed_point_agrees_with_gmpy2(random_problem, name, scale, zeros):
    with mpmath.workprec(BITS + 40), gmpy2.context(precision=BITS + 40):
        kernel, layout, flat, parameters = random_problem(name, scale, zeros)
        precise = Multiprecision(kernel, layout, parameters, ORDER)
        fixed = FixedPoint(kernel, layout, parameters, ORDER, BITS, in_doubles=False)
        expected, found = precise(flat), fixed(flat)
        assert found is not None
        # Half a bit moves a step by 2^(1/80). Where cancellations leave doubles no digits, at high orders, sizes are
        # too large, and steps too short.
        np.testing.assert_allclose(found.sizes[:30], expected.sizes[:30], atol=0.5)
        assert all(x >= y - 0.5 for x, y in zip(found.sizes, expected.sizes, strict=True))
        # On steps well inside the radius of convergence, which the last coefficients show.
        last = expected.sizes[ORDER]
        step = (expected.sizes[ORDER // 2] - last) / (ORDER - ORDER // 2) - 2 if last > -math.inf else 0
        size = float(max(abs(x) for x in flat))
        polynomials = found.polynomials(step)
        assert polynomials is not None  # numbers fit, and terms are as large as doubles find them
        for xs, ys in zip(polynomials.coefficients, expected.polynomials(step).coefficients, strict=True):
            for k, (x, y) in enumerate(zip(xs, ys, strict=True)):
                # 10 bits for the roundings of up to a hundred operations for each of the orders.
                assert float(abs(x - y) * gmpy2.mpfr(2) ** (k * step)) <= size * 2.0 ** (10 - BITS)


def test_a_small_entry_beside_a_huge_one(disparate_problem, assert_every_entry_is_precise):
    kernel, layout, flat, parameters = disparate_problem
    with mpmath.workprec(BITS + 40), gmpy2.context(precision=BITS + 40):
        floating = Multiprecision(kernel, layout, parameters, ORDER)(flat)
        compiled = FixedPoint(kernel, layout, parameters, ORDER, BITS, in_doubles=False)(flat)
        step = floating.fit.log2_radius - 2
        assert_every_entry_is_precise(compiled.polynomials(step), floating.polynomials(step), step, BITS)


def test_precision_is_restored():
    before = mpmath.mp.prec, gmpy2.get_context().precision
    integrate(load_kernel("equiangular_linear"), {"rho": "1/3"}, (0, 1), {"n": 5, "beta": 1}, digits=30)
    assert (mpmath.mp.prec, gmpy2.get_context().precision) == before
