"""Attention on the circle with any unnormalised weight of β⟨x, y⟩: phases, their coupling, and the moments.

With x = (cos θ, sin θ), the weight w(β cos δ) = Σ_j w_j e^{ijδ} (w_{−j} = w_j) and the moments Z_k = ∫ e^{ikφ} dm,

    θ' = Σ_k w_{k−1} Im[(v₀ Z_k + v₁ Z_{k−2}) e^{−ikθ}]
    Z_k' = (k/2) Σ_l w_{l−1} [(v₀ Z_l + v₁ Z_{l−2}) Z_{k−l} − (v̄₀ Z_{−l} + v̄₁ Z_{2−l}) Z_{k+l}],

and for V = I

    θ' = Σ_{k≥1} h_k Im(Z_k e^{−ikθ}),    h_k = w_{k−1} − w_{k+1},
    Z_k' = (k/2) Σ_{l≥1} h_l (Z_l Z_{k−l} − Z_{−l} Z_{k+l}).

Every moment is coupled to infinitely many others, or for a polynomial weight of degree p to those up to p + 1 away:
the hierarchy does not close. The exponential weight has w_j = I_j(β) and h_k = (2k/β) I_k(β), I_j the modified Bessel
functions. The sums converge for every weight that is continuously differentiable.
"""

from __future__ import annotations

from collections.abc import Iterable

import sympy as sp
from sympy.matrices.expressions.applyfunc import ElementwiseApplyFunction

from symbolic.circle import V, complex_coefficients, harmonics, phi, point, real_matrix, tangent, theta, x, x_perp, y
from symbolic.components import Components
from symbolic.derivation import Derivation
from symbolic.fields import AttentionField, ExponentialAttention, beta, s
from symbolic.fields import x as token
from symbolic.fields import y as attended
from symbolic.laws import Tokens
from symbolic.notation import Average, Inner, TimeDerivative, n, rate
from symbolic.reduction import Reduction, Variable
from symbolic.reductions.kuramoto_daido import angle_equation, define_field_on_circle
from symbolic.spaces import Sphere

#: The difference of two angles, and the index of a Fourier coefficient.
delta = sp.Symbol("delta", real=True)
j = sp.Symbol("j", integer=True, nonnegative=True)
#: The indices of a moment and of the sums.
k, l = sp.symbols("k l", integer=True)  # noqa: E741
#: The Fourier coefficients of the weight and of the coupling, and the moments of the angle.
w = sp.Function("w", real=True)
h = sp.Function("h", real=True)
Z = sp.Function("Z")
#: The angles of n tokens, their cosines and sines, and the weights of all pairs.
thetas = sp.MatrixSymbol("theta", n, 1)
C = sp.MatrixSymbol("C", n, 1)
S = sp.MatrixSymbol("S", n, 1)
E = sp.MatrixSymbol("E", n, n)

(v0, v0_value), (v1, v1_value) = complex_coefficients(V)

CANONICAL = {"daido_hierarchy": (ExponentialAttention(score=beta * Inner(token, attended), space=Sphere(2)), Tokens())}


def matches(field: object, law: object) -> bool:
    return (
        law == Tokens()
        and isinstance(field, AttentionField)
        and field.space == Sphere(2)
        and not field.normalised
        and field.heads == 1
        and not _scale(field).has(token, attended, Inner)
    )


def derive(field: AttentionField, law: Tokens) -> Reduction:
    """Derive the equations of n angles, and the hierarchy of moments that they stand for."""
    derivation = Derivation("daido_hierarchy")
    define_field_on_circle(derivation, field)
    derivation.conclude(
        "angle",
        "The angle of a token",
        sp.Eq(rate(theta), angle_equation(field), evaluate=False),
        step="projection",
        premises=["field", "coordinates"],
        why="x' = θ' x^⊥, and the tangential projection leaves the component along x^⊥ alone. Both sides are linear "
        "in the law, so it is enough to compare them when it is a single token.",
        check=_check_projection,
    )
    _phases(derivation, field)
    reach = _degree(field)
    derivation.define(
        "fourier",
        "Fourier series of the weight, even in the difference δ of two angles",
        sp.Eq(_weight(field), sp.Sum(w(l) * sp.exp(sp.I * l * delta), (l, -reach, reach)), evaluate=False),
        sp.Eq(w(-l), w(l), evaluate=False),
    )
    _coefficients(derivation, field)
    derivation.define(
        "moments",
        "Moments of the angle, and the complex form of V, V z = v₀ z + v₁ z̄",
        sp.Eq(Z(k), Average(sp.exp(sp.I * k * phi), phi), evaluate=False),
        sp.Eq(v0, v0_value, evaluate=False),
        sp.Eq(v1, v1_value, evaluate=False),
    )
    amplitude = v0 * Z(l) + v1 * Z(l - 2)
    wave = w(l - 1) * sp.im(amplitude * sp.exp(-sp.I * l * theta), evaluate=False)
    derivation.conclude(
        "waves",
        "The angle in the field of all moments",
        sp.Eq(rate(theta), sp.Sum(wave, (l, 1 - reach, 1 + reach)), evaluate=False),
        step="harmonic by harmonic",
        premises=["angle", "fourier", "moments"],
        why="⟨x^⊥, V y⟩ = Im[(v₀ e^{iφ} + v₁ e^{−iφ}) e^{−iθ}], and the weight multiplies it by Σ w_j e^{ij(φ−θ)}.",
        check=_check_waves,
    )
    backward = sp.conjugate(v0) * Z(-l) + sp.conjugate(v1) * Z(2 - l)
    coupled = w(l - 1) * (amplitude * Z(k - l) - backward * Z(k + l))
    derivation.conclude(
        "hierarchy",
        "The hierarchy of moments",
        sp.Eq(TimeDerivative(Z(k)), k / 2 * sp.Sum(coupled, (l, 1 - reach, 1 + reach)), evaluate=False),
        step="continuity equation",
        premises=["waves", "moments"],
        why="Test the continuity equation with e^{ikθ}: Z_k' = ∫ ik θ' e^{ikθ} dm.",
        check=_check_hierarchy,
    )
    sines = sp.Sum(h(l) * sp.im(Z(l) * sp.exp(-sp.I * l * theta)), (l, 1, 1 + reach))
    derivation.conclude(
        "coupling",
        "For V = I the coupling is odd in the difference of the angles",
        sp.Eq(h(l), w(l - 1) - w(l + 1), evaluate=False),
        sp.Eq(rate(theta), sines, evaluate=False),
        step="pairs of opposite waves",
        premises=["waves", "fourier", "moments"],
        why="v₀ = 1 and v₁ = 0; the waves l and −l are conjugate and combine, and Z_0 = 1 is real.",
        check=_check_coupling,
    )
    mutual = h(l) * (Z(l) * Z(k - l) - Z(-l) * Z(k + l))
    derivation.conclude(
        "identity_hierarchy",
        "The hierarchy of moments for V = I",
        sp.Eq(TimeDerivative(Z(k)), k / 2 * sp.Sum(mutual, (l, 1, 1 + reach)), evaluate=False),
        step="continuity equation for V = I",
        premises=["coupling", "moments"],
        why="As before, Z_k' = ∫ ik θ' e^{ikθ} dm.",
        check=lambda coupling, moments, result: _check_hierarchy(coupling[1], moments, result),
    )
    if (exponential := _exponential(field)) is not None:
        factor, rate_of_growth = exponential
        derivation.conclude(
            "bessel_coupling",
            "The coupling of the exponential weight",
            sp.Eq(h(l), factor * 2 * l / rate_of_growth * sp.besseli(l, rate_of_growth), evaluate=False),
            step="recurrence of Bessel functions",
            premises=["coefficients", "coupling"],
            why="I_{l−1}(z) − I_{l+1}(z) = (2l/z) I_l(z), coefficient by coefficient of their power series.",
            check=_check_recurrence,
        )
    _, cosines, sinuses, weights = derivation["phases"]
    return Reduction(
        name="daido_hierarchy",
        title=f"Angles of tokens under {type(field).__name__} on the circle",
        field=field,
        law=law,
        state=(Variable(thetas, "phases", "angles of the tokens"),),
        parameters=(
            Variable(V, "matrix", "value matrix"),
            *(parameter for parameter in field.parameters if not parameter.shape),
        ),
        definitions=tuple((relation.lhs, relation.rhs) for relation in (cosines, sinuses, weights)),
        equations={thetas: derivation["phases"][0].rhs},
        assumptions=("tokens on the unit circle, x = (cos θ, sin θ)",),
        invariants=(),
        derivation=derivation,
    )


def weight_coefficient(field: AttentionField, index: sp.Expr) -> sp.Expr:
    """The Fourier coefficient w_j = (1/2π) ∫ w(β cos δ) cos(jδ) dδ of a weight on the circle.

    Parameters
    ----------
    field : an attention field whose score is a multiple of ⟨x, y⟩.
    index : j, an integer; for the exponential weight it may be symbolic.

    Returns
    -------
    A number times a power of β for polynomial weights, a Bessel function for exponential ones, and the integral
    otherwise.

    >>> weight_coefficient(CANONICAL["daido_hierarchy"][0], 3)
    besseli(3, beta)
    """
    if (exponential := _exponential(field)) is not None:
        factor, rate_of_growth = exponential
        return factor * sp.besseli(index, rate_of_growth)
    if _degree(field) != sp.oo:
        return harmonics(_weight(field), delta).get(sp.sympify(index), sp.S.Zero)
    return sp.Integral(_weight(field) * sp.cos(index * delta), (delta, -sp.pi, sp.pi)) / (2 * sp.pi)


def _scale(field: AttentionField) -> sp.Expr:
    """The factor of ⟨x, y⟩ in the score; what is no such factor stays in."""
    return field.score / Inner(token, attended)


def _weight(field: AttentionField) -> sp.Expr:
    """The weight of two tokens at an angle of δ."""
    return field.weight(_scale(field) * sp.cos(delta))


def _degree(field: AttentionField) -> sp.Expr:
    """The degree of a polynomial weight, ∞ for others."""
    return sp.Integer(sp.degree(field.weighting, s)) if field.weighting.is_polynomial(s) else sp.oo


def _exponential(field: AttentionField) -> tuple[sp.Expr, sp.Expr] | None:
    """f and z of a weight f e^{z cos δ}, None for other weights."""
    slope = sp.simplify(field.weighting.diff(s) / field.weighting)
    return None if slope.has(s) else (field.weight(sp.S.Zero), slope * _scale(field))


def _phases(derivation: Derivation, field: AttentionField) -> None:
    """The angles of n tokens as an array equation."""
    scores = sp.MatMul(_scale(field), sp.MatAdd(C * C.T, S * S.T))
    weights = scores if field.weighting == s else ElementwiseApplyFunction(sp.Lambda(s, field.weighting), scores)
    upper, lower = (sp.MatAdd(V[i, 0] * E * C, V[i, 1] * E * S) for i in range(2))
    velocity = (sp.HadamardProduct(C, lower) - sp.HadamardProduct(S, upper)) / n
    derivation.conclude(
        "phases",
        "The angles of n tokens",
        sp.Eq(rate(thetas), velocity, evaluate=False),
        sp.Eq(C, ElementwiseApplyFunction(sp.cos, thetas), evaluate=False),
        sp.Eq(S, ElementwiseApplyFunction(sp.sin, thetas), evaluate=False),
        sp.Eq(E, weights, evaluate=False),
        step="empirical law",
        premises=["angle"],
        why="The law is m = (1/n) Σ δ; E_ij is the weight that token i gives to token j.",
        check=_check_phases,
    )


def _coefficients(derivation: Derivation, field: AttentionField) -> None:
    """The Fourier coefficients of the weight, where they have a closed form."""
    if _exponential(field) is not None:
        derivation.conclude(
            "coefficients",
            "Its Fourier coefficients are Bessel functions",
            sp.Eq(w(j), weight_coefficient(field, j), evaluate=False),
            step="power series",
            premises=["fourier"],
            why="The coefficient of e^{ijδ} in cosᵖδ is binomial(p, i) / 2ᵖ with p = j + 2i, by the binomial theorem; "
            "summed with the coefficients of the exponential series it is the power series of I_j.",
            check=_check_bessel,
        )
    elif (degree := _degree(field)) != sp.oo:
        derivation.conclude(
            "coefficients",
            f"Its Fourier coefficients, zero beyond {degree}",
            *(sp.Eq(w(i), weight_coefficient(field, i), evaluate=False) for i in range(degree + 1)),
            step="trigonometric polynomial",
            premises=["fourier"],
            why="A polynomial in cos δ is a trigonometric polynomial of the same degree.",
            check=_check_polynomial,
        )


def _check_projection(
    field: sp.Equality, coordinates: tuple[sp.Equality, ...], angle: sp.Equality
) -> Iterable[sp.Expr]:
    components = Components(2, values={r.lhs: r.rhs for r in coordinates}, atoms=(point(phi),))
    # Rational coordinates of the circle, by the tangent of half the angle, in place of cos²θ + sin²θ = 1.
    half = sp.Symbol("t", real=True)
    rational = {sp.cos(theta): (1 - half**2) / (1 + half**2), sp.sin(theta): 2 * half / (1 + half**2)}
    for entry in components(field.rhs) - components(angle.rhs) * components(x_perp):
        yield entry.xreplace(rational)


def _check_phases(angle: sp.Equality, result: tuple[sp.Equality, ...]) -> Iterable[sp.Expr]:
    """Component by component for two and three tokens."""
    phases, *definitions = result
    for tokens in (2, 3):
        sizes = {n: tokens}
        angles = Components(2, sizes=sizes)(thetas)
        values: dict[sp.Basic, sp.MatrixBase] = {}
        for definition in definitions:
            values[definition.lhs] = Components(2, sizes=sizes, values=values)(definition.rhs)
        array = Components(2, sizes=sizes, values=values)(phases.rhs)
        atoms = [point(angle) for angle in angles]
        for own, derived in zip(angles, array, strict=True):
            at_token = Components(2, values={x: point(own), x_perp: tangent(own)}, atoms=atoms)
            yield at_token(angle.rhs) - derived


def _at_waves(expression: sp.Expr, *indices: sp.Expr) -> sp.Expr:
    """An expression with the terms of its sum at the given indices in place of the sum."""

    def terms(total: sp.Sum) -> sp.Expr:
        (variable, *_), *_ = total.limits
        return sp.Add(*(total.function.subs(variable, index) for index in indices))

    return expression.replace(lambda e: isinstance(e, sp.Sum), terms)


def _only(index: sp.Expr, expression: sp.Expr) -> sp.Expr:
    """The weight whose coefficients w_{±index} are 1 and the others 0."""
    return expression.replace(w, lambda i: sp.S.One if i in (index, -index) else sp.S.Zero)


def _check_waves(
    angle: sp.Equality, fourier: tuple[sp.Equality, ...], moments: tuple[sp.Equality, ...], waves: sp.Equality
) -> Iterable[sp.Expr]:
    """For a law of one token, and for weights with a single pair of coefficients, of symbolic index or zero."""
    positive = sp.Symbol("p", integer=True, positive=True)
    values = {x: point(theta), x_perp: tangent(theta), y: point(phi), V: real_matrix(v0, v1)}
    (inner,) = angle.rhs.args[0].atoms(Inner) - {Inner(x, y)}
    product = Components(2, values=values)(inner)
    for index in (positive, sp.S.Zero):
        own = (index, -index) if index else (index,)
        weight = _only(index, _at_waves(fourier[0].rhs, *own)).subs(delta, phi - theta)
        derived = _only(index, _at_waves(waves.rhs, *(1 + i for i in own)))
        at_token = derived.replace(Z, lambda i: moments[0].rhs.args[0].subs(k, i))
        yield from _harmonics(weight * product - at_token, theta, phi)


def _harmonics(expression: sp.Expr, *angles: sp.Symbol) -> list[sp.Expr]:
    """The coefficients of a trigonometric polynomial in several angles; all must vanish for it to vanish."""
    coefficients = [expression]
    for angle in angles:
        coefficients = [value for c in coefficients for value in harmonics(c, angle).values()]
    return coefficients or [sp.S.Zero]


def _free(expression: sp.Expr) -> sp.Expr:
    """An expression with a free symbol for every coefficient, so that a point where it is not zero can be found."""
    for function in (w, h):
        expression = expression.replace(function, lambda i, f=function: sp.Symbol(f"{f}_({i})", real=True))
    return expression


def _check_hierarchy(waves: sp.Equality, moments: tuple[sp.Equality, ...], result: sp.Equality) -> Iterable[sp.Expr]:
    """Term by term of the sums, with symbolic indices, for a law of two tokens."""
    atoms = sp.symbols("theta_1 theta_2", real=True)

    def with_moments(expression: sp.Expr) -> sp.Expr:
        moment = moments[0].rhs.args[0]
        return _free(expression).replace(Z, lambda i: sum(moment.subs({k: i, phi: a}) for a in atoms) / 2)

    wave = with_moments(_at_waves(waves.rhs, l))
    tested = sum(sp.I * k * wave.subs(theta, a) * sp.exp(sp.I * k * a) for a in atoms) / 2
    yield from _harmonics(tested - with_moments(_at_waves(result.rhs, l)), *atoms)


def _check_coupling(
    waves: sp.Equality,
    fourier: tuple[sp.Equality, ...],
    moments: tuple[sp.Equality, ...],
    result: tuple[sp.Equality, ...],
) -> Iterable[sp.Expr]:
    """The waves of symbolic index l and −l together, and the wave 0 alone, for a law of one token."""
    coupling, sines = result
    at_identity = waves.rhs.subs({v0: 1, v1: 0})
    mirror = {side.subs(l, l + 1): fourier[1].rhs.subs(l, l + 1) for side in fourier[1].args}

    def residual(expression: sp.Expr) -> list[sp.Expr]:
        at_token = _free(expression).replace(Z, lambda i: moments[0].rhs.args[0].subs(k, i))
        return _harmonics(at_token, theta, phi)

    pair = _at_waves(at_identity, l, -l).xreplace(mirror)
    combined = _at_waves(sines.rhs, l).subs(coupling.lhs, coupling.rhs)
    yield from residual(pair - combined)
    yield from residual(_at_waves(at_identity, sp.S.Zero))


def _check_polynomial(fourier: tuple[sp.Equality, ...], result: tuple[sp.Equality, ...]) -> Iterable[sp.Expr]:
    coefficients = {relation.lhs: relation.rhs for relation in result}
    series = fourier[0].rhs.doit().replace(w, lambda i: coefficients[w(abs(i))])
    yield from _harmonics(fourier[0].lhs - series, delta)


def _power_coefficient(power: sp.Expr, index: sp.Expr) -> sp.Expr:
    """The coefficient of e^{i(p − 2 index)δ} in cosᵖδ."""
    return sp.binomial(power, index) / 2**power


def _check_bessel(fourier: tuple[sp.Equality, ...], result: sp.Equality) -> Iterable[sp.Expr]:
    power, index = sp.symbols("p i", integer=True, positive=True)
    # Multiplication by cos δ = (e^{iδ} + e^{−iδ})/2 takes cosᵖ to cosᵖ⁺¹, starting from cos⁰ = 1.
    mixed = (_power_coefficient(power, index) + _power_coefficient(power, index - 1)) / 2
    yield sp.gammasimp((_power_coefficient(power + 1, index) - mixed).rewrite(sp.gamma))
    yield _power_coefficient(sp.S.Zero, sp.S.Zero) - 1
    # w(β cos δ) = f Σ zᵖ cosᵖδ / p!: the terms with e^{ijδ} have p = j + 2i.
    weight = fourier[0].lhs
    growth = sp.simplify(-weight.diff(delta) / (sp.sin(delta) * weight))
    factor = weight.subs(delta, sp.pi / 2)
    yield weight - factor * sp.exp(growth * sp.cos(delta))

    def term(i: sp.Expr) -> sp.Expr:
        return growth ** (j + 2 * i) / sp.factorial(j + 2 * i) * _power_coefficient(j + 2 * i, i)

    # A hypergeometric series: its first term times ₀F₁(; j + 1; z²/4), whose terms have this ratio.
    ratio = sp.gammasimp((term(index + 1) / term(index)).rewrite(sp.gamma))
    yield sp.simplify(ratio - growth**2 / 4 / ((index + 1) * (j + 1 + index)))
    series = factor * term(sp.S.Zero) * sp.hyper((), (j + 1,), growth**2 / 4)
    # Both sides are entire functions of z, so that it is enough to compare them where all symbols are positive.
    positive = {symbol: sp.Symbol(symbol.name, positive=True) for symbol in growth.free_symbols}
    difference = sp.hyperexpand(series.subs(positive)) - result.rhs.subs(positive)
    yield sp.simplify(sp.gammasimp(difference.rewrite(sp.gamma)))


def _check_recurrence(
    coefficients: sp.Equality, coupling: tuple[sp.Equality, ...], result: sp.Equality
) -> Iterable[sp.Expr]:
    """The coefficient of z^{l − 1 + 2i} in the power series of both sides, for symbolic l and i."""
    index, order = sp.symbols("i l", integer=True, positive=True)
    (bessel,) = coefficients.rhs.atoms(sp.besseli)
    factor, growth = coefficients.rhs / bessel, bessel.args[1]

    def series(number: sp.Expr, i: sp.Expr) -> sp.Expr:
        """The coefficient of z^{number + 2i} in I_number(z)."""
        return 1 / (2 ** (number + 2 * i) * sp.factorial(i) * sp.factorial(number + i))

    # w_{l−1} and w_{l+1} have this power at i and i − 1; a multiple of I_l(z)/z has it at i.
    at_power = (
        coupling[0]
        .rhs.subs(l, order)
        .replace(w, lambda number: factor.subs(j, number) * series(number, index + (order - 1 - number) / 2))
    )
    multiple = sp.simplify(result.rhs.subs(l, order) * growth / sp.besseli(order, growth))
    yield sp.expand(sp.gammasimp((at_power - multiple * series(order, index)).rewrite(sp.gamma)))
