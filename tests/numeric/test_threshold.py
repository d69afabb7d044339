"""Blow-up at the threshold, decided exactly: against equilibria, closed forms, and mpmath's Gramians."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from numeric import riccati, threshold

EPS = 2.0**-52

#: The Gramians C∞ of S = diag(2, 0, …) for A = −I + the shift: 2 ∫ e^{-2s} s^{i+j}/(i! j!) ds, i and j from 0.
SHIFT = np.eye(3, k=1) - np.eye(3)
SEEN = np.diag([1.0, 0, 0])


def up(number):
    return math.nextafter(number, math.inf)


def down(number):
    return math.nextafter(number, -math.inf)


@pytest.mark.parametrize(("a", "b", "v"), [(-2, 1, 1), (-0.75, 3, 0.5), (-1, 0.5, 0.25), (-3, -2, -0.75)])
def test_dimension_one(a, b, v):
    """σ' = 2aσ + sσ² with s = 2bv: −2a/s is an equilibrium, below it σ falls, above it blows up."""
    start = -a / (b * v)
    assert Fraction(start) * Fraction(b) * Fraction(v) == -a

    def time(start, horizon=None):
        return riccati.blow_up_time([[a]], [[b]], [[v]], [[start]], horizon=horizon)

    assert time(start) == time(down(start)) == math.inf
    ratio = 1 + Fraction(a) / (Fraction(b) * Fraction(v) * Fraction(up(start)))
    with mpmath.workdps(30):
        expected = float(mpmath.log(mpmath.mpf(ratio.numerator) / ratio.denominator) / (2 * a))
    assert time(up(start)) == pytest.approx(expected, rel=2 * EPS)
    assert time(up(start), horizon=expected * 0.99) == math.inf
    assert time(up(start), horizon=expected * 1.01) == time(up(start))
    # One ulp of another input.
    assert riccati.blow_up_time([[up(a)]], [[b]], [[v]], [[start]]) < math.inf
    assert riccati.blow_up_time([[down(a)]], [[b]], [[v]], [[start]]) == math.inf


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("full", [False, True], ids=["rank one", "full rank"])
def test_equilibria(d, full):
    """Σ0 = C∞⁻¹ and Σ0 = e1 e1ᵀ / C∞[1, 1] stay where they are, and a larger start, in the order ⪰, does not."""
    A, B = SHIFT[:d, :d], SEEN[:d, :d]
    # The inverses of [[1, 1/2], [1/2, 1/2]], and of that with 1/4, 3/8 and 3/8 as third row.
    inverses = {2: [[2, -2], [-2, 4]], 3: [[3, -6, 4], [-6, 20, -16], [4, -16, 16]]}
    start = np.array(inverses[d], dtype=float) if full else B
    assert not (A @ start + start @ A.T + 2 * start @ B @ start).any()  # small integers: exactly
    assert riccati.blow_up_time(A, B, np.eye(d), start) == math.inf

    larger, smaller = start.copy(), start.copy()
    larger[0, 0], smaller[0, 0] = up(start[0, 0]), down(start[0, 0])
    assert riccati.blow_up_time(A, B, np.eye(d), smaller) == math.inf
    time = riccati.blow_up_time(A, B, np.eye(d), larger)
    if full:
        assert crosses(A, B, larger, time)
    else:
        # C(t)[1, 1] = 1 - e^{-2t}
        assert time == pytest.approx(math.log((1 + EPS) / EPS) / 2, rel=2 * EPS)


def largest(A, B, start, time):
    """λ_max(ΣC(t)) for V = I, with C(t) from the block exponential, in mpmath at its working precision."""
    d = len(A)
    A, B, start = (mpmath.matrix(rows.tolist()) for rows in (A, B, start))
    block = mpmath.zeros(2 * d)
    block[:d, :d], block[:d, d:], block[d:, d:] = -A.T, B + B.T, A
    exponential = mpmath.expm(block * time)
    seen = start * exponential[d:, d:].T * exponential[:d, d:]
    return max(mpmath.re(eigenvalue) for eigenvalue in mpmath.eig(seen, left=False, right=False))


def crosses(A, B, start, time):
    """Whether λ_max(ΣC(t)) passes 1 within a few ulp of this time."""
    with mpmath.workdps(100):
        before, after = (mpmath.mpf(time) * (1 + sign * 4 * mpmath.mpf(EPS)) for sign in (-1, 1))
        return largest(A, B, start, before) < 1 < largest(A, B, start, after)


@pytest.mark.parametrize("d", [2, 3, 5])
def test_random_starts_within_an_ulp_of_the_threshold(d):
    rng = np.random.default_rng(d)
    A = rng.normal(size=(d, d)) / math.sqrt(d) - 2 * np.eye(d)
    B = np.eye(d) + 0.2 * rng.normal(size=(d, d))
    factor = rng.normal(size=(d, 2))
    with mpmath.workdps(60):
        # After 40, e^{At} has fallen to 1e-25 or less.
        scale = float(largest(A, B, factor @ factor.T, 40))
    at = factor @ factor.T / scale
    late = []
    for ulps in (-8, -1, 0, 1, 8):
        start = at * (1 + ulps * EPS)
        start = (start + start.T) / 2
        time = threshold.blow_up_time(A, B, 1.0, start)
        if time < math.inf:
            assert crosses(A, B, start, time)
            # Where double precision does not see it, a horizon does not make it certain that there is none.
            assert riccati.blow_up_time(A, B, np.eye(d), start, horizon=2 * time) < math.inf
        else:
            with mpmath.workdps(60):
                assert largest(A, B, start, 40) < 1
        late.append(time < math.inf)
        # A few ulp away double precision may decide, and give the time as well as its condition of 1e15 lets it.
        assert (riccati.blow_up_time(A, B, np.eye(d), start) < math.inf) == late[-1]
    assert late[-1] and not late[0]


def test_what_is_not_decided():
    identity = np.eye(2)
    assert threshold.blow_up_time(-2 * identity, identity, 1.0, 2 * identity) == math.inf
    for A, B, start in [
        (2 * identity, identity, identity),  # not Hurwitz
        (np.diag([1.0, -1]), identity, identity),  # nor is this, and the equation of C∞ is singular
        (-2 * identity, np.diag([1.0, -EPS]), identity),  # S of both signs
        (-2 * identity, np.diag([1.0, 0]), np.diag([1.0, -EPS])),  # S ⪰ 0, and Σ0 of both signs
    ]:
        assert threshold.blow_up_time(A, B, 1.0, start) is None
    # S ≻ 0 is enough.
    assert threshold.blow_up_time(-2 * identity, identity, 1.0, np.diag([2, -EPS])) == math.inf
    many = np.eye(threshold.LARGEST + 1)
    assert threshold.blow_up_time(-2 * many, many, 1.0, 2 * many) is None
