"""Papers and how they are cited."""

from proofs_check import Claim, Exact, citation
from proofs_check.sources import PAPERS, papers


def from_source(source: str) -> Claim:
    return Claim("a", "s", (), source, lambda subject, digits: Exact(1), int, int, "c")


def test_a_citation_has_exactly_the_papers_named():
    assert citation(from_source("[G] and [L], both")) == "\n\n".join(paper.bibtex() for paper in PAPERS)
    assert citation(from_source("[L], Case 4")) == papers("[L]")[0].bibtex()
    assert citation(from_source("derived here")) == ""


def test_bibtex_braces_balance():
    for paper in PAPERS:
        assert paper.bibtex().count("{") == paper.bibtex().count("}")
        assert paper.arxiv in paper.bibtex()
