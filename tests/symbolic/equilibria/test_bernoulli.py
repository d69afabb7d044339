"""The Bernoulli equilibrium of Gaussian laws at V = cI, against scipy's Lyapunov solver and integration."""

import numpy as np
import pytest
import scipy.linalg
import sympy as sp

from numeric import integrate, load_kernel
from symbolic import Gaussian, SoftmaxAttention, StepFailed, equilibria, reduce

(equilibrium,) = equilibria(reduce(SoftmaxAttention(feed_forward="affine"), Gaussian()))
FEED_FORWARD = np.array([[1.0, 0.5], [-0.25, 0.75]])
SCORE = np.array([[1.0, 0.5], [0.0, 2.0]])


def test_derivation_verifies_and_wrong_signs_do_not():
    derivation = equilibrium.derivation
    for step in list(derivation.steps)[-4:]:
        derivation.verify_step(step)
    for key, step in (
        ("bernoulli", "scalar value matrix"),
        ("precision_equation", "derivative of an inverse"),
        ("linearisation", "linearisation"),
    ):
        relation = derivation[key]
        for i, term in enumerate(relation.rhs.args):
            others = [*relation.rhs.args[:i], *relation.rhs.args[i + 1 :]]
            wrong = sp.Eq(relation.lhs, relation.rhs.func(-term, *others), evaluate=False)
            with pytest.raises(StepFailed, match=step):
                derivation.with_equation(key, wrong).verify_step(step)
    lyapunov = derivation["lyapunov"]
    wrong = sp.Eq(lyapunov.lhs, -lyapunov.rhs, evaluate=False)
    with pytest.raises(StepFailed, match="equilibrium"):
        derivation.with_equation("lyapunov", wrong).verify_step("equilibrium")


def test_orbits_converge_to_it_when_the_feed_forward_matrix_is_antistable():
    """V = −I, B_s ≻ 0, A antistable: Σ → X⁻¹ with AᵀX + XA = 2B_s, from scipy's solver."""
    precision = scipy.linalg.solve_continuous_lyapunov(FEED_FORWARD.T, SCORE + SCORE.T)
    assert np.linalg.eigvalsh(precision).min() > 0
    parameters = {"A": FEED_FORWARD, "B": SCORE, "V": -np.eye(2), "b": [0.0, 0.0]}
    start = {"mu": [0.0, 0.0], "Sigma": [[0.2, 0.1], [0.1, 0.3]]}
    end = integrate(load_kernel("gaussian_moments"), start, (0, 30), parameters, rtol=1e-11, atol=1e-12)
    # Deviations decay at twice the smallest real part, 0.875: below 1e-20 after 30 units of time.
    assert abs(end["Sigma"][-1] - np.linalg.inv(precision)).max() < 1e-8


def test_the_rates_of_decay_are_sums_of_eigenvalues():
    """ΔX' = −(AᵀΔX + ΔXA) as a 4 × 4 matrix: eigenvalues −(λᵢ + λⱼ), all negative iff A is antistable."""
    identity = np.eye(2)
    operator = -(np.kron(identity, FEED_FORWARD.T) + np.kron(FEED_FORWARD.T, identity))
    eigenvalues = np.linalg.eigvals(FEED_FORWARD)
    sums = [-(first + second) for first in eigenvalues for second in eigenvalues]
    assert np.allclose(np.poly(operator), np.poly(sums))
    assert str(equilibrium.stable_if) == "SmallestRealPart(A) > 0"
