"""Gaussian laws on R^d under softmax attention: the moment equations.

    μ' = (A + V)μ + VΣBμ + b,    Σ' = AΣ + ΣAᵀ + VΣBΣ + ΣBᵀΣVᵀ,    rank Σ conserved.

Source: "Reachability and asymptotics of Gaussian Transformer dynamics" (arXiv 2606.07600).
"""

from __future__ import annotations

from collections.abc import Iterable

import sympy as sp

from symbolic.components import DIMENSIONS, Components
from symbolic.derivation import Derivation
from symbolic.fields import AttentionField, B, SoftmaxAttention, V, x, y
from symbolic.laws import Gaussian
from symbolic.matrix_calculus import affine_parts, expand_matrix, gradient, symmetrise
from symbolic.notation import Average, Inner, LogMGF, LogMGFGradient, TimeDerivative, d, rate
from symbolic.reduction import Invariant, Reduction, Variable

mu = sp.MatrixSymbol("mu", d, 1)
Sigma = sp.MatrixSymbol("Sigma", d, d)
#: A factor of the covariance, Σ = L Lᵀ; L is square, and singular when Σ is.
L = sp.MatrixSymbol("L", d, d)
z = sp.MatrixSymbol("z", d, 1)
xi = sp.MatrixSymbol("xi", d, 1)
W = sp.MatrixSymbol("W", d, d)
c = sp.MatrixSymbol("c", d, 1)

FIELD = SoftmaxAttention(feed_forward="affine")

CANONICAL = {"gaussian_moments": (FIELD, Gaussian())}


def matches(field: object, law: object) -> bool:
    return isinstance(field, SoftmaxAttention) and law == Gaussian() and field.space.project(x, x) == x


def derive(field: AttentionField, law: Gaussian) -> Reduction:
    """Derive the moment equations from the field.

    The average of V y under the tilted law is V ∇K(Bx), K the log moment generating function of the law; a
    Gaussian K is quadratic, so the field is affine, v(x) = W x + c. An affine field keeps K quadratic, and
    the coefficients of K give the moments.
    """
    derivation = Derivation("gaussian_moments")
    derivation.define("field", "Attention field", sp.Eq(rate(x), field.velocity(), evaluate=False))
    derivation.define(
        "law_log_mgf",
        "Log moment generating function of the law",
        sp.Eq(LogMGF(xi), sp.log(Average(sp.exp(Inner(xi, y)), y))),
    )
    tilted = _tilted(field)
    derivation.conclude(
        "tilted_mean",
        "The ratio of integrals is a gradient",
        sp.Eq(rate(x), tilted, evaluate=False),
        step="tilting",
        premises=["field", "law_log_mgf"],
        why="The ratio is the mean of V y under the law tilted by exp⟨Bx,y⟩; differentiating K(ξ) under the "
        "integral sign gives that mean at ξ = Bx.",
        check=_check_tilting,
    )
    derivation.define("gaussian", "Gaussian law of any rank", sp.Eq(y, mu + L * z), sp.Eq(Sigma, L * L.T))
    log_mgf = Inner(xi, mu) + Inner(xi, Sigma * xi) / 2
    derivation.conclude(
        "gaussian_log_mgf",
        "Log moment generating function of the Gaussian",
        sp.Eq(LogMGF(xi), log_mgf),
        step="Gaussian integral",
        premises=["law_log_mgf", "gaussian"],
        why="The components of z are independent standard normal variables, so the integral is a product of "
        "one-dimensional Gaussian integrals.",
        check=_check_gaussian_integral,
    )
    log_mgf_gradient = gradient(log_mgf, xi, symmetric=[Sigma])
    derivation.conclude(
        "gaussian_gradient",
        "Its gradient",
        sp.Eq(LogMGFGradient(xi), log_mgf_gradient),
        step="gradient",
        premises=["gaussian_log_mgf"],
        why="Differentiate the quadratic K(ξ); Σ is symmetric.",
        check=_check_gradient,
    )
    matrix, offset, _ = affine_parts(
        tilted.xreplace({LogMGFGradient(B * x): log_mgf_gradient.xreplace({xi: B * x})}), x
    )
    derivation.conclude(
        "affine_field",
        "The field of a Gaussian law is affine",
        sp.Eq(rate(x), W * x + c),
        sp.Eq(W, matrix),
        sp.Eq(c, offset),
        step="affine field",
        premises=["tilted_mean", "gaussian_gradient"],
        why="Put ξ = Bx into the gradient and collect the powers of x.",
        check=_check_affine,
    )
    transport = Inner(xi, c) + Inner(xi, W * LogMGFGradient(xi))
    derivation.conclude(
        "transport",
        "Transport of the law by an affine field",
        sp.Eq(TimeDerivative(LogMGF(xi)), transport, evaluate=False),
        step="continuity equation",
        premises=["affine_field", "law_log_mgf"],
        why="Test the continuity equation with exp⟨ξ,x⟩ and divide by its average: "
        "∂ₜK(ξ) = ∫ ⟨ξ, Wx + c⟩ exp⟨ξ,x⟩ dm(x) / ∫ exp⟨ξ,x⟩ dm(x).",
        check=_check_transport,
    )
    closed = transport.xreplace({LogMGFGradient(xi): log_mgf_gradient})
    covariance, mean, _ = affine_parts(gradient(closed, xi, symmetric=[Sigma]), xi)
    derivation.conclude(
        "moments",
        "Moment equations",
        sp.Eq(rate(mu), mean),
        sp.Eq(rate(Sigma), covariance),
        step="matching powers of ξ",
        premises=["transport", "gaussian_log_mgf", "gaussian_gradient"],
        why="Both sides are quadratic in ξ, so the family of Gaussians is kept, and their coefficients agree.",
        check=_check_moments,
    )
    names = {W: matrix, c: offset}
    derivation.conclude(
        "moment_equations",
        "Moment equations in the parameters of the field",
        sp.Eq(rate(mu), expand_matrix(mean.xreplace(names))),
        sp.Eq(rate(Sigma), symmetrise(expand_matrix(covariance.xreplace(names)), [Sigma])),
        step="substitution",
        premises=["moments", "affine_field"],
        why="Put in W and c and multiply out.",
        check=_check_substitution,
    )
    return Reduction(
        name="gaussian_moments",
        title="Moment equations of Gaussian laws under softmax attention",
        field=field,
        law=law,
        state=(Variable(mu, "vector", "mean"), Variable(Sigma, "covariance", "covariance")),
        parameters=field.parameters,
        definitions=((W, matrix), (c, offset)),
        equations={mu: mean, Sigma: covariance},
        assumptions=("Σ is symmetric and positive semidefinite, of any rank",),
        invariants=(Invariant("rank", "the rank of Σ is conserved: Σ(t) = G(t) Σ(0) G(t)ᵀ with G' = W G, G(0) = I"),),
        derivation=derivation,
    )


def _tilted(field: AttentionField) -> sp.MatrixExpr:
    """The velocity with the ratio of integrals replaced by V ∇K(Bx)."""
    (head,) = field.attention_heads
    return field.velocity().xreplace({field.attention(head): V * LogMGFGradient(B * x)})


def _check_tilting(field: sp.Equality, law: sp.Equality, tilted: sp.Equality) -> Iterable[sp.Expr]:
    for dimension in DIMENSIONS:
        components = Components(dimension, log_mgf=law)
        yield from components.difference(field.rhs, tilted.rhs)


def _check_gaussian_integral(
    law: sp.Equality, gaussian: tuple[sp.Equality, ...], result: sp.Equality
) -> Iterable[sp.Expr]:
    sample, factor = gaussian
    average = law.rhs.args[0]
    for dimension in DIMENSIONS:
        components = Components(dimension, symmetric=[Sigma])
        exponent = components(average.args[0].args[0].xreplace({y: sample.rhs}))
        logarithm = _log_standard_normal_average(exponent, tuple(components(z)))
        covariance = dict(zip(components(Sigma), components(factor.rhs), strict=True))
        yield logarithm - components(result.rhs).subs(covariance)


def _log_standard_normal_average(exponent: sp.Expr, variables: tuple[sp.Symbol, ...]) -> sp.Expr:
    """log ∫ e^(k₀ + Σ kᵢ zᵢ) dγ(z), the integral over each zᵢ done by SymPy."""
    slope, variable = sp.symbols("k zeta", real=True)
    density = sp.exp(-(variable**2) / 2) / sp.sqrt(2 * sp.pi)
    one = sp.simplify(sp.integrate(sp.exp(slope * variable) * density, (variable, -sp.oo, sp.oo)))
    logarithm = sp.expand_log(sp.log(one), force=True)
    exponent = sp.expand(exponent)
    constant = exponent.subs(dict.fromkeys(variables, 0))
    slopes = [exponent.coeff(variable) for variable in variables]
    linear = sum((k * v for k, v in zip(slopes, variables, strict=True)), constant)
    if sp.expand(exponent - linear) != 0:
        raise ValueError(f"exponent: {exponent} is not linear in {variables}")
    return constant + sum(logarithm.subs(slope, k) for k in slopes)


def _check_gradient(log_mgf: sp.Equality, result: sp.Equality) -> Iterable[sp.Expr]:
    for dimension in DIMENSIONS:
        components = Components(dimension, symmetric=[Sigma])
        function = components(log_mgf.rhs)
        entries = zip(components(xi), components(result.rhs), strict=True)
        yield from (function.diff(variable) - entry for variable, entry in entries)


def _check_affine(
    tilted: sp.Equality, log_mgf_gradient: sp.Equality, affine: tuple[sp.Equality, ...]
) -> Iterable[sp.Expr]:
    field, matrix, offset = affine
    at_token = log_mgf_gradient.rhs.xreplace({xi: B * x})
    before = tilted.rhs.xreplace({LogMGFGradient(B * x): at_token})
    after = field.rhs.xreplace({W: matrix.rhs, c: offset.rhs})
    for dimension in DIMENSIONS:
        yield from Components(dimension, symmetric=[Sigma]).difference(before, after)


def _check_transport(affine: tuple[sp.Equality, ...], law: sp.Equality, transport: sp.Equality) -> Iterable[sp.Expr]:
    velocity = affine[0].rhs
    tested = sp.exp(Inner(xi, x))
    from_continuity = Average(Inner(xi, velocity) * tested, x) / Average(tested, x)
    for dimension in DIMENSIONS:
        components = Components(dimension, log_mgf=law)
        yield from components.difference(from_continuity.xreplace({x: y}), transport.rhs)


def _check_moments(
    transport: sp.Equality, log_mgf: sp.Equality, log_mgf_gradient: sp.Equality, moments: tuple[sp.Equality, ...]
) -> Iterable[sp.Expr]:
    mean, covariance = moments
    moved = log_mgf.rhs.xreplace({mu: mean.rhs, Sigma: covariance.rhs})
    right = transport.rhs.xreplace({log_mgf_gradient.lhs: log_mgf_gradient.rhs})
    for dimension in DIMENSIONS:
        yield from Components(dimension, symmetric=[Sigma]).difference(moved, right)


def _check_substitution(
    moments: tuple[sp.Equality, ...], affine: tuple[sp.Equality, ...], result: tuple[sp.Equality, ...]
) -> Iterable[sp.Expr]:
    names = {relation.lhs: relation.rhs for relation in affine[1:]}
    for before, after in zip(moments, result, strict=True):
        for dimension in DIMENSIONS:
            yield from Components(dimension, symmetric=[Sigma]).difference(before.rhs.xreplace(names), after.rhs)
