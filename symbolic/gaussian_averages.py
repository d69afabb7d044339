"""Averages over a Gaussian law in matrix form: what attention becomes when its tokens are Gaussian.

Three kinds of head have an average that is affine in x:

    exponential weights of a score that is linear in y:       ∇K(ξ),     K(ξ) = log ∫ e^⟨ξ,y⟩ dm
    exponential weights of a score that is quadratic in y:    ∇K_Λ(ξ),   K_Λ(ξ) = log ∫ e^{⟨ξ,y⟩ − ⟨y,Λy⟩/2} dm
    the score itself as the weight, linear in y:              M ξ,       M = ∫ y yᵀ dm

with ξ = ∇_y s − (its part in y) affine in x. Exponential weights must be normalised and the score itself not.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import sympy as sp

from symbolic.components import DIMENSIONS, Components
from symbolic.derivation import Derivation
from symbolic.fields import AttentionField, Head, s, x, y
from symbolic.matrix_calculus import affine_parts, expand_matrix, gradient
from symbolic.notation import Average, Inner, LogMGF, LogMGFGradient, VectorAverage, d, rate

mu = sp.MatrixSymbol("mu", d, 1)
Sigma = sp.MatrixSymbol("Sigma", d, d)
#: A factor of the covariance, Σ = L Lᵀ; L is square, and singular when Σ is.
L = sp.MatrixSymbol("L", d, d)
z = sp.MatrixSymbol("z", d, 1)
xi = sp.MatrixSymbol("xi", d, 1)
#: The curvature of a score in y, and the second moment of the law.
Lam = sp.MatrixSymbol("Lambda", d, d)
M = sp.MatrixSymbol("M", d, d)


def averaged_velocity(field: AttentionField) -> sp.MatrixExpr | None:
    """The velocity with every head's attention written through ∇K, ∇K_Λ or M; None when a head is of no such kind."""
    if field.activation not in (None, s) or None in [_head_average(field, head) for head in field.attention_heads]:
        return None
    averages = (field.over_heads(part) for part in (field.attention, partial(_head_average, field)))
    return field.velocity().xreplace(dict(zip(*averages, strict=True)))


def gaussian_obstruction(field: AttentionField) -> sp.MatrixExpr:
    """The first term of the velocity that is not affine in x for Gaussian laws.

    An exponential average without its denominator is V ∇K(ξ) e^{K(ξ)}, K the quadratic of the Gaussian.
    """
    if field.activation not in (None, s):
        return field.feed_forward_part().args[0]
    head = next(head for head in field.attention_heads if _head_average(field, head) is None)
    tilt = _tilt(head)
    if tilt is None or field.normalised or field.weighting != sp.exp(s):
        return field.attention(head)
    return sp.exp(Inner(tilt, mu) + Inner(tilt, Sigma * tilt) / 2) * (head.value * (mu + Sigma * tilt))


def _tilt(head: Head) -> sp.MatrixExpr | None:
    """ξ of a score ⟨ξ, y⟩ that is linear in y; None for any other score."""
    parts = _score_parts(head)
    return parts[1] if parts and parts[0] == sp.ZeroMatrix(d, d) else None


def _score_parts(head: Head) -> tuple[sp.MatrixExpr, sp.MatrixExpr] | None:
    """C and ξ with ∇_y s = C y + ξ; None when the score is no sum of multiples of inner products, quadratic in y."""
    for term in sp.Add.make_args(head.score):
        factor, inner = term.as_independent(Inner, as_Add=False)
        if not isinstance(inner, Inner) or factor.free_symbols & {x, y}:
            return None
    curvature, tilt, rest = affine_parts(gradient(head.score, y), y)
    return (curvature, tilt) if rest == sp.ZeroMatrix(d, 1) else None


def _head_average(field: AttentionField, head: Head) -> sp.MatrixExpr | None:
    parts = _score_parts(head)
    if parts is None:
        return None
    curvature, tilt = parts
    if x in curvature.free_symbols or affine_parts(tilt, x)[2] != sp.ZeroMatrix(d, 1):
        return None
    flat = curvature == sp.ZeroMatrix(d, d)
    if field.normalised and field.weighting == sp.exp(s):
        return head.value * (LogMGFGradient(tilt) if flat else LogMGFGradient(tilt, expand_matrix(-curvature)))
    if not field.normalised and field.weighting == s and flat:
        return head.value * M * tilt
    return None


def define_averages(derivation: Derivation, velocity: sp.MatrixExpr) -> None:
    """Replace the averages in the node 'field' by K, K_Λ and M, as far as they occur: the node 'tilted_mean'."""
    premises = ["field", "law_log_mgf"]
    derivation.define(
        "law_log_mgf",
        "Log moment generating function of the law",
        sp.Eq(LogMGF(xi), sp.log(Average(sp.exp(Inner(xi, y)), y))),
    )
    if _curvatures(velocity):
        premises.append("law_tilted_mgf")
        derivation.define(
            "law_tilted_mgf",
            "The same of the law reweighted by a quadratic, Λ symmetric",
            sp.Eq(LogMGF(xi, Lam), sp.log(Average(sp.exp(Inner(xi, y) - Inner(y, Lam * y) / 2), y))),
        )
    if M in velocity.free_symbols:
        premises.append("second_moment")
        derivation.define("second_moment", "Second moment of the law", sp.Eq(M, VectorAverage(y * y.T, y)))
    derivation.conclude(
        "tilted_mean",
        "The averages through a generating function or a second moment",
        sp.Eq(rate(x), velocity, evaluate=False),
        step="tilting",
        premises=premises,
        why="A ratio of integrals is the mean of V y under a law tilted by an exponential of y; differentiating K(ξ) "
        "under the integral sign gives that mean. An average of ⟨ξ,y⟩ y is the second moment applied to ξ.",
        check=_check_tilting,
    )


def evaluate_on_gaussian(derivation: Derivation, velocity: sp.MatrixExpr) -> sp.MatrixExpr:
    """Add the values of K, K_Λ and M for a Gaussian law, and return the velocity with them put in."""
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
    values = {}
    for average in velocity.atoms(LogMGFGradient):
        if len(average.args) == 1:
            values[average] = log_mgf_gradient.xreplace({xi: average.args[0]})
    if curvatures := _curvatures(velocity):
        tilted = _define_tilted_gaussian(derivation)
        for average, curvature in curvatures.items():
            values[average] = tilted.xreplace({xi: average.args[0], Lam: curvature})
    if M in velocity.free_symbols:
        values[M] = _define_second_moment(derivation)
    return velocity.xreplace(values)


def gaussian_values(derivation: Derivation) -> list[str]:
    """The keys of the nodes that hold the values of K, K_Λ and M."""
    keys = ("gaussian_gradient", "tilted_gaussian", "gaussian_second_moment")
    return [key for key in keys if key in derivation.equations]


def _curvatures(velocity: sp.MatrixExpr) -> dict[LogMGFGradient, sp.MatrixExpr]:
    return {average: average.args[1] for average in velocity.atoms(LogMGFGradient) if len(average.args) == 2}


def _define_tilted_gaussian(derivation: Derivation) -> sp.MatrixExpr:
    """∇K_Λ(ξ) from the stationary point of the exponent: a Gaussian's mean is where its density is largest."""
    identity = sp.Identity(d)
    sample = mu + L * z
    exponent = Inner(xi, sample) - Inner(sample, Lam * sample) / 2 - Inner(z, z) / 2
    slope, constant, _ = affine_parts(gradient(exponent, z, symmetric=[Lam]), z)
    derivation.conclude(
        "stationary",
        "Mean of z under the law reweighted by exp(⟨ξ,y⟩ − ⟨y,Λy⟩/2)",
        sp.Eq(slope * z + constant, sp.ZeroMatrix(d, 1), evaluate=False),
        step="largest density",
        premises=["law_tilted_mgf", "gaussian"],
        why="In z the exponent is a concave quadratic for Λ ⪰ 0, so the reweighted law is Gaussian and its mean is "
        "where the gradient vanishes.",
        check=_check_stationary,
    )
    mean = sp.Inverse(identity + Sigma * Lam) * (mu + Sigma * xi)
    derivation.conclude(
        "tilted_gaussian",
        "Mean of the reweighted Gaussian",
        sp.Eq(LogMGFGradient(xi, Lam), mean),
        step="solving for the mean",
        premises=["stationary", "gaussian"],
        why="With y = μ + L z the stationary z is Lᵀ(ξ − Λy), so y = μ + Σ(ξ − Λy), which is linear in y.",
        check=_check_tilted_gaussian,
    )
    return mean


def _define_second_moment(derivation: Derivation) -> sp.MatrixExpr:
    value = Sigma + mu * mu.T
    derivation.conclude(
        "gaussian_second_moment",
        "Second moment of the Gaussian",
        sp.Eq(M, value),
        step="second moment",
        premises=["second_moment", "gaussian"],
        why="The components of z have mean zero, variance one, and are uncorrelated.",
        check=_check_second_moment,
    )
    return value


def _check_tilting(field: sp.Equality, law: sp.Equality, *rest: sp.Equality) -> Iterable[sp.Expr]:
    *averages, result = rest
    log_mgf = [law, *(average for average in averages if isinstance(average.lhs, LogMGF))]
    moments = {average.lhs: average.rhs for average in averages if average.lhs == M}
    for dimension in DIMENSIONS:
        components = Components(dimension, log_mgf=log_mgf)
        yield from components.difference(field.rhs, result.rhs.xreplace(moments))


def _check_gaussian_integral(
    law: sp.Equality, gaussian: tuple[sp.Equality, ...], result: sp.Equality
) -> Iterable[sp.Expr]:
    sample, factor = gaussian
    average = law.rhs.args[0]
    for dimension in DIMENSIONS:
        components = Components(dimension, symmetric=[Sigma])
        exponent = components(average.args[0].args[0].xreplace({y: sample.rhs}))
        logarithm = _log_standard_normal_average(exponent, tuple(components(z)))
        yield logarithm - components(result.rhs).subs(_covariance(components, factor))


def _log_standard_normal_average(exponent: sp.Expr, variables: tuple[sp.Symbol, ...]) -> sp.Expr:
    """log ∫ e^(k₀ + Σ kᵢ zᵢ) dγ(z), γ the standard normal law, the integral over each zᵢ done by SymPy."""
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


def _check_stationary(law: sp.Equality, gaussian: tuple[sp.Equality, ...], result: sp.Equality) -> Iterable[sp.Expr]:
    """The exponent in components, with the −|z|²/2 of the standard normal density, differentiated in every zᵢ."""
    exponent = law.rhs.args[0].args[0].args[0].xreplace({y: gaussian[0].rhs})
    for dimension in DIMENSIONS:
        components = Components(dimension, symmetric=[Lam])
        variables = components(z)
        density = components(exponent) - sum(variable**2 for variable in variables) / 2
        for variable, entry in zip(variables, components(result.lhs), strict=True):
            yield density.diff(variable) - entry


def _check_tilted_gaussian(
    stationary: sp.Equality, gaussian: tuple[sp.Equality, ...], result: sp.Equality
) -> Iterable[sp.Expr]:
    """Name the mean m and solve for μ = m + Σ(Λm − ξ): then the claimed mean is m, and z = Lᵀ(ξ − Λm) is stationary."""
    sample, factor = gaussian
    mean = sp.MatrixSymbol("mean", d, 1)
    centre = (sp.Identity(d) + Sigma * Lam) * mean - Sigma * xi
    claimed = result.rhs.xreplace({mu: centre}).doit()
    latent = L.T * (xi - Lam * mean)
    for dimension in DIMENSIONS:
        components = Components(dimension, symmetric=[Sigma, Lam])
        covariance = _covariance(components, factor)
        equations = [claimed - mean]
        equations += [side.xreplace({z: latent, mu: centre}) for side in (stationary.lhs, sample.rhs - mean)]
        for equation in equations:
            yield from components(equation).subs(covariance)


def _check_second_moment(
    moment: sp.Equality, gaussian: tuple[sp.Equality, ...], result: sp.Equality
) -> Iterable[sp.Expr]:
    """Expand y yᵀ in the components of z and take the averages of 1, zᵢ and zᵢzⱼ."""
    sample, factor = gaussian
    for dimension in DIMENSIONS:
        components = Components(dimension, symmetric=[Sigma])
        variables = components(z)
        product = components(moment.rhs.args[0].xreplace({y: sample.rhs}))
        expected = components(result.rhs).subs(_covariance(components, factor))
        for entry, value in zip(product, expected, strict=True):
            polynomial = sp.Poly(entry, *variables)
            means = {0: 1, 2: 1}  # of z^power; odd powers vanish, higher ones do not occur
            yield (
                sum(
                    coefficient * sp.prod(means.get(power, 0) for power in powers)
                    for powers, coefficient in polynomial.terms()
                )
                - value
            )


def _covariance(components: Components, factor: sp.Equality) -> dict[sp.Expr, sp.Expr]:
    """The entries of Σ through those of L."""
    return dict(zip(components(factor.lhs), components(factor.rhs), strict=True))
