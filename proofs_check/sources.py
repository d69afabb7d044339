"""The papers that claims come from, and how to cite them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from proofs_check.claim import Claim


@dataclass(frozen=True)
class Paper:
    """A paper, named by `key` in brackets in the source of a claim; authors by their family names."""

    key: str
    title: str
    authors: tuple[str, ...]
    year: int
    arxiv: str

    def __str__(self) -> str:
        return f"[{self.key}] {', '.join(self.authors)}: {self.title}. arXiv:{self.arxiv} ({self.year})"

    def bibtex(self) -> str:
        """The BibTeX entry; names and title are braced so that BibTeX keeps them as they are."""
        authors = " and ".join(f"{{{author}}}" for author in self.authors)
        return (
            f"@misc{{arxiv:{self.arxiv},\n"
            f"  title         = {{{{{self.title}}}}},\n"
            f"  author        = {{{authors}}},\n"
            f"  year          = {{{self.year}}},\n"
            f"  eprint        = {{{self.arxiv}}},\n"
            f"  archiveprefix = {{arXiv}}\n"
            f"}}"
        )


PAPERS = (
    Paper(
        "G",
        "Reachability and asymptotics of Gaussian Transformer dynamics",
        ("Alcalde", "Ji", "Zuazua"),
        2026,
        "2606.07600",
    ),
    Paper(
        "L",
        "On the Diverse Dynamical Behaviors Arising in Deep Linear Transformers",
        ("Li", "Maranzatto", "Peszek", "Teolis", "Akkoc", "Riedl", "Ulukus", "García Trillos"),
        2026,
        "2607.18584",
    ),
)


def papers(source: str) -> tuple[Paper, ...]:
    """The papers that a source names.

    >>> [paper.arxiv for paper in papers("[G], on Gaussian laws")]
    ['2606.07600']
    """
    keys = re.findall(r"\[(\w+)\]", source)
    return tuple(paper for paper in PAPERS if paper.key in keys)


def citation(claim: Claim[Any]) -> str:
    """The BibTeX entries of exactly the papers that a claim comes from; empty when it comes from none."""
    return "\n\n".join(paper.bibtex() for paper in papers(claim.source))
