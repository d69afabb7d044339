"""Linear attention on the circle: n tokens are moved by one Möbius map of the disc, three real numbers.

With the mean field Ξ' = ω + Im(H e^{−iΞ}) of the Kuramoto–Daido reduction, ω = β Im P and H = βQ,

    e^{iΞ_k} = (α + e^{iη} w_k) / (1 + ᾱ e^{iη} w_k),   w_k = e^{iψ_k} constant,
    α' = iωα + ½(H − H̄α²),    η' = ω + Im(ᾱH),

and the cross-ratios of the e^{iΞ_k}, n − 3 independent ones, are conserved. The same motion is that of the projective
reduction at d = 2: with G z = γ₀z + γ₁z̄, G(0) = I, w_k = e^{iΞ_k(0)}: α = γ₁/γ̄₀ and e^{iη} = γ₀/γ̄₀.

Source: "On the Diverse Dynamical Behaviors Arising in Deep Linear Transformers" (arXiv 2607.18584).
"""

from __future__ import annotations

from collections.abc import Iterable

import sympy as sp
from sympy.matrices.expressions.applyfunc import ElementwiseApplyFunction

from symbolic.circle import averaged, harmonics, phi, point, tangent, theta, y
from symbolic.components import Components
from symbolic.derivation import Derivation
from symbolic.fields import LinearAttention
from symbolic.laws import Tokens
from symbolic.notation import Mean, n, rate, without_parts
from symbolic.reduction import Invariant, Reduction, Variable
from symbolic.reductions import projective
from symbolic.reductions.kuramoto_daido import (
    FIELD,
    P,
    Q,
    R,
    Xi,
    coefficients,
    mean_field_derivation,
    plane_parameters,
)

#: The mean field: a common frequency, and the force on e^{iΞ}.
omega = sp.Symbol("omega", real=True)
H = sp.Symbol("H", complex=True)
#: The wave e = e^{iΞ} of a token, the constant w that it has instead, and the parameters of the Möbius map, ζ = e^{iη}.
e, w, zeta = sp.symbols("e w zeta", complex=True, nonzero=True)
alpha = sp.Symbol("alpha", complex=True)
eta = sp.Symbol("eta", real=True)
chi = sp.Symbol("chi", real=True)
waves = sp.symbols("e1:5", complex=True, nonzero=True)
constants = sp.symbols("w1:5", complex=True, nonzero=True)
#: The constants w_k = e^{iψ_k}; of e^{iη} w_k, cosines, sines, and the reciprocals of |1 + ᾱ e^{iη} w_k|².
psi, C, S, D = (sp.MatrixSymbol(name, n, 1) for name in ("psi", "C", "S", "D"))
ONES = sp.OneMatrix(n, 1)
#: Their means with these weights.
p = sp.Symbol("p", real=True)
q = sp.Symbol("q", complex=True)
#: The coefficients of the matrix of the projective reduction, G z = γ₀z + γ₁z̄.
gamma0, gamma1 = sp.symbols("gamma0 gamma1", complex=True)
G, W, M = (sp.MatrixSymbol(name, 2, 2) for name in "GWM")

CANONICAL = {"watanabe_strogatz": (FIELD, Tokens(moved_by_group=True))}


def matches(field: object, law: object) -> bool:
    return field == FIELD and law == Tokens(moved_by_group=True)


def derive(field: LinearAttention, law: Tokens) -> Reduction:
    """Derive the equations of the Möbius map: the residual of the tokens' equation vanishes for every w."""
    derivation = Derivation("watanabe_strogatz")
    derivation.include(mean_field_derivation(field))
    add_mean_field_wave(derivation)
    derivation.define(
        "moebius",
        "Tokens as images of constants under a Möbius map of the disc",
        sp.Eq(e, moebius(w), evaluate=False),
        sp.Eq(zeta, sp.exp(sp.I * eta), evaluate=False),
    )
    map_rate, angle_rate = _solve_residual(derivation["wave"][2].rhs)
    derivation.conclude(
        "watanabe_strogatz",
        "Watanabe–Strogatz equations",
        sp.Eq(rate(alpha), map_rate, evaluate=False),
        sp.Eq(rate(eta), angle_rate, evaluate=False),
        step="residual zero for every w",
        premises=["wave", "moebius"],
        why="e' − iωe − ½(H − H̄e²), times (1 + ᾱζw)², is quadratic in w: three linear equations for α', ᾱ' and η'.",
        check=_check_watanabe_strogatz,
    )
    _add_cross_ratio(derivation)
    definitions = _empirical_definitions()
    derivation.conclude(
        "order_parameter_of_tokens",
        "The order parameter of n tokens",
        *(sp.Eq(symbol, value, evaluate=False) for symbol, value in definitions),
        step="empirical law",
        premises=["moebius", "order_parameter"],
        why="R is the mean of (α + u)/(1 + ᾱu) = (2α + u + α²ū)/|1 + ᾱu|² over the u_k = e^{iη} w_k, of modulus 1.",
        check=_check_empirical,
    )
    _add_projective_equality(derivation, field)
    p_value, q_value, _ = derivation["kuramoto_daido"]
    frequency, force, _ = derivation["wave"]
    return Reduction(
        name="watanabe_strogatz",
        title="The Möbius map that moves all tokens under linear attention on the circle",
        field=field,
        law=law,
        state=(
            Variable(alpha, "disc", "image of the centre under the Möbius map"),
            Variable(eta, "real", "angle by which the Möbius map rotates"),
        ),
        parameters=(*plane_parameters(field), Variable(psi, "phases", "angles of the constants w_k = e^{iψ_k}")),
        definitions=(
            *coefficients(field),
            *definitions,
            *((relation.lhs, relation.rhs) for relation in (p_value, q_value, frequency, force)),
        ),
        equations={alpha: map_rate, eta: angle_rate},
        assumptions=("tokens on the unit circle, x = (cos Ξ/2, sin Ξ/2)", "|α| < 1"),
        invariants=(
            Invariant(
                "cross-ratios",
                "the cross-ratios of the e^{iΞ_k}, of which n − 3 are independent for n ≥ 3 distinct tokens",
                cross_ratio(*waves),
            ),
            Invariant("constants", "with α = 0 and η = 0 at the start, ψ_k is the doubled angle of token k there"),
        ),
        derivation=derivation,
    )


def moebius(wave: sp.Expr) -> sp.Expr:
    """(α + ζw) / (1 + ᾱζw)."""
    return (alpha + zeta * wave) / (1 + sp.conjugate(alpha) * zeta * wave)


def cross_ratio(first: sp.Expr, second: sp.Expr, third: sp.Expr, fourth: sp.Expr) -> sp.Expr:
    """(e₁ − e₃)(e₂ − e₄) / ((e₁ − e₄)(e₂ − e₃)).

    >>> cross_ratio(*map(sp.Integer, range(4)))
    4/3
    """
    return (first - third) * (second - fourth) / ((first - fourth) * (second - third))


def add_mean_field_wave(derivation: Derivation) -> None:
    """From "kuramoto_daido" to "wave", e' = iωe + ½(H − H̄e²) for e = e^{iΞ}."""
    velocity = derivation["kuramoto_daido"][2].rhs
    terms = harmonics(velocity, Xi)
    mean = sp.expand(terms[0].subs(sp.conjugate(P), P - 2 * sp.I * sp.im(P)))
    derivation.conclude(
        "wave",
        "The wave e = exp(iΞ) of a token in the mean field",
        sp.Eq(omega, mean, evaluate=False),
        sp.Eq(H, sp.expand(2 * sp.I * terms[-1]), evaluate=False),
        sp.Eq(rate(e), sp.I * omega * e + (H - sp.conjugate(H) * e**2) / 2, evaluate=False),
        step="wave",
        premises=["kuramoto_daido"],
        why="e' = iΞ'e, and Ξ' = ω + Im(H/e) with ē = 1/e on the circle: a Riccati equation.",
        check=_check_wave,
    )


def add_matrix_form(derivation: Derivation) -> None:
    """From "balanced_field" and "wave" to "matrix_form": the mean field in the entries of W."""
    twice_angle = 2 * (tangent(theta).T * W * point(theta)).as_explicit()[0, 0]
    terms = harmonics(twice_angle, theta)
    derivation.conclude(
        "matrix_form",
        "The mean field in the entries of W",
        sp.Eq(omega, terms[0], evaluate=False),
        sp.Eq(H, sp.expand(2 * sp.I * terms[-2]), evaluate=False),
        step="harmonics of the linear field",
        premises=[
            "linear_field",
            "balanced_field",
            "wave",
            "kuramoto_daido",
            "complex_coefficients",
            "order_parameter",
        ],
        why="x' = P_x W x turns the doubled angle by 2⟨x^⊥, W x⟩; and M = ½[[1 + Re R, Im R], [Im R, 1 − Re R]].",
        check=_check_matrix_form,
    )


def _solve_residual(velocity: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    """α' and η' for which e' − velocity vanishes for every w."""
    mirrored = sp.Symbol("alphabar_dot")
    coefficients = _residual(velocity, rate(alpha), mirrored, rate(eta))
    (solution,) = sp.solve(coefficients, [rate(alpha), mirrored, rate(eta)], dict=True)
    map_rate, angle_rate = (sp.expand(sp.cancel(solution[rate(symbol)])) for symbol in (alpha, eta))
    # A term c H and its conjugate add up to 2 Re(c H) = Im(2i c H).
    forced = sp.im(2 * sp.I * angle_rate.coeff(H) * H)
    return (
        sp.collect(map_rate.coeff(omega), alpha) * omega + sp.factor(map_rate.subs(omega, 0)),
        angle_rate.subs(H, 0) + forced,
    )


def _residual(velocity: sp.Expr, map_rate: sp.Expr, mirrored_rate: sp.Expr, angle_rate: sp.Expr) -> list[sp.Expr]:
    """The coefficients of 1, w, w² in (e' − velocity)(1 + ᾱζw)², e' by the chain rule in α, ᾱ and ζ."""
    conjugate = sp.Dummy()
    image = moebius(w).subs(sp.conjugate(alpha), conjugate)
    moved = image.diff(alpha) * map_rate + image.diff(conjugate) * mirrored_rate
    moved += image.diff(zeta) * sp.I * angle_rate * zeta
    residual = (moved - velocity.subs(e, image)) * sp.denom(image) ** 2
    polynomial = sp.Poly(sp.cancel(sp.together(residual)), w)
    return [polynomial.coeff_monomial(w**k).subs(conjugate, sp.conjugate(alpha)) for k in range(3)]


def _add_cross_ratio(derivation: Derivation) -> None:
    derivation.define("cross_ratio", "A cross-ratio of four tokens", sp.Eq(chi, cross_ratio(*waves), evaluate=False))
    derivation.conclude(
        "cross_ratio_conserved",
        "It is conserved",
        sp.Eq(rate(chi), sp.S.Zero, evaluate=False),
        step="cross-ratio under the Riccati equation",
        premises=["wave", "cross_ratio"],
        why="(e_j − e_k)'/(e_j − e_k) = iω − ½H̄(e_j + e_k), and in (log χ)' every token occurs once with each sign.",
        check=_check_conserved,
    )
    derivation.conclude(
        "cross_ratio_of_constants",
        "Its value in the constants",
        sp.Eq(chi, cross_ratio(*constants), evaluate=False),
        step="cross-ratio under the Möbius map",
        premises=["moebius", "cross_ratio"],
        why="Möbius maps keep cross-ratios. With three tokens fixed and one of the others, n − 3 are independent.",
        check=_check_moebius_invariance,
    )


def _empirical_definitions() -> tuple[tuple[sp.Basic, sp.Expr], ...]:
    angles = psi + eta * ONES
    modulus = sp.MatAdd((1 + alpha * sp.conjugate(alpha)) * ONES, 2 * sp.re(alpha) * C, 2 * sp.im(alpha) * S)
    return (
        (C, ElementwiseApplyFunction(sp.cos, angles)),
        (S, ElementwiseApplyFunction(sp.sin, angles)),
        (D, sp.HadamardPower(modulus, -1)),
        (p, Mean(D)),
        (q, Mean(sp.HadamardProduct(D, C)) + sp.I * Mean(sp.HadamardProduct(D, S))),
        (R, 2 * alpha * p + q + alpha**2 * sp.conjugate(q)),
    )


def _add_projective_equality(derivation: Derivation, field: LinearAttention) -> None:
    projective.add_group_action(derivation, field)
    add_matrix_form(derivation)
    derivation.conclude(
        "projective_wave",
        "The projective action in complex form",
        sp.Eq(e, (gamma0 * w + gamma1) / (sp.conjugate(gamma0) + sp.conjugate(gamma1) * w), evaluate=False),
        sp.Eq(G, _real_columns(gamma0 + gamma1, sp.I * (gamma0 - gamma1)), evaluate=False),
        step="doubled angle of G x(0)",
        premises=["group"],
        why="With z = γ₀z₀ + γ₁z̄₀ for G x(0), e = z²/|z|² = z/z̄, and w = z₀/z̄₀ is e at the start.",
        check=_check_projective_wave,
    )
    derivation.conclude(
        "projective_equality",
        "The Möbius map is the projective action",
        sp.Eq(alpha, gamma1 / sp.conjugate(gamma0), evaluate=False),
        sp.Eq(zeta, gamma0 / sp.conjugate(gamma0), evaluate=False),
        step="equality with the projective reduction",
        premises=["projective_wave", "moebius", "watanabe_strogatz", "group", "matrix_form"],
        why="Divide numerator and denominator by γ̄₀. G' = W G then moves α and ζ by the Watanabe–Strogatz equations, "
        "and G = I is α = 0, ζ = 1. |α| < 1 is det G > 0.",
        check=_check_projective_equality,
    )


def _check_wave(mean_field: tuple[sp.Equality, ...], result: tuple[sp.Equality, ...]) -> Iterable[sp.Expr]:
    frequency, force, wave = result
    angle_rate = without_parts(mean_field[2].rhs).rewrite(sp.exp).subs(sp.exp(sp.I * Xi), e)
    in_mean_field = {
        omega: without_parts(frequency.rhs),
        sp.conjugate(H): sp.conjugate(force.rhs),
        H: force.rhs,
    }
    yield sp.expand(sp.I * angle_rate * e - wave.rhs.xreplace(in_mean_field))


def _check_watanabe_strogatz(
    wave: tuple[sp.Equality, ...], mapping: tuple[sp.Equality, ...], result: tuple[sp.Equality, ...]
) -> Iterable[sp.Expr]:
    """Along α(t), η(t) that obey the equations, by differentiation in t."""
    t = sp.Symbol("t", real=True)
    image, rotation = mapping
    along = {sp.conjugate(alpha): sp.Function("b")(t), alpha: sp.Function("a")(t), eta: sp.Function("h")(t)}
    map_rate, angle_rate = (without_parts(relation.rhs) for relation in result)
    rates = {
        along[alpha].diff(t): map_rate,
        along[sp.conjugate(alpha)].diff(t): sp.conjugate(map_rate),
        along[eta].diff(t): angle_rate,
    }
    moving = image.rhs.subs(zeta, rotation.rhs)
    moved = moving.xreplace(along).diff(t).xreplace(rates).xreplace({value: key for key, value in along.items()})
    residual = (moved - wave[2].rhs.subs(e, moving)).subs(rotation.rhs, zeta)
    yield from sp.Poly(sp.cancel(sp.together(residual * sp.denom(image.rhs) ** 2)), w).all_coeffs()


def _check_conserved(wave: tuple[sp.Equality, ...], ratio: sp.Equality, result: sp.Equality) -> Iterable[sp.Expr]:
    moved = sum(ratio.rhs.diff(token) * wave[2].rhs.subs(e, token) for token in waves)
    yield sp.numer(sp.together(moved - result.rhs))


def _check_moebius_invariance(
    mapping: tuple[sp.Equality, ...], ratio: sp.Equality, result: sp.Equality
) -> Iterable[sp.Expr]:
    images = {wave: mapping[0].rhs.subs(w, constant) for wave, constant in zip(waves, constants, strict=True)}
    yield sp.numer(sp.together(ratio.rhs.xreplace(images) - result.rhs))


def _check_empirical(
    mapping: tuple[sp.Equality, ...], order: sp.Equality, result: tuple[sp.Equality, ...]
) -> Iterable[sp.Expr]:
    """For two tokens; C and S are cosines and sines of the angles of u = ζw, which stand for all of them."""
    components = Components(2, sizes={n: 2})
    images = sp.symbols("u1:3", complex=True, nonzero=True)
    values: dict[sp.Basic, sp.Basic] = {}
    for relation in result:
        value = Components(2, sizes={n: 2}, values=_matrices(values))(relation.rhs)
        values[relation.lhs] = value.xreplace(values) if isinstance(value, sp.Expr) else value
    angles = [angle + eta for angle in components(psi)]
    in_waves: dict[sp.Expr, sp.Expr] = {}
    for angle, image in zip(angles, images, strict=True):
        in_waves |= {sp.cos(angle): (image + 1 / image) / 2, sp.sin(angle): (image - 1 / image) / (2 * sp.I)}
    mean = sum(mapping[0].rhs.subs(zeta, image / w) for image in images) / len(images)
    # On the circle ū = 1/u, so that conjugation maps real combinations of cosines and sines to themselves.
    moment = values[q].xreplace(in_waves)
    mirrored = sp.conjugate(values[q]).xreplace(in_waves)
    combined = result[-1].rhs.subs(sp.conjugate(q), mirrored).subs({q: moment, p: values[p].xreplace(in_waves)})
    yield without_parts(combined) - mean


def _check_matrix_form(
    linear: tuple[sp.Equality, ...],
    balanced: tuple[sp.Equality, ...],
    wave: tuple[sp.Equality, ...],
    mean_field: tuple[sp.Equality, ...],
    coefficients: tuple[sp.Equality, ...],
    order: sp.Equality,
    result: tuple[sp.Equality, ...],
) -> Iterable[sp.Expr]:
    """ω and H through W and M in entries, against β Im P and βQ with their coefficients in entries."""
    _, matrix, moment = linear
    averages = {order.rhs: R, sp.conjugate(order.rhs): sp.conjugate(R)}
    second = Components(2, values={y: point(phi)}, angle=phi)(moment.rhs)
    values = {M: second.applyfunc(lambda entry: averaged(entry).xreplace(averages))}
    for relation in (matrix, balanced[1]):
        values[relation.lhs] = Components(2, values=values)(relation.rhs)
    components = Components(2, values=values)
    entries = {relation.lhs: components(relation.rhs) for relation in coefficients}
    p_value, q_value, _ = mean_field
    at_mean_field = {P: p_value.rhs, Q: q_value.rhs}
    for expected, relation in zip(wave[:2], result, strict=True):
        in_coefficients = without_parts(expected.rhs.xreplace(at_mean_field))
        yield sp.expand(in_coefficients.subs(entries)) - components(relation.rhs)


def _check_projective_wave(group: tuple[sp.Equality, ...], result: tuple[sp.Equality, ...]) -> Iterable[sp.Expr]:
    """For the token (cos φ, sin φ), w = e^{2iφ}: e |z|² = z² for the complex number z of G x(0)."""
    wave, matrix = result
    start = {projective.x0: point(phi), G: matrix.rhs.applyfunc(without_parts)}
    direction = Components(2, values=start)(projective.G * projective.x0)
    moved = direction[0] + sp.I * direction[1]
    square = direction[0] ** 2 + direction[1] ** 2
    at_start = {w: sp.exp(2 * sp.I * phi)}
    numerator, denominator = (part.xreplace(at_start) for part in sp.fraction(wave.rhs))
    yield from harmonics(moved**2 * denominator - square * numerator, phi).values() or [sp.S.Zero]
    yield from Components(2, values=start)(group[0].rhs * sp.sqrt(square)) - direction


def _check_projective_equality(
    projective_wave: tuple[sp.Equality, ...],
    mapping: tuple[sp.Equality, ...],
    equations: tuple[sp.Equality, ...],
    group: tuple[sp.Equality, ...],
    matrix_form: tuple[sp.Equality, ...],
    result: tuple[sp.Equality, ...],
) -> Iterable[sp.Expr]:
    image, rotation = result
    as_gammas = {alpha: image.rhs, sp.conjugate(alpha): sp.conjugate(image.rhs), zeta: rotation.rhs}
    yield mapping[0].rhs.xreplace(as_gammas) - projective_wave[0].rhs
    # G' = W G in the coefficients of G, and the chain rule.
    moved = Components(2, values={G: projective_wave[1].rhs.applyfunc(without_parts)})(group[1].rhs)
    rates = {gamma0: _zeroth(moved), gamma1: _first(moved)}
    rates |= {sp.conjugate(symbol): sp.conjugate(value) for symbol, value in rates.items()}
    entries = Components(2)
    mean_field = {relation.lhs: entries(relation.rhs) for relation in matrix_form}
    mean_field |= {sp.conjugate(H): sp.conjugate(mean_field[H])}
    map_rate, angle_rate = (
        without_parts(relation.rhs).xreplace(mean_field).xreplace(as_gammas) for relation in equations
    )
    yield _along(image.rhs, rates) - map_rate
    yield _along(rotation.rhs, rates) - sp.I * angle_rate * rotation.rhs
    identity = {gamma0: sp.S.One, gamma1: sp.S.Zero}
    yield image.rhs.subs(identity)
    yield rotation.rhs.subs(identity) - 1


def _real_columns(*columns: sp.Expr) -> sp.ImmutableMatrix:
    """The 2 × 2 matrix whose columns are given as complex numbers."""
    return sp.ImmutableMatrix([[sp.re(column) for column in columns], [sp.im(column) for column in columns]])


def _zeroth(matrix: sp.MatrixBase) -> sp.Expr:
    """x₀ of X z = x₀z + x₁z̄."""
    return sp.expand(matrix[0, 0] + matrix[1, 1] + sp.I * (matrix[1, 0] - matrix[0, 1])) / 2


def _first(matrix: sp.MatrixBase) -> sp.Expr:
    """x₁ of X z = x₀z + x₁z̄."""
    return sp.expand(matrix[0, 0] - matrix[1, 1] + sp.I * (matrix[1, 0] + matrix[0, 1])) / 2


def _along(expression: sp.Expr, rates: dict[sp.Expr, sp.Expr]) -> sp.Expr:
    """The time derivative by the chain rule, symbols and their conjugates taken as independent."""
    names = {symbol: sp.Dummy() for symbol in rates}
    free = expression.xreplace(names)
    back = {name: symbol for symbol, name in names.items()}
    return sum((free.diff(names[symbol]).xreplace(back) * value for symbol, value in rates.items()), sp.S.Zero)


def _matrices(values: dict[sp.Basic, sp.Basic]) -> dict[sp.Basic, sp.MatrixBase]:
    return {symbol: value for symbol, value in values.items() if isinstance(symbol, sp.MatrixSymbol)}
