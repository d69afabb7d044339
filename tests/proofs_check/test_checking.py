"""The ledger's logic: what holds, what fails, and that one claim's failure stays its own."""

import json

import pytest
from rich.console import Console

from proofs_check import checking
from proofs_check.ledger import Raised

KEYS = ["id", "statement", "source", "evidence", "detail", "control", "seconds"]

# One claim for each way to fail, and one that holds.
MIXED = """
def broken(number, digits):
    raise ZeroDivisionError("nothing to divide by")

def broken_on_controls(number, digits):
    return Exact(1) if number == 4 else 1 / 0

CLAIMS = (
    claim("holds"),
    claim("refuted", subject=lambda: 7),
    claim("toothless", control=lambda: 6),
    claim("raises", check=broken),
    claim("raises-on-its-control", check=broken_on_controls),
    claim("no-subject", subject=lambda: 1 / 0),
    claim("no-evidence", check=lambda number, digits: number % 2 == 0),
)
"""


@pytest.fixture
def mixed(claim_package):
    ledger = checking.run(claim_package(mixed=MIXED), "*", 30)
    return ledger, {entry.claim.id: entry for entry in ledger.entries}


def test_a_claim_holds_when_its_check_accepts_it_and_refutes_the_control(mixed):
    ledger, entries = mixed
    assert [id for id, entry in entries.items() if entry.holds] == ["holds"]
    assert not ledger.holds
    assert str(entries["holds"].evidence) == "exact: 1 identity reduces to zero"
    assert entries["holds"].control_text == "refuted: 5 is odd (when 1 is added)"
    assert entries["holds"].detail == "at 30 digits"


def test_entries_are_sorted_and_none_is_lost(mixed):
    assert list(mixed[1]) == sorted(mixed[1])
    assert len(mixed[1]) == 7


def test_a_refuted_claim_fails_though_its_control_is_refuted_too(mixed):
    entry = mixed[1]["refuted"]
    assert str(entry.evidence) == "refuted: 7 is odd"
    assert entry.control_refuted
    assert not entry.holds


def test_a_check_that_accepts_its_control_proves_nothing(mixed):
    entry = mixed[1]["toothless"]
    assert str(entry.evidence).startswith("exact")
    assert str(entry.control).startswith("exact")
    assert "control was not refuted" in entry.detail
    assert not entry.holds


@pytest.mark.parametrize(
    ("id", "error"),
    [
        ("raises", "ZeroDivisionError: nothing to divide by"),
        ("no-subject", "ZeroDivisionError"),
        ("no-evidence", "TypeError: the check returned True, which is no Evidence"),
    ],
)
def test_a_check_that_raises_fails_and_keeps_its_traceback(mixed, id, error):
    entry = mixed[1][id]
    assert str(entry.evidence).startswith(f"error: {error}")
    assert "Traceback" in entry.detail
    assert not entry.holds


def test_raising_on_the_control_is_not_refuting_it(mixed):
    entry = mixed[1]["raises-on-its-control"]
    assert str(entry.evidence).startswith("exact")
    assert str(entry.control).startswith("error: ZeroDivisionError")
    assert "Traceback" in entry.detail
    assert not entry.holds


def test_json_has_the_promised_keys(mixed):
    listed = json.loads(mixed[0].to_json())
    assert [list(entry) for entry in listed] == [KEYS] * 7
    assert listed[0]["id"] == "holds"
    assert listed[0]["statement"] == "The number of holds is even (if it is whole)"
    assert listed[0]["source"] == "[G], parity"
    assert listed[0]["seconds"] >= 0


def test_the_summary_is_one_line_that_names_the_failures(mixed):
    summary = mixed[0].summary()
    assert summary.startswith("1 of 7 claims hold, 3 of 7 controls refuted, at 30 digits in ")
    assert "\n" not in summary
    assert "raises-on-its-control" in summary


@pytest.mark.parametrize("width", [100, 160])
def test_the_table_fits_and_loses_nothing(mixed, width):
    console = Console(width=width)
    with console.capture() as capture:
        console.print(mixed[0].table())
    lines = capture.get().splitlines()
    assert max(map(len, lines)) <= width
    for id in mixed[1]:
        assert any(f"{'✓' if id == 'holds' else '✗'} {id}" in line for line in lines)
    assert "…" not in capture.get()


@pytest.mark.parametrize("digits", [14, 1001, 0, -50, 50.0, "50", None, True])
def test_digits_out_of_range_are_refused(claim_package, digits):
    with pytest.raises(ValueError, match="digits: .* must be an integer from 15 to 1000"):
        checking.run(claim_package(m="CLAIMS = (claim('a'),)"), "*", digits)


@pytest.mark.parametrize("digits", [15, 1000])
def test_digits_reach_the_check(claim_package, digits):
    ledger = checking.run(claim_package(m="CLAIMS = (claim('a'),)"), "*", digits)
    assert ledger.entries[0].detail == f"at {digits} digits"


def test_several_processes_find_the_same(claim_package):
    seen = []
    package = claim_package(mixed=MIXED)
    parallel = checking.run(package, "*", 30, processes=2, on_entry=seen.append)
    alone = checking.run(package, "*", 30)
    assert sorted(seen, key=lambda entry: entry.claim.id) == list(parallel.entries)
    for one, other in zip(parallel.entries, alone.entries, strict=True):
        assert (one.claim, str(one.evidence), str(one.control)) == (
            other.claim,
            str(other.evidence),
            str(other.control),
        )
        assert one.holds == other.holds


def test_a_check_that_kills_its_process_fails_and_the_ledger_is_complete(claim_package):
    source = "import os\nCLAIMS = (claim('dies', check=lambda number, digits: os._exit(1)), claim('lives'))"
    ledger = checking.run(claim_package(m=source), "*", 30, processes=2)
    assert [entry.claim.id for entry in ledger.entries] == ["dies", "lives"]
    assert isinstance(ledger.entries[0].evidence, Raised)
    assert not ledger.holds


def test_progress_is_told_what_to_expect(claim_package):
    totals, seen = [], []
    package = claim_package(m="CLAIMS = (claim('a.one'), claim('a.two'), claim('b'))")
    checking.run(package, "a.*", 50, on_start=totals.append, on_entry=seen.append)
    assert totals == [2]
    assert [entry.claim.id for entry in seen] == ["a.one", "a.two"]
