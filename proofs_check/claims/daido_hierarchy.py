"""Claims about unnormalised weights on the circle."""

from __future__ import annotations

from typing import Any

import mpmath
import sympy as sp

from proofs_check.claim import Claim
from proofs_check.evidence import Evidence
from proofs_check.verdicts import agreement, verified
from symbolic import Derivation, ExponentialAttention, Sphere, Tokens, reduce
from symbolic.fields import beta, x, y
from symbolic.notation import Inner
from symbolic.reductions.daido_hierarchy import l as harmonic

FIELD = ExponentialAttention(score=beta * Inner(x, y), space=Sphere(2))
#: Harmonics of the coupling and inverse temperatures at which it is evaluated.
HARMONICS = range(1, 9)
STRENGTHS = (sp.Rational(-1, 2), sp.Rational(1), sp.Rational(9, 2))


def derivation() -> Derivation:
    return reduce(FIELD, Tokens()).derivation


def wrong_hierarchy() -> Derivation:
    """The hierarchy for V = I with the sign of its first product flipped."""
    derived = derivation()
    relation = derived["identity_hierarchy"]
    (total,) = relation.rhs.atoms(sp.Sum)
    first, *others = sp.Add.make_args(sp.expand(total.function))
    planted = relation.rhs.xreplace({total: sp.Sum(sp.Add(-first, *others), *total.limits)})
    return derived.with_equation("identity_hierarchy", sp.Eq(relation.lhs, planted, evaluate=False))


def check_coupling(coefficient: sp.Expr, digits: int) -> Evidence:
    """h_l against (1/π) ∫ e^{β cos φ} sin φ sin lφ dφ over a period, by the trapezoidal rule."""
    worst, where = mpmath.mpf(0), "no coefficient"
    with mpmath.workdps(digits + 10):
        function = sp.lambdify((harmonic, beta), coefficient, "mpmath")
        # The rule errs by the Fourier coefficients from I_{count − 9} on, which are below 10^{−digits}.
        count = 2 * digits + 40
        angles = [2 * mpmath.pi * i / count for i in range(count)]
        for strength in STRENGTHS:
            value = mpmath.mpf(strength.p) / strength.q
            samples = [mpmath.exp(value * mpmath.cos(angle)) * mpmath.sin(angle) for angle in angles]
            for number in HARMONICS:
                integral = 2 * mpmath.fdot(samples, [mpmath.sin(number * angle) for angle in angles]) / count
                deviation = abs(function(number, value) - integral)
                if not deviation <= worst:
                    worst, where = deviation, f"harmonic {number}, β = {strength}"
        # Evaluation and sums carry ten guard digits.
        tolerance = mpmath.mpf(10) ** (3 - digits)
        return agreement(worst, tolerance, where, detail=f"{len(HARMONICS)} harmonics at {len(STRENGTHS)} values of β")


CLAIMS: tuple[Claim[Any], ...] = (
    Claim(
        id="circle.daido-hierarchy",
        statement="Exponential attention on the circle couples every moment Z_k to all others, "
        "for V = I by Z_k' = (k/β) Σ l I_l(β) (Z_l Z_{k−l} − Z_{−l} Z_{k+l})",
        hypotheses=("A = I", "every 2×2 matrix V in the hierarchy, V = I in its short form"),
        source="derived here",
        check=lambda derived, digits: verified(derived),
        subject=derivation,
        control=wrong_hierarchy,
        control_statement="the sign of one of the two products is flipped",
    ),
    Claim(
        id="circle.exponential-coupling",
        statement="The coupling of exponential attention is e^{β cos φ} sin φ = (2/β) Σ m I_m(β) sin mφ",
        hypotheses=("A = V = I", "β ≠ 0"),
        source="derived here",
        check=check_coupling,
        subject=lambda: derivation()["bessel_coupling"].rhs,
        control=lambda: derivation()["bessel_coupling"].rhs / harmonic,
        control_statement="the factor m is left out",
    ),
)
