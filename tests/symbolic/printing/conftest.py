"""Chapters to print: one whose steps hold, one with a wrong sign planted, and all of them."""

import dataclasses

import pytest
import sympy as sp

import symbolic
from symbolic.printing.book import Chapter, verified
from symbolic.reduction import Reduction


@pytest.fixture(scope="session")
def reductions() -> dict[str, Reduction]:
    return {name: make() for name, make in symbolic.canonical_reductions().items()}


@pytest.fixture(scope="session")
def book(reductions) -> list[Chapter]:
    """Every canonical reduction; what the steps gave is made up, for verifying them all takes long."""
    from symbolic.derivation import StepResult
    from symbolic.step_cache import Verdict

    def chapter(reduction: Reduction) -> Chapter:
        steps = reduction.derivation.steps.values()
        verdict = Verdict(4, ((("d", 2),), (("d", 3),)))
        return Chapter(reduction, {step.name: StepResult(step, verdict, 0.0) for step in steps})

    return [chapter(reduction) for reduction in reductions.values()]


@pytest.fixture(scope="session")
def chapter(reductions) -> Chapter:
    """A verified one."""
    return verified(reductions["ott_antonsen"])


@pytest.fixture(scope="session")
def wrong(reductions) -> Chapter:
    """One whose last step fails, on a planted sign."""
    right = reductions["ott_antonsen"]
    *_, step = right.derivation.steps.values()
    (relation,) = right.derivation.equations[step.conclusion].relations
    planted = sp.Eq(relation.lhs, -relation.rhs, evaluate=False)
    return verified(dataclasses.replace(right, derivation=right.derivation.with_equation(step.conclusion, planted)))
