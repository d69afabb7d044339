"""Claims about the normal forms of the covariance equation and its solution in closed form."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import mpmath
import sympy as sp

from proofs_check.claim import Claim
from proofs_check.claims.gaussian import BLOW_UPS, REFERENCE_ERROR, BlowUpCase
from proofs_check.evidence import Evidence, Refuted
from proofs_check.verdicts import agreement, verified
from symbolic import Derivation, GaussianOrbit, SoftmaxAttention, bernoulli_solution, congruence_normal_form, reduce
from symbolic.components import Components
from symbolic.normal_forms import C
from symbolic.reductions.gaussian_factor import L, r

#: In how many steps λ_min(I − LᵀC(t)L) is followed to t = 1.
STEPS = 32


def group_form() -> Derivation:
    return reduce(SoftmaxAttention(feed_forward="affine"), GaussianOrbit()).derivation


def with_last_term_negated(derivation: Derivation, key: str) -> Derivation:
    """The derivation with the sign of the last term of an equation changed."""
    relations = derivation.equations[key].relations
    *terms, last = sp.MatAdd.make_args(relations[-1].rhs)
    wrong = sp.Eq(relations[-1].lhs, sp.MatAdd(*terms, -last), evaluate=False)
    return derivation.with_equation(key, *relations[:-1], wrong)


# The closed form


def core(derivation: Derivation) -> sp.MatrixExpr:
    """The matrix I − LᵀCL whose inverse stands in the closed form."""
    (inverse,) = derivation["closed_form"].rhs.atoms(sp.Inverse)
    return inverse.arg


def closed_form_with_wrong_sign() -> Derivation:
    """The closed form with I + LᵀCL in place of I − LᵀCL."""
    derivation = bernoulli_solution()
    relation, matrix = derivation["closed_form"], core(derivation)
    wrong = 2 * sp.Identity(matrix.rows) - matrix
    return derivation.with_equation("closed_form", sp.Eq(relation.lhs, relation.rhs.xreplace({matrix: wrong.doit()})))


def check_blow_up(case: BlowUpCase, derivation: Derivation, digits: int) -> Evidence:
    """The first t at which the lowest eigenvalue of I − LᵀC(t)L is zero, against the reference."""
    with mpmath.workdps(digits + 10):
        lowest = lowest_eigenvalue(case, core(derivation))
        times = [mpmath.mpf(i) / STEPS for i in range(STEPS + 1)]
        negative = next((time for time in times if lowest(time) < 0), None)
        if negative is None:
            return Refuted("the matrix of the closed form stays positive definite to t = 1")
        found = mpmath.findroot(lowest, (negative - mpmath.mpf(1) / STEPS, negative), solver="anderson")
        # The root is as good as the eigenvalue, which has ten guard digits; the references end at 35 digits.
        tolerance = mpmath.mpf(10) ** (3 - digits) + mpmath.mpf(REFERENCE_ERROR)
        detail = f"t* = {mpmath.nstr(found, min(digits, 35))}"
        return agreement(abs(found - mpmath.mpf(case.time)), tolerance, detail, detail=detail)


def lowest_eigenvalue(case: BlowUpCase, matrix: sp.MatrixExpr) -> Callable[[Any], Any]:
    """λ_min of the matrix, I − LᵀCL, as a function of time."""
    size, rank = len(case.factor), len(case.factor[0])
    factor = sp.Matrix(size, rank, [sp.Rational(entry) for row in case.factor for entry in row])
    components = Components(size, sizes={r: rank}, values={L: factor})
    entries = list(components.entries(C))
    function = sp.lambdify([entries], components(matrix).tolist(), "mpmath")

    def lowest(time: Any) -> Any:
        return min(mpmath.eigsy(mpmath.matrix(function(list(integral(case, time)))), eigvals_only=True))

    return lowest


def integral(case: BlowUpCase, time: Any) -> Any:
    """C(t) = ∫₀ᵗ e^{Aᵀs} S e^{As} ds, S = v(B + Bᵀ), from the exponential of one block matrix."""
    feed_forward, score = (
        mpmath.matrix([[mpmath.mpf(entry.numerator) / entry.denominator for entry in row] for row in rows])
        for rows in (case.feed_forward, case.score)
    )
    size = feed_forward.rows
    source = (score + score.T) * case.value.numerator / case.value.denominator
    blocks = mpmath.zeros(2 * size)
    blocks[:size, :size], blocks[:size, size:], blocks[size:, size:] = -feed_forward.T, source, feed_forward
    exponential = mpmath.expm(blocks * time)
    return exponential[size:, size:].T * exponential[:size, size:]


def _blow_up_claim(number: int, case: BlowUpCase) -> Claim[Derivation]:
    return Claim(
        id=f"gaussian.closed-form-blow-up-{number}",
        statement=f"I − LᵀC(t)L first becomes singular at t = {case.time}",
        hypotheses=(f"V = {case.value} I, d = {len(case.factor)}, Σ₀ = L Lᵀ of rank {len(case.factor[0])}",),
        source="[G], blow-up for V and B of the same sign",
        check=partial(check_blow_up, case),
        subject=bernoulli_solution,
        control=closed_form_with_wrong_sign,
        control_statement="the matrix is I + LᵀCL",
    )


CLAIMS: tuple[Claim[Any], ...] = (
    Claim(
        id="gaussian.group-form",
        statement="Gaussian laws move by affine maps: Σ = GΣ₀Gᵀ and μ = Gμ₀ + g with G' = WG, g' = Wg + c",
        hypotheses=("softmax attention with affine feed-forward, v(x) = Wx + c", "components proved for d = 1, 2, 3"),
        source="[G], reachability",
        check=lambda derivation, digits: verified(derivation),
        subject=group_form,
        control=lambda: with_last_term_negated(group_form(), "group_equations"),
        control_statement="the sign of c in g' is flipped",
    ),
    Claim(
        id="gaussian.congruence",
        statement="Y = B^{1/2}ΣB^{1/2} obeys Y' = ÃY + YÃᵀ + ṼY² + Y²Ṽᵀ",
        hypotheses=("B = Bᵀ ≻ 0", "Ã = B^{1/2}AB^{−1/2}, Ṽ = B^{1/2}VB^{−1/2}", "every dimension"),
        source="[G], normal forms",
        check=lambda derivation, digits: verified(derivation),
        subject=congruence_normal_form,
        control=lambda: with_last_term_negated(congruence_normal_form(), "congruence"),
        control_statement="the sign of one term of Y' is flipped",
    ),
    Claim(
        id="gaussian.closed-form",
        statement="Σ(t) = e^{At} L (I − LᵀC(t)L)⁻¹ Lᵀ e^{Aᵀt} with C(t) = ∫₀ᵗ e^{Aᵀs} S e^{As} ds, S = v(B + Bᵀ), "
        "and Σ blows up exactly when I − LᵀC(t)L becomes singular",
        hypotheses=("V = vI", "Σ₀ = LLᵀ of any rank", "every dimension"),
        source="[G], algebraic Bernoulli equation",
        check=lambda derivation, digits: verified(derivation),
        subject=bernoulli_solution,
        control=closed_form_with_wrong_sign,
        control_statement="I + LᵀCL stands in place of I − LᵀCL",
    ),
    *(_blow_up_claim(number, case) for number, case in enumerate(BLOW_UPS, 1)),
)
