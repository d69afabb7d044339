"""The page: well-formed, complete, linked within itself, and in need of nothing else."""

import re
from html.parser import HTMLParser

import pytest

from symbolic.printing.html import book_html
from symbolic.printing.mathml import system_mathml
from symbolic.printing.prose import prose_html

VOID = {"meta", "br", "hr", "img", "link"}


class Page(HTMLParser):
    """Checks that elements are closed in order, and collects ids, links and what is fetched."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: list[str] = []
        self.fetched: list[str] = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attributes:
            if name == "id":
                self.ids.append(value)
            elif name == "href":
                self.links.append(value)
            elif name in ("src", "srcset", "data", "xlink:href"):
                self.fetched.append(value)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def source(book):
    return book_html(book)


@pytest.fixture(scope="module")
def page(source):
    return Page(source)


def test_it_is_well_formed(page):
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))


def test_it_fetches_nothing(source, page):
    assert page.fetched == []
    assert not {"script", "link", "img", "iframe", "object"} & set(page.tags)
    assert not re.search(r"https?:|url\((?!#)|@import|//", source)


def test_links_lead_to_what_is_there(page):
    assert page.links
    assert {link.removeprefix("#") for link in page.links} <= set(page.ids)


def test_every_equation_and_every_step_is_there(source, book):
    for chapter in book:
        reduction = chapter.reduction
        derivation = reduction.derivation
        assert system_mathml(reduction.relations()) in source
        for key, number in derivation.numbers().items():
            equation = derivation.equations[key]
            anchor = f"{reduction.name}-{number}"
            article = source.partition(f'<article id="{anchor}"')[2].partition("</article>")[0]
            assert prose_html(equation.title) in article
            assert system_mathml(equation.relations) in article
            if step := derivation.step_to(key):
                assert prose_html(step.name) in article
                assert prose_html(step.why) in article
                assert "4 identities reduced to zero for " in article
                for source_number in chapter.sources(step):
                    assert f'<a href="#{reduction.name}-{source_number}">({source_number})</a>' in article


def test_the_book_has_a_table_of_contents_and_a_single_chapter_none(page, source, book, chapter):
    assert all(f"#{one.reduction.name}" in page.links for one in book)
    assert "<nav>" in source
    assert "<nav>" not in book_html([chapter])


def test_the_graph_links_to_the_equations(source, chapter):
    single = book_html([chapter])
    for number in chapter.reduction.derivation.numbers().values():
        assert f'<a href="#ott_antonsen-{number}"><g class=' in single


def test_a_step_that_fails_is_shown_as_such(wrong):
    source = book_html([wrong])
    assert Page(source).open == []
    (failed,) = re.findall(r'<article id="([^"]*)" class="failed">', source)
    step = wrong.failures[0].step
    assert failed == f"ott_antonsen-{wrong.reduction.derivation.numbers()[step.conclusion]}"
    assert "does not hold: the residual is <code>" in source
    assert f"not verified: {step.name}" in source
