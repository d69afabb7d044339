"""Mixtures of Gaussians on R^d: kept by fields that are affine for every law, such as linear attention.

With weights w_i constant, every component moves as a Gaussian in the field of the whole mixture,

    μ_i' = W μ_i,    Σ_i' = W Σ_i + Σ_i Wᵀ,    W = β V M Aᵀ,    M = Σ_i w_i (Σ_i + μ_i μ_iᵀ).

Softmax attention does not keep them.

>>> from symbolic import GaussianMixture, LinearAttention, reduce
>>> reduce(LinearAttention(), GaussianMixture(components=2)).equations
{mu_1: W*mu_1, mu_2: W*mu_2, Sigma_1: Sigma_1*W.T + W*Sigma_1, Sigma_2: Sigma_2*W.T + W*Sigma_2}
"""

from __future__ import annotations

from collections.abc import Iterable

import sympy as sp

from symbolic.closure import mixture_instance, refuse
from symbolic.components import DIMENSIONS, Components
from symbolic.derivation import Derivation
from symbolic.fields import AttentionField, LinearAttention, x
from symbolic.gaussian_averages import M, Sigma, averaged_velocity, define_averages, evaluate_on_gaussian, mu, xi
from symbolic.laws import GaussianMixture
from symbolic.matrix_calculus import affine_parts
from symbolic.notation import Inner, LogMGFGradient, d, rate
from symbolic.reduction import Invariant, Reduction, Variable

W = sp.MatrixSymbol("W", d, d)

CANONICAL = {"gaussian_mixture": (LinearAttention(), GaussianMixture(2))}


def matches(field: object, law: object) -> bool:
    return isinstance(field, AttentionField) and isinstance(law, GaussianMixture)


def derive(field: AttentionField, law: GaussianMixture) -> Reduction:
    """Derive the moment equations of the components.

    Raises
    ------
    NotClosed, ClosureUndecided
        For a field whose velocity is not W x with a W that depends on the law through M alone.
    """
    velocity = averaged_velocity(field)
    if velocity is None or velocity.has(LogMGFGradient) or field.activation is not None:
        refuse(field, law, mixture_instance(field), field.velocity())
    means = [sp.MatrixSymbol(f"mu_{i}", d, 1) for i in range(1, law.components + 1)]
    covariances = [sp.MatrixSymbol(f"Sigma_{i}", d, d) for i in range(1, law.components + 1)]
    weights = [sp.Symbol(f"w_{i}", real=True) for i in range(1, law.components + 1)]
    derivation = Derivation("gaussian_mixture")
    derivation.define("field", "Attention field", sp.Eq(rate(x), field.velocity(), evaluate=False))
    define_averages(derivation, velocity)
    evaluate_on_gaussian(derivation, velocity)
    one = derivation["gaussian_second_moment"].rhs
    parts = [
        weight * one.xreplace({mu: mean, Sigma: covariance})
        for weight, mean, covariance in zip(weights, means, covariances, strict=True)
    ]
    moment = sp.MatAdd(*parts) if len(parts) > 1 else parts[0]
    matrix, _, _ = affine_parts(velocity, x)
    derivation.conclude(
        "linear_field",
        "The field of a mixture is linear",
        sp.Eq(rate(x), W * x),
        sp.Eq(W, matrix),
        sp.Eq(M, moment),
        step="second moment of the mixture",
        premises=["tilted_mean", "gaussian_second_moment"],
        why="The average over a mixture is the weighted sum of the averages over its components.",
        check=_check_linear,
    )
    rates = [sp.Eq(rate(mean), W * mean) for mean in means] + [
        sp.Eq(rate(covariance), W * covariance + covariance * W.T) for covariance in covariances
    ]
    derivation.conclude(
        "component_moments",
        "Moment equations of the components",
        *rates,
        step="continuity equation",
        premises=["linear_field", "gaussian_log_mgf"],
        why="The moment generating function of the mixture is Σ w_i e^{K_i(ξ)}, and the continuity equation makes its "
        "rate Σ w_i ⟨ξ, W ∇K_i⟩ e^{K_i}; it holds with constant weights when each K_i moves so.",
        check=_check_components,
    )
    return Reduction(
        name="gaussian_mixture",
        title=f"Mixtures of {law.components} Gaussians under {field}",
        field=field,
        law=law,
        state=(
            *(Variable(mean, "vector", "mean of a component") for mean in means),
            *(Variable(covariance, "covariance", "covariance of a component") for covariance in covariances),
        ),
        parameters=(*field.parameters, *(Variable(weight, "positive", "weight of a component") for weight in weights)),
        definitions=((M, moment), (W, matrix)),
        equations={symbol: relation.rhs for symbol, relation in zip([*means, *covariances], rates, strict=True)},
        assumptions=("the weights are positive and add up to one",),
        invariants=(Invariant("ranks", "the rank of every Σ_i is conserved"),),
        derivation=derivation,
    )


def _check_linear(tilted: sp.Equality, one: sp.Equality, result: tuple[sp.Equality, ...]) -> Iterable[sp.Expr]:
    field, matrix, moment = result
    mixture = sp.ZeroMatrix(d, d)
    for index in sorted({symbol.name[3:] for symbol in moment.rhs.free_symbols if symbol.name.startswith("mu_")}):
        names = {mu: sp.MatrixSymbol(f"mu_{index}", d, 1), Sigma: sp.MatrixSymbol(f"Sigma_{index}", d, d)}
        mixture = mixture + sp.Symbol(f"w_{index}", real=True) * one.rhs.xreplace(names)
    for dimension in DIMENSIONS:
        components = Components(dimension)
        yield from components.difference(moment.rhs, mixture)
        yield from components.difference(tilted.rhs, field.rhs.xreplace({W: matrix.rhs}))


def _check_components(
    linear: tuple[sp.Equality, ...], log_mgf: sp.Equality, rates: tuple[sp.Equality, ...]
) -> Iterable[sp.Expr]:
    """The rate of each e^{K_i} against ⟨ξ, W ∇K_i⟩ e^{K_i}, the gradient taken in components."""
    half = len(rates) // 2
    for mean_rate, covariance_rate in zip(rates[:half], rates[half:], strict=True):
        index = mean_rate.lhs.name.removeprefix("mu_").removesuffix("dot")
        names = {mu: sp.MatrixSymbol(f"mu_{index}", d, 1), Sigma: sp.MatrixSymbol(f"Sigma_{index}", d, d)}
        function = log_mgf.rhs.xreplace(names)
        moved = log_mgf.rhs.xreplace({mu: mean_rate.rhs, Sigma: covariance_rate.rhs})
        for dimension in DIMENSIONS:
            components = Components(dimension, symmetric=[names[Sigma]])
            value = components(function)
            slopes = sp.ImmutableMatrix([value.diff(variable) for variable in components(xi)])
            gradient = sp.MatrixSymbol("gradient", d, 1)
            with_slopes = Components(dimension, symmetric=[names[Sigma]], values={gradient: slopes})
            yield with_slopes(Inner(xi, linear[0].rhs.xreplace({x: gradient}))) - components(moved)
