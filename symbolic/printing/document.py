r"""Derivations as one LaTeX document, for pdflatex as for lualatex: \documentclass{article} and usual packages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from symbolic.derivation import StepFailed
from symbolic.printing.book import INTRODUCTION, TITLE, Chapter, count
from symbolic.printing.graph import graph_tikz
from symbolic.printing.latex import Printer, system_latex
from symbolic.printing.prose import plain, prose_latex, text_latex
from symbolic.reduction import DOMAINS

PREAMBLE = r"""\documentclass[11pt]{article}
\usepackage[T1]{fontenc}
\usepackage{lmodern}
\usepackage[margin=2.5cm]{geometry}
\usepackage{amsmath,amssymb}
\usepackage{graphicx}
\usepackage{tikz}
\usepackage[hidelinks,hypertexnames=false]{hyperref}
\setlength{\parindent}{0pt}
\setlength{\parskip}{4pt}
\sloppy
% Mathematics that is wider than the line is made smaller.
\newsavebox{\fitbox}
\newcommand{\fit}[1]{\sbox{\fitbox}{$\displaystyle #1$}%
  \ifdim\wd\fitbox>0.9\linewidth\resizebox{0.9\linewidth}{!}{\usebox{\fitbox}}\else\usebox{\fitbox}\fi}
"""


def book_latex(chapters: Sequence[Chapter]) -> str:
    """The document of one reduction, or of several with a table of contents."""
    several = len(chapters) > 1
    title = TITLE if several else chapters[0].reduction.title
    lines = [PREAMBLE, rf"\title{{{prose_latex(title)}}}", r"\author{}", r"\date{}", r"\begin{document}", r"\maketitle"]
    if several:
        lines += [prose_latex(INTRODUCTION), r"\tableofcontents", r"\clearpage"]
    for chapter in chapters:
        lines += [rf"\section{{{_heading(chapter.reduction.title)}}}"] if several else []
        lines += _chapter(chapter)
    return "\n".join([*lines, r"\end{document}", ""])


def _heading(title: str) -> str:
    """A title, with what of it can stand in the bookmarks of the PDF, which have no mathematics."""
    return rf"\texorpdfstring{{{prose_latex(title)}}}{{{text_latex(plain(title))}}}"


def _chapter(chapter: Chapter) -> Iterator[str]:
    reduction = chapter.reduction
    derivation = reduction.derivation
    yield r"\begin{description}"
    yield from (rf"\item[{term}] {prose_latex(sentence)}" for term, sentence in chapter.definitions)
    yield r"\end{description}"
    yield r"\subsection*{The closed system}"
    yield rf"\[\fit{{{system_latex(reduction.relations())}}}\]"
    printer = Printer()
    yield r"\begin{tabular}{@{}lp{0.36\linewidth}p{0.36\linewidth}l@{}}"
    for role, variables in (("state", reduction.state), ("parameter", reduction.parameters)):
        for variable in variables:
            symbol, meaning = printer.doprint(variable.symbol), prose_latex(variable.meaning)
            yield rf"${symbol}$ & {meaning} & {DOMAINS[variable.domain]} & {role} \\"
    yield r"\end{tabular}"
    yield r"\subsection*{How it follows}"
    yield rf"\begin{{center}}{graph_tikz(derivation)}\end{{center}}"
    yield r"\subsection*{Derivation}"
    failed = ", ".join(failure.step.name for failure in chapter.failures)
    yield prose_latex(f"{count(chapter.results)} verified" + (f"; not verified: {failed}." if failed else "."))
    for key in derivation.equations:
        yield from _equation(chapter, key)


def _equation(chapter: Chapter, key: str) -> Iterator[str]:
    derivation = chapter.reduction.derivation
    equation, step, number = derivation.equations[key], derivation.step_to(key), derivation.numbers()[key]
    yield rf"\paragraph{{{prose_latex(equation.title)}.}}"
    if step is not None:
        sources = ", ".join(rf"\eqref{{{_label(chapter, source)}}}" for source in chapter.sources(step))
        yield rf"By \emph{{{prose_latex(step.name)}}} from {sources}: {prose_latex(step.why)}"
    tag = rf"\tag{{{number}}}\label{{{_label(chapter, number)}}}"
    yield rf"\begin{{equation}}{tag}\fit{{{system_latex(equation.relations)}}}\end{{equation}}"
    if step is not None:
        mark = r"$\times$" if isinstance(chapter.outcomes[step.name], StepFailed) else r"$\checkmark$"
        yield rf"{{\small {mark} {prose_latex(chapter.verdict(step))}\par}}"


def _label(chapter: Chapter, number: int) -> str:
    return f"{chapter.reduction.name}:{number}"
