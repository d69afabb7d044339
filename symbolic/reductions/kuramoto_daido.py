"""Linear attention on the circle: tokens are oscillators coupled through one order parameter.

With Ξ = 2θ, R = ∫ e^{2iφ} dm and the complex coefficients of the matrices (symbolic.circle),

    P = v₀(ā₀ + R ā₁) + v₁(ā₁ + R̄ ā₀),   Q = v₀(a₁ + R a₀) + v₁(a₀ + R̄ a₁),
    Ξ' = β [Im P + Im(Q e^{−iΞ})],

a pure second harmonic in θ for every A and V. Several heads add up in P and in Q.

Source: "On the Diverse Dynamical Behaviors Arising in Deep Linear Transformers" (arXiv 2607.18584).

>>> from symbolic import LinearAttention, reduce, Sphere, Tokens
>>> reduce(LinearAttention(space=Sphere(2)), Tokens()).equations
{Xi: (-beta*re(Q))*S + (beta*im(P))*1 + (beta*im(Q))*C}
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import TypeGuard

import sympy as sp
from sympy.matrices.expressions.applyfunc import ElementwiseApplyFunction

from symbolic.circle import (
    averaged,
    complex_coefficients,
    harmonics,
    phi,
    point,
    real_matrix,
    tangent,
    theta,
    x,
    x_perp,
    y,
)
from symbolic.components import Components
from symbolic.derivation import Derivation
from symbolic.fields import AttentionField, LinearAttention, beta
from symbolic.laws import Tokens
from symbolic.notation import Average, Inner, Mean, d, n, rate, without_parts
from symbolic.reduction import Reduction, Variable
from symbolic.spaces import Sphere

FIELD = LinearAttention(space=Sphere(2))

Xi = sp.Symbol("Xi", real=True)
R, P, Q = sp.symbols("R P Q", complex=True)
#: The harmonics of θ': its mean, and the amplitude of e^{−2iθ}.
g0 = sp.Symbol("g0", real=True)
g2 = sp.Symbol("g2", complex=True)
#: The doubled angles of n tokens, their cosines and their sines.
Xis = sp.MatrixSymbol("Xi", n, 1)
C = sp.MatrixSymbol("C", n, 1)
S = sp.MatrixSymbol("S", n, 1)

ORDER_PARAMETER = {Average(sp.exp(2 * sp.I * phi), phi): R, Average(sp.exp(-2 * sp.I * phi), phi): sp.conjugate(R)}

CANONICAL = {"kuramoto_daido": (FIELD, Tokens())}


def matches(field: object, law: object) -> bool:
    return is_linear_on_circle(field) and law == Tokens()


def is_linear_on_circle(field: object) -> TypeGuard[LinearAttention]:
    """Whether a field is linear attention on the circle, with any number of heads."""
    if not isinstance(field, LinearAttention) or not isinstance(field.heads, int):
        return False
    return field == replace(FIELD, heads=field.heads)


def plane_parameters(field: LinearAttention) -> tuple[Variable, ...]:
    """The parameters of a field, its matrices as 2×2 matrices."""
    return tuple(replace(parameter, symbol=_in_plane(parameter.symbol)) for parameter in field.parameters)


def coefficients(field: LinearAttention) -> tuple[tuple[sp.Symbol, sp.Expr], ...]:
    """The complex coefficients of all matrices, a₀, a₁, v₀, v₁ head by head, each with its value."""
    matrices = (parameter.symbol for parameter in plane_parameters(field) if parameter.shape)
    return tuple(coefficient for matrix in matrices for coefficient in complex_coefficients(matrix))


def _in_plane(symbol: sp.Basic) -> sp.Basic:
    return sp.MatrixSymbol(symbol.name, 2, 2) if isinstance(symbol, sp.MatrixSymbol) else symbol


def derive(field: LinearAttention, law: Tokens) -> Reduction:
    """Derive the equations of n doubled angles from the attention field."""
    derivation = Derivation("kuramoto_daido")
    derivation.include(mean_field_derivation(field))
    wave = harmonics(derivation["kuramoto_daido"][2].rhs, Xi)[-1]
    phases = sp.MatAdd(beta * sp.im(P) * sp.OneMatrix(n, 1), 2 * sp.re(wave) * C, 2 * sp.im(wave) * S)
    derivation.conclude(
        "phases",
        "The angles of n tokens",
        sp.Eq(rate(Xis), phases, evaluate=False),
        sp.Eq(C, _each(sp.cos, Xis), evaluate=False),
        sp.Eq(S, _each(sp.sin, Xis), evaluate=False),
        sp.Eq(R, Mean(C) + sp.I * Mean(S), evaluate=False),
        step="empirical law",
        premises=["kuramoto_daido", "order_parameter"],
        why="The law is m = (1/n) Σ δ; a wave c e^{−iΞ} and its conjugate add up to 2 Re c cos Ξ + 2 Im c sin Ξ.",
        check=_check_phases,
    )
    _, cosines, sines, order = derivation["phases"]
    p_value, q_value, _ = derivation["kuramoto_daido"]
    return Reduction(
        name="kuramoto_daido",
        title="Doubled angles of tokens under linear attention on the circle",
        field=field,
        law=law,
        state=(Variable(Xis, "phases", "doubled angles of the tokens"),),
        parameters=plane_parameters(field),
        definitions=(
            *coefficients(field),
            *((relation.lhs, relation.rhs) for relation in (cosines, sines, order, p_value, q_value)),
        ),
        equations={Xis: phases},
        assumptions=("tokens on the unit circle, x = (cos Ξ/2, sin Ξ/2)",),
        invariants=(),
        derivation=derivation,
    )


@cache
def mean_field_derivation(field: LinearAttention) -> Derivation:
    """From the attention field to the equation of one doubled angle in the mean field of the others.

    It is derived once for a field and shared: reductions include it in derivations of their own.
    """
    derivation = Derivation("mean_field")
    define_field_on_circle(derivation, field)
    derivation.conclude(
        "angle",
        "The angle of a token",
        sp.Eq(rate(theta), angle_equation(field), evaluate=False),
        step="projection",
        premises=["field", "coordinates"],
        why="x' = θ' x^⊥, and the tangential projection leaves the component along x^⊥ alone.",
        check=_check_projection,
    )
    derivation.define(
        "complex_coefficients",
        "Complex form of the matrices, X z = x₀ z + x₁ z̄",
        *(sp.Eq(symbol, value, evaluate=False) for symbol, value in coefficients(field)),
    )
    waves = angle_harmonics(derivation["angle"].rhs)
    derivation.conclude(
        "harmonics",
        "Only the second harmonic survives",
        sp.Eq(rate(theta), g0 + g2 * sp.exp(-2 * sp.I * theta) + sp.conjugate(g2) * sp.exp(2 * sp.I * theta)),
        sp.Eq(g0, sp.factor_terms(waves[0]), evaluate=False),
        sp.Eq(g2, sp.factor_terms(waves[-2]), evaluate=False),
        step="harmonic expansion",
        premises=["angle", "complex_coefficients"],
        why="⟨x,Ay⟩ and ⟨x^⊥,Vy⟩ are first harmonics in θ and in φ; in their product the first ones cancel "
        "and the frequencies −2, 0, 2 are left.",
        check=_check_harmonics,
    )
    order = {value: key for key, value in ORDER_PARAMETER.items()}
    derivation.define("order_parameter", "Order parameter", sp.Eq(R, order[R], evaluate=False))
    values = [symbol for symbol, _ in coefficients(field) if symbol.name.startswith("v")]
    p_value, q_value = _mean_field(waves, values)
    derivation.conclude(
        "kuramoto_daido",
        "The doubled angle in the mean field",
        sp.Eq(P, p_value, evaluate=False),
        sp.Eq(Q, q_value, evaluate=False),
        sp.Eq(rate(Xi), beta * (sp.im(P) + sp.im(Q * sp.exp(-sp.I * Xi))), evaluate=False),
        step="order parameter",
        premises=["harmonics", "order_parameter"],
        why="Put Ξ = 2θ, R and R̄ for the averages; the mean is β Im P, the wave e^{−iΞ} has the amplitude βQ/2i.",
        check=_check_mean_field,
    )
    return derivation


def define_field_on_circle(derivation: Derivation, field: AttentionField) -> None:
    """Start a derivation with the field in the plane and the angles of the tokens."""
    derivation.define("field", "Attention field", sp.Eq(rate(x), field.velocity().subs(d, 2), evaluate=False))
    derivation.define(
        "coordinates",
        "Angles on the circle",
        sp.Eq(x, point(theta), evaluate=False),
        sp.Eq(x_perp, tangent(theta), evaluate=False),
        sp.Eq(y, point(phi), evaluate=False),
    )


def angle_equation(field: AttentionField) -> sp.Expr:
    """θ' = ∫ w(s(x,y)) ⟨x^⊥, V y⟩ dm(y) of a field with unnormalised weights, added up over its heads."""
    terms = [
        field.weight(head.score).subs(d, 2) * Inner(x_perp, _in_plane(head.value) * y) for head in field.attention_heads
    ]
    return sp.Add(*(Average(term, y) for term in terms))


def circle_obstruction(field: AttentionField) -> sp.Expr:
    """What in the angle's velocity no second harmonic can balance.

    For polynomial weights the highest harmonic, its coefficient in the averages e^{ikφ}; otherwise the whole velocity.
    """
    if field.normalised or not isinstance(field.heads, int):
        return field.velocity()
    average = angle_equation(field)
    try:
        harmonic = max(angle_harmonics(average).items())
    except ValueError:
        return average
    frequency, coefficient = harmonic
    return coefficient * sp.exp(sp.I * frequency * theta)


def angle_harmonics(average: sp.Expr) -> dict[sp.Expr, sp.Expr]:
    """The harmonics in θ of an average over the circle, the matrices in complex form.

    Raises ValueError when the average is no trigonometric polynomial.
    """
    values = {x: point(theta), x_perp: tangent(theta), y: point(phi)}
    for matrix in average.atoms(sp.MatrixSymbol) - values.keys():
        values[matrix] = real_matrix(*(symbol for symbol, _ in complex_coefficients(matrix)))
    return harmonics(averaged(Components(2, values=values, angle=phi)(average)), theta)


def _mean_field(waves: dict[sp.Expr, sp.Expr], values: list[sp.Symbol]) -> tuple[sp.Expr, sp.Expr]:
    """P and Q from Ξ' = 2θ' = β (P − P̄)/2i + β (Q e^{−iΞ} − Q̄ e^{iΞ})/2i."""
    twice_mean, amplitude = (sp.expand(4 * sp.I * waves[j].xreplace(ORDER_PARAMETER) / beta) for j in (0, -2))
    # The terms of P − P̄ come in conjugate pairs; those with v₀, v₁ themselves are P.
    half = [term for term in sp.Add.make_args(twice_mean) if set(values) & set(sp.Mul.make_args(term))]
    return sp.collect(sp.Add(*half), values), sp.collect(amplitude, values)


def _each(function: object, matrix: sp.MatrixExpr) -> ElementwiseApplyFunction:
    return ElementwiseApplyFunction(function, matrix)


def _check_projection(
    field: sp.Equality, coordinates: tuple[sp.Equality, ...], angle: sp.Equality
) -> Iterable[sp.Expr]:
    components = Components(2, values={relation.lhs: relation.rhs for relation in coordinates}, angle=phi)
    along_tangent = components(angle.rhs) * components(x_perp)
    for entry in components(field.rhs) - along_tangent:
        yield from _trigonometric(entry)


def _check_harmonics(
    angle: sp.Equality, coefficients: tuple[sp.Equality, ...], result: tuple[sp.Equality, ...]
) -> Iterable[sp.Expr]:
    values = {x: point(theta), x_perp: tangent(theta), y: point(phi)}
    components = Components(2, values=values, angle=phi)
    in_entries = {relation.lhs: components(relation.rhs) for relation in coefficients}
    yield from _trigonometric(components(angle.rhs) - _expansion(result).subs(in_entries))


def _check_mean_field(
    harmonic: tuple[sp.Equality, ...], order: sp.Equality, result: tuple[sp.Equality, ...]
) -> Iterable[sp.Expr]:
    p_value, q_value, doubled = result
    averages = {order.rhs: order.lhs, sp.conjugate(order.rhs): sp.conjugate(order.lhs)}
    rate_of_doubled = without_parts(doubled.rhs.xreplace({P: p_value.rhs, Q: q_value.rhs})).xreplace({Xi: 2 * theta})
    yield from _trigonometric(2 * _expansion(harmonic).xreplace(averages) - rate_of_doubled)


def _expansion(harmonic: tuple[sp.Equality, ...]) -> sp.Expr:
    """θ' with the values of its harmonics put in."""
    angle, mean, wave = harmonic
    return angle.rhs.subs({g0: mean.rhs, g2: wave.rhs})


def _check_phases(
    mean_field: tuple[sp.Equality, ...], order: sp.Equality, result: tuple[sp.Equality, ...]
) -> Iterable[sp.Expr]:
    """Component by component for two and three tokens."""
    phases, cosines, sines, empirical = result
    for tokens in (2, 3):
        components = Components(2, sizes={n: tokens})
        angles = components(Xis)
        values = {C: components(cosines.rhs), S: components(sines.rhs)}
        with_values = Components(2, sizes={n: tokens}, values=values)
        average = sum(order.rhs.args[0].subs(phi, angle / 2) for angle in angles) / tokens
        yield from _trigonometric(with_values(empirical.rhs) - average)
        for angle, phase in zip(angles, with_values(phases.rhs), strict=True):
            yield from _trigonometric(without_parts(mean_field[2].rhs.xreplace({Xi: angle}) - phase))


def _trigonometric(expression: sp.Expr) -> Iterable[sp.Expr]:
    """The coefficients of a trigonometric polynomial; all must vanish for it to vanish."""
    return list(harmonics(averaged(expression), theta).values()) or [sp.S.Zero]
