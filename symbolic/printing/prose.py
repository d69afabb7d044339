"""Sentences with mathematics in them, as titles and reasons are written, for HTML and for LaTeX.

The mathematics of a sentence is recognised by its characters: "Put ξ = Bx into K(ξ)" has the formulas ξ = Bx and
K(ξ). In a formula e^{ikΞ}, Z_k, ⁻¹, ᵀ and ₀ are scripts, R̄ and ẋ are accents, and code stands in backquotes.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby

#: Marks over a letter: their LaTeX command.
ACCENTS = {"\u0302": "hat", "\u0303": "tilde", "\u0304": "bar", "\u0305": "bar", "\u0307": "dot"}
#: Marks that also occur in words, so that they alone do not make a formula: â, ã.
_IN_WORDS = {"\u0302", "\u0303"}
NAMES = {
    "arg",
    "artanh",
    "cos",
    "cosh",
    "det",
    "diag",
    "dim",
    "div",
    "exp",
    "Im",
    "ker",
    "lim",
    "log",
    "max",
    "mean",
    "min",
}
NAMES |= {"rank", "Re", "sgn", "sin", "sinh", "span", "tan", "tanh", "tr"}
_LATEX_NAMES = {"arg", "cos", "cosh", "det", "dim", "exp", "ker", "lim", "log", "max", "min", "sin", "sinh", "tan"}
_LATEX_NAMES |= {"tanh"}
SYMBOLS = {
    "−": "-",
    "·": r"\cdot",
    "⋅": r"\cdot",
    "×": r"\times",
    "∘": r"\circ",
    "⊙": r"\odot",
    "±": r"\pm",
    "⟨": r"\langle",
    "⟩": r"\rangle",
    "‖": r"\|",
    "∫": r"\int",
    "∂": r"\partial",
    "∇": r"\nabla",
    "∑": r"\sum",
    "∏": r"\prod",
    "√": r"\surd",
    "∞": r"\infty",
    "≤": r"\leq",
    "≥": r"\geq",
    "≠": r"\neq",
    "≈": r"\approx",
    "∼": r"\sim",
    "~": r"\sim",
    "≡": r"\equiv",
    "∝": r"\propto",
    "≺": r"\prec",
    "≻": r"\succ",
    "⪯": r"\preceq",
    "⪰": r"\succeq",
    "∈": r"\in",
    "∉": r"\notin",
    "⊂": r"\subset",
    "∪": r"\cup",
    "∩": r"\cap",
    "→": r"\to",
    "↦": r"\mapsto",
    "⇒": r"\Rightarrow",
    "⇔": r"\Leftrightarrow",
    "∀": r"\forall",
    "∃": r"\exists",
    "⊥": r"\perp",
    "ℓ": r"\ell",
    "…": r"\dots",
    "⋯": r"\cdots",
    "½": r"\tfrac{1}{2}",
    "⅓": r"\tfrac{1}{3}",
    "¼": r"\tfrac{1}{4}",
    "ℝ": r"\mathbb{R}",
    "ℂ": r"\mathbb{C}",
    "′": "'",
}
_TYPOGRAPHY = {"–": "--", "—": "---", "‘": "`", "’": "'", "“": "``", "”": "''", "…": r"\dots{}", "\u00a0": "~"}
_LATEX_SPECIAL = {c: f"\\{c}" for c in "&%$#_{}"} | {"~": r"\~{}", "^": r"\^{}", "\\": r"\textbackslash{}"}
#: Capital Greek letters that look like Latin ones, and have no command.
_GREEK_AS_LATIN = {"alpha": "A", "beta": "B", "epsilon": "E", "zeta": "Z", "eta": "H", "iota": "I", "kappa": "K"}
_GREEK_AS_LATIN |= {"mu": "M", "nu": "N", "omicron": "O", "rho": "P", "tau": "T", "chi": "X"}
_OPENING, _CLOSING = "([", ".,;:)]"
#: A word that ends with one of these is continued by the next one, and starting with one continues the last.
_OPERATORS = "=<>~≤≥≠≈∼∝+−±·×/∈→↦≺≻⪯⪰⇒"
_PREFIXES = "∫∂∇∑∏"
#: What was found, and that a line may end there.
_BREAK = r"\1\\allowbreak{}"
#: Characters of LaTeX from which on a formula may have to be broken at the end of a line.
LONG = 60


@dataclass(frozen=True)
class Run:
    """A stretch of a sentence: kind is 'text', 'math' or 'code'."""

    kind: str
    text: str


def runs(sentence: str) -> list[Run]:
    """Tell the text of a sentence from its formulas and its code: what is in backquotes, and calls such as Sphere(2).

    >>> [run.text for run in runs("Put ξ = Bx into K(ξ), and differentiate.") if run.kind == "math"]
    ['ξ = Bx', 'K(ξ)']
    """
    found: list[Run] = []
    for i, part in enumerate(re.split(r"`([^`]*)`|(\b[A-Z]\w{3,}\([^()]*\))", sentence)):
        if part:
            found += [Run("code", part)] if i % 3 else _without_code(part)
    return [Run(kind, "".join(run.text for run in same)) for kind, same in groupby(found, lambda run: run.kind)]


def prose_html(sentence: str) -> str:
    """A sentence as HTML, its formulas with italic letters and real scripts.

    >>> prose_html("Test with e^{ikΞ}.")
    'Test with <span class="m"><i>e</i><sup><i>ikΞ</i></sup></span>.'
    """
    style: dict[str, Callable[[str], str]] = {
        "text": html.escape,
        "code": lambda text: f"<code>{html.escape(text)}</code>",
        "math": lambda text: f'<span class="m">{_formula_html(_parse(text))}</span>',
    }
    return "".join(style[run.kind](run.text) for run in runs(sentence))


def prose_latex(sentence: str) -> str:
    r"""A sentence as LaTeX that needs no Unicode fonts.

    >>> prose_latex("Test with e^{ikΞ}: R̄ is ⟨x,Ay⟩ – 100% of it.")
    'Test with $e^{ik\\Xi}$: $\\bar{R}$ is $\\langle x,Ay\\rangle$ -- 100\\% of it.'
    """
    style: dict[str, Callable[[str], str]] = {
        "text": text_latex,
        "code": lambda text: rf"\texttt{{{re.sub(r'([(,=])(?=.)', _BREAK, text_latex(text))}}}",
        "math": lambda text: f"${_breakable(_formula_latex(_parse(text)))}$",
    }
    return "".join(style[run.kind](run.text) for run in runs(sentence))


def plain(sentence: str) -> str:
    """The text of a sentence without its formulas and marks, for where neither can be, such as bookmarks."""
    return " ".join("".join(run.text for run in runs(sentence) if run.kind != "math").split())


def _without_code(text: str) -> list[Run]:
    words = _words(text)
    formula = [_is_formula(word.strip(_OPENING + _CLOSING)) for word in words]
    # From the right, so that what stands before a formula can join it: the 2 and the Re of 2 Re c.
    for i in reversed(range(len(words) - 1)):
        word, following = words[i], words[i + 1]
        if word == "" or following == "" or word[-1] in ".,;:":
            continue
        if _is_operator(word) or _is_operator(following) or word[0] in _PREFIXES:
            formula[i] = formula[i] or _may_join(word)
            formula[i + 1] = formula[i + 1] or _may_join(following) or word[0] in _PREFIXES
        elif formula[i + 1] and (word.isdigit() or word in NAMES):
            formula[i] = True
        elif formula[i] and re.fullmatch(r"d[a-z]|I", following.rstrip(_CLOSING)):
            formula[i + 1] = True
    found: list[Run] = []
    for i, word in enumerate(words):
        if i:
            joined = formula[i] and formula[i - 1] and found[-1].kind == "math"
            found.append(Run("math" if joined else "text", " "))
        before, core, after = _trimmed(word) if formula[i] else (word, "", "")
        pieces = Run("text", before), Run("math", core), Run("text", after)
        found += [piece for piece in pieces if piece.text]
    return found


def _words(text: str) -> list[str]:
    """Split at spaces, but not within braces, nor within the brackets of a formula."""
    words: list[str] = []
    for word in text.split(" "):
        if words and words[-1].count("{") > words[-1].count("}"):
            words[-1] += f" {word}"
        else:
            words.append(word)
    for start in reversed(range(len(words))):
        for end in range(start + 1, len(words) + 1):
            joined = " ".join(words[start:end])
            if _balanced(joined):
                if end > start + 1 and all(map(_may_join, re.findall(r"[A-Za-z]+", joined))) and _is_formula(joined):
                    words[start:end] = [joined]
                break
    return words


def _is_operator(word: str) -> bool:
    return word in _OPERATORS


def _may_join(word: str) -> bool:
    """Whether a word next to a formula can be part of it: not one of the language."""
    core = word.strip(_OPENING + _CLOSING)
    is_language = core.isascii() and core.isalpha() and core[1:].islower() and (core.islower() or len(core) > 2)
    return core in NAMES or not is_language


def _is_formula(word: str) -> bool:
    if len(word) == 1 and word.isascii():
        return (word.isalpha() and word not in "aAI") or word in "=<>+|~"
    if re.fullmatch(r"[A-Za-z]{1,2}\([^()]*\)?|d[A-Zm]|[A-Za-z]'|[A-Za-z0-9]/[A-Za-z0-9]", word):
        return True
    applied = re.fullmatch(r"\(([A-Za-z]+) [A-Za-z]\)'?", word)
    if applied and applied[1] in NAMES:
        return True
    return any(c in "^_{}|=<>" for c in word) or any(map(_is_mathematical, _decomposed(word)))


def _is_mathematical(character: str) -> bool:
    if character.isascii() or character in _TYPOGRAPHY or character in _IN_WORDS:
        return False
    return character in ACCENTS or not unicodedata.combining(character)


def _decomposed(text: str) -> str:
    """Letters apart from the marks over them, but ≠ in one piece."""
    return "".join(unicodedata.normalize("NFD", c) if c.isalpha() else c for c in text)


def _trimmed(word: str) -> tuple[str, str, str]:
    """A word with the punctuation around it split off; brackets stay with the formula when they match within it."""
    end = len(word)
    while end and (word[end - 1] in ".,;:" or (word[end - 1] in ")]" and not _balanced(word[:end]))):
        end -= 1
    start = 0
    while start < end and word[start] in _OPENING and not _balanced(word[start:end]):
        start += 1
    return word[:start], word[start:end], word[end:]


def _balanced(word: str) -> bool:
    return all(word.count(left) == word.count(right) for left, right in ("()", "[]", "⟨⟩"))


@dataclass(frozen=True)
class Letter:
    """One character of a formula, with the LaTeX name of the mark over it."""

    character: str
    accent: str | None = None


@dataclass(frozen=True)
class Name:
    """A word within a formula: a function's name, or text."""

    text: str


@dataclass(frozen=True)
class Script:
    """A superscript or subscript: kind is '^' or '_'."""

    kind: str
    items: tuple[Item, ...]


Item = Letter | Name | Script


def _parse(formula: str) -> tuple[Item, ...]:
    """A formula as letters, names and scripts."""
    items, rest = _items(_decomposed(_plain_scripts(formula)), closing="")
    return items + tuple(Letter(character) for character in rest)


def _plain_scripts(formula: str) -> str:
    """Write characters that are scripts, such as ⁻¹ and ₜ, as ^{−1} and _{t}."""

    def kind(character: str) -> str:
        tag, _, _ = unicodedata.decomposition(character).partition(" ")
        return {"<super>": "^", "<sub>": "_"}.get(tag, "")

    pieces = []
    for script, characters in groupby(formula, kind):
        text = "".join(characters)
        pieces.append(f"{script}{{{unicodedata.normalize('NFKC', text)}}}" if script else text)
    return "".join(pieces)


def _items(text: str, closing: str) -> tuple[tuple[Item, ...], str]:
    """The items up to a closing brace, and what follows it."""
    items: list[Item] = []
    while text:
        first, text = text[0], text[1:]
        if first == closing:
            return tuple(items), text
        if first in "^_" and text:
            inside, text = _items(text[1:], "}") if text[0] == "{" else _indices(text)
            items.append(Script(first, inside))
        elif first == "{":
            inside, text = _items(text, "}")
            items += inside
        elif text and text[0] in ACCENTS:
            items.append(Letter(first, ACCENTS[text[0]]))
            text = text[1:]
        else:
            (item,), text = _first_item(first + text)
            items.append(item)
    return tuple(items), ""


def _first_item(text: str) -> tuple[tuple[Item, ...], str]:
    """A name or a single letter, and what follows it."""
    word = re.match(r"[A-Za-z]+", text)
    if word and _is_name(word[0]):
        return (Name(word[0]),), text[len(word[0]) :]
    return (Letter(text[0]),), text[1:]


def _indices(text: str) -> tuple[tuple[Item, ...], str]:
    """What a script without braces holds: a name, or a letter and digits, as in λ_max and x_i1."""
    (first,), rest = _first_item(text)
    is_letter = isinstance(first, Letter) and first.character.isalnum()
    after = rest.lstrip("0123456789") if is_letter else rest
    return (first, *map(Letter, rest[: len(rest) - len(after)])), after


def _is_name(word: str) -> bool:
    return word in NAMES or (len(word) > 3 and word.islower())


def _formula_html(items: tuple[Item, ...]) -> str:
    pieces: list[str] = []
    for slanted, group in groupby(items, _is_slanted):
        text = "".join(map(_item_html, group))
        pieces.append(f"<i>{text}</i>" if slanted else text)
    return "".join(pieces)


def _is_slanted(item: Item) -> bool:
    return isinstance(item, Letter) and item.character.isalpha() and item.character not in "ℝℂ∂∇"


def _item_html(item: Item) -> str:
    match item:
        case Script(kind, items):
            tag = "sup" if kind == "^" else "sub"
            return f"<{tag}>{_formula_html(items)}</{tag}>"
        case Name(text):
            return html.escape(text)
        case Letter(character, accent):
            mark = next((mark for mark, name in ACCENTS.items() if name == accent), "")
            shown = {"'": "′", "-": "−"}.get(character, character)
            return html.escape(unicodedata.normalize("NFC", shown + mark))


def _formula_latex(items: tuple[Item, ...]) -> str:
    text = ""
    for i, item in enumerate(items):
        piece = _sum_latex(item) if _is_sum(items[i : i + 3]) else _item_latex(item)
        # A command swallows the letter after it unless a space ends it.
        text += " " + piece if re.search(r"\\[A-Za-z]+$", text) and piece[:1].isalpha() else piece
    return text


def _is_sum(items: tuple[Item, ...]) -> bool:
    """Whether Σ or Π stand for a sum or a product: with a range below, as in Σ_{k≥0} and Σ_j x_j, not Σ_{11} or Σ_i."""
    match items:
        case Letter("Σ" | "Π"), Script("_", below), *rest:
            text = _formula_latex(below)
            return not text.isalnum() or (text.isalpha() and bool(rest) and rest[0] == Letter(" "))
    return False


def _sum_latex(sign: Item) -> str:
    return r"\prod" if sign == Letter("Π") else r"\sum"


def _breakable(formula: str) -> str:
    """A formula that may end a line at its spaces, if it is long."""
    return formula.replace(" ", r" \allowbreak ") if len(formula) > LONG else formula


def _item_latex(item: Item) -> str:
    match item:
        case Script(kind, items):
            return f"{kind}{{{_formula_latex(items)}}}"
        case Name(text):
            command = rf"\{text}" if text in _LATEX_NAMES else rf"\operatorname{{{text}}}"
            return command if text in NAMES else rf"\text{{{text}}}"
        case Letter(character, accent):
            symbol = symbol_latex(character)
            return rf"\{accent}{{{symbol}}}" if accent else symbol


def symbol_latex(character: str) -> str:
    r"""A character in LaTeX's mathematics mode; one that is not known is shown by its number.

    >>> symbol_latex("ξ"), symbol_latex("≻"), symbol_latex("x")
    ('\\xi', '\\succ', 'x')
    """
    if character in SYMBOLS:
        return SYMBOLS[character]
    if character.isascii():
        return rf"\{character}" if character in "#$%&_{}" else r"\backslash " if character == "\\" else character
    greek = re.fullmatch(r"GREEK (SMALL|CAPITAL) (?:LETTER )?(?:FINAL )?(\w+)", unicodedata.name(character, ""))
    if greek is None:
        return rf"\text{{[U+{ord(character):04X}]}}"
    name = greek[2].lower().replace("lamda", "lambda")
    if greek[1] == "SMALL":
        return "o" if name == "omicron" else rf"\{name}"
    return _GREEK_AS_LATIN.get(name) or rf"\{name.capitalize()}"


def text_latex(text: str) -> str:
    """Text as LaTeX, without looking for formulas in it."""
    return "".join(_characters_latex(unicodedata.normalize("NFC", text)))


def _characters_latex(text: str) -> Iterator[str]:
    for character in text:
        special = _LATEX_SPECIAL.get(character) or _TYPOGRAPHY.get(character)
        if special:
            yield special
        elif character.isascii() or "LATIN" in unicodedata.name(character, ""):
            yield character
        else:
            yield f"${symbol_latex(character)}$"
