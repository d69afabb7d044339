"""Second moments of angular central Gaussian laws: closed forms, other libraries, adaptive quadrature, symmetries."""

import json
from pathlib import Path

import mpmath
import numpy as np
import pytest
from scipy.special import elliprd

from numeric import compile_kernel, integrate, load_kernel
from numeric.angular_central import second_moment, second_moment_mpmath, second_moment_of_factor, second_moments
from numeric.outcome import Finished
from symbolic import AngularCentralGaussian, LinearAttention, Sphere, reduce

REFERENCES = json.loads((Path(__file__).parents[1] / "data" / "values.json").read_text())["acg_second_moments"]

#: What the module promises, relative to every single eigenvalue, for dimensions up to 100.
PROMISED = 2e-14


def spread(d, condition, seed=0):
    """Eigenvalues at equal ratios, in random order."""
    return np.random.default_rng(seed).permutation(np.geomspace(1 / condition, 1, d))


def by_adaptive_quadrature(eigenvalues, index):
    """½ ∫ λ/(1 + σλ) Π (1 + σλ_j)^{−1/2} dσ with σ = e^u, Gauss–Legendre with 40 digits on unit intervals of u."""
    with mpmath.workdps(40):
        values = [mpmath.mpf(float(value)) for value in eigenvalues]

        def integrand(u):
            sigma = mpmath.exp(u)
            root = mpmath.sqrt(mpmath.fprod(1 + sigma * value for value in values))
            return sigma * values[index] / (1 + sigma * values[index]) / root

        # f decays like e^u on the left; on the right like σ^{−d/2}, from 1/λ_min on.
        end = int(-mpmath.log(min(values))) + 100 // len(values) + 8
        return mpmath.quad(integrand, range(-60, end, 4)) / 2


@pytest.mark.parametrize("condition", [1, 1e6, 1e12, 1e60])
def test_the_plane_is_a_quotient_of_roots(condition):
    eigenvalues = np.array([1.0, 1 / condition])
    roots = np.sqrt(eigenvalues)
    np.testing.assert_allclose(second_moments(eigenvalues), roots / roots.sum(), rtol=PROMISED)


@pytest.mark.parametrize("condition", [1, 1e3, 1e6, 1e12])
def test_three_dimensions_are_carlson_integrals(condition):
    """M_ii = ⅓ (λ₁λ₂λ₃)^{−1/2} R_D(1/λ_j, 1/λ_k; 1/λ_i)."""
    values = spread(3, condition)
    pairs = [(np.delete(1 / values, i), 1 / values[i]) for i in range(3)]
    expected = [elliprd(*others, own) / 3 / np.sqrt(values.prod()) for others, own in pairs]
    np.testing.assert_allclose(second_moments(values), expected, rtol=PROMISED)


@pytest.mark.parametrize("reference", REFERENCES, ids=lambda reference: f"d={len(reference['M'])}")
def test_reference_values(reference):
    eigenvalues = [float(mpmath.mpmathify(value)) for value in reference["eigenvalues"]]
    np.testing.assert_allclose(second_moments(eigenvalues), np.array(reference["M"], dtype=float), rtol=PROMISED)


@pytest.mark.parametrize("condition", [1, 1e6, 1e12])
@pytest.mark.parametrize("d", [5, 10, 100])
def test_adaptive_quadrature_with_forty_digits(d, condition):
    values = spread(d, condition)
    found = second_moments(values)
    for index in {int(values.argmin()), int(values.argmax())}:
        assert abs(found[index] / float(by_adaptive_quadrature(values, index)) - 1) < PROMISED


@pytest.mark.parametrize("d", [1, 2, 7, 300])
def test_equal_eigenvalues(d):
    np.testing.assert_allclose(second_moments(np.full(d, 3.0)), 1 / d, rtol=PROMISED)


def test_symmetries():
    values = spread(9, 1e8)
    found = second_moments(values)
    order = np.random.default_rng(1).permutation(9)
    np.testing.assert_allclose(second_moments(values[order]), found[order], rtol=1e-15 * 9)
    for scale in (1e-30, 7.0, 1e30):
        np.testing.assert_allclose(second_moments(scale * values), found, rtol=1e-14)
    assert abs(found.sum() - 1) < PROMISED


def test_leading_axes():
    values = np.stack([spread(4, 10.0**k, seed=k) for k in range(6)]).reshape(2, 3, 4)
    found = second_moments(values)
    for place in np.ndindex(2, 3):
        # The nodes reach as far as the worst of them needs.
        np.testing.assert_allclose(found[place], second_moments(values[place]), rtol=1e-14)


def test_directions_without_variance_leave_the_law_of_the_others():
    values = spread(4, 1e5)
    found = second_moments(np.concatenate([values[:2], [0.0], values[2:], [0.0]]))
    assert found[2] == found[5] == 0
    np.testing.assert_allclose(np.delete(found, [2, 5]), second_moments(values), rtol=PROMISED)
    assert second_moments([0.0, 2.0])[1] == pytest.approx(1, rel=PROMISED)


def test_no_law_is_nan():
    found = second_moments([[0.0, 0.0], [1.0, 1.0], [np.nan, 1.0]])
    assert np.isnan(found[[0, 2]]).all()
    np.testing.assert_allclose(found[1], 0.5, rtol=PROMISED)


def test_a_factor_keeps_small_moments_that_its_square_loses():
    """Σ = L Lᵀ with condition number 1e20: singular values still have ten digits or more below 1e−10."""
    rng = np.random.default_rng(2)
    basis = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    singular = np.geomspace(1e-10, 1, 5)
    L = basis * singular @ np.linalg.qr(rng.normal(size=(5, 5)))[0]
    expected = second_moments(singular**2)
    found = np.diag(basis.T @ second_moment_of_factor(L) @ basis)
    np.testing.assert_allclose(found, expected, atol=1e-15 * 5, rtol=1e-12)
    singular = np.linalg.svd(L, compute_uv=False)[::-1]
    # ε |L| over the smallest singular value.
    np.testing.assert_allclose(second_moments(singular**2), expected, rtol=1e-5)
    assert abs(second_moment(L @ L.T) - second_moment_of_factor(L)).max() < 1e-7  # √ε


def test_rotations_turn_the_moment():
    rng = np.random.default_rng(3)
    L, rotation = rng.normal(size=(6, 3)), np.linalg.qr(rng.normal(size=(6, 6)))[0]
    found = second_moment_of_factor(rotation @ L)
    np.testing.assert_allclose(found, rotation @ second_moment_of_factor(L) @ rotation.T, atol=1e-14)
    assert np.linalg.matrix_rank(found) == 3
    np.testing.assert_array_equal(found, found.T)


@pytest.mark.parametrize("function", [second_moment, second_moment_of_factor])
def test_what_is_not_finite_gives_nan_and_disturbs_nothing_else(function, capfd):
    good = np.diag([1.0, 3.0])
    found = function([good, np.diag([np.inf, 1.0]), np.full((2, 2), np.nan), np.zeros((2, 2))])
    np.testing.assert_array_equal(found[0], function(good))
    assert np.isnan(found[1:]).all()
    assert capfd.readouterr() == ("", "")  # from LAPACK


def test_any_precision():
    values = spread(3, 1e6)
    with mpmath.workdps(40):
        found = second_moment_mpmath(np.array(mpmath.diag(values.tolist()).tolist(), dtype=object))
        for index in range(3):
            own, others = 1 / mpmath.mpf(values[index]), [1 / mpmath.mpf(v) for v in np.delete(values, index)]
            expected = mpmath.sqrt(mpmath.fprod([own, *others])) * mpmath.elliprd(*others, own) / 3
            # Eigenvalues with 40 digits of the largest, here with 34 of the smallest.
            assert abs(found[index, index] / expected - 1) < 1e-32


PARAMETERS = {"A": [[1.0, 0.4], [-0.2, 0.7]], "V": [[0.3, 1.0], [-0.9, -0.4]], "beta": 1.1}
TIGHT = {"rtol": 1e-12, "atol": 1e-14}
FACTORS = [("angular_central_gaussian_factor", d) for d in (2, 3, 20)]


def test_the_general_kernels_are_the_one_of_the_circle_in_the_plane():
    L = np.array([[1.0, 0.2], [-0.3, 0.6]])
    plane = integrate(load_kernel("angular_central_gaussian"), {"Sigma": L @ L.T}, (0, 3), PARAMETERS, **TIGHT)
    general = integrate(load_kernel("angular_central_gaussian_sphere"), {"Sigma": L @ L.T}, (0, 3), PARAMETERS, **TIGHT)
    factor = integrate(load_kernel("angular_central_gaussian_factor"), {"L": L}, (0, 3), PARAMETERS, **TIGHT)
    expected = plane.final["Sigma"]
    # Local errors of 1e-12 grow by less than a hundred until t = 3.
    np.testing.assert_allclose(general.final["Sigma"], expected, rtol=1e-9)
    np.testing.assert_allclose(factor.final["L"] @ factor.final["L"].T, expected, rtol=1e-9)


def test_many_tokens_at_quantiles_follow_the_law_on_the_circle():
    """Tokens L z/|L z| for equidistant angles z: a trapezoidal rule for the law, whose error is exponentially small."""
    L = np.array([[1.0, 0.2], [-0.3, 0.6]])
    angles = 2 * np.pi * np.arange(200) / 200
    X = np.stack([np.cos(angles), np.sin(angles)], axis=-1) @ L.T
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    law = integrate(load_kernel("angular_central_gaussian_factor"), {"L": L}, (0, 2), PARAMETERS, **TIGHT)
    tokens = integrate(load_kernel("linear_tokens_sphere"), {"X": X}, (0, 2), PARAMETERS, exact=False, **TIGHT)
    M = tokens.final["X"].T @ tokens.final["X"] / 200
    np.testing.assert_allclose(M, second_moment_of_factor(law.final["L"]), atol=1e-9)


def test_many_tokens_drawn_from_the_law_follow_it_on_the_sphere():
    rng = np.random.default_rng(4)
    A, V, L = rng.normal(size=(3, 3, 3)) / 2
    X = rng.normal(size=(20_000, 3)) @ L.T
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    parameters = {"A": A, "V": V, "beta": 1.0}
    law = integrate(load_kernel("angular_central_gaussian_factor"), {"L": L}, (0, 2), parameters)
    tokens = integrate(load_kernel("linear_tokens_sphere"), {"X": X}, (0, 2), parameters, rtol=1e-6, exact=False)
    M, start = second_moment_of_factor(law.final["L"]), second_moment_of_factor(L)
    assert np.abs(M - start).max() > 0.1
    # Sampling: E|M_n − M|² ≤ 1/n, here after growth by less than two.
    assert np.linalg.norm(tokens.final["X"].T @ tokens.final["X"] / len(X) - M) < 4 / len(X) ** 0.5


@pytest.mark.parametrize(("name", "d"), [("angular_central_gaussian", 2), *FACTORS])
def test_long_times_in_which_the_law_becomes_a_pair_of_points(name, d):
    """For A = V = I to t = 1000, where G' = βVMAᵀ G would have left the range of doubles."""
    L = np.eye(d) + 0.3 * np.random.default_rng(d).normal(size=(d, d))
    start = {"L": L} if name.endswith("factor") else {"Sigma": L @ L.T}
    law = integrate(load_kernel(name), start, (0, 1000), {"A": np.eye(d), "V": np.eye(d), "beta": 1.0})
    assert isinstance(law.outcome, Finished)
    (final,) = law.final.values()
    M = second_moment_of_factor(final) if name.endswith("factor") else second_moment(final)
    values, vectors = np.linalg.eigh(M)
    # The direction that Σ stretches most: A = V = I keeps the eigenvectors of Σ.
    axis = np.linalg.svd(L)[0][:, 0]
    np.testing.assert_allclose(values, np.eye(d)[-1], atol=1e-7)
    assert abs(vectors[:, -1] @ axis) > 1 - 1e-12


def test_the_scale_of_the_covariance_is_kept_on_the_circle():
    """tr Σ + 2√det Σ, here along an orbit that turns; digits would show a drift of any size."""
    Sigma = np.array([[2.0, 0.5], [0.5, 1.0]])
    law = integrate(load_kernel("angular_central_gaussian"), {"Sigma": Sigma}, (0, 10), PARAMETERS, digits=30)
    with mpmath.workdps(35):
        scales = [S[0, 0] + S[1, 1] + 2 * mpmath.sqrt(S[0, 0] * S[1, 1] - S[0, 1] * S[1, 0]) for S in law["Sigma"]]
        assert max(abs(scale / scales[0] - 1) for scale in scales) < mpmath.mpf(10) ** -28
    assert np.abs(law.final["Sigma"].astype(float) - Sigma).max() > 0.1


def test_a_law_on_a_subspace_keeps_its_rank_in_any_dimension():
    rng = np.random.default_rng(5)
    A, V = rng.normal(size=(2, 8, 8)) / 2
    start = {"L": rng.normal(size=(8, 3))}
    law = integrate(load_kernel("angular_central_gaussian_factor"), start, (0, 5), {"A": A, "V": V, "beta": 1.0})
    assert np.linalg.matrix_rank(second_moment_of_factor(law.final["L"]), tol=1e-12) <= 3


def test_the_general_law_compiles_and_has_no_series():
    kernel = compile_kernel(reduce(LinearAttention(space=Sphere()), AngularCentralGaussian()))
    values = {"A": np.eye(3), "V": np.eye(3), "beta": 1}
    assert integrate(kernel, {"Sigma": np.diag([1.0, 2.0, 3.0])}, (0, 1), values).final["Sigma"].shape == (3, 3)
    with pytest.raises(ValueError, match="^digits, backend: the kernel .* has no Taylor recurrence"):
        integrate(kernel, {"Sigma": np.eye(3)}, (0, 1), values, digits=30)
