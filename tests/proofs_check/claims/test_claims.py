"""Every claim holds and every control is refuted; the reference values are those of tests/data/values.json."""

import json
from pathlib import Path

import pytest
import sympy as sp

from proofs_check import claims
from proofs_check.checking import assess
from proofs_check.claims import circle, gaussian
from proofs_check.evidence import Refuted

REFERENCES = json.loads((Path(__file__).parents[2] / "data" / "values.json").read_text())


# Thirty digits here; `attnflow check` does fifty.
@pytest.mark.parametrize("claim", claims(), ids=lambda claim: claim.id)
def test_claim_holds_and_its_control_is_refuted(claim):
    entry = assess(claim, 30)
    assert entry.holds, entry
    assert isinstance(entry.control, Refuted)


def test_blow_up_references():
    assert [case.time for case in gaussian.BLOW_UPS] == [case["t"] for case in REFERENCES["blow_up_times"]]
    for case, reference in zip(gaussian.BLOW_UPS, REFERENCES["blow_up_times"], strict=True):
        assert str(case.value) == reference["V_scalar"]
        for ours, theirs in ((case.feed_forward, "A"), (case.score, "B"), (case.factor, "L")):
            assert [[str(entry) for entry in row] for row in ours] == reference[theirs]


def test_orbit_references():
    (reference,) = REFERENCES["hamiltonian_orbit"]
    for name, value in circle.ORBIT.items():
        assert float(value) == reference[name]
    assert (reference["v"], reference["w"], reference["beta"]) == ("1/2", "1", 1)
    assert circle.Case4().parameters["V"] == [[sp.Rational(1, 2), 1], [-1, -sp.Rational(1, 2)]]
    assert reference["R0"] == [0.2, 0.1]
