"""What chapters say: the verdict on every step, and what a reduction is about."""

from symbolic import Gaussian, Tokens, WrappedCauchy
from symbolic.printing.book import law_description


def test_a_verdict_counts_identities_and_names_the_sizes(chapter):
    derivation = chapter.reduction.derivation
    assert chapter.verdict(derivation.steps["projection"]) == "2 identities reduced to zero for d = 2"
    assert chapter.verdict(derivation.steps["radial component"]) == "1 identity reduced to zero"
    assert not chapter.failures


def test_a_failure_is_told_with_a_point_and_the_rest_is_checked(wrong, chapter):
    (failure,) = wrong.failures
    assert failure.step.name == "radial component"
    assert wrong.verdict(failure.step).startswith("does not hold: the residual is ")
    assert len(wrong.results) == len(chapter.results) - 1


def test_laws_are_described_by_their_options_and_their_class():
    assert law_description(Gaussian()).startswith("`Gaussian()` — Normal laws N(μ, Σ)")
    assert law_description(Gaussian(factored=True)).startswith("`Gaussian(factored=True)`")
    assert law_description(Tokens()).endswith("of finitely many tokens.")
    assert law_description(WrappedCauchy()).endswith("as its density")


def test_every_chapter_states_field_law_and_assumptions(book):
    for chapter in book:
        terms = [term for term, _ in chapter.definitions]
        assert terms[:2] == ["Field", "Law"]
        assert terms.count("Assumed") == len(chapter.reduction.assumptions)
        assert terms.count("Conserved") == len(chapter.reduction.invariants)
