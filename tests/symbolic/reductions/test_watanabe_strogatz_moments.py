"""The Möbius map of a law known by moments: against the map with all tokens, and errors planted in the series."""

import numpy as np
import pytest
import sympy as sp

from numeric import load_kernel
from symbolic import LinearAttention, MoebiusOrbit, Sphere, Tokens, WrappedCauchy, reduce
from symbolic.derivation import StepFailed

reduction = reduce(LinearAttention(space=Sphere(2)), MoebiusOrbit())
PARAMETERS = {"A": np.array([[1.0, 0.5], [-0.25, 0.75]]), "V": np.array([[0.4, 1.0], [-0.8, -0.5]]), "beta": 1.2}


def test_the_derivation_verifies_and_shares_its_equations_with_the_tokens():
    reduction.derivation.verify()
    assert reduction.equations == reduce(LinearAttention(space=Sphere(2)), Tokens(moved_by_group=True)).equations


@pytest.mark.parametrize("size", [0.0, 0.4, 0.9])
def test_moments_give_the_rates_of_the_tokens(size):
    psi = np.random.default_rng(0).uniform(0, 2 * np.pi, 30)
    alpha, eta, count = size * np.exp(0.3j), 0.7, 400
    moments = np.exp(1j * np.outer(np.arange(1, count + 1), psi)).mean(axis=1)
    expected = load_kernel("watanabe_strogatz").rhs(alpha, eta, *PARAMETERS.values(), psi)
    found = load_kernel("watanabe_strogatz_moments").rhs(alpha, eta, *PARAMETERS.values(), moments.real, moments.imag)
    # 0.9^400 is 5e-19.
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_without_moments_it_is_ott_antonsen():
    order = 0.3 + 0.4j
    zeros = np.zeros(5)
    found, _ = load_kernel("watanabe_strogatz_moments").rhs(order, 0.2, *PARAMETERS.values(), zeros, zeros)
    assert found == pytest.approx(load_kernel("ott_antonsen").rhs(order, *PARAMETERS.values())[0], rel=1e-14)
    assert reduce(LinearAttention(space=Sphere(2)), WrappedCauchy()).name == "ott_antonsen"


def test_kernels_broadcast_over_leading_axes():
    rng = np.random.default_rng(1)
    alpha, eta = 0.3 * np.exp(1j * rng.random((4, 3))), rng.random((4, 3))
    c, s = rng.random((2, 3, 6)) / 10
    kernel = load_kernel("watanabe_strogatz_moments")
    together = kernel.rhs(alpha, eta, *PARAMETERS.values(), c, s)
    for i, j in np.ndindex(4, 3):
        alone = kernel.rhs(alpha[i, j], eta[i, j], *PARAMETERS.values(), c[j], s[j])
        np.testing.assert_allclose([rate[i, j] for rate in together], alone, rtol=1e-13)


def test_a_sign_in_the_series_is_found():
    expansion, rest = reduction.derivation["geometric_series"]
    planted = reduction.derivation.with_equation("geometric_series", expansion, sp.Eq(rest.lhs, -rest.rhs))
    with pytest.raises(StepFailed, match="geometric series"):
        planted.verify()


def test_a_conjugate_left_out_of_the_order_parameter_is_found():
    order = reduction.derivation["order_parameter_of_moments"]
    alpha = reduction.state[0].symbol
    wrong = order.rhs.xreplace({sp.conjugate(alpha): alpha})
    planted = reduction.derivation.with_equation("order_parameter_of_moments", sp.Eq(order.lhs, wrong))
    with pytest.raises(StepFailed, match="mean of the series"):
        planted.verify()
