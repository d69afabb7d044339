"""Claims about what the Ott–Antonsen equation conserves, for which parameters, and about equilibria in closed form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sympy as sp

from proofs_check.claim import Claim
from proofs_check.evidence import Evidence, Exact, Refuted
from proofs_check.verdicts import vanishing, verified
from symbolic import (
    Derivation,
    Gaussian,
    LinearAttention,
    Reduction,
    SoftmaxAttention,
    Sphere,
    WrappedCauchy,
    equilibria,
    find_invariants,
    reduce,
    saddle_nodes,
    specialise,
)
from symbolic.invariants.planar import gap, planar_field, x, y

SOURCE = "derived here from [L], Ott–Antonsen reduction"


def circle() -> Reduction:
    return reduce(LinearAttention(space=Sphere(2)), WrappedCauchy())


# Entries of A and V: τ half the trace, ω the rotation, δ and σ the traceless symmetric part; c a real factor.
tau, omega, delta, sigma = sp.symbols("tau omega delta sigma", real=True)
tau_V, omega_V, delta_V, sigma_V = sp.symbols("tau_V omega_V delta_V sigma_V", real=True)
c = sp.Symbol("c", real=True)
exponent = sp.Symbol("k", real=True)
ROTATION = sp.Matrix([[0, -1], [1, 0]])


def matrix(tau: Any = 0, omega: Any = 0, delta: Any = 0, sigma: Any = 0) -> sp.ImmutableMatrix:
    return sp.ImmutableMatrix([[tau + delta, sigma - omega], [sigma + omega, tau - delta]])


@dataclass(frozen=True)
class Weight:
    """The weight (1 − |R|²)^{−k} for a family of matrices A and V."""

    score: sp.MatrixBase
    value: sp.MatrixBase
    exponent: sp.Expr

    def values(self, general: Reduction) -> dict[sp.Basic, sp.MatrixBase]:
        score, value, _ = (parameter.symbol for parameter in general.parameters)
        return {score: self.score, value: self.value}


FREE = matrix(tau, omega, delta, sigma)
FAMILIES: Mapping[str, Weight] = {
    "symmetric-traceless": Weight(matrix(tau, 0, delta, sigma), matrix(0, omega_V, delta_V, sigma_V), sp.Integer(3)),
    "rotated-transpose": Weight(FREE, c * ROTATION * FREE.T, sp.Integer(3)),
    "scalar-value": Weight(matrix(0, omega, delta, sigma), c * sp.eye(2), sp.Integer(1)),
    "rotation-score": Weight(omega * ROTATION, matrix(tau_V, 0, delta_V, sigma_V), sp.Integer(1)),
}


def check_weight(weight: Weight, digits: int) -> Evidence:
    """The divergence of the weighted field over the weight, times 1 − |R|², for free parameters."""
    general = circle()
    first, second = planar_field(specialise(general, weight.values(general)))
    weighted = 2 * weight.exponent * (x * first + y * second)
    return vanishing([gap * (first.diff(x) + second.diff(y)) + weighted], detail="for free parameters")


def check_complete(stated: Mapping[str, Weight], digits: int) -> Evidence:
    """The families found by exhaustive case distinction against those stated, each within one of the others."""
    general = circle()
    found = find_invariants(general)
    for family in found:
        if not any(_within(stated_family.values(general), family.conditions) for stated_family in stated.values()):
            score, value = (family.values[symbol].tolist() for symbol in _matrices(general))
            return Refuted(f"A = {score}, V = {value} has the weight with k = {family.exponent} and is in none of them")
    for name, weight in stated.items():
        if not any(_within(weight.values(general), family.conditions) for family in found):
            return Refuted(f"the family {name} was not found")
    identities = sum(len(family.conditions) for family in found)
    return Exact(identities, detail=f"{len(found)} families, by case distinction over all real A, V, k")


def _matrices(general: Reduction) -> tuple[sp.MatrixSymbol, sp.MatrixSymbol]:
    score, value, _ = (parameter.symbol for parameter in general.parameters)
    return score, value


def _within(values: Mapping[sp.Basic, sp.MatrixBase], conditions: tuple[sp.Expr, ...]) -> bool:
    """Whether every member of a family satisfies conditions on τ, ω, δ, σ of its matrices."""
    numbers: dict[sp.Symbol, sp.Expr] = {}
    for symbol, entries in values.items():
        parts = {
            "tau": (entries[0, 0] + entries[1, 1]) / 2,
            "omega": (entries[1, 0] - entries[0, 1]) / 2,
            "delta": (entries[0, 0] - entries[1, 1]) / 2,
            "sigma": (entries[1, 0] + entries[0, 1]) / 2,
        }
        numbers |= {sp.Symbol(f"{name}_{symbol.name}", real=True): part for name, part in parts.items()}
    return all(sp.expand(condition.subs(numbers, simultaneous=True)) == 0 for condition in conditions)


# Equilibria


def case_4() -> Reduction:
    v, w = sp.symbols("v w", positive=True)
    general = circle()
    return specialise(general, Weight(sp.eye(2), sp.Matrix([[v, w], [-w, -v]]), sp.Integer(3)).values(general))


def centre(sign: int) -> Derivation:
    """The derivation of the centre of Case 4, its place y* multiplied by a sign."""
    (found,) = equilibria(case_4())
    relations = (
        sp.Eq(relation.lhs, sign * relation.rhs, evaluate=False) for relation in found.derivation["equilibrium"]
    )
    return found.derivation.with_equation("equilibrium", *relations)


def fold(factor: int) -> Derivation:
    """The derivation of the saddle-node of Case 4, put at v = factor · w."""
    (found,) = saddle_nodes(case_4())
    condition, place = found.derivation["fold"]
    moved = sp.Eq(condition.lhs, factor * condition.rhs, evaluate=False)
    return found.derivation.with_equation("fold", moved, place)


def bernoulli(sign: int) -> Derivation:
    """The derivation of the Bernoulli equilibrium, S multiplied by a sign in AᵀX + XA = −S."""
    (found,) = equilibria(reduce(SoftmaxAttention(feed_forward="affine"), Gaussian()))
    relation = found.derivation["lyapunov"]
    return found.derivation.with_equation("lyapunov", sp.Eq(relation.lhs, sign * relation.rhs, evaluate=False))


def check_derivation(derivation: Derivation, digits: int) -> Evidence:
    return verified(derivation)


def _weight_claim(
    name: str, hypotheses: tuple[str, ...], source: str, control: Weight, control_statement: str
) -> Claim[Weight]:
    weight = FAMILIES[name]
    return Claim(
        id=f"invariants.{name}",
        statement=f"(1 − |R|²)^(−{weight.exponent}) is an integrating factor of the Ott–Antonsen equation",
        hypotheses=hypotheses,
        source=source,
        check=check_weight,
        subject=lambda: weight,
        control=lambda: control,
        control_statement=control_statement,
    )


CLAIMS: tuple[Claim[Any], ...] = (
    _weight_claim(
        "symmetric-traceless",
        ("A symmetric", "tr V = 0"),
        SOURCE,
        Weight(FREE, matrix(0, omega_V, delta_V, sigma_V), sp.Integer(3)),
        "A is not symmetric",
    ),
    _weight_claim(
        "rotated-transpose",
        ("V = cJAᵀ, J the rotation by π/2", "every A"),
        SOURCE,
        Weight(FREE, c * ROTATION * FREE, sp.Integer(3)),
        "A is not transposed",
    ),
    _weight_claim(
        "scalar-value",
        ("V = cI", "tr A = 0"),
        SOURCE,
        Weight(FREE, c * sp.eye(2), sp.Integer(1)),
        "A has a trace",
    ),
    _weight_claim(
        "rotation-score",
        ("A = ωJ, J the rotation by π/2", "V symmetric"),
        SOURCE,
        Weight(omega * ROTATION, matrix(tau_V, omega_V, delta_V, sigma_V), sp.Integer(1)),
        "V is not symmetric",
    ),
    Claim(
        id="invariants.rotations",
        statement="(1 − |R|²)^(−k) is an integrating factor of the Ott–Antonsen equation for every k",
        hypotheses=("A = τI + ωJ, J the rotation by π/2", "V = cJAᵀ"),
        source=SOURCE,
        check=check_weight,
        subject=lambda: Weight(matrix(tau, omega), c * ROTATION * matrix(tau, omega).T, exponent),
        control=lambda: Weight(matrix(tau, omega, delta), c * ROTATION * matrix(tau, omega, delta).T, exponent),
        control_statement="A does not commute with rotations",
    ),
    Claim(
        id="invariants.complete",
        statement="The Ott–Antonsen equation has an integrating factor (1 − |R|²)^(−k), with some real k, exactly when "
        "A is symmetric and tr V = 0 (k = 3), or V and JAᵀ are linearly dependent (k = 3), or V = cI and tr A = 0 "
        "(k = 1), or A = ωJ and V is symmetric (k = 1)",
        hypotheses=("J the rotation by π/2", "every real A, V"),
        source=SOURCE,
        check=check_complete,
        subject=lambda: FAMILIES,
        control=lambda: {name: family for name, family in FAMILIES.items() if name != "rotated-transpose"},
        control_statement="the second family is left out",
    ),
    Claim(
        id="equilibria.case-4-centre",
        statement="R = iy* with y* = −tanh(artanh(v/w)/3) is an equilibrium of Case 4, a centre of the linearisation",
        hypotheses=("A = I", "V = [[v, w], [−w, −v]], 0 < v < w"),
        source="[L], Case 4",
        check=check_derivation,
        subject=lambda: centre(1),
        control=lambda: centre(-1),
        control_statement="the sign of y* is flipped",
    ),
    Claim(
        id="equilibria.case-4-saddle-node",
        statement="Two equilibria of Case 4 on |R| = 1 meet in a saddle-node at R = −i when v = w",
        hypotheses=("A = I", "V = [[v, w], [−w, −v]], v, w > 0"),
        source="[L], Case 4",
        check=check_derivation,
        subject=lambda: fold(1),
        control=lambda: fold(2),
        control_statement="it is put at v = 2w",
    ),
    Claim(
        id="equilibria.bernoulli",
        statement="An invertible equilibrium covariance is X⁻¹ with AᵀX + XA = −S, S = c(B + Bᵀ)",
        hypotheses=("V = cI", "components proved for d = 1, 2, 3"),
        source="[G], algebraic Bernoulli equation",
        check=check_derivation,
        subject=lambda: bernoulli(1),
        control=lambda: bernoulli(-1),
        control_statement="the sign of S is flipped",
    ),
)
