"""From residuals, derivations and deviations to evidence."""

import mpmath
import pytest
import sympy as sp

from proofs_check import Exact, Numerical, Refuted
from proofs_check.verdicts import agreement, vanishing, verified
from symbolic.derivation import Derivation
from symbolic.zero import Undecided

x, y = sp.symbols("x y", real=True)


def square(result: sp.Expr) -> Derivation:
    derivation = Derivation("square")
    derivation.define("sum", "A sum", sp.Eq(y, x + 1))
    derivation.conclude(
        "squared",
        "Its square",
        sp.Eq(y**2, result),
        step="squaring",
        premises=["sum"],
        why="square both sides",
        check=lambda given, result: [given.rhs**2 - result.rhs],
    )
    return derivation


def test_identities_are_counted():
    assert vanishing([sp.sin(x) ** 2 + sp.cos(x) ** 2 - 1, x - x]) == Exact(2)


def test_the_witness_of_what_does_not_vanish_is_a_point():
    evidence = vanishing([x - x, x + 1])
    assert isinstance(evidence, Refuted)
    assert "x = " in evidence.witness


def test_no_identities_are_no_evidence():
    with pytest.raises(ValueError, match="identities"):
        vanishing([])


def test_a_derivation_that_verifies_is_exact():
    assert verified(square(x**2 + 2 * x + 1)) == Exact(1, detail="every step of square")


def test_a_wrong_step_is_named():
    evidence = verified(square(x**2 - 2 * x + 1))
    assert isinstance(evidence, Refuted)
    assert "squaring" in evidence.witness


def test_an_undecided_step_is_no_evidence(monkeypatch):
    def undecided(residual):
        raise Undecided("no normal form")

    monkeypatch.setattr("symbolic.derivation.nonzero_witness", undecided)
    with pytest.raises(ArithmeticError, match="no normal form"):
        verified(square(x**2))


def test_agreement_within_the_tolerance():
    assert agreement(mpmath.mpf("1e-48"), "1e-45", "t = 1") == Numerical("1e-45", "1e-48")


@pytest.mark.parametrize("deviation", [1e-3, mpmath.inf, mpmath.nan, float("nan"), mpmath.mpc(1, 1)])
def test_disagreement_is_refuted_at_its_witness(deviation):
    evidence = agreement(deviation, "1e-45", "t = 1")
    assert isinstance(evidence, Refuted)
    assert "t = 1" in evidence.witness


def test_a_tolerance_must_be_finite():
    with pytest.raises(ValueError, match="tolerance"):
        agreement(1, float("inf"), "t = 1")
