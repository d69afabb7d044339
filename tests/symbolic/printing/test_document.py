"""The LaTeX document: complete, balanced, without characters that pdflatex lacks; compiled where there is a TeX."""

import re
import shutil
import subprocess

import pytest

from symbolic.printing.document import book_latex
from symbolic.printing.latex import system_latex
from symbolic.printing.prose import prose_latex


@pytest.fixture(scope="module")
def source(book):
    return book_latex(book)


def compiles(source: str, engine: str, folder) -> bool:
    """Whether an engine makes a PDF of a document; True as well where the engine is not installed."""
    if shutil.which(engine) is None:
        return True
    (folder / "book.tex").write_text(source, encoding="utf-8")
    command = [engine, "-interaction=nonstopmode", "-halt-on-error", "book.tex"]
    result = subprocess.run(command, cwd=folder, capture_output=True, timeout=120)
    return result.returncode == 0 and (folder / "book.pdf").exists()


def test_environments_and_braces_match(source):
    opened: list[str] = []
    for action, name in re.findall(r"\\(begin|end)\{([a-z*]+)\}", source):
        if action == "begin":
            opened.append(name)
        else:
            assert opened.pop() == name
    assert opened == []
    bare = re.sub(r"\\[{}]", "", source)
    assert bare.count("{") == bare.count("}")
    assert source.count(r"\left") - source.count(r"\leftarrow") == source.count(r"\right")


def test_it_is_a_document_of_usual_packages_in_plain_characters(source):
    assert source.startswith(r"\documentclass")
    assert source.rstrip().endswith(r"\end{document}")
    assert all(ord(character) < 0x250 for character in source)


def test_every_equation_and_every_step_is_there(source, book):
    for chapter in book:
        reduction, derivation = chapter.reduction, chapter.reduction.derivation
        assert system_latex(reduction.relations()) in source
        for key, number in derivation.numbers().items():
            equation = derivation.equations[key]
            assert rf"\tag{{{number}}}\label{{{reduction.name}:{number}}}" in source
            assert system_latex(equation.relations) in source
            assert prose_latex(equation.title) in source
            if step := derivation.step_to(key):
                assert prose_latex(step.why) in source


def test_references_lead_to_labels(source):
    labels = re.findall(r"\\label\{([^}]*)\}", source)
    assert len(labels) == len(set(labels))
    assert set(re.findall(r"\\eqref\{([^}]*)\}", source)) <= set(labels)


def test_a_step_that_fails_is_shown_as_such(wrong):
    source = book_latex([wrong])
    assert source.count(r"{\small $\times$ does not hold") == 1
    assert "not verified: radial component" in source


def test_the_book_has_a_table_of_contents(source, chapter):
    assert r"\tableofcontents" in source
    assert r"\tableofcontents" not in book_latex([chapter])


@pytest.mark.parametrize("engine", ["pdflatex", "lualatex"])
def test_it_compiles(wrong, engine, tmp_path):
    assert compiles(book_latex([wrong]), engine, tmp_path)


def test_the_whole_book_compiles(source, tmp_path):
    assert compiles(source, "pdflatex", tmp_path)
