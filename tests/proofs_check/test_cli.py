"""The command: what it prints where, and its exit status: 0 all well, 1 something failed, 2 bad input."""

import dataclasses
import json
import subprocess
import sys
from functools import partial

import pytest
import sympy as sp
from typer.testing import CliRunner

import numeric
import symbolic
from proofs_check import cli, registry

KEYS = ["id", "statement", "source", "evidence", "detail", "control", "seconds"]


@pytest.fixture
def attnflow(monkeypatch):
    """Run the command in this process."""
    # Where Rich reads the width of the terminal from, when it is none.
    monkeypatch.setenv("COLUMNS", "100")
    # No step is known from an earlier run, unless a test says so.
    monkeypatch.setenv("ATTNFLOW_CACHE", "")

    def run(*arguments: str):
        return CliRunner().invoke(cli.app, list(arguments))

    return run


@pytest.fixture
def good(claim_package, monkeypatch):
    """A registry of two claims that hold."""
    monkeypatch.setattr(registry, "PACKAGE", claim_package(m="CLAIMS = (claim('parity.even'), claim('other'))"))


@pytest.fixture
def bad(claim_package, monkeypatch):
    """A registry in which one claim holds and the other's control is not refuted."""
    source = "CLAIMS = (claim('parity.even'), claim('toothless', control=lambda: 6))"
    monkeypatch.setattr(registry, "PACKAGE", claim_package(m=source))


def refused(result) -> str:
    """The one line on standard error by which an input was refused."""
    assert result.exit_code == 2
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("attnflow: ")
    return line


@pytest.mark.usefixtures("good")
def test_check_prints_the_ledger_where_the_kernels_are_and_a_summary(attnflow):
    result = attnflow("check")
    assert result.exit_code == 0
    assert "✓ parity.even" in result.stdout
    assert "[G] Alcalde, Ji, Zuazua" in result.stdout
    *_, kernels, summary = result.stdout.splitlines()
    assert kernels.startswith("Kernels: ")
    assert kernels.endswith("generated")
    assert summary.startswith("2 of 2 claims hold, 2 of 2 controls refuted, at 50 digits")


@pytest.mark.usefixtures("good")
def test_check_json_is_json_alone(attnflow):
    result = attnflow("check", "--json", "--digits", "30")
    assert result.exit_code == 0
    listed = json.loads(result.stdout)
    assert [list(entry) for entry in listed] == [KEYS] * 2
    assert [entry["id"] for entry in listed] == ["other", "parity.even"]
    assert listed[0]["detail"] == "at 30 digits"


@pytest.mark.usefixtures("bad")
def test_a_control_that_is_not_refuted_fails_the_command(attnflow):
    result = attnflow("check")
    assert result.exit_code == 1
    assert "✗ toothless" in result.stdout
    assert result.stdout.splitlines()[-1].startswith("1 of 2 claims hold, 1 of 2 controls refuted")
    assert attnflow("check", "--json").exit_code == 1


@pytest.mark.usefixtures("bad")
def test_only_the_claims_that_match_count(attnflow):
    assert attnflow("check", "parity.*").exit_code == 0


@pytest.mark.usefixtures("good")
def test_an_unknown_claim_is_refused_with_the_nearest_one(attnflow):
    assert "did you mean 'parity.even'?" in refused(attnflow("check", "party.evn"))


@pytest.mark.usefixtures("good")
@pytest.mark.parametrize("digits", ["5", "0", "-3", "1001", "fifty", "1.5", ""])
def test_digits_out_of_range_are_refused(attnflow, digits):
    assert "digits" in refused(attnflow("check", "--digits", digits))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["chek"], "check"),
        (["check", "--jsn"], "--jsn"),
        (["check", "--digits"], "--digits"),
        (["derive", "a", "b"], "b"),
        (["derive", "ot_antonsen"], "did you mean 'ott_antonsen'?"),
    ],
)
def test_what_is_mistyped_is_refused(attnflow, arguments, expected):
    assert expected in refused(attnflow(*arguments))


def test_derive_prints_equations_and_verifies_every_step(attnflow):
    result = attnflow("derive", "ott_antonsen")
    assert result.exit_code == 0
    reduction = symbolic.canonical_reductions()["ott_antonsen"]()
    assert reduction.title in result.stdout
    assert reduction.text() in result.stdout
    assert reduction.derivation.text() in result.stdout
    for invariant in reduction.invariants:
        assert invariant.statement in result.stdout
    identities = sum(step.identities for step in reduction.derivation.verify())
    assert f"{len(reduction.derivation.steps)} steps, {identities} identities verified in " in result.stdout
    assert result.stdout.splitlines()[-1].startswith("1 of 1 derivation verified")


def test_derive_latex_is_a_document_and_the_summary_stands_apart(attnflow):
    result = attnflow("derive", "ott_antonsen", "--latex")
    assert result.exit_code == 0
    reduction = symbolic.canonical_reductions()["ott_antonsen"]()
    assert result.stdout.startswith("\\documentclass")
    assert result.stdout.endswith("\\end{document}\n")
    assert reduction.latex() in result.stdout
    assert result.stderr.splitlines()[-1].startswith("1 of 1 derivation verified: 7 steps, 10 identities in ")


@pytest.mark.parametrize(
    ("option", "name", "begins", "ends"),
    [
        ("--html", "book.html", "<!DOCTYPE html>", "</html>\n"),
        ("--graph", "graph.svg", "<svg", "</svg>\n"),
        ("--graph", "graph.dot", "digraph", "}\n"),
        ("--latex", "book.tex", "\\documentclass", "\\end{document}\n"),
        (None, "book.txt", "━━ ", " s\n"),
    ],
)
def test_derive_writes_files(attnflow, tmp_path, option, name, begins, ends):
    file = tmp_path / name
    result = attnflow("derive", "ott_antonsen", *([option] if option else []), "--output", str(file))
    assert result.exit_code == 0
    summary, written = result.stdout.splitlines()
    assert summary.startswith("1 of 1 derivation verified")
    assert written == f"Written to {file}"
    text = file.read_text(encoding="utf-8")
    assert text.startswith(begins)
    assert text.endswith(ends)


def test_derive_all_makes_one_book(attnflow, monkeypatch):
    make = symbolic.canonical_reductions()
    names = ["linear_tokens", "ott_antonsen"]
    monkeypatch.setattr(symbolic, "canonical_reductions", lambda: {name: make[name] for name in names})
    result = attnflow("derive", "--all", "--html")
    assert result.exit_code == 0
    assert result.stdout.count("<html") == 1
    assert all(f'<section id="{name}">' in result.stdout for name in names)


def test_derive_knows_steps_of_an_earlier_run(attnflow, monkeypatch, tmp_path):
    monkeypatch.setenv("ATTNFLOW_CACHE", str(tmp_path))
    first, second = attnflow("derive", "ott_antonsen"), attnflow("derive", "ott_antonsen")
    assert "from the cache" not in first.stdout
    assert second.stdout.splitlines()[-1].endswith("(7 steps from the cache)")
    assert "from the cache" not in attnflow("derive", "ott_antonsen", "--fresh").stdout


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["ott_antonsen", "--all"], "--all"),
        (["ott_antonsen", "--latex", "--html"], "choose one"),
        (["--graph"], "--graph"),
    ],
)
def test_derive_refuses_options_that_contradict(attnflow, arguments, expected):
    assert expected in refused(attnflow("derive", *arguments))


def test_derive_refuses_a_file_that_cannot_be_written(attnflow, tmp_path):
    file = tmp_path / "no" / "book.html"
    assert "--output: cannot write" in refused(attnflow("derive", "linear_tokens", "--html", "--output", str(file)))


def test_derive_names_a_wrong_step_goes_on_and_fails(attnflow, monkeypatch):
    right = symbolic.canonical_reductions()["ott_antonsen"]()
    step = list(right.derivation.steps.values())[-1]
    first, *others = right.derivation.equations[step.conclusion].relations
    planted = sp.Eq(first.lhs, -first.rhs, evaluate=False)
    wrong = dataclasses.replace(right, derivation=right.derivation.with_equation(step.conclusion, planted, *others))
    monkeypatch.setattr(symbolic, "canonical_reductions", lambda: {"wrong": lambda: wrong, "right": lambda: right})
    result = attnflow("derive")
    assert result.exit_code == 1
    assert f"FAILED: step '{step.name}'" in result.stdout
    assert result.stdout.splitlines()[-1].startswith("1 of 2 derivations verified")


@pytest.fixture
def one_kernel(tmp_path, monkeypatch):
    """A folder for kernels of which there is only one to generate; the file of that kernel."""
    make = symbolic.canonical_reductions()["ott_antonsen"]
    monkeypatch.setattr(symbolic, "canonical_reductions", lambda: {"ott_antonsen": make})
    monkeypatch.setattr(numeric, "regenerate_kernels", partial(numeric.regenerate_kernels, directory=tmp_path))
    return tmp_path / "ott_antonsen.py"


def test_kernels_are_written_and_then_found_as_derived(attnflow, one_kernel):
    assert attnflow("kernels", "--check").exit_code == 1
    assert not one_kernel.exists()
    written = attnflow("kernels")
    assert written.exit_code == 0
    assert written.stdout.rstrip().endswith("ott_antonsen.py: rewritten")
    checked = attnflow("kernels", "--check")
    assert checked.exit_code == 0
    assert checked.stdout.rstrip().endswith("ott_antonsen.py: as derived")


def test_a_changed_sign_in_a_kernel_is_shown(attnflow, one_kernel):
    attnflow("kernels")
    before, code = one_kernel.read_text().split("def field(")
    one_kernel.write_text(f"{before}def field({code.replace(' - ', ' + ', 1)}")
    planted = one_kernel.read_text()
    result = attnflow("kernels", "--check")
    assert result.exit_code == 1
    assert "ott_antonsen.py: differs from its derivation" in result.stdout
    assert any(line.startswith("-") and " + " in line for line in result.stdout.splitlines())
    assert one_kernel.read_text() == planted


def test_without_a_command_it_prints_help(attnflow):
    result = attnflow()
    assert result.exit_code == 0
    for command in ("derive", "kernels", "check", "simulate"):
        assert command in result.stdout


def test_the_installed_command_refuses_without_a_traceback():
    # In a process of its own, as a user runs it: nothing of the test runner catches an exception here.
    result = subprocess.run(
        [sys.executable, "-m", "proofs_check.cli", "check", "no.such.claim"], capture_output=True, text=True
    )
    assert result.returncode == 2
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1


def test_the_version_is_that_of_the_distribution(attnflow):
    from importlib.metadata import version

    assert attnflow("--version").stdout == f"attnflow {version('attnflow')}\n"
