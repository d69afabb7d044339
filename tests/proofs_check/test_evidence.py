"""What may be called exact, certified, numerical and refuted."""

import pickle
from decimal import Decimal
from fractions import Fraction

import flint
import mpmath
import numpy as np
import pytest
from flint import acb, arb

from proofs_check import Certified, Evidence, Exact, Numerical, Refuted

THIRD = arb(1) / 3

EVIDENCE = {
    "exact": Exact(3),
    "certified": Certified(THIRD),
    "numerical": Numerical(1e-3, 1e-4),
    "refuted": Refuted("x = 1/2"),
}


@pytest.mark.parametrize("word", EVIDENCE)
def test_its_text_begins_with_its_word(word):
    assert str(EVIDENCE[word]).startswith(word)


@pytest.mark.parametrize("word", EVIDENCE)
def test_only_a_refutation_does_not_hold(word):
    assert EVIDENCE[word].holds == (word != "refuted")


@pytest.mark.parametrize("word", EVIDENCE)
def test_it_can_be_sent_between_processes(word):
    assert pickle.loads(pickle.dumps(EVIDENCE[word])) == EVIDENCE[word]


@pytest.mark.parametrize(
    "number",
    [
        0.25,
        1j,
        1,
        "0.25",
        Fraction(1, 4),
        Decimal("0.25"),
        np.float64(0.25),
        np.array([0.25]),
        np.array([THIRD, 0.25], dtype=object),
        mpmath.mpf("0.25"),
        mpmath.iv.mpf("0.25"),
        flint.fmpq(1, 4),
        [0.25],
        [THIRD, 0.25],
        type("Disguise", (), {"rad": lambda self: THIRD.rad(), "is_finite": lambda self: True})(),
    ],
    ids=lambda number: type(number).__name__,
)
def test_only_balls_certify(number):
    with pytest.raises(ValueError, match="only balls"):
        Certified(number)


def test_a_subclass_of_a_ball_does_not_certify():
    class Disguise(arb):
        pass

    with pytest.raises(ValueError, match="only balls"):
        Certified(Disguise("0.25"))


@pytest.mark.parametrize("ball", [arb("nan"), arb("inf"), arb(0, arb("inf")), acb(1, arb("nan"))], ids=str)
def test_a_ball_that_encloses_everything_does_not_certify(ball):
    with pytest.raises(ValueError, match="enclosures: .* nothing finite"):
        Certified(ball)


def test_nothing_certifies_nothing():
    with pytest.raises(ValueError, match="at least one ball"):
        Certified([])


@pytest.mark.parametrize("ball", [THIRD, acb(THIRD, arb(2).sqrt()), arb("1e-400"), arb(7, "0.123456789")], ids=str)
def test_the_radius_is_a_bound(ball):
    # Decimal to ball and back at high precision, so that the comparison itself is certified.
    with flint.ctx.workprec(500):
        assert arb(str(Certified(ball).radius)) >= ball.rad().lower()
        # Rounded up to 2 digits: less than 10% more.
        assert arb(str(Certified(ball).radius)) <= ball.rad().upper() * arb("1.1")


def test_the_radius_is_the_largest_of_several():
    assert Certified([arb(1, "1e-9"), arb(1, "1e-3"), arb(1)]).radius == Certified(arb(1, "1e-3")).radius


def test_certified_from_an_exact_ball_has_radius_zero():
    assert Certified(arb(3)).radius == 0


@pytest.mark.parametrize("worst", [1e-2, "1.0001e-3", np.float64(0.5), mpmath.mpf("1e-2")])
def test_numerical_refuses_a_deviation_beyond_its_tolerance(worst):
    with pytest.raises(ValueError, match="worst: .* is not within the tolerance"):
        Numerical(1e-3, worst)


@pytest.mark.parametrize("worst", [float("nan"), float("inf"), -1e-9, "small", mpmath.nan, None])
def test_numerical_refuses_what_is_no_deviation(worst):
    with pytest.raises(ValueError, match="worst: "):
        Numerical(1e-3, worst)


def test_numerical_compares_below_the_range_of_doubles():
    assert Numerical("1e-900", mpmath.mpf("1e-901")).worst < Decimal("1e-900")
    with pytest.raises(ValueError, match="worst"):
        Numerical("1e-901", mpmath.mpf("1e-900"))


def test_exact_needs_an_identity():
    with pytest.raises(ValueError, match="identities"):
        Exact(0)


def test_refuted_needs_a_witness():
    with pytest.raises(ValueError, match="witness"):
        Refuted("")


def test_precision_is_left_alone():
    before = mpmath.mp.prec, flint.ctx.prec
    Certified(THIRD)
    Numerical("1e-900", mpmath.mpf("1e-901"))
    assert (mpmath.mp.prec, flint.ctx.prec) == before


def test_evidence_is_one_of_four():
    assert Evidence.__subclasses__() == [Exact, Certified, Numerical, Refuted]
