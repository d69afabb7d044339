"""Every derivation verifies, and a wrong sign anywhere in a conclusion is found and named."""

import doctest
from collections.abc import Iterator

import pytest
import sympy as sp

from symbolic import canonical_reductions
from symbolic.derivation import Derivation, StepFailed
from symbolic.reductions import modules

REDUCTIONS = canonical_reductions()


@pytest.fixture(scope="module")
def derivations() -> dict[str, Derivation]:
    return {name: derive().derivation for name, derive in REDUCTIONS.items()}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_every_step_reduces_to_zero(derivations, name):
    results = derivations[name].verify()
    assert len(results) == len(derivations[name].steps) > 0
    assert all(result.identities > 0 for result in results)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_the_graph_leads_from_definitions_to_the_equations(derivations, name):
    graph = derivations[name].graph
    steps = {data["step"].name for *_, data in graph.edges(data=True)}
    assert steps == set(derivations[name].steps)
    roots = [key for key, degree in graph.in_degree() if degree == 0]
    assert "field" in roots


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.__name__.rpartition(".")[2])
def test_every_reduction_is_documented_by_an_example(module):
    """The doctests of all modules are run; here only that there is one, with its result."""
    tests = doctest.DocTestFinder(exclude_empty=True).find(module)
    assert any(example.want for test in tests for example in test.examples)


def flipped_signs(expression: sp.Basic) -> Iterator[sp.Basic]:
    """The expression with the sign of one term changed, for every term of every sum inside it."""
    if not isinstance(expression, sp.MatrixBase):
        yield -expression
    if isinstance(expression, sp.Add | sp.MatAdd):
        for i, term in enumerate(expression.args):
            yield expression.func(*expression.args[:i], -term, *expression.args[i + 1 :])
    elif isinstance(expression, sp.Mul | sp.MatMul):
        for i, factor in enumerate(expression.args):
            if isinstance(factor, sp.Add | sp.MatAdd):
                for flipped in list(flipped_signs(factor))[1:]:
                    yield expression.func(*expression.args[:i], flipped, *expression.args[i + 1 :])


@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_flipped_sign_fails_the_step_and_names_it(derivations, name):
    derivation = derivations[name]
    for step in derivation.steps.values():
        relations = derivation.equations[step.conclusion].relations
        for i, relation in enumerate(relations):
            for wrong in flipped_signs(relation.rhs):
                if wrong.doit() == relation.rhs:  # zero
                    continue
                planted = sp.Eq(relation.lhs, wrong, evaluate=False)
                broken = derivation.with_equation(step.conclusion, *relations[:i], planted, *relations[i + 1 :])
                with pytest.raises(StepFailed, match="residual") as failure:
                    broken.verify_step(step.name)
                assert failure.value.step.name == step.name
                assert step.name in str(failure.value)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_verify_reports_the_first_broken_step(derivations, name):
    derivation = derivations[name]
    step = list(derivation.steps.values())[0]
    relations = derivation.equations[step.conclusion].relations
    planted = sp.Eq(relations[0].lhs, -relations[0].rhs, evaluate=False)
    with pytest.raises(StepFailed) as failure:
        derivation.with_equation(step.conclusion, planted, *relations[1:]).verify()
    assert failure.value.step.name == step.name


def test_a_check_without_identities_is_an_error():
    x = sp.Symbol("x")
    derivation = Derivation("empty")
    derivation.define("a", "a", sp.Eq(x, 1))
    derivation.conclude("b", "b", sp.Eq(x, 1), step="nothing", premises=["a"], why="-", check=lambda a, b: [])
    with pytest.raises(ValueError, match="cannot fail"):
        derivation.verify()


def test_latex_and_text_show_every_equation(derivations):
    for derivation in derivations.values():
        for number in derivation.numbers().values():
            assert rf"\tag{{{number}}}" in derivation.latex()
            assert f"({number}) " in derivation.text()
