"""Angular central Gaussian laws on the sphere under linear attention, in any dimension: infinitely many tokens as Σ.

The law of y/|y| with y ~ N(0, Σ) is kept, because x ↦ Gx/|Gx| takes it to that of Gy/|Gy|:

    Σ' = W Σ + Σ Wᵀ,   U = β V M Aᵀ,   W = U − tr(M U) I,   M(Σ) = E[yyᵀ/|y|²].

Σ and c Σ are the same law; the multiple of I in W keeps E[log |y|], so that Σ neither grows nor shrinks for ever.

M(Σ) has the eigenvectors of Σ and the eigenvalues ∫₀^∞ λ_i (1 + 2sλ_i)⁻¹ Π_j (1 + 2sλ_j)^{−1/2} ds, elliptic integrals
for d = 3; in general it stays a node, `SecondMomentOfACG(Sigma)`, which kernels evaluate by quadrature. On the circle
it is elementary,

    M(Σ) = (Σ + √det Σ I) / (tr Σ + 2√det Σ),

tr Σ + 2√det Σ is conserved, and the equation is Ott–Antonsen's with R = (√λ₁ − √λ₂)/(√λ₁ + √λ₂) e^{2iφ}.

>>> from symbolic import AngularCentralGaussian, LinearAttention, Sphere, reduce
>>> reduce(LinearAttention(space=Sphere()), AngularCentralGaussian()).equations
{Sigma: Sigma*W.T + W*Sigma}
"""

from __future__ import annotations

from collections.abc import Iterable

import sympy as sp

from symbolic.circle import averaged, phi, point, y
from symbolic.closure import circle_instance, refuse
from symbolic.components import Components
from symbolic.derivation import Derivation
from symbolic.fields import AttentionField, LinearAttention, beta, x
from symbolic.laws import AngularCentralGaussian, WrappedCauchy
from symbolic.notation import Inner, SecondMomentOfACG, TimeDerivative, d, rate
from symbolic.reduction import ClosureUndecided, Invariant, Reduction, Variable
from symbolic.reductions import ott_antonsen, projective
from symbolic.reductions.kuramoto_daido import FIELD, P, Q, R, mean_field_derivation, plane_parameters
from symbolic.reductions.projective import (
    G,
    M,
    W,
    add_group_action,
    dimensions,
    in_dimension,
    is_bilinear,
    matrices,
    x0,
)
from symbolic.reductions.watanabe_strogatz import H, add_matrix_form, add_mean_field_wave

#: The Gaussian vector u = L z behind a token at the start, its covariance then and now, and the density of the tokens.
L = sp.MatrixSymbol("L", d, d)
u = sp.MatrixSymbol("u", d, 1)
z = sp.MatrixSymbol("z", d, 1)
Sigma = sp.MatrixSymbol("Sigma", d, d)
Sigma0 = sp.MatrixSymbol("Sigma0", d, d)
p = sp.Symbol("p", positive=True)
#: Eigenvalues λ(i) of Σ and μ(i) of M(Σ), and the variable of the integral between them.
eigenvalues = sp.Function("lambda", positive=True)
moments = sp.Function("mu")
i, j = sp.symbols("i j", integer=True, positive=True)
t = sp.Symbol("s", positive=True)
#: In the plane: √det Σ, and the angle of the first eigenvector of Σ.
delta = sp.Symbol("delta", nonnegative=True)
angle = sp.Symbol("psi", real=True)
#: Square roots of the eigenvalues of Σ in the plane.
roots = sp.symbols("l1 l2", positive=True)

CANONICAL = {
    "angular_central_gaussian": (FIELD, AngularCentralGaussian()),
    "angular_central_gaussian_sphere": (projective.FIELD, AngularCentralGaussian()),
}


def matches(field: object, law: object) -> bool:
    return isinstance(field, AttentionField) and law == AngularCentralGaussian()


def derive(field: AttentionField, law: AngularCentralGaussian) -> Reduction:
    """Derive the equation of Σ, and on the circle the closed form of M and the equality with Ott–Antonsen.

    Raises
    ------
    NotClosed, ClosureUndecided
        For other fields than linear attention. An instance on the circle also refuses a field on spheres of every
        dimension, but not one on a sphere of another given dimension.
    """
    if field != FIELD and not (is_bilinear(field) and field.space.dimension is None):
        if field.space.dimension not in (None, 2):
            why = "no derivation covers it, and instances are known on the circle only."
            raise ClosureUndecided(field, law, field.velocity(), why)
        refuse(field, law, circle_instance(field, sp.pi), field.velocity())
    plane = field.space.dimension == 2
    name = "angular_central_gaussian" if plane else "angular_central_gaussian_sphere"
    derivation = Derivation(name)
    if plane:
        derivation.include(mean_field_derivation(field))
    else:
        derivation.define("field", "Attention field", sp.Eq(rate(x), field.velocity(), evaluate=False))
    add_group_action(derivation, field)
    _add_invariance(derivation, field)
    _add_second_moment(derivation, field)
    definitions: tuple[tuple[sp.Basic, sp.Expr], ...] = ((M, SecondMomentOfACG(Sigma)),)
    if plane:
        _add_plane(derivation, field)
        definitions = tuple((relation.lhs, relation.rhs) for relation in derivation["second_moment_matrix"])
    covariance = in_dimension(Sigma, field)
    return Reduction(
        name=name,
        title=f"Angular central Gaussian laws under linear attention on the {'circle' if plane else 'sphere'}",
        field=field,
        law=law,
        state=(Variable(covariance, "covariance", "covariance of y, up to a factor, where tokens are y/|y|"),),
        parameters=plane_parameters(field) if plane else field.parameters,
        definitions=(*definitions, *matrices(derivation)),
        equations={covariance: derivation["covariance"].rhs},
        assumptions=("Σ is symmetric and positive definite", "Σ and c Σ, c > 0, are the same law"),
        invariants=(
            Invariant("definiteness", "Σ stays positive definite: Σ(t) = G(t) Σ(0) G(t)ᵀ with G' = W G, G(0) = I"),
        ),
        derivation=derivation,
    )


def _add_invariance(derivation: Derivation, field: AttentionField) -> None:
    """From "group" and "balanced_field" to "covariance" and, for the density itself, "continuity"."""
    token, start, group, matrix, factor, gaussian, normal, covariance, initial = (
        in_dimension(symbol, field) for symbol in (x, x0, G, W, L, u, z, Sigma, Sigma0)
    )
    dimension = in_dimension(d, field)
    derivation.define(
        "law",
        "At the start: directions of a Gaussian vector u = L z, z standard normal",
        sp.Eq(start, _direction(sp.Identity(dimension), gaussian), evaluate=False),
        sp.Eq(gaussian, factor * normal),
        sp.Eq(initial, factor * factor.T),
    )
    derivation.conclude(
        "moved_law",
        "Later: directions of the Gaussian vector G u",
        sp.Eq(token, _direction(group, gaussian), evaluate=False),
        sp.Eq(covariance, group * initial * group.T),
        step="quotient of a Gaussian vector",
        premises=["group", "law"],
        why="G x(0)/|G x(0)| depends on the direction of x(0) alone, so u may stand for it; G u is Gaussian again, "
        "with the covariance G Σ₀ Gᵀ. The family is kept.",
        check=_check_moved_law,
    )
    derivation.conclude(
        "covariance",
        "Equation of the covariance",
        sp.Eq(rate(covariance), matrix * covariance + covariance * matrix.T),
        step="product rule",
        premises=["group", "moved_law"],
        why="(G Σ₀ Gᵀ)' = G' Σ₀ Gᵀ + G Σ₀ G'ᵀ with G' = W G.",
        check=_check_covariance,
    )
    quadratic = Inner(token, covariance.I * token)
    constant = sp.gamma(dimension / 2) / (2 * sp.pi ** (dimension / 2))
    derivation.conclude(
        "density",
        "Density of the law on the sphere",
        sp.Eq(p, constant / (sp.sqrt(sp.Determinant(covariance)) * quadratic ** (dimension / 2)), evaluate=False),
        step="radial integral",
        premises=["moved_law"],
        why="In polar coordinates, integrate the density of N(0, Σ) at r x with r^{d−1} dr over r > 0.",
        check=_check_density,
    )
    derivation.conclude(
        "continuity",
        "The continuity equation holds",
        sp.Eq(
            TimeDerivative(sp.log(p)),
            dimension * Inner(token, covariance.I * matrix * token) / quadratic - sp.Trace(matrix),
            evaluate=False,
        ),
        step="continuity equation",
        premises=["balanced_field", "covariance", "density"],
        why="The left-hand side follows from Σ'; −div v − ⟨v, ∇ log p⟩ on the sphere, from the field, is the same.",
        check=_check_continuity,
    )


def _direction(matrix: sp.MatrixExpr, vector: sp.MatrixSymbol) -> sp.MatrixExpr:
    """matrix vector / |matrix vector|."""
    moved = (matrix * vector).doit()
    return sp.MatMul(Inner(moved, moved) ** sp.Rational(-1, 2), *sp.MatMul.make_args(moved))


def _add_second_moment(derivation: Derivation, field: AttentionField) -> None:
    product = sp.Product(1 / sp.sqrt(1 + 2 * t * eigenvalues(j)), (j, 1, d))
    integrand = eigenvalues(i) / (1 + 2 * t * eigenvalues(i)) * product
    derivation.conclude(
        "second_moment",
        "Its second moment, in the eigenbasis of the covariance",
        sp.Eq(moments(i), in_dimension(sp.Integral(integrand, (t, 0, sp.oo)), field), evaluate=False),
        step="exponential integral",
        premises=["linear_field", "moved_law"],
        why="1/|y|² = ∫₀^∞ e^{−s|y|²} ds, so E[y_i y_j/|y|²] is an integral of Gaussian integrals over the independent "
        "components of y ~ N(0, diag λ). For i ≠ j it vanishes, because y_i is odd.",
        check=_check_second_moment,
    )


def _add_plane(derivation: Derivation, field: LinearAttention) -> None:
    """At d = 2: the moments in closed form, the order parameter, and its Ott–Antonsen equation."""
    derivation.conclude(
        "plane_moments",
        "In the plane",
        *(
            sp.Eq(moments(index), _integrate_in_plane(derivation["second_moment"].rhs, index), evaluate=False)
            for index in (1, 2)
        ),
        step="substitution",
        premises=["second_moment"],
        why="With v² = (1 + 2sλ₂)/(1 + 2sλ₁) the integrand is constant in v.",
        check=_check_plane_moments,
    )
    covariance, moment = (in_dimension(symbol, field) for symbol in (Sigma, M))
    determinant = covariance[0, 0] * covariance[1, 1] - covariance[0, 1] * covariance[1, 0]
    scale = sp.Trace(covariance) + 2 * delta
    derivation.conclude(
        "second_moment_matrix",
        "The second moment as a function of the covariance",
        sp.Eq(delta, sp.sqrt(sp.Abs(determinant)), evaluate=False),
        sp.Eq(moment, sp.MatMul(1 / scale, covariance + delta * sp.Identity(2)), evaluate=False),
        step="Cayley–Hamilton",
        premises=["plane_moments"],
        why="So M = S/tr S with S = Σ^{1/2}, and S² − (tr S) S + (det S) I = 0 gives S tr S = Σ + δ I, where "
        "δ = √det Σ. The modulus changes nothing, and keeps the root real when rounding makes a determinant negative.",
        check=_check_second_moment_matrix,
    )
    derivation.conclude(
        "scale",
        "The scale of the covariance is conserved",
        sp.Eq(TimeDerivative(scale), sp.S.Zero, evaluate=False),
        step="mean stretch",
        premises=["balanced_field", "covariance", "second_moment_matrix"],
        why="(tr Σ + 2δ)' = 2 tr(W(Σ + δ I)) = 2 (tr Σ + 2δ) tr(W M), by δ' = δ tr W; and tr(M W) = 0.",
        check=_check_scale,
    )
    order = covariance[0, 0] - covariance[1, 1] + sp.I * (covariance[0, 1] + covariance[1, 0])
    first, second = (sp.sqrt(eigenvalues(index)) for index in (1, 2))
    derivation.conclude(
        "order_parameter_of_law",
        "The order parameter, with ψ the angle of the first eigenvector",
        sp.Eq(R, order / scale, evaluate=False),
        sp.Eq(R, (first - second) / (first + second) * sp.exp(2 * sp.I * angle), evaluate=False),
        step="second harmonic",
        premises=["order_parameter", "linear_field", "second_moment_matrix"],
        why="e^{2iφ} = cos²φ − sin²φ + 2i sin φ cos φ, so R = M₁₁ − M₂₂ + 2i M₁₂.",
        check=_check_order_parameter,
    )
    add_mean_field_wave(derivation)
    add_matrix_form(derivation)
    derivation.conclude(
        "ott_antonsen",
        "The order parameter obeys the Ott–Antonsen equation",
        sp.Eq(rate(R), ott_antonsen.derive(field, WrappedCauchy()).equations[R], evaluate=False),
        step="equality with Ott–Antonsen",
        premises=["covariance", "second_moment_matrix", "order_parameter_of_law", "wave", "matrix_form"],
        why="Differentiate R(Σ) along Σ'. Up to its scale, Σ is (1 + |R|²) I + 2 [[Re R, Im R], [Im R, −Re R]].",
        check=_check_ott_antonsen,
    )


def _integrate_in_plane(integral: sp.Expr, index: int) -> sp.Expr:
    """∫ λ_i (1 + 2sλ_i)⁻¹ Π_j (1 + 2sλ_j)^{−1/2} ds for two eigenvalues, by the substitution v."""
    first, second = (1 + 2 * t * eigenvalues(k) for k in (1, 2))
    v, base = sp.symbols("v X", positive=True)
    integrand = _integrand(integral, index, 2).subs({first: base, second: v**2 * base})
    (time,) = sp.solve(second - v**2 * first, t)
    in_v = sp.cancel((integrand * time.diff(v)).subs(base, first.subs(t, time)))
    end = sp.sqrt(eigenvalues(2)) / sp.sqrt(eigenvalues(1))
    value = sp.integrate(in_v, (v, 1, end)).subs(_squares())
    return sp.cancel(value).xreplace({root: sp.sqrt(eigenvalues(k)) for k, root in enumerate(roots, 1)})


def _integrand(integral: sp.Expr, index: int, dimension: int) -> sp.Expr:
    """What is integrated over s for the eigenvalue of the given index."""
    inside = integral.replace(sp.Integral, lambda function, *limits: function)
    return inside.subs({d: dimension, i: index}).doit()


def _squares() -> dict[sp.Expr, sp.Expr]:
    """The eigenvalues in the plane as squares of positive symbols."""
    return {eigenvalues(k): root**2 for k, root in enumerate(roots, 1)}


def _rotated(first: sp.Expr, second: sp.Expr) -> sp.ImmutableMatrix:
    """The symmetric matrix with these eigenvalues, the first one at the angle ψ."""
    axis = point(angle)
    normal = axis.diff(angle)
    return first * axis * axis.T + second * normal * normal.T


def _check_moved_law(
    group: tuple[sp.Equality, ...], law: tuple[sp.Equality, ...], result: tuple[sp.Equality, ...]
) -> Iterable[sp.Expr]:
    """For multiples of the first basis vector, the action is that of the multiple 1; with G free, G u is any vector."""
    moved, covariance = result
    multiple = sp.Symbol("c", positive=True)
    for dimension in dimensions(moved.lhs):
        components = Components(dimension)
        # At the start u/|u| is u times a positive number.
        yield from components(law[0].rhs) * sp.sqrt(components(Inner(u, u))) - components(u)
        basis = sp.eye(dimension)[:, 0]
        action = Components(dimension, values={x0: multiple * basis})(group[0].rhs)
        square = Components(dimension, values={x0: multiple * basis})(Inner(G * x0, G * x0))
        yield from action.diff(multiple) * square ** sp.Rational(3, 2)
        yield from action.subs(multiple, 1) - Components(dimension, values={u: basis})(moved.rhs)
        image = components(G) * components(law[1].rhs).jacobian(components(z))
        initial = {Sigma0: components(law[2].rhs)}
        yield from image * image.T - Components(dimension, values=initial)(covariance.rhs)


def _check_covariance(
    group: tuple[sp.Equality, ...], moved: tuple[sp.Equality, ...], result: sp.Equality
) -> Iterable[sp.Expr]:
    for dimension in dimensions(group[0].lhs):
        components = Components(dimension, symmetric=[Sigma0])
        covariance = components(moved[1].rhs)
        speeds = zip(components(G), components(group[1].rhs), strict=True)
        moving = sum((covariance.diff(entry) * speed for entry, speed in speeds), sp.zeros(dimension))
        yield from moving - Components(dimension, symmetric=[Sigma0], values={Sigma: covariance})(result.rhs)


def _check_density(moved: tuple[sp.Equality, ...], density: sp.Equality) -> Iterable[sp.Expr]:
    """With a symbol for ⟨x, Σ⁻¹x⟩ and one for det Σ, for the dimension at hand or for every d."""
    r, quadratic, determinant = sp.symbols("r Q D", positive=True)
    dimension = moved[0].lhs.rows
    gaussian = sp.exp(-(r**2) * quadratic / 2) / sp.sqrt((2 * sp.pi) ** dimension * determinant)
    radial = sp.integrate(gaussian * r ** (dimension - 1), (r, 0, sp.oo))
    stated = density.rhs.replace(Inner, lambda left, right: quadratic).replace(
        sp.Determinant, lambda matrix: determinant
    )
    yield sp.simplify(stated / radial) - 1


def _check_continuity(
    balanced: tuple[sp.Equality, ...], covariance: sp.Equality, density: sp.Equality, result: sp.Equality
) -> Iterable[sp.Expr]:
    """Both sides for d = 2 and 3, Σ diagonal at the time of the check, as rotating everything may make it.

    The field is extended from the sphere by |x| v(x/|x|), which keeps its divergence there.
    """
    length = sp.Symbol("l", positive=True)
    for dimension in sorted(set(dimensions(balanced[0].lhs)) - {1}):
        components = Components(dimension, symmetric=[Sigma])
        entries = components(Sigma)
        diagonal = {entries[k, m]: 0 for k in range(dimension) for m in range(k)}
        token = components(x)
        value, stated, rates = (components(e.rhs).doit() for e in (density, result, covariance))
        lower = [(k, m) for k in range(dimension) for m in range(k + 1)]
        moved = sum(value.diff(entries[place]).subs(diagonal) * rates[place].subs(diagonal) for place in lower)
        value, stated = value.subs(diagonal), stated.subs(diagonal)
        yield sp.numer(sp.together(sp.powsimp(moved / value) - stated))
        extended = length * Components(dimension, values={x: token / length})(balanced[0].rhs)
        norm = {length: sp.sqrt(components(Inner(x, x)))}
        velocity = [sp.expand(entry).subs(norm) for entry in extended]
        divergence = sum(speed.diff(coordinate) for speed, coordinate in zip(velocity, token, strict=True))
        transported = sum(speed * value.diff(coordinate) for speed, coordinate in zip(velocity, token, strict=True))
        yield sp.numer(sp.together(-divergence - sp.powsimp(transported / value) - stated))


def _check_second_moment(
    linear: tuple[sp.Equality, ...], moved: tuple[sp.Equality, ...], result: sp.Equality
) -> Iterable[sp.Expr]:
    variance, square = sp.symbols("lambda q", positive=True)
    component = sp.Symbol("y", real=True)
    yield sp.integrate(sp.exp(-t * square), (t, 0, sp.oo)) - 1 / square
    density = sp.exp(-(component**2) / (2 * variance)) / sp.sqrt(2 * sp.pi * variance)
    zeroth, first, second = (
        sp.simplify(sp.integrate(component**k * sp.exp(-t * component**2) * density, (component, -sp.oo, sp.oo)))
        for k in range(3)
    )
    yield first
    for dimension in dimensions(linear[0].lhs):
        values = [eigenvalues(k) for k in range(1, dimension + 1)]
        for index in range(1, dimension + 1):
            factors = [(second if k == index else zeroth).subs(variance, value) for k, value in enumerate(values, 1)]
            yield sp.simplify(sp.Mul(*factors) / _integrand(result.rhs, index, dimension)) - 1


def _check_plane_moments(integral: sp.Equality, result: tuple[sp.Equality, ...]) -> Iterable[sp.Expr]:
    """By a primitive: ±λ_i/(λ₂ − λ₁) times the square root of (1 + 2sλ_k)/(1 + 2sλ_i), k the other index."""
    for relation, index in zip(result, (1, 2), strict=True):
        own, other = (root**2 for root in (roots if index == 1 else roots[::-1]))
        primitive = own / (other - own) * sp.sqrt(1 + 2 * t * other) / sp.sqrt(1 + 2 * t * own)
        ratio = sp.expand(primitive.diff(t) / _integrand(integral.rhs, index, 2).subs(_squares()))
        yield sp.numer(sp.together(ratio - 1))
        at_infinity = own / (other - own) * sp.sqrt(other / own)
        yield sp.numer(sp.together(at_infinity - primitive.subs(t, 0) - relation.rhs.subs(_squares())))


def _check_second_moment_matrix(plane: tuple[sp.Equality, ...], result: tuple[sp.Equality, ...]) -> Iterable[sp.Expr]:
    """For Σ with the eigenvalues λ and the first eigenvector at any angle."""
    root, matrix = result
    squares = _squares()
    components = Components(2, values={Sigma: _rotated(*squares.values())})
    value = components(root.rhs).replace(sp.Abs, lambda inside: sp.Abs(sp.factor(sp.trigsimp(inside))))
    yield value - sp.Mul(*roots)
    moment = components(matrix.rhs).subs(delta, value)
    expected = _rotated(*(relation.rhs.subs(squares) for relation in plane))
    yield from (sp.trigsimp(sp.together(entry)) for entry in moment - expected)


def _check_scale(
    balanced: tuple[sp.Equality, ...],
    covariance: sp.Equality,
    second_moment: tuple[sp.Equality, ...],
    result: sp.Equality,
) -> Iterable[sp.Expr]:
    root, moment = second_moment
    components = Components(2, symmetric=[Sigma])
    square = components(root.rhs.args[0].args[0])
    values = {M: components(moment.rhs)}
    values[W] = Components(2, symmetric=[Sigma], values=values)(balanced[1].rhs)
    moving = Components(2, symmetric=[Sigma], values=values)(covariance.rhs)
    scale = components(result.lhs.args[0])
    rates = dict(zip(components(Sigma), moving, strict=True))
    moved = sum(
        (scale.diff(entry) + scale.diff(delta) * square.diff(entry) / (2 * delta)) * speed
        for entry, speed in rates.items()
    )
    # With δ² for det Σ.
    entries = components(Sigma)
    yield sp.numer(sp.together(moved.subs(entries[1, 1], (delta**2 + entries[0, 1] ** 2) / entries[0, 0]))) - result.rhs


def _check_order_parameter(
    order: sp.Equality,
    linear: tuple[sp.Equality, ...],
    second_moment: tuple[sp.Equality, ...],
    result: tuple[sp.Equality, ...],
) -> Iterable[sp.Expr]:
    in_covariance, in_eigenvalues = result
    moment = Components(2, values={y: point(phi)}, angle=phi)(linear[2].rhs)
    in_moment = moment[0, 0] - moment[1, 1] + sp.I * (moment[0, 1] + moment[1, 0])
    yield averaged(in_moment) - order.rhs
    closed = Components(2)(second_moment[1].rhs)
    combined = closed[0, 0] - closed[1, 1] + sp.I * (closed[0, 1] + closed[1, 0])
    yield combined - Components(2)(in_covariance.rhs)
    squares = _squares()
    rotated = Components(2, values={Sigma: _rotated(*squares.values())})
    at_angle = rotated(in_covariance.rhs).subs(delta, sp.Mul(*roots))
    difference = at_angle - in_eigenvalues.rhs.subs(squares)
    yield sp.simplify(difference.rewrite(sp.exp))


def _check_ott_antonsen(
    covariance: sp.Equality,
    second_moment: tuple[sp.Equality, ...],
    order: tuple[sp.Equality, ...],
    wave: tuple[sp.Equality, ...],
    matrix_form: tuple[sp.Equality, ...],
    result: sp.Equality,
) -> Iterable[sp.Expr]:
    real, imaginary = sp.symbols("R_re R_im", real=True)
    scale = sp.Symbol("tau", positive=True)
    modulus = real**2 + imaginary**2
    matrix = scale * ((1 + modulus) * sp.eye(2) + 2 * sp.Matrix([[real, imaginary], [imaginary, -real]]))
    components = Components(2)
    entries = dict(zip(components(Sigma), matrix, strict=True))
    # |det Σ| is det Σ for a covariance, and its root here is τ(1 − |R|²).
    determinant = components(second_moment[0].rhs.args[0].args[0])
    root = scale * (1 - modulus)
    yield determinant.xreplace(entries) - root**2
    value = components(order[0].rhs)
    yield value.subs(delta, root).xreplace(entries) - (real + sp.I * imaginary)
    moved = sp.S.Zero
    for entry, speed in zip(components(Sigma), components(covariance.rhs), strict=True):
        moved += (value.diff(entry) + value.diff(delta) * determinant.diff(entry) / (2 * delta)) * speed
    moved = moved.subs(delta, root).xreplace(entries)
    mean_field = {relation.rhs: relation.lhs for relation in wave[:2]}
    in_wave = sp.expand(result.rhs).subs({beta * sp.im(P): mean_field[beta * sp.im(P)]})
    in_wave = in_wave.subs({sp.conjugate(Q): sp.conjugate(H) / beta, Q: H / beta})
    in_entries = {relation.lhs: components(relation.rhs) for relation in matrix_form}
    in_entries |= {sp.conjugate(H): sp.conjugate(in_entries[H])}
    yield moved - sp.expand(in_wave).xreplace(in_entries).subs(R, real + sp.I * imaginary)
