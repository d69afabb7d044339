"""Claims about tokens on the sphere with equal inner products."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import sympy as sp

from numeric import Kernel, compile_kernel, integrate, load_kernel
from proofs_check.claim import Claim
from proofs_check.evidence import Evidence, Refuted
from proofs_check.verdicts import agreement, verified
from symbolic import (
    AttentionField,
    Derivation,
    Equiangular,
    ExponentialAttention,
    LinearAttention,
    Reduction,
    SoftmaxAttention,
    Sphere,
    reduce,
)
from symbolic.fields import beta, x, y
from symbolic.notation import Inner, n

SCORE = beta * Inner(x, y)
FIELDS: dict[str, AttentionField] = {
    "softmax": SoftmaxAttention(score=SCORE, space=Sphere()),
    "exponential": ExponentialAttention(score=SCORE, space=Sphere()),
    "linear": LinearAttention(score=SCORE, space=Sphere()),
}
EQUATIONS = {
    "softmax": "2e^{βρ}(1−ρ)((n−1)ρ+1)/(e^β+(n−1)e^{βρ})",
    "exponential": "(2/n)e^{βρ}(1−ρ)((n−1)ρ+1)",
    "linear": "(2/n)βρ(1−ρ)((n−1)ρ+1)",
}
#: Numbers of tokens, inner products and inverse temperatures: obtuse and acute angles, attraction and repulsion.
CASES = ((2, -0.9, 1.0), (4, -0.25, 2.0), (9, 0.1, 1.5), (5, 0.4, -1.0))


def reduction(kind: str) -> Reduction:
    return reduce(FIELDS[kind], Equiangular())


def with_too_many_tokens(kind: str) -> Reduction:
    """The reduction with nρ + 1 in place of (n − 1)ρ + 1."""
    derived = reduction(kind)
    ((state, rate),) = derived.equations.items()
    return replace(derived, equations={state: rate * (n * state + 1) / ((n - 1) * state + 1)})


def derivation_with_too_many_tokens(kind: str) -> Derivation:
    wrong = with_too_many_tokens(kind)
    relation = wrong.derivation[wrong.name]
    (rate,) = wrong.equations.values()
    return wrong.derivation.with_equation(wrong.name, sp.Eq(relation.lhs, rate, evaluate=False))


def check_tokens(kind: str, kernel: Kernel, digits: int) -> Evidence:
    """All inner products of tokens integrated one by one, against the kernel's ρ."""
    tokens = load_kernel(f"{kind}_tokens_sphere")
    times = np.linspace(0.0, 2.0, 21)
    accuracy: dict[str, Any] = {"rtol": 1e-12, "atol": 1e-13, "t_eval": times}
    worst, where = 0.0, "no configuration"
    for count, product, strength in CASES:
        identity = np.eye(count)
        gram = (1 - product) * identity + product
        scores = {"B": strength * identity} if kind == "softmax" else {"A": identity, "beta": strength}
        start = {"X": np.linalg.cholesky(gram)}
        direct = integrate(tokens, start, (0, 2), {"V": identity, **scores}, **accuracy)["X"]
        reduced = integrate(kernel, {"rho": product}, (0, 2), {"beta": strength, "n": count}, **accuracy)["rho"]
        if len(reduced) != len(direct):
            return Refuted(f"the reduced orbit from ρ = {product} with n = {count} ends early")
        expected = np.where(identity == 1, 1, reduced[:, None, None])
        deviations = abs(direct @ direct.mT - expected).max(axis=(1, 2))
        if not deviations.max() <= worst:
            worst, where = (
                deviations.max(),
                f"n = {count}, ρ₀ = {product}, β = {strength}, t = {times[deviations.argmax()]:.1f}",
            )
    # Local errors of 1e-12 grow by less than 1e4, the exponential of twice the largest slope of ρ'.
    return agreement(worst, "1e-8", where, detail=f"{len(CASES)} configurations to t = 2, every pair of tokens")


def _claims(kind: str) -> tuple[Claim[Any], ...]:
    hypotheses = ("A = V = I", "⟨x_i, x_j⟩ = ρ for i ≠ j at the start")
    kernel: Callable[[], Kernel] = partial(load_kernel, f"equiangular_{kind}")
    return (
        Claim(
            id=f"equiangular.{kind}",
            statement=f"Under {kind} attention equiangular tokens stay so, with ρ' = {EQUATIONS[kind]}",
            hypotheses=hypotheses,
            source="derived here",
            check=lambda derivation, digits: verified(derivation),
            subject=lambda: reduction(kind).derivation,
            control=lambda: derivation_with_too_many_tokens(kind),
            control_statement="nρ + 1 stands in place of (n − 1)ρ + 1",
        ),
        Claim(
            id=f"equiangular.{kind}-tokens",
            statement=f"Equiangular tokens integrated one by one under {kind} attention obey the equation of ρ",
            hypotheses=hypotheses,
            source="derived here",
            check=partial(check_tokens, kind),
            subject=kernel,
            control=lambda: compile_kernel(with_too_many_tokens(kind)),
            control_statement="nρ + 1 stands in place of (n − 1)ρ + 1",
        ),
    )


CLAIMS: tuple[Claim[Any], ...] = tuple(claim for kind in FIELDS for claim in _claims(kind))
