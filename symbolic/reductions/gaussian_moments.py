"""Gaussian laws on R^d under softmax attention: the moment equations.

    μ' = (A + V)μ + VΣBμ + b,    Σ' = AΣ + ΣAᵀ + VΣBΣ + ΣBᵀΣVᵀ,    rank Σ conserved.

Source: "Reachability and asymptotics of Gaussian Transformer dynamics" (arXiv 2606.07600).

>>> from symbolic import Gaussian, reduce, SoftmaxAttention
>>> reduce(SoftmaxAttention(feed_forward='affine'), Gaussian()).equations
{mu: W*mu + c, Sigma: Sigma*W.T + W*Sigma}
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import sympy as sp

from symbolic.closure import gaussian_instance, refuse
from symbolic.components import DIMENSIONS, Components
from symbolic.derivation import Derivation
from symbolic.fields import AttentionField, L2Attention, LinearAttention, SoftmaxAttention, x, y
from symbolic.gaussian_averages import (
    Sigma,
    averaged_velocity,
    define_averages,
    evaluate_on_gaussian,
    gaussian_obstruction,
    gaussian_values,
    mu,
    xi,
)
from symbolic.laws import Gaussian
from symbolic.matrix_calculus import affine_parts, expand_matrix, gradient, symmetrise, with_free_inverses
from symbolic.notation import Average, Inner, LogMGF, LogMGFGradient, TimeDerivative, d, rate
from symbolic.reduction import Invariant, Reduction, Variable
from symbolic.spaces import Euclidean

W = sp.MatrixSymbol("W", d, d)
c = sp.MatrixSymbol("c", d, 1)

FIELD = SoftmaxAttention(feed_forward="affine")

CANONICAL = {
    "gaussian_moments": (FIELD, Gaussian()),
    "gaussian_moments_l2": (L2Attention(feed_forward="affine"), Gaussian()),
    "gaussian_moments_linear": (LinearAttention(), Gaussian()),
}


def matches(field: object, law: object) -> bool:
    return isinstance(field, AttentionField) and isinstance(field.space, Euclidean) and law == Gaussian()


def derive(field: AttentionField, law: Gaussian) -> Reduction:
    """Derive the moment equations from the field.

    The average of V y under the tilted law is V ∇K(Bx), K the log moment generating function of the law; a
    Gaussian K is quadratic, so the field is affine, v(x) = W x + c. An affine field keeps K quadratic, and
    the coefficients of K give the moments.

    Raises
    ------
    NotClosed, ClosureUndecided
        For a field that is not affine on Gaussian laws, with the term that is not.
    """
    derivation = Derivation("gaussian_moments")
    derivation.define("field", "Attention field", sp.Eq(rate(x), field.velocity(), evaluate=False))
    velocity = averaged_velocity(field)
    if velocity is None:
        refuse(field, law, gaussian_instance(field), gaussian_obstruction(field))
    define_averages(derivation, velocity)
    matrix, offset, _ = affine_parts(evaluate_on_gaussian(derivation, velocity), x)
    names = {W: matrix, c: offset}
    if offset == sp.ZeroMatrix(d, 1):
        del names[c]
    constant = [c] if c in names else []
    derivation.conclude(
        "affine_field",
        "The field of a Gaussian law is affine",
        sp.Eq(rate(x), sp.MatAdd(W * x, *constant) if constant else W * x),
        *(sp.Eq(symbol, value) for symbol, value in names.items()),
        step="affine field",
        premises=["tilted_mean", *gaussian_values(derivation)],
        why="Put the Gaussian values of the averages in and collect the powers of x.",
        check=_check_affine,
    )
    transport = sum((Inner(xi, part) for part in (*constant, W * LogMGFGradient(xi))), sp.S.Zero)
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
    closed = transport.xreplace({LogMGFGradient(xi): derivation["gaussian_gradient"].rhs})
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
    kind = "" if type(field) is SoftmaxAttention else f"_{type(field).__name__.removesuffix('Attention').lower()}"
    return Reduction(
        name=f"gaussian_moments{kind}",
        title=f"Moment equations of Gaussian laws under {field}",
        field=field,
        law=law,
        state=(Variable(mu, "vector", "mean"), Variable(Sigma, "covariance", "covariance")),
        parameters=field.parameters,
        definitions=tuple(names.items()),
        equations={mu: mean, Sigma: covariance},
        assumptions=("Σ is symmetric and positive semidefinite, of any rank",),
        invariants=(Invariant("rank", "the rank of Σ is conserved: Σ(t) = G(t) Σ(0) G(t)ᵀ with G' = W G, G(0) = I"),),
        derivation=derivation,
    )


def _check_affine(tilted: sp.Equality, *values_and_result: Any) -> Iterable[sp.Expr]:
    *values, (field, *definitions) = values_and_result
    after = field.rhs.xreplace({definition.lhs: definition.rhs for definition in definitions})
    before = tilted.rhs.replace(lambda e: isinstance(e, LogMGFGradient), partial(_gaussian_value, values))
    before = before.xreplace({value.lhs: value.rhs for value in values if isinstance(value.lhs, sp.MatrixSymbol)})
    (before, after), symmetric = with_free_inverses([before, after], [Sigma])
    for dimension in DIMENSIONS:
        yield from Components(dimension, symmetric=symmetric).difference(before, after)


def _gaussian_value(values: Iterable[sp.Equality], average: LogMGFGradient) -> sp.MatrixExpr:
    """∇K or ∇K_Λ at the arguments of an average."""
    gradients = (value for value in values if isinstance(value.lhs, LogMGFGradient))
    (value,) = (value for value in gradients if len(value.lhs.args) == len(average.args))
    return value.rhs.xreplace(dict(zip(value.lhs.args, average.args, strict=True)))


def _check_transport(affine: tuple[sp.Equality, ...], law: sp.Equality, transport: sp.Equality) -> Iterable[sp.Expr]:
    velocity = affine[0].rhs
    tested = sp.exp(Inner(xi, x))
    from_continuity = Average(Inner(xi, velocity) * tested, x) / Average(tested, x)
    for dimension in DIMENSIONS:
        components = Components(dimension, log_mgf=[law])
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
        (left, right), symmetric = with_free_inverses([before.rhs.xreplace(names), after.rhs], [Sigma])
        for dimension in DIMENSIONS:
            yield from Components(dimension, symmetric=symmetric).difference(left, right)
