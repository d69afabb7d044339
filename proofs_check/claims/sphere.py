"""Claims about linear attention on the sphere, and how the circle is its case d = 2."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import mpmath
import numpy as np
import sympy as sp

from numeric import Kernel, compile_kernel, integrate, load_kernel
from numeric.exact import to_real
from proofs_check.claim import Claim
from proofs_check.evidence import Evidence
from proofs_check.verdicts import agreement, verified
from symbolic import (
    AngularCentralGaussian,
    Derivation,
    LinearAttention,
    MoebiusOrbit,
    Reduction,
    Sphere,
    Tokens,
    reduce,
)

ANY, CIRCLE = LinearAttention(space=Sphere()), LinearAttention(space=Sphere(2))
GROUP = Tokens(moved_by_group=True)


# The projective reduction against the tokens


def with_score_transposed() -> Kernel:
    """The projective kernel with U = βVMA in place of U = βVMAᵀ."""
    reduction = reduce(ANY, GROUP)
    *others, (matrix, value), balanced = reduction.definitions
    transposed = matrix, value.replace(sp.Transpose, lambda a: a)
    return compile_kernel(replace(reduction, definitions=(*others, transposed, balanced)))


def check_tokens(kernel: Kernel, digits: int) -> Evidence:
    """Forty tokens in five dimensions, each integrated in the attention field, against one 5 × 5 matrix."""
    rng = np.random.default_rng(0)
    tokens = rng.normal(size=(40, 5))
    tokens /= np.linalg.norm(tokens, axis=-1, keepdims=True)
    parameters = {"A": rng.normal(size=(5, 5)), "V": rng.normal(size=(5, 5)), "beta": 1.0}
    times = np.linspace(0.0, 3.0, 31)
    options: dict[str, Any] = {"rtol": 1e-13, "atol": 1e-14, "t_eval": times}
    # Without the route through their group, which would be the reduction again.
    field = load_kernel("linear_tokens_sphere")
    direct = integrate(field, {"X": tokens}, (0, 3), parameters, exact=False, **options)["X"]
    start, with_tokens = {"G": np.eye(5)}, {**parameters, "X0": tokens}
    moved = tokens @ integrate(kernel, start, (0, 3), with_tokens, **options)["G"].mT
    moved /= np.linalg.norm(moved, axis=-1, keepdims=True)
    deviations = np.abs(moved - direct).max(axis=(-2, -1))
    travelled = np.abs(direct - tokens).max()
    # Local errors of 1e-13 grow by at most a few hundred until t = 3.
    detail = f"40 tokens to t = 3, which move by up to {travelled:.2f}"
    return agreement(deviations.max(), "1e-10", f"t = {times[deviations.argmax()]:.1f}", detail=detail)


# The scale of G

TRIPLES = ((1, 2, 2, 3), (2, 3, 6, 7), (4, 4, 7, 9), (1, 4, 8, 9), (-6, 2, 3, 7), (2, -1, 2, 3))
MATRICES = {
    "A": [["1", "1/2", "0"], ["-1/4", "3/4", "1"], ["1/3", "0", "-1/2"]],
    "V": [["2/5", "1", "-1"], ["-4/5", "-1/2", "1/4"], ["1", "0", "3/5"]],
    "beta": "1",
}


def with_stretching() -> Kernel:
    """The projective kernel with W = U."""
    reduction = reduce(ANY, GROUP)
    *others, (given, value), (matrix, _) = reduction.definitions
    return compile_kernel(replace(reduction, definitions=(*others, (given, value), (matrix, given))), "mpmath")


def check_scale(kernel: Kernel, digits: int) -> Evidence:
    """The mean of log |G x_k(0)| of six tokens, which is zero at the start."""
    tokens = [[Fraction(entry, length) for entry in entries] for *entries, length in TRIPLES]
    start = {"G": np.eye(3, dtype=int)}
    trajectory = integrate(kernel, start, (0, 3), {**MATRICES, "X0": tokens}, digits=digits)
    with mpmath.workdps(digits + 10):
        points = mpmath.matrix([list(map(to_real, token)) for token in tokens])
        means = []
        for group in trajectory["G"]:
            moved = points * mpmath.matrix(group.tolist()).T
            means.append(sum(mpmath.log(mpmath.norm(moved[k, :])) for k in range(moved.rows)) / moved.rows)
        worst = max(range(len(means)), key=lambda k: abs(means[k]))
        where = f"t = {mpmath.nstr(trajectory.times[worst], 3)}"
        # G is right to the digits asked, relative to its largest entry; a |G x_k(0)| may be some times smaller.
        return agreement(abs(means[worst]), mpmath.mpf(10) ** (2 - digits), where, detail="6 tokens to t = 3")


# Cross-ratios


PHASES = ("0", "1/2", "3/2", "5/2", "18/5", "5")
PARAMETERS = {"A": [["1", "1/2"], ["-1/4", "3/4"]], "V": [["2/5", "1"], ["-4/5", "-1/2"]], "beta": "1"}


def with_second_harmonic() -> Kernel:
    """The equations of the doubled angles with Ξ' larger by sin(2Ξ)/1000."""
    reduction = reduce(CIRCLE, Tokens())
    ((angles, velocity),) = reduction.equations.items()
    cosines, sines = (next(symbol for symbol, _ in reduction.definitions if symbol.name == name) for name in "CS")
    planted = velocity + sp.HadamardProduct(cosines, sines) / 500
    return compile_kernel(replace(reduction, equations={angles: planted}), "mpmath")


def check_cross_ratios(kernel: Kernel, digits: int) -> Evidence:
    """(e₁ − e₃)(e₂ − e₄)/((e₁ − e₄)(e₂ − e₃)) for every four of six tokens, relative to its value at the start."""
    trajectory = integrate(kernel, {"Xi": list(PHASES)}, (0, 2), PARAMETERS, digits=digits)
    with mpmath.workdps(digits + 10):
        before, after = (_cross_ratios(angles) for angles in (trajectory["Xi"][0], trajectory["Xi"][-1]))
        drifts = {four: abs(after[four] / before[four] - 1) for four in before}
        worst = max(drifts, key=lambda four: drifts[four])
        where = f"tokens {', '.join(str(token + 1) for token in worst)} at t = 2"
        # Angles are right to the digits asked; differences of tokens lose a few of them.
        return agreement(drifts[worst], mpmath.mpf(10) ** (5 - digits), where, detail=f"{len(drifts)} cross-ratios")


def _cross_ratios(angles: Any) -> dict[tuple[int, ...], Any]:
    waves = [mpmath.expj(angle) for angle in angles]
    ratios: dict[tuple[int, ...], Any] = {}
    for four in combinations(range(len(waves)), 4):
        e1, e2, e3, e4 = (waves[token] for token in four)
        ratios[four] = (e1 - e3) * (e2 - e4) / ((e1 - e4) * (e2 - e3))
    return ratios


# Symbolic identities


def planted(reduction: Reduction, key: str, place: int, value: sp.Expr) -> Derivation:
    """The derivation with the right-hand side of one relation of an equation replaced."""
    relations = list(reduction.derivation.equations[key].relations)
    relations[place] = sp.Eq(relations[place].lhs, value, evaluate=False)
    return reduction.derivation.with_equation(key, *relations)


def covariance_without_transpose() -> Derivation:
    reduction = reduce(ANY, AngularCentralGaussian())
    wrong = reduction.derivation["covariance"].rhs.replace(sp.Transpose, lambda matrix: matrix)
    return planted(reduction, "covariance", 0, wrong)


def coefficients_not_conjugated() -> Derivation:
    reduction = reduce(CIRCLE, GROUP)
    gamma0, gamma1 = sp.symbols("gamma0 gamma1", complex=True)
    return planted(reduction, "projective_equality", 0, gamma1 / gamma0)


def moments_without_conjugate() -> Derivation:
    reduction = reduce(CIRCLE, MoebiusOrbit())
    alpha = sp.Symbol("alpha", complex=True)
    right = reduction.derivation["order_parameter_of_moments"].rhs
    return planted(reduction, "order_parameter_of_moments", 0, right.xreplace({sp.conjugate(alpha): alpha}))


def ott_antonsen_with_wrong_sign() -> Derivation:
    reduction = reduce(CIRCLE, AngularCentralGaussian())
    R, Q = sp.symbols("R Q", complex=True)
    right = reduction.derivation["ott_antonsen"].rhs
    return planted(reduction, "ott_antonsen", 0, right + sp.Symbol("beta", real=True) * sp.conjugate(Q) * R**2)


CLAIMS: tuple[Claim[Any], ...] = (
    Claim(
        id="sphere.projective-tokens",
        statement="One matrix, G' = W G, moves all tokens on the sphere: x_k(t) = G x_k(0)/|G x_k(0)|",
        hypotheses=("d = 5, n = 40", "A and V random"),
        source="[L], higher dimensions, called open there",
        check=check_tokens,
        subject=lambda: load_kernel("projective"),
        control=with_score_transposed,
        control_statement="A stands for Aᵀ in W",
    ),
    Claim(
        id="sphere.scale",
        statement="The geometric mean of the |G x_k(0)| is conserved, so that G comes to rest with the tokens",
        hypotheses=("d = 3, n = 6", "tr(M W) = 0, which a multiple of the identity in W provides"),
        source="the derivation of the projective reduction",
        check=check_scale,
        subject=lambda: load_kernel("projective", "mpmath"),
        control=with_stretching,
        control_statement="W is βVMAᵀ",
    ),
    Claim(
        id="sphere.cross-ratios",
        statement="The cross-ratios of the tokens e^{iΞ} on the circle are conserved",
        hypotheses=("d = 2, n = 6", "tokens move by the attention field itself"),
        source="[L], Watanabe–Strogatz reduction",
        check=check_cross_ratios,
        subject=lambda: load_kernel("kuramoto_daido", "mpmath"),
        control=with_second_harmonic,
        control_statement="sin(2Ξ)/1000 is added to Ξ'",
    ),
    Claim(
        id="sphere.watanabe-strogatz",
        statement="At d = 2 the projective reduction is the Watanabe–Strogatz one, α = γ₁/γ̄₀ and e^{iη} = γ₀/γ̄₀",
        hypotheses=("G z = γ₀z + γ₁z̄", "det G > 0"),
        source="[L], Watanabe–Strogatz reduction",
        check=lambda derivation, digits: verified(derivation),
        subject=lambda: reduce(CIRCLE, GROUP).derivation,
        control=coefficients_not_conjugated,
        control_statement="α is γ₁/γ₀",
    ),
    Claim(
        id="sphere.moments",
        statement="On the circle R = α + (1 − |α|²) Σ_{k=1..K} (−ᾱ)^{k−1} e^{ikη} ⟨w^k⟩, up to the mean of a remainder "
        "of modulus at most (1 + |α|)|α|^K",
        hypotheses=("|w| = 1, |α| < 1", "the mean of the series compared for K = 1, 2, 3"),
        source="[L], Watanabe–Strogatz reduction",
        check=lambda derivation, digits: verified(derivation),
        subject=lambda: reduce(CIRCLE, MoebiusOrbit()).derivation,
        control=moments_without_conjugate,
        control_statement="α stands for ᾱ",
    ),
    Claim(
        id="sphere.angular-central-gaussian",
        statement="Angular central Gaussian laws are kept, with Σ' = WΣ + ΣWᵀ",
        hypotheses=("any d; continuity equation proved for d = 2, 3",),
        source="[L], higher dimensions, called open there",
        check=lambda derivation, digits: verified(derivation),
        subject=lambda: reduce(ANY, AngularCentralGaussian()).derivation,
        control=covariance_without_transpose,
        control_statement="W stands for Wᵀ in Σ'",
    ),
    Claim(
        id="sphere.ott-antonsen",
        statement="At d = 2 the order parameter R = (√λ₁ − √λ₂)/(√λ₁ + √λ₂) e^{2iψ} of an angular central Gaussian "
        "law obeys the Ott–Antonsen equation",
        hypotheses=("λ the eigenvalues of Σ, ψ the angle of the first eigenvector",),
        source="[L], Ott–Antonsen reduction",
        check=lambda derivation, digits: verified(derivation),
        subject=lambda: reduce(CIRCLE, AngularCentralGaussian()).derivation,
        control=ott_antonsen_with_wrong_sign,
        control_statement="the sign of Q̄R² is flipped",
    ),
)
