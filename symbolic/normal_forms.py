"""Normal forms of the covariance equation Σ' = AΣ + ΣAᵀ + VΣBΣ + ΣBᵀΣVᵀ: derivations that need no kernel of their own.

For B = Bᵀ ≻ 0 a congruence turns it into one without B; for V = vI its inverse is linear, and it has a solution in
closed form for every rank.

Source: "Reachability and asymptotics of Gaussian Transformer dynamics" (arXiv 2606.07600).
"""

from __future__ import annotations

from collections.abc import Iterable

import sympy as sp

from symbolic.components import Components
from symbolic.derivation import Derivation
from symbolic.fields import FEED_FORWARD_A as A
from symbolic.fields import B, SoftmaxAttention, V
from symbolic.gaussian_averages import Sigma
from symbolic.laws import Gaussian
from symbolic.matrix_calculus import expand_matrix, in_letters, symmetrise, time_derivative
from symbolic.notation import d, rate
from symbolic.reductions import reduce
from symbolic.reductions.gaussian_factor import L, r

#: The square root of B, the covariance seen through it, and the matrices that act there.
ROOT = sp.MatrixSymbol("T", d, d)
Y = sp.MatrixSymbol("Y", d, d)
A_TILDE = sp.MatrixSymbol("Atilde", d, d)
V_TILDE = sp.MatrixSymbol("Vtilde", d, d)

#: V = v I, S = v (B + Bᵀ), and the inverse of the covariance.
v = sp.Symbol("v", real=True)
S = sp.MatrixSymbol("S", d, d)
X = sp.MatrixSymbol("X", d, d)
#: e^{At}, and ∫₀ᵗ e^{Aᵀs} S e^{As} ds; their values at the start, and those of X and Σ.
E = sp.MatrixSymbol("E", d, d)
C = sp.MatrixSymbol("C", d, d)
E_0, C_0, X_0, SIGMA_0 = (sp.MatrixSymbol(f"{symbol.name}_0", d, d) for symbol in (E, C, X, Sigma))


def congruence_normal_form() -> Derivation:
    """Derive the covariance equation in the coordinates B^{1/2} x, for B = Bᵀ ≻ 0.

    Y = TΣT with T = B^{1/2} obeys

        Y' = Ã Y + Y Ãᵀ + Ṽ Y² + Y² Ṽᵀ,    Ã = T A T⁻¹,    Ṽ = T V T⁻¹.

    The derivation continues that of the moment equations; its equation is `"congruence"`. It is checked with
    matrices as letters that do not commute, hence for every dimension.

    >>> derivation = congruence_normal_form()
    >>> derivation["congruence"].rhs
    Y**2*Vtilde.T + Atilde*Y + Vtilde*Y**2 + Y*Atilde.T
    """
    derivation = _covariance_derivation("gaussian_congruence")
    derivation.define(
        "square_root",
        "B = Bᵀ ≻ 0 has a symmetric square root T, which is invertible",
        sp.Eq(B, ROOT * ROOT, evaluate=False),
        sp.Eq(Y, ROOT * Sigma * ROOT, evaluate=False),
        sp.Eq(A_TILDE, ROOT * A * ROOT.inverse(), evaluate=False),
        sp.Eq(V_TILDE, ROOT * V * ROOT.inverse(), evaluate=False),
    )
    old = {
        B: ROOT * ROOT,
        Sigma: ROOT.inverse() * Y * ROOT.inverse(),
        A: ROOT.inverse() * A_TILDE * ROOT,
        V: ROOT.inverse() * V_TILDE * ROOT,
    }
    seen = ROOT * derivation["moment_equations"][1].rhs.xreplace(old) * ROOT
    # Twice: the transposes of the inverses appear only when the first ones are pushed down.
    symmetric = [ROOT, Y]
    normal = symmetrise(expand_matrix(symmetrise(expand_matrix(seen), symmetric)), symmetric)
    derivation.conclude(
        "congruence",
        "The covariance equation without B",
        sp.Eq(rate(Y), normal, evaluate=False),
        step="congruence",
        premises=["moment_equations", "square_root"],
        why="Y' = T Σ' T; put Σ = T⁻¹ Y T⁻¹, A = T⁻¹ Ã T, V = T⁻¹ Ṽ T and B = T² in.",
        check=_check_congruence,
    )
    return derivation


def bernoulli_solution() -> Derivation:
    """Derive the covariance in closed form for V = vI, with Σ₀ = LLᵀ of any rank r.

    With S = v(B + Bᵀ) the inverse X = Σ⁻¹, where there is one, obeys X' = −AᵀX − XA − S, and for every rank

        Σ(t) = E L (I − LᵀCL)⁻¹ Lᵀ Eᵀ,    E = e^{At},    C(t) = ∫₀ᵗ e^{Aᵀs} S e^{As} ds.

    Σ blows up exactly when I − LᵀCL becomes singular, that is at the first t with λ_max(LᵀC(t)L) = 1. The
    derivation continues that of the moment equations; its equations are `"bernoulli"`, `"precision"`,
    `"precision_solution"`, `"closed_form"` and `"blow_up"`. They are checked with matrices as letters that do not
    commute, hence for every d and r.

    >>> bernoulli_solution()["closed_form"].rhs
    E*L*(I - L.T*C*L)**(-1)*L.T*E.T
    """
    derivation = _covariance_derivation("gaussian_bernoulli")
    derivation.define(
        "scalar_value",
        "The value matrix is a multiple of the identity",
        sp.Eq(V, v * sp.Identity(d), evaluate=False),
        sp.Eq(S, v * (B + B.T), evaluate=False),
    )
    derivation.conclude(
        "bernoulli",
        "Bernoulli equation of the covariance",
        sp.Eq(rate(Sigma), A * Sigma + Sigma * A.T + Sigma * S * Sigma, evaluate=False),
        step="scalar value matrix",
        premises=["moment_equations", "scalar_value"],
        why="Both quadratic terms are now Σ times a multiple of B or Bᵀ times Σ.",
        check=_check_bernoulli,
    )
    derivation.define("inverse", "The precision matrix", sp.Eq(X, Sigma.inverse(), evaluate=False))
    in_precision = derivation["bernoulli"].rhs.xreplace({Sigma: X.inverse()})
    derivation.conclude(
        "precision",
        "It obeys a linear equation",
        sp.Eq(rate(X), expand_matrix(-X * in_precision * X), evaluate=False),
        step="derivative of an inverse",
        premises=["bernoulli", "inverse"],
        why="X' = −X Σ' X, and X Σ = Σ X = I.",
        check=_check_precision,
    )
    derivation.define(
        "propagator",
        "E = e^{At} and C = ∫₀ᵗ e^{Aᵀs} S e^{As} ds, through their equations and values at t = 0",
        sp.Eq(rate(E), A * E, evaluate=False),
        sp.Eq(rate(C), E.T * S * E, evaluate=False),
        sp.Eq(E_0, sp.Identity(d), evaluate=False),
        sp.Eq(C_0, sp.ZeroMatrix(d, d), evaluate=False),
    )
    derivation.conclude(
        "precision_solution",
        "The solution of the linear equation",
        sp.Eq(X, E.T.inverse() * (X_0 - C) * E.inverse(), evaluate=False),
        step="variation of constants",
        premises=["precision", "propagator"],
        why="Its derivative is the right-hand side, and at t = 0 it is X₀.",
        check=_check_precision_solution,
    )
    derivation.define("factor", "The covariance at the start, of rank at most r", sp.Eq(SIGMA_0, L * L.T))
    core = (sp.Identity(r) - L.T * C * L).inverse()
    derivation.conclude(
        "closed_form",
        "The covariance in closed form, for every rank",
        sp.Eq(Sigma, E * L * core * L.T * E.T, evaluate=False),
        step="closed form",
        premises=["bernoulli", "propagator", "factor", "precision_solution"],
        why="Its derivative is the right-hand side of the Bernoulli equation and its value at t = 0 is L Lᵀ. Where "
        "L is square and invertible it is the inverse of X.",
        check=_check_closed_form,
    )
    through_covariance = E.inverse() * Sigma * E.T.inverse()
    derivation.conclude(
        "blow_up",
        "Σ blows up exactly when I − LᵀCL becomes singular",
        sp.Eq(core, sp.Identity(r) + L.T * C * L + L.T * C * through_covariance * C * L, evaluate=False),
        step="resolvent identity",
        premises=["closed_form"],
        why="E, E⁻¹ and C are bounded on bounded intervals, so Σ is bounded as long as (I − LᵀCL)⁻¹ is, by the closed "
        "form, and the inverse as long as Σ is, by this identity. At t = 0 the matrix is I, so it becomes singular "
        "when its lowest eigenvalue first reaches zero.",
        check=_check_blow_up,
    )
    return derivation


def _covariance_derivation(name: str) -> Derivation:
    derivation = Derivation(name)
    derivation.include(reduce(SoftmaxAttention(feed_forward="affine"), Gaussian()).derivation)
    return derivation


def _values(*relations: sp.Equality) -> dict[sp.Basic, sp.Expr]:
    return {relation.lhs: relation.rhs for relation in relations}


def _vanishes(expression: sp.MatrixExpr, symmetric: Iterable[sp.MatrixSymbol] = ()) -> Iterable[sp.Expr]:
    """For numbers in place of matrices, where most errors show, and in letters, which proves it for every d and r."""
    yield from Components(1, sizes={r: 1})(expression)
    yield in_letters(expression, symmetric)


def _check_congruence(
    moments: tuple[sp.Equality, ...], root: tuple[sp.Equality, ...], result: sp.Equality
) -> Iterable[sp.Expr]:
    score, seen, *_ = root
    moved = time_derivative(seen.rhs, {Sigma: moments[1].rhs}).xreplace(_values(score))
    yield from _vanishes(moved - result.rhs.xreplace(_values(*root)), symmetric=[ROOT, Sigma])


def _check_bernoulli(
    moments: tuple[sp.Equality, ...], scalar: tuple[sp.Equality, ...], result: sp.Equality
) -> Iterable[sp.Expr]:
    yield from _vanishes((moments[1].rhs - result.rhs).xreplace(_values(*scalar)))


def _check_precision(bernoulli: sp.Equality, inverse: sp.Equality, result: sp.Equality) -> Iterable[sp.Expr]:
    moved = time_derivative(inverse.rhs, {Sigma: bernoulli.rhs})
    yield from _vanishes(moved - result.rhs.xreplace(_values(inverse)))


def _check_precision_solution(
    precision: sp.Equality, propagator: tuple[sp.Equality, ...], result: sp.Equality
) -> Iterable[sp.Expr]:
    yield from _solves(precision, propagator, result, X_0)


def _solves(
    equation: sp.Equality, propagator: tuple[sp.Equality, ...], solution: sp.Equality, start: sp.MatrixExpr
) -> Iterable[sp.Expr]:
    """The solution obeys the equation, and has the value `start` at t = 0."""
    exponential, integral, *initial = propagator
    moved = time_derivative(solution.rhs, {E: exponential.rhs, C: integral.rhs})
    yield from _vanishes(moved - equation.rhs.xreplace(_values(solution)))
    at_start = dict(zip((E, C), (relation.rhs for relation in initial), strict=True))
    yield from _vanishes(solution.rhs.xreplace(at_start) - start)


def _check_closed_form(
    bernoulli: sp.Equality,
    propagator: tuple[sp.Equality, ...],
    factor: sp.Equality,
    precision: sp.Equality,
    result: sp.Equality,
) -> Iterable[sp.Expr]:
    yield from _solves(bernoulli, propagator, result, factor.rhs)
    # With L square, X₀ = L⁻ᵀ L⁻¹: X Σ = I, once I − LᵀCL = D is solved for C.
    D, square = (sp.MatrixSymbol(name, d, d) for name in ("D", "L"))
    values = {
        X_0: square.T.inverse() * square.inverse(),
        C: square.T.inverse() * (sp.Identity(d) - D) * square.inverse(),
    }
    product = precision.rhs * result.rhs.subs(r, d)
    yield from _vanishes(product.xreplace(values) - sp.Identity(d))


def _check_blow_up(closed: sp.Equality, result: sp.Equality) -> Iterable[sp.Expr]:
    residual = (result.lhs - result.rhs).xreplace(_values(closed))
    yield from Components(1, sizes={r: 1})(residual)
    # LᵀCL = I − D, so that the inverse is D⁻¹.
    letters = [in_letters(factor) for factor in (L.T, C, L)]
    D = sp.Symbol("D", commutative=False)
    yield sp.expand(in_letters(residual).subs(sp.Mul(*letters), 1 - D))
