"""How claims are found, refused and selected."""

import subprocess
import sys

import pytest

import proofs_check
from proofs_check import Claim, Exact, registry


def test_claims_of_all_modules_come_sorted(claim_package):
    package = claim_package(b="CLAIMS = (claim('a.z'), claim('c'))", a="CLAIMS = (claim('b'),)", _helper="")
    assert [claim.id for claim in registry.discover(package)] == ["a.z", "b", "c"]


def test_an_id_used_twice_is_refused(claim_package):
    package = claim_package(one="CLAIMS = (claim('same'),)", other="CLAIMS = (claim('same'),)")
    with pytest.raises(ValueError, match=r"'same'.*\.one and .*\.other"):
        registry.discover(package)


def test_a_module_without_claims_is_refused(claim_package):
    with pytest.raises(ValueError, match="CLAIMS.*forgetful"):
        registry.discover(claim_package(forgetful=""))


@pytest.mark.parametrize(
    ("pattern", "selected"),
    [
        ("*", ["a.one", "a.two", "b.one"]),
        ("a.*", ["a.one", "a.two"]),
        ("*.one", ["a.one", "b.one"]),
        ("b.one", ["b.one"]),
    ],
)
def test_patterns(claim_package, pattern, selected):
    package = claim_package(m="CLAIMS = tuple(claim(id) for id in ('a.one', 'a.two', 'b.one'))")
    assert [claim.id for claim in registry.select(pattern, registry.discover(package))] == selected


def test_an_unknown_pattern_names_the_nearest_claim(claim_package):
    package = claim_package(m="CLAIMS = (claim('gaussian.rank'), claim('circle.rotation'))")
    with pytest.raises(ValueError, match=r"pattern: no claim matches 'gausian\*'; did you mean 'gaussian.rank'\?"):
        registry.select("gausian*", registry.discover(package))


@pytest.mark.parametrize("id", ["", "Gaussian", "a b", "a*", "a.", ".a", "a..b", "a/b"])
def test_ids_that_cannot_be_patterns_are_refused(id):
    with pytest.raises(ValueError, match="id: "):
        Claim(id, "s", (), "s", lambda subject, digits: Exact(1), lambda: 0, lambda: 0, "c")


@pytest.mark.parametrize("empty", ["statement", "source", "control_statement"])
def test_texts_must_say_something(empty):
    texts = {"statement": "s", "source": "s", "control_statement": "c", empty: " "}
    with pytest.raises(ValueError, match=f"{empty}: "):
        Claim("a", hypotheses=(), check=lambda subject, digits: Exact(1), subject=int, control=int, **texts)


def test_hypotheses_are_a_tuple():
    with pytest.raises(ValueError, match="hypotheses: "):
        Claim("a", "s", "V = I", "s", lambda subject, digits: Exact(1), int, int, "c")


def test_the_claims_of_this_package_have_ids_texts_and_controls():
    for claim in proofs_check.claims():
        assert claim.full_statement.startswith(claim.statement)
        assert all(hypothesis in claim.full_statement for hypothesis in claim.hypotheses)


def test_the_function_claims_is_not_hidden_by_the_package_of_that_name():
    program = (
        "import proofs_check.claims, proofs_check; from proofs_check import claims; "
        "assert claims() == proofs_check.claims() == proofs_check.claims()"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
