"""Values typed on the command line, and what becomes of them."""

import json
from fractions import Fraction

import mpmath
import pytest
from typer.testing import CliRunner

from proofs_check import cli, simulation

# A = 0 and B = diag(1, 2), V = I, Σ(0) = I: Σ' = 2ΣBΣ, so Σ = diag(1/(1 - 2t), 1/(1 - 4t)), which blows up at t = 1/4.
GAUSSIAN = ["A=[[0,0],[0,0]]", "B=[[1,0],[0,2]]", "V=[[1,0],[0,1]]", "b=[0,0]", "mu=[0,0]", "Sigma=[[1,0],[0,1]]"]

CIRCLE = ["A=[[1,0],[0,1]]", "V=[[0,-1],[1,0]]", "beta=1", "R=1/5+1/10j"]


@pytest.fixture
def attnflow():
    def run(name: str, values: list[str], *options: str):
        settings = [text for value in values for text in ("--set", value)]
        return CliRunner().invoke(cli.app, ["simulate", name, *settings, *options])

    return run


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("x=1", "1"),
        (" x = -1/3 ", "-1/3"),
        ("x=0.2 + 0.1j", "0.2 + 0.1j"),
        ("x=[1,2]", ["1", "2"]),
        ("x=[ [1, 1/2] , [0, -3e-2] ]", [["1", "1/2"], ["0", "-3e-2"]]),
        ("x=[[]]", [[]]),
        ("x=__import__('os')", "__import__('os')"),
    ],
)
def test_values_are_read_but_never_evaluated(text, value):
    assert simulation.parse_values([text]) == {"x": value}


@pytest.mark.parametrize("text", ["x", "=1", "x=", "", "x=[1", "x=[1 [2]]", "x=1]", "x=[1,]", "x=[,1]", "x=1,2"])
def test_other_forms_are_refused(text):
    with pytest.raises(ValueError, match=r"x: |set: "):
        simulation.parse_values([text])


def test_a_name_given_twice_is_refused():
    with pytest.raises(ValueError, match="set: x is given twice"):
        simulation.parse_values(["x=1", "x=2"])


def test_blow_up_is_an_outcome_that_is_told(attnflow):
    result = attnflow("gaussian_moments", GAUSSIAN, "--t-end", "1", "--points", "6")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1].startswith("blew up between t = 0.2")
    assert "last state" in result.stdout
    assert "t = 0.2\n" in result.stdout
    assert "t = 0.4\n" not in result.stdout


def test_json_in_double_precision(attnflow):
    result = attnflow("gaussian_moments", GAUSSIAN, "--t-end", "1/5", "--points", "3", "--json")
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert found["kernel"] == "gaussian_moments"
    assert found["times"] == [0.0, 0.1, 0.2]
    for time, sigma in zip(found["times"], found["states"]["Sigma"], strict=True):
        # 1e-8: the local tolerance of 1e-10, grown by the growth of Σ itself, at most fivefold.
        assert sigma[0][0] == pytest.approx(1 / (1 - 2 * time), rel=1e-8)
        assert sigma[1][1] == pytest.approx(1 / (1 - 4 * time), rel=1e-8)
    assert found["final"]["Sigma"] == found["states"]["Sigma"][-1]


def test_json_with_digits_keeps_them(attnflow):
    result = attnflow("gaussian_moments", GAUSSIAN, "--t-end", "1/5", "--points", "2", "--digits", "30", "--json")
    assert result.exit_code == 0
    found = json.loads(result.stdout)["final"]["Sigma"]
    with mpmath.workdps(40):
        # One unit in the 30th digit of the largest entry, 5: what `digits` promises.
        assert abs(mpmath.mpf(found[1][1]) - 5) < mpmath.mpf("1e-29")
        assert abs(mpmath.mpf(found[0][0]) - mpmath.mpf(5) / 3) < mpmath.mpf("1e-29")


def test_complex_states_are_pairs_in_json_and_sums_in_text(attnflow):
    found = json.loads(attnflow("ott_antonsen", CIRCLE, "--json", "--points", "2").stdout)
    assert found["states"]["R"][0] == [0.2, 0.1]
    assert "  R = 0.2 + 0.1j\n" in attnflow("ott_antonsen", CIRCLE, "--points", "2").stdout


def test_text_has_as_many_digits_as_asked_for(attnflow):
    values = [*CIRCLE[:-1], "R=1/3-1/7j"]
    result = attnflow("ott_antonsen", values, "--points", "2", "--digits", "30")
    assert f"  R = 0.{'3' * 30} - 0.142857142857142857142857142857j\n" in result.stdout


def test_times_are_exact(attnflow):
    found = json.loads(attnflow("ott_antonsen", CIRCLE, "--points", "4", "--digits", "20", "--json").stdout)
    assert [Fraction(time).limit_denominator(9) for time in found["times"]] == [0, Fraction(1, 3), Fraction(2, 3), 1]
    assert found["times"][1] == "0." + "3" * 20


@pytest.mark.parametrize(
    ("name", "values", "options", "expected"),
    [
        ("ott_antonsn", CIRCLE, [], "ott_antonsen"),
        ("ott_antonsen", CIRCLE[:-1], [], "R"),
        ("ott_antonsen", [*CIRCLE, "gamma=1"], [], "gamma"),
        ("ott_antonsen", [*CIRCLE[:-1], "R=2"], [], "R"),
        ("ott_antonsen", [*CIRCLE[:-1], "R=__import__('os')"], [], "R"),
        ("ott_antonsen", [*CIRCLE[:-1], "R"], [], "NAME=VALUE"),
        ("ott_antonsen", ["A=[[1,0]]", *CIRCLE[1:]], [], "A: "),
        ("ott_antonsen", CIRCLE, ["--t-end", "0"], "t-end"),
        ("ott_antonsen", CIRCLE, ["--t-end", "nan"], "t-end"),
        ("ott_antonsen", CIRCLE, ["--t-end", "soon"], "t-end"),
        ("ott_antonsen", CIRCLE, ["--points", "1"], "points"),
        ("ott_antonsen", CIRCLE, ["--digits", "3"], "digits"),
    ],
)
def test_bad_input_is_one_line(attnflow, name, values, options, expected):
    result = attnflow(name, values, *options)
    assert result.exit_code == 2
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("attnflow: ")
    assert expected in line
