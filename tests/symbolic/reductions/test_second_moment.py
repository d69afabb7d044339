"""Second moments and mixtures under linear attention, and L2 attention, against the formulas of the papers."""

import numpy as np
import pytest
import sympy as sp

from numeric import integrate, load_kernel
from symbolic import Gaussian, GaussianMixture, L2Attention, LinearAttention, SecondMoment, reduce
from symbolic.components import Components


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_second_moment_of_the_paper(dimension):
    reduction = reduce(LinearAttention(), SecondMoment())
    (moment,) = reduction.equations
    score, value, beta = (parameter.symbol for parameter in reduction.parameters)
    paper = beta * (value * moment * score.T * moment + moment * score * moment * value.T)
    difference = Components(dimension, symmetric=[moment]).difference(reduction.expanded()[moment], paper)
    assert all(sp.expand(entry) == 0 for entry in difference)


@pytest.mark.parametrize("dimension", [1, 2])
def test_l2_attention_of_the_paper(dimension):
    """For invertible Σ the tilted mean is (Σ⁻¹ + 2KᵀK)⁻¹ (Σ⁻¹μ + 2KᵀQx)."""
    reduction = reduce(L2Attention(), Gaussian())
    mean, covariance = reduction.equations
    key, query, value = (parameter.symbol for parameter in reduction.parameters)
    precision = sp.Inverse(sp.Inverse(covariance) + 2 * key.T * key)
    matrix, offset = (dict(reduction.definitions)[symbol] for symbol, _ in reduction.definitions)
    components = Components(dimension, symmetric=[covariance])
    for derived, paper in (
        (matrix, value * precision * 2 * key.T * query),
        (offset, value * precision * sp.Inverse(covariance) * mean),
    ):
        assert all(sp.cancel(entry) == 0 for entry in components.difference(derived, paper))


def random_parameters(random):
    return {"A": random.normal(size=(2, 2)), "V": -random.normal(size=(2, 2)) / 2, "beta": 0.5}


def test_second_moment_of_tokens():
    """Any law: XᵀX/n of ten tokens integrated directly, against M."""
    random = np.random.default_rng(1)
    tokens, parameters = random.normal(size=(10, 2)), random_parameters(random)
    direct = integrate(load_kernel("linear_tokens"), {"X": tokens}, (0, 0.5), parameters).final["X"]
    reduced = integrate(load_kernel("second_moment"), {"M": tokens.T @ tokens / 10}, (0, 0.5), parameters).final["M"]
    # Both are integrated to 1e-10.
    np.testing.assert_allclose(direct.T @ direct / 10, reduced, atol=1e-8)


def test_a_mixture_of_one_component_is_a_gaussian():
    one = reduce(LinearAttention(), GaussianMixture(1))
    gaussian = reduce(LinearAttention(), Gaussian())
    names = {"mu": "mu_1", "Sigma": "Sigma_1"}
    for symbol, equation in gaussian.expanded().items():
        renamed = {s: sp.MatrixSymbol(names[s.name], *s.shape) for s in gaussian.equations}
        other = one.expanded()[renamed[symbol]].subs(sp.Symbol("w_1", real=True), 1)
        for dimension in (1, 2):
            difference = Components(dimension).difference(equation.xreplace(renamed), other)
            assert all(sp.expand(entry) == 0 for entry in difference)


def test_mixture_means_and_covariances_of_tokens():
    """Two clouds of tokens with weights 1/4 and 3/4 move as the two components."""
    random = np.random.default_rng(2)
    clouds = [random.normal(size=(5, 2)), random.normal(size=(15, 2)) + 1]
    parameters = random_parameters(random)
    start = {f"mu_{k}": cloud.mean(axis=0) for k, cloud in enumerate(clouds, 1)}
    start |= {f"Sigma_{k}": np.cov(cloud.T, bias=True) for k, cloud in enumerate(clouds, 1)}
    weights = {"w_1": 0.25, "w_2": 0.75}
    reduced = integrate(load_kernel("gaussian_mixture"), start, (0, 0.3), {**parameters, **weights}).final
    direct = integrate(load_kernel("linear_tokens"), {"X": np.concatenate(clouds)}, (0, 0.3), parameters).final["X"]
    for k, cloud in enumerate((direct[:5], direct[5:]), 1):
        # A linear field moves the moments of any law alike, so there is no sampling error.
        np.testing.assert_allclose(cloud.mean(axis=0), reduced[f"mu_{k}"], atol=1e-8)
        np.testing.assert_allclose(np.cov(cloud.T, bias=True), reduced[f"Sigma_{k}"], atol=1e-8)
