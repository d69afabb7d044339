"""Linear attention on the circle: the Möbius map that moves all tokens, with their law known by moments alone.

Where |α| < 1, the Möbius map of the Watanabe–Strogatz reduction is a geometric series in u = e^{iη} w,

    (α + u)/(1 + ᾱu) = α + (1 − |α|²) Σ_{k=1..K} (−ᾱ)^{k−1} u^k + r_K,   |r_K| ≤ (1 + |α|)|α|^K for |u| = 1,

so that the order parameter needs the moments ⟨w^k⟩ of the constants once, however many tokens there are:

    R = α + (1 − |α|²) e^{iη} Σ_{k=1..K} ⟨w^k⟩ (−ᾱ e^{iη})^{k−1},   up to (1 + |α|)|α|^K.

For w uniform all moments vanish, and R = α is Ott–Antonsen's variable.

>>> from symbolic import LinearAttention, MoebiusOrbit, Sphere, reduce
>>> [parameter.name for parameter in reduce(LinearAttention(space=Sphere(2)), MoebiusOrbit()).parameters]
['A', 'V', 'beta', 'c', 's']
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import sympy as sp

from symbolic.components import Components
from symbolic.derivation import Derivation
from symbolic.fields import LinearAttention
from symbolic.laws import MoebiusOrbit, Tokens
from symbolic.notation import PolynomialValue
from symbolic.reduction import Reduction, Variable
from symbolic.reductions import watanabe_strogatz
from symbolic.reductions.kuramoto_daido import FIELD, R, plane_parameters
from symbolic.reductions.watanabe_strogatz import alpha, moebius, w, zeta

#: The number of terms, the index of one, and what is left out.
K = sp.Symbol("K", integer=True, nonnegative=True)
k = sp.Symbol("k", integer=True, positive=True)
remainder = sp.Function("r")
#: Real and imaginary parts of the moments ⟨w^k⟩, k = 1..K, of the constants.
c, s = (sp.MatrixSymbol(name, K, 1) for name in ("c", "s"))

CANONICAL = {"watanabe_strogatz_moments": (FIELD, MoebiusOrbit())}
#: Numbers of terms for which the order parameter is compared with the mean over two tokens.
TERMS = (1, 2, 3)


def matches(field: object, law: object) -> bool:
    return field == FIELD and law == MoebiusOrbit()


def derive(field: LinearAttention, law: MoebiusOrbit) -> Reduction:
    """From the Watanabe–Strogatz reduction, by the geometric series of the Möbius map."""
    group = watanabe_strogatz.derive(field, Tokens(moved_by_group=True))
    derivation = Derivation("watanabe_strogatz_moments")
    derivation.include(group.derivation)
    ratio, image = -sp.conjugate(alpha) * zeta * w, zeta * w
    weight = 1 - alpha * sp.conjugate(alpha)
    partial = sp.Sum((-sp.conjugate(alpha)) ** (k - 1) * image**k, (k, 1, K))
    derivation.conclude(
        "geometric_series",
        "The Möbius map as a geometric series",
        sp.Eq(moebius(w), alpha + weight * partial + remainder(K), evaluate=False),
        sp.Eq(remainder(K), weight * image * ratio**K / (1 - ratio), evaluate=False),
        step="geometric series",
        premises=["moebius"],
        why="|r_K| ≤ (1 + |α|)|α|^K where |w| = |ζ| = 1, as then |1 + ᾱζw| ≥ 1 − |α|. By induction: r_0 is what α "
        "leaves, and r_{K−1} − r_K the term of index K.",
        check=_check_series,
    )
    at = -sp.conjugate(alpha) * zeta
    series = PolynomialValue(c, at) + sp.I * PolynomialValue(s, at)
    derivation.conclude(
        "order_parameter_of_moments",
        "The order parameter by moments, up to (1 + |α|)|α|^K",
        sp.Eq(R, alpha + weight * zeta * series, evaluate=False),
        step="mean of the series",
        premises=["geometric_series", "order_parameter"],
        why="R is the mean of the images of the constants; c and s are the real and imaginary parts of the ⟨w^k⟩.",
        check=_check_order_parameter,
    )
    names = ("C", "S", "D", "p", "q")
    kept = [(symbol, value) for symbol, value in group.definitions if symbol.name not in names]
    moments = (zeta, derivation["moebius"][1].rhs), (R, derivation["order_parameter_of_moments"].rhs)
    definitions = [pair for symbol, value in kept for pair in (moments if symbol == R else ((symbol, value),))]
    return replace(
        group,
        name="watanabe_strogatz_moments",
        title="The Möbius map that moves a law with given moments under linear attention on the circle",
        law=law,
        parameters=(
            *plane_parameters(field),
            Variable(c, "vector", "real parts of the moments ⟨w^k⟩ of the constants, k = 1..K"),
            Variable(s, "vector", "imaginary parts of these moments"),
        ),
        definitions=tuple(definitions),
        assumptions=(*group.assumptions, "(1 + |α|)|α|^K is negligible"),
        derivation=derivation,
    )


def _check_series(mapping: tuple[sp.Equality, ...], result: tuple[sp.Equality, ...]) -> Iterable[sp.Expr]:
    """By induction on K, the term of index K + 1 taken from the sum."""
    expansion, rest = result
    whole = expansion.rhs - remainder(K)
    (series,) = whole.atoms(sp.Sum)
    yield sp.numer(sp.together(mapping[0].rhs - (whole.subs(K, 0).doit() + rest.rhs.subs(K, 0))))
    term = whole.coeff(series) * series.function.subs(k, K + 1)
    yield sp.numer(sp.together(_in_powers(rest.rhs - rest.rhs.subs(K, K + 1) - term)))


def _in_powers(expression: sp.Expr) -> sp.Expr:
    """(x y)^(K + m) as x^K x^m y^K y^m, a symbol in place of each x^K: K is an integer."""
    powers: dict[sp.Expr, sp.Symbol] = {}

    def split(base: sp.Expr, exponent: sp.Expr) -> sp.Expr:
        if not exponent.has(K):
            return base**exponent
        factors = sp.Mul.make_args(base)
        return sp.Mul(*(powers.setdefault(x, sp.Dummy(nonzero=True)) * x ** (exponent - K) for x in factors))

    return expression.replace(sp.Pow, split)


def _check_order_parameter(
    expansion: tuple[sp.Equality, ...], order: sp.Equality, result: sp.Equality
) -> Iterable[sp.Expr]:
    """For two tokens and 1, 2, 3 terms, without the remainder."""
    constants = sp.symbols("w1:3", complex=True, nonzero=True)
    for terms in TERMS:
        cosines = [sum((u**j + u**-j) / 2 for u in constants) / len(constants) for j in range(1, terms + 1)]
        sines = [sum((u**j - u**-j) / (2 * sp.I) for u in constants) / len(constants) for j in range(1, terms + 1)]
        values = {c: sp.Matrix(cosines), s: sp.Matrix(sines)}
        found = Components(2, sizes={K: terms}, values=values)(result.rhs)
        partial = (expansion[0].rhs - remainder(K)).subs(K, terms).doit()
        mean = sum(partial.subs(w, u) for u in constants) / len(constants)
        yield sp.expand(found - mean)
