"""A blow-up is bracketed while an integration approaches it, whatever its kind."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from numeric.integrators.blow_up import NEAREST, Approach
from numeric.integrators.expansion import Expansion, Polynomials
from numeric.integrators.majorant import log2_size
from numeric.kernel import Argument
from numeric.layout import Layout

ORDER, DIGITS = 40, 45


def coefficients(terms, distance):
    """The Taylor coefficients of the sum of c s^a over (c, a), where s = distance - h."""
    return [
        mpmath.fsum(c * mpmath.binomial(a, k) * (-1) ** k * distance ** (a - k) for c, a in terms)
        for k in range(ORDER + 1)
    ]


def approach(terms, tolerance):
    """The outcome, and when it was found, on the way from 0 to t* = 1 by steps of a fifth of what is left."""
    layout = Layout([Argument("x", (), "real")], {"x": mpmath.mpf(1)})
    watcher = Approach(layout, mpmath.mpf(0), mpmath.mpf(tolerance), 0)
    left = mpmath.mpf(1)
    for _ in range(400):
        series = np.array(coefficients(terms, left), dtype=object).reshape(-1, 1)
        expansion = Expansion(
            [log2_size(c) for c in np.abs(series).max(axis=1)],
            series[:, 0],
            lambda log2_step, c=series: Polynomials(c.T.tolist()),
        )
        outcome = watcher.outcome(expansion, 1 - left)
        if outcome is not None:
            return outcome, 1 - left
        left *= mpmath.mpf(4) / 5
    return None, None


def check(outcome, width):
    low, high = outcome.bracket
    assert low < 1 < high
    assert high - low < width


def test_a_pole_is_bounded():
    with mpmath.workdps(DIGITS):
        outcome, time = approach([(2, -1), (1, 0), (3, 1)], "1e-25")
        check(outcome, mpmath.mpf(10) ** -24)
        assert outcome.note == ""
        assert (outcome.state, outcome.exponent) == ("x", Fraction(1))
        assert abs(outcome.rate - 2) < mpmath.mpf(10) ** -20
        # As soon as it is near enough: nothing is gained by coming closer.
        assert time < 1 - mpmath.mpf(10) ** -4


@pytest.mark.parametrize("correction", ["1/2", "sqrt(2)", "-1/2"])
def test_estimates_settle_where_corrections_are_not_analytic(correction):
    with mpmath.workdps(DIGITS):
        power = {"1/2": mpmath.mpf(1) / 2, "sqrt(2)": mpmath.sqrt(2), "-1/2": -mpmath.mpf(1) / 2}[correction]
        outcome, _ = approach([(2, -1), (1, power)], "1e-15")
        check(outcome, mpmath.mpf(10) ** -14)
        assert "successive estimates settled" in outcome.note
        assert outcome.exponent == 1


def test_a_power_that_is_no_simple_fraction():
    with mpmath.workdps(DIGITS):
        outcome, time = approach([(1, -mpmath.sqrt(2))], "1e-25")
        check(outcome, 10 * NEAREST)
        assert "not recognised as a power" in outcome.note
        assert outcome.bracket[0] == time


def test_no_blow_up_is_seen_where_there_is_none():
    with mpmath.workdps(DIGITS):
        assert approach([(1, mpmath.mpf(1) / 2)], "1e-10") == (None, None)  # a branch point at which nothing grows
        assert approach([(1, 3), (1, 0)], "1e-10") == (None, None)
