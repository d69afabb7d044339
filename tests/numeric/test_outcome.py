"""Outcomes are sentences."""

from fractions import Fraction

import mpmath

from numeric.outcome import BlewUp, Finished, StepLimit, StoppedByEvent


def test_sentences():
    assert str(Finished(0.5)) == "finished at t = 0.5"
    assert str(StoppedByEvent(0.25, 2)) == "stopped by event 2 at t = 0.25"
    assert str(StepLimit(1.0, "too stiff")) == "gave up at t = 1.0: too stiff"


def test_blow_up_shows_where_the_ends_of_the_bracket_differ():
    with mpmath.workdps(50):
        quarter, width = mpmath.mpf(1) / 4, mpmath.mpf(10) ** -30
        outcome = BlewUp("Sigma", (quarter - width, quarter + width), quarter, Fraction(1))
    # At the precision outside, which knows nothing of the digits that the numbers carry.
    assert str(outcome) == (
        "blew up between t = 0.249999999999999999999999999999 and t = 0.250000000000000000000000000001 "
        "(|Sigma| (t* - t) -> 0.25)"
    )
    assert outcome.time == outcome.bracket[0]


def test_blow_up_of_another_order_or_of_none():
    assert str(BlewUp("Sigma", (1.0, 1.5), 3.0, Fraction(1, 2))).endswith("(|Sigma| (t* - t)^(1/2) -> 3.0)")
    assert str(BlewUp("Sigma", (1.0, 1.5), 3.0, Fraction(2))).endswith("(|Sigma| (t* - t)^2 -> 3.0)")
    assert str(BlewUp("Sigma", (1.0, 1.5), note="of no known kind")).endswith("; of no known kind")
