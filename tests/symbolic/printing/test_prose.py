"""Sentences with formulas: what is recognised as one, and that LaTeX gets no character that it lacks."""

import re

import pytest

from symbolic.printing.prose import plain, prose_html, prose_latex, runs, symbol_latex


@pytest.mark.parametrize(
    ("sentence", "formulas"),
    [
        ("Put ξ = Bx into the gradient", ["ξ = Bx"]),
        ("Differentiate the quadratic K(ξ); Σ is symmetric.", ["K(ξ)", "Σ"]),
        ("Normal laws N(μ, Σ) on R^d, Σ of any rank", ["N(μ, Σ)", "R^d", "Σ"]),
        ("A = 0 means that a cat sat", ["A = 0"]),
        ("A Hurwitz matrix is what I mean", []),
        ("up to 2 Re c cos Ξ + 2 Im c sin Ξ.", ["2 Re c cos Ξ + 2 Im c sin Ξ"]),
        ("obey (L Lᵀ)' = L' Lᵀ, so", ["(L Lᵀ)' = L' Lᵀ"]),
        ("e^{i k Ξ} and Σ_{j = 1}^n x_j", ["e^{i k Ξ}", "Σ_{j = 1}^n x_j"]),
        ("the Kuramoto–Daido model’s naïve façade — see (3)", []),
        ("x = (cos Ξ/2, sin Ξ/2)", ["x = (cos Ξ/2, sin Ξ/2)"]),
        ("frequencies −2, 0 are left", ["−2"]),
        ("(as |R| < 1 says)", ["|R| < 1"]),
    ],
)
def test_formulas_are_told_from_words(sentence, formulas):
    found = runs(sentence)
    assert "".join(run.text for run in found) == sentence
    assert [run.text for run in found if run.kind == "math"] == formulas


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("ā₀ + R̄ā₁", r"$\bar{a}_{0} + \bar{R}\bar{a}_{1}$"),
        ("Mixtures Σ w_i N(μ_i, Σ_i)", r"Mixtures $\Sigma w_{i} N(\mu_{i}, \Sigma_{i})$"),
        ("x_i1 and S² − (tr S) S", r"$x_{i1}$ and $S^{2} - (\operatorname{tr} S) S$"),
        ("under Sphere(2, a='b')", r"under \texttt{Sphere(\allowbreak{}2,\allowbreak{} a=\allowbreak{}'b')}"),
        ("i ≠ j, y ~ N(0, 1)", r"$i \neq j$, $y \sim N(0, 1)$"),
        ("1/|y|² = ∫₀^∞ e^{−s|y|²} ds, so", r"$1/|y|^{2} = \int_{0}^{\infty} e^{-s|y|^{2}} ds$, so"),
        ("∂ₜK(ξ)", r"$\partial_{t}K(\xi)$"),
        ("Σ⁻¹ and B^{−1/2}", r"$\Sigma^{-1}$ and $B^{-1/2}$"),
        ("λ_max(LᵀC(t)L) = 1", r"$\lambda_{\max}(L^{T}C(t)L) = 1$"),
        ("Σ_{11} Σ_j x_j", r"$\Sigma_{11} \sum_{j} x_{j}$"),
        ("Σ_{k≥0} (R/e)^k", r"$\sum_{k\geq0} (R/e)^{k}$"),
        ("Ξ̇ = ½ θ", r"$\dot{\Xi} = \tfrac{1}{2} \theta$"),
        ("50% of {a_b} & #1", r"50\% of $a_{b}$ \& \#1"),
        ("`weighting=s**p_1` works", r"\texttt{weighting=\allowbreak{}s**p\_1} works"),
        ("naïve – a “quote”", r"naïve -- a ``quote''"),
    ],
)
def test_latex_of_sentences(sentence, expected):
    assert prose_latex(sentence) == expected


def test_greek_capitals_without_a_command_are_latin_letters():
    assert [symbol_latex(c) for c in "ΑΒΓΔμνοπ"] == ["A", "B", r"\Gamma", r"\Delta", r"\mu", r"\nu", "o", r"\pi"]


def test_what_is_not_known_is_shown_by_its_number():
    assert symbol_latex("☃") == r"\text{[U+2603]}"


def test_plain_text_has_no_formulas():
    assert plain("Laws of `any` kind under Sphere(2), Σ = L Lᵀ") == "Laws of any kind under Sphere(2),"


def test_html_has_scripts_and_escapes_text():
    assert prose_html("x₁ < 2 & R̄^k") == (
        '<span class="m"><i>x</i><sub>1</sub> &lt; 2</span> &amp; <span class="m"><i>R̄</i><sup><i>k</i></sup></span>'
    )


def sentences(book):
    for chapter in book:
        reduction = chapter.reduction
        yield reduction.title
        yield from (sentence for _, sentence in chapter.definitions)
        yield from (variable.meaning for variable in (*reduction.state, *reduction.parameters))
        yield from (equation.title for equation in reduction.derivation.equations.values())
        for step in reduction.derivation.steps.values():
            yield from (step.name, step.why)


def test_every_sentence_of_the_book_is_latex_that_pdflatex_can_read(book):
    for sentence in sentences(book):
        latex = prose_latex(sentence)
        assert "[U+" not in latex, sentence
        assert all(ord(character) < 0x250 for character in latex), sentence
        assert latex.count("{") == latex.count("}"), sentence
        assert len(re.findall(r"(?<!\\)\$", latex)) % 2 == 0, sentence
