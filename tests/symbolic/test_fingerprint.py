"""A step's digest changes with everything its verdict depends on, and with nothing else."""

import functools
import importlib
import os
import subprocess
import sys
import types

import pytest
import sympy as sp

import symbolic
from symbolic.fingerprint import Indescribable, digest, step_digest

x = sp.Symbol("x")
EQUATION = sp.Eq(x, 2)

RULES = """
from functools import partial
import sympy as sp
from rules_helper import scaled

FACTOR = 3

class Doubler:
    times = 2
    def __call__(self, value):
        return self.times * value

def helper(value):
    return 2 * value

def through_helper(equation):
    yield helper(equation.rhs) - 4

def through_class(equation):
    yield Doubler()(equation.rhs) - 4

def through_value(equation):
    yield FACTOR * equation.rhs - 6

def through_module(equation):
    yield scaled(equation.rhs) - 4

def late(equation):
    from rules_helper import shifted
    yield shifted(equation.rhs) - 3

def make(amount):
    return lambda equation: [
        amount * equation.rhs
        - 2 * amount
    ]

closed_over = make(5)
with_argument = partial(lambda equation, power: [equation.rhs**power - 4], power=2)

def alone(equation):
    yield equation.rhs - 2
"""
HELPER = """
def scaled(value):
    return 2 * value

def shifted(value):
    return value + 1
"""
NAMES = [
    "through_helper",
    "through_class",
    "through_value",
    "through_module",
    "late",
    "closed_over",
    "with_argument",
    "alone",
]


@pytest.fixture
def rules(tmp_path, monkeypatch):
    """Import a module of rules from its source, and the module that it imports from."""
    monkeypatch.syspath_prepend(tmp_path)
    # Python keeps compiled modules by the second in which they were written; here they change faster.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def load(source: str = RULES, helper: str = HELPER) -> types.ModuleType:
        for name, text in {"rules_helper": helper, "rules": source}.items():
            (tmp_path / f"{name}.py").write_text(text)
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        return importlib.import_module("rules")

    yield load
    for name in ("rules", "rules_helper"):
        sys.modules.pop(name, None)


def digests(module: types.ModuleType) -> dict[str, str]:
    return {name: step_digest(getattr(module, name), [EQUATION]) for name in NAMES}


def test_the_rules_hold(rules):
    """What is digested below are rules that work."""
    module = rules()
    assert all(list(getattr(module, name)(EQUATION)) == [0] for name in NAMES)


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        ("return 2 * value", "return value + value", {"through_helper"}),
        ("times = 2", "times = 3", {"through_class"}),
        ("return self.times * value", "return value * self.times", {"through_class"}),
        ("FACTOR = 3", "FACTOR = 4", {"through_value"}),
        ("make(5)", "make(6)", {"closed_over"}),
        ("- 2 * amount", "- amount * 2", {"closed_over"}),
        ("power=2", "power=3", {"with_argument"}),
        ("yield equation.rhs - 2", "yield 2 - equation.rhs", {"alone"}),
        ("FACTOR * equation.rhs - 6", "FACTOR * equation.rhs + 6", {"through_value"}),
        ("import sympy as sp", "# a comment\n\n\nimport sympy as sp", set()),
        ("    yield equation.rhs - 2", "    # why\n    yield (equation.rhs - 2)", set()),
    ],
)
def test_a_change_invalidates_exactly_what_depends_on_it(rules, before, after, changed):
    assert before in RULES
    old, new = digests(rules()), digests(rules(RULES.replace(before, after)))
    assert {name for name in NAMES if old[name] != new[name]} == changed


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [("2 * value", "3 * value", {"through_module"}), ("value + 1", "value - 1", {"late"})],
)
def test_changes_in_another_module_count(rules, before, after, changed):
    old, new = digests(rules()), digests(rules(helper=HELPER.replace(before, after)))
    assert {name for name in NAMES if old[name] != new[name]} == changed


def test_a_helper_that_is_replaced_counts_at_once(rules):
    """As in a notebook: the rule stays the same object, and what it calls is defined again."""
    module = rules()
    before = digests(module)
    module.helper = lambda value: value
    after = digests(module)
    assert {name for name in NAMES if before[name] != after[name]} == {"through_helper"}


def test_how_zero_is_decided_and_the_versions_count(rules, monkeypatch):
    from symbolic import fingerprint

    module = rules()
    before = digests(module)
    monkeypatch.setattr(fingerprint, "VERSIONS", (*fingerprint.VERSIONS[:1], "99.0", *fingerprint.VERSIONS[2:]))
    versions = digests(module)
    monkeypatch.undo()
    monkeypatch.setattr(fingerprint, "nonzero_witness", lambda expressions: None)
    decision = digests(module)
    assert all(len({before[name], versions[name], decision[name]}) == 3 for name in NAMES)


@pytest.mark.parametrize(
    "other",
    [
        sp.Eq(x, -2),
        sp.Eq(x, 3),
        sp.Eq(sp.Symbol("y"), 2),
        sp.Eq(sp.Symbol("x", real=True), 2),
        sp.Eq(x, sp.Float(2)),
        sp.Ne(x, 2),
    ],
)
def test_other_equations_have_other_digests(rules, other):
    check = rules().alone
    assert step_digest(check, [EQUATION]) != step_digest(check, [other])


def test_assumptions_of_functions_count():
    assert digest(sp.Function("p")(x)) != digest(sp.Function("p", positive=True)(x))
    assert digest(sp.Function("p")) != digest(sp.Function("p", positive=True))


def test_numbers_of_dummies_do_not_count_but_which_is_which_does():
    def pair():
        return sp.Dummy("u"), sp.Dummy("u")

    (a, b), (c, d) = pair(), pair()
    assert digest(sp.Tuple(a, b, a)) == digest(sp.Tuple(c, d, c))
    assert digest(sp.Tuple(a, b, a)) != digest(sp.Tuple(c, d, d))


def test_values_that_are_swapped_do_not_cancel():
    def make(amount):
        return lambda value: value * amount

    def rule(first, second):
        return first, second

    one, two = make(1), make(2)
    assert digest(functools.partial(rule, one, two)) != digest(functools.partial(rule, two, one))


def test_a_rule_that_calls_itself_has_a_digest():
    def factorial(k):
        return 1 if k == 0 else k * factorial(k - 1)

    assert digest(factorial) == digest(factorial)


def test_what_cannot_be_described_is_refused():
    stream = iter([1, 2])
    with pytest.raises(Indescribable):
        step_digest(lambda equation: [next(stream)], [EQUATION])


def canonical_digests() -> list[str]:
    """The digests of the steps of two reductions."""
    found = []
    for name in ("ott_antonsen", "linear_tokens"):
        derivation = symbolic.canonical_reductions()[name]().derivation
        for step in derivation.steps.values():
            found.append(step_digest(step.check, [derivation[key] for key in (*step.premises, step.conclusion)]))
    return found


def test_digests_are_the_same_in_every_process_and_after_verifying():
    here = canonical_digests()
    # Python and SymPy keep notes on classes and expressions while they work.
    symbolic.canonical_reductions()["linear_tokens"]().derivation.verify()
    assert canonical_digests() == here
    code = (
        "import importlib.util as u; s = u.spec_from_file_location('t', sys.argv[1]); m = u.module_from_spec(s);"
        "s.loader.exec_module(m); print(*m.canonical_digests())"
    )
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        command = [sys.executable, "-c", f"import sys; {code}", __file__]
        result = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
        assert result.stdout.split() == here
