"""Derivations as one HTML page: MathML that browsers show by themselves, nothing to fetch from anywhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from symbolic.derivation import StepFailed
from symbolic.printing.book import INTRODUCTION, TITLE, Chapter, count
from symbolic.printing.graph import STYLE as GRAPH_STYLE
from symbolic.printing.graph import graph_svg
from symbolic.printing.mathml import symbol_mathml, system_mathml
from symbolic.printing.prose import prose_html
from symbolic.reduction import DOMAINS, Variable

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #52606d; --line: #d5dbe1; --page: #fff; --box: #f6f8fa;
  --good: #1a7f37; --bad: #b3261e; --link: #0b57a4; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8ea; --soft: #aab4c0; --line: #3a434d; --page: #14181d;
  --box: #1c2128; --good: #57c173; --bad: #ff8a80; --link: #7cb8f5; } }
* { box-sizing: border-box; }
html { scroll-behavior: smooth; scroll-padding-top: 1rem; }
body { margin: 0 auto; padding: 2rem 1.25rem 5rem; max-width: 54rem; background: var(--page); color: var(--ink);
  font: 1.0625rem/1.6 Charter, "Bitstream Charter", Cambria, Georgia, serif; }
h1 { font-size: 2rem; line-height: 1.2; margin: 0 0 1rem; }
h2 { font-size: 1.55rem; line-height: 1.25; margin: 4rem 0 .2rem; padding-top: 1.5rem;
  border-top: 1px solid var(--line); }
h1 + h2, body > section:first-child h2 { margin-top: 0; border-top: 0; padding-top: 0; }
h3 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; }
h4 { font-size: 1.0625rem; margin: 0; }
a { color: var(--link); text-decoration: none; }
a:hover { text-decoration: underline; }
code { font-size: .86em; background: var(--box); padding: .1em .3em; border-radius: 3px; }
p { margin: .4rem 0; }
.name, .summary, .step, .check { color: var(--soft); }
.name { margin-top: 0; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .3rem 1.2rem; margin: 1rem 0; }
dt { color: var(--soft); } dd { margin: 0; }
table { border-collapse: collapse; margin: .8rem 0; }
td { padding: .25rem 1.2rem .25rem 0; border-bottom: 1px solid var(--line); }
math { font-size: 1.1em; }
.display { display: grid; grid-template-columns: minmax(0, 1fr) auto; align-items: center; gap: 1rem; margin: .6rem 0;
  padding: .5rem .9rem; background: var(--box); border-radius: 6px; }
.display > div { overflow-x: auto; overflow-y: hidden; }
.display math { display: inline-block; text-align: left; }
.display mtd { padding: .22em .2em; text-align: left; }
.display mtd:first-child { text-align: right; }
.display .number { color: var(--soft); }
article { margin: 1.7rem 0; }
article:target .display { outline: 2px solid var(--link); }
.check::before { content: "✓ "; color: var(--good); }
.failed .check { color: var(--bad); overflow-wrap: anywhere; }
.failed .check::before { content: "✗ "; color: var(--bad); }
.m { white-space: pre-wrap; } .m sup, .m sub { line-height: 0; }
figure { margin: 1rem 0; overflow-x: auto; }
figure svg { display: block; margin: 0 auto; max-width: max(100%, 44rem); height: auto; }
nav ol { padding-left: 1.4rem; } nav li { margin: .25rem 0; } nav span { color: var(--soft); }
@media print { body { max-width: none; } article, .display { break-inside: avoid; } }
"""


def book_html(chapters: Sequence[Chapter]) -> str:
    """The page of one reduction, or of several with a table of contents, which needs nothing beside itself."""
    several = len(chapters) > 1
    title = TITLE if several else chapters[0].reduction.title
    lines = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="generator" content="attnflow derive">',
        f"<title>{escape(title)}</title>",
        f"<style>{STYLE}{GRAPH_STYLE}</style>",
        "</head>",
        "<body>",
    ]
    if several:
        lines += _contents(chapters)
    for chapter in chapters:
        lines += _chapter(chapter)
    return "\n".join([*lines, "</body>", "</html>", ""])


def _contents(chapters: Sequence[Chapter]) -> Iterator[str]:
    yield f"<h1>{escape(TITLE)}</h1>"
    yield f"<p>{escape(INTRODUCTION)}</p>"
    yield "<nav><ol>"
    for chapter in chapters:
        reduction = chapter.reduction
        news = "a step does not hold" if chapter.failures else count(chapter.results)
        link = f'<a href="#{reduction.name}">{prose_html(reduction.title)}</a>'
        yield f"<li>{link} <span>{escape(news)}</span></li>"
    yield "</ol></nav>"


def _chapter(chapter: Chapter) -> Iterator[str]:
    reduction = chapter.reduction
    derivation = reduction.derivation
    yield f'<section id="{reduction.name}">'
    yield f"<h2>{prose_html(reduction.title)}</h2>"
    yield f'<p class="name"><code>{reduction.name}</code></p>'
    terms = (f"<dt>{term}</dt><dd>{prose_html(sentence)}</dd>" for term, sentence in chapter.definitions)
    yield f"<dl>{''.join(terms)}</dl>"
    yield "<h3>The closed system</h3>"
    yield f'<div class="display"><div>{system_mathml(reduction.relations())}</div></div>'
    rows = [_symbol_row(variable, "state") for variable in reduction.state]
    rows += [_symbol_row(variable, "parameter") for variable in reduction.parameters]
    yield f"<table>{''.join(rows)}</table>"
    yield "<h3>How it follows</h3>"
    failed = [failure.step.name for failure in chapter.failures]
    yield f"<figure>{graph_svg(derivation, failed, link=f'#{reduction.name}-')}</figure>"
    yield "<h3>Derivation</h3>"
    yield f'<p class="summary">{escape(count(chapter.results))} verified{_failed(failed)}.</p>'
    for key in derivation.equations:
        yield from _equation(chapter, key)
    yield "</section>"


def _failed(names: list[str]) -> str:
    return f"; not verified: {escape(', '.join(names))}" if names else ""


def _symbol_row(variable: Variable, role: str) -> str:
    cells = symbol_mathml(variable.symbol), prose_html(variable.meaning), DOMAINS[variable.domain], role
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _equation(chapter: Chapter, key: str) -> Iterator[str]:
    derivation = chapter.reduction.derivation
    equation, step, number = derivation.equations[key], derivation.step_to(key), derivation.numbers()[key]
    failed = step is not None and isinstance(chapter.outcomes[step.name], StepFailed)
    anchor = f"{chapter.reduction.name}-{number}"
    yield f'<article id="{anchor}" class="{"failed" if failed else "holds"}">'
    yield f"<h4>{prose_html(equation.title)}</h4>"
    if step is not None:
        links = ", ".join(
            f'<a href="#{chapter.reduction.name}-{source}">({source})</a>' for source in chapter.sources(step)
        )
        yield f'<p class="step">By <em>{prose_html(step.name)}</em> from {links}: {prose_html(step.why)}</p>'
    system = system_mathml(equation.relations)
    yield f'<div class="display"><div>{system}</div><a class="number" href="#{anchor}">({number})</a></div>'
    if step is not None:
        yield f'<p class="check">{prose_html(chapter.verdict(step))}</p>'
    yield "</article>"
