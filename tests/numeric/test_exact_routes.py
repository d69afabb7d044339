"""Exact routes: the tokens they give against the token system itself, integrated directly or with thirty digits."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from numeric import exact_routes, integrate, load_kernel
from numeric.outcome import Finished, StoppedByEvent

TOKENS = load_kernel("linear_tokens_sphere")
TIGHT = {"rtol": 1e-12, "atol": 1e-14}


def problem(d, n, seed=0):
    """Unit tokens, and parameters of a size that moves them by about their distance in unit time."""
    rng = np.random.default_rng(seed)
    tokens = rng.normal(size=(n, d))
    A, V = rng.normal(size=(2, d, d))
    return tokens / np.linalg.norm(tokens, axis=1, keepdims=True), {"A": A, "V": V, "beta": 0.8}


def solve(X, parameters, end, **options):
    return integrate(TOKENS, {"X": X}, (0, end), parameters, **{**TIGHT, **options})


def doubled(X):
    return (X[..., 0] + 1j * X[..., 1]) ** 2


CASES = [(2, 3), (2, 60), (2, 1500), (3, 4), (3, 40), (5, 60)]


@pytest.mark.parametrize(("d", "n"), CASES)
def test_the_route_gives_the_tokens_of_the_token_system(d, n):
    X, parameters = problem(d, n)
    times = [0, 0.3, 1, 3]
    route, direct = (solve(X, parameters, 3, t_eval=times, exact=exact) for exact in (True, False))
    assert route.route == ("watanabe_strogatz_moments" if n > 1000 else "projective")
    assert direct.route == "linear_tokens_sphere"
    assert np.abs(direct["X"][-1] - X).max() > 0.5
    # Local errors of 1e-12 grow by at most a hundred until t = 3.
    np.testing.assert_allclose(route["X"], direct["X"], atol=1e-10)
    np.testing.assert_array_equal(route["X"][0], X)


@pytest.mark.parametrize(("d", "n", "seed"), [(2, 60, 1), (2, 1500, 2), (3, 40, 1), (5, 60, 2)])
def test_long_times_in_which_clusters_form(d, n, seed):
    """Starting again keeps the group element near the identity, however long tokens are drawn together."""
    X, parameters = problem(d, n, seed)
    times = [10, 20, 50]
    route, direct = (solve(X, parameters, 50, t_eval=times, exact=exact) for exact in (True, False))
    assert isinstance(route.outcome, Finished)
    spread = np.linalg.svd(X, compute_uv=False)[-1]
    assert np.linalg.svd(direct.final["X"], compute_uv=False)[-1] < spread
    # Both sides follow the same, possibly rotating, clusters: phase errors grow like t.
    np.testing.assert_allclose(route["X"], direct["X"], atol=1e-9)


@pytest.mark.parametrize(("d", "n"), [(2, 60), (3, 60), (10, 300)])
def test_the_matrix_comes_to_rest_when_tokens_have_clustered(d, n):
    """No more steps than those of the tokens themselves, whose length stability limits near a fixed point."""
    X, _ = problem(d, n)
    parameters = {"A": np.eye(d), "V": np.eye(d), "beta": 1.0}
    route, direct = (integrate(TOKENS, {"X": X}, (0, 300), parameters, exact=exact) for exact in (True, False))
    assert route.route == "projective"
    assert len(route.times) < 1.25 * len(direct.times)
    np.testing.assert_allclose(route.final["X"], direct.final["X"], atol=1e-8)


@pytest.mark.parametrize("route", ["projective", "watanabe_strogatz_moments"])
def test_thirty_digits_of_the_token_system(route, monkeypatch):
    """Tokens with rational coordinates, from Pythagorean triples."""
    monkeypatch.setattr(exact_routes, "MANY", 1 if route != "projective" else 1000)
    triples = [(3, 4, 5), (-5, 12, 13), (8, -15, 17), (7, 24, 25), (-20, -21, 29)]
    exact = [[Fraction(a, c), Fraction(b, c)] for a, b, c in triples]
    parameters = {"A": [["1", "1/2"], ["-1/4", "3/4"]], "V": [["2/5", "1"], ["-4/5", "-1/2"]], "beta": "6/5"}
    reference = integrate(TOKENS, {"X": exact}, (0, 3), parameters, digits=30).final["X"].astype(float)
    found = integrate(TOKENS, {"X": exact}, (0, 3), parameters, rtol=1e-13, atol=1e-15)
    assert found.route == route
    # Local errors of 1e-13, over thirty steps or so.
    np.testing.assert_allclose(found.final["X"], reference, atol=1e-11)


def test_where_direct_integration_leaves_the_sphere_the_route_stays():
    """⟨x, W x⟩ < 0 at the tokens: the length of a token is then unstable for the token system, not for the route."""
    X, parameters = problem(3, 10)
    parameters |= {"A": np.eye(3), "V": -np.eye(3), "beta": 5.0}
    trajectory = solve(X, parameters, 40, rtol=1e-8, atol=1e-10)
    assert isinstance(trajectory.outcome, Finished)
    M = trajectory.final["X"].T @ trajectory.final["X"] / 10
    # Repelling tokens end as evenly as they can: M = I/3 is where the flow x' = −βP M x is at rest.
    np.testing.assert_allclose(M, np.eye(3) / 3, atol=1e-7)


@pytest.mark.parametrize(("d", "n"), CASES)
def test_unit_vectors_to_four_ulp(d, n):
    X, parameters = problem(d, n)
    trajectory = solve(X, parameters, 5, rtol=1e-6)
    later = [*trajectory["X"][1:], *trajectory.at(np.linspace(0.1, 5, 7))["X"]]
    lengths = np.sqrt(np.square(np.array(later, dtype=np.longdouble)).sum(axis=-1))
    assert np.abs(lengths - 1).max() <= 4 * 2.0**-53


@pytest.mark.parametrize(("d", "n"), [(2, 20), (2, 1500), (4, 20)])
def test_permutations_and_rotations(d, n):
    X, parameters = problem(d, n)
    rng = np.random.default_rng(1)
    order, rotation = rng.permutation(n), np.linalg.qr(rng.normal(size=(d, d)))[0]
    final = solve(X, parameters, 2).final["X"]
    np.testing.assert_allclose(solve(X[order], parameters, 2).final["X"], final[order], atol=1e-10)
    turned = {name: rotation @ parameters[name] @ rotation.T for name in "AV"}
    moved = solve(X @ rotation.T, {**parameters, **turned}, 2).final["X"]
    np.testing.assert_allclose(moved, final @ rotation.T, atol=1e-10)


@pytest.mark.parametrize("n", [12, 1500])
def test_cross_ratios_are_kept_to_rounding(n):
    """Whatever the error of the group element: a loose tolerance changes the map, but not that it is a Möbius map."""
    X, parameters = problem(2, n)
    start = doubled(X)

    def differences(e):
        a, b, c, d = e[:-3], e[1:-2], e[2:-1], e[3:]
        return np.array([a - c, b - d, a - d, b - c])

    def change(exact):
        """Of the cross-ratios, over what rounding of the tokens does to their differences."""
        end = doubled(solve(X, parameters, 2, rtol=1e-4, atol=1e-6, exact=exact).final["X"])
        assert np.abs(end - start).max() > 0.5
        before, after = differences(start), differences(end)
        ratios = [parts[0] * parts[1] / (parts[2] * parts[3]) for parts in (before, after)]
        smallest = np.minimum(np.abs(before).min(axis=0), np.abs(after).min(axis=0))
        return float(np.max(np.abs(ratios[1] / ratios[0] - 1) * smallest))

    assert change(True) < 1e-14
    assert change(False) > 1e-9


def test_dense_output_and_events_are_those_of_the_tokens():
    X, parameters = problem(3, 12)

    def crossing(t, state):
        return state["X"][0, 0] - 0.5 * (X[0, 0] + late)

    crossing.terminal = True
    late = solve(X, parameters, 1, exact=False).final["X"][0, 0]
    route, direct = (solve(X, parameters, 1, events=crossing, exact=exact) for exact in (True, False))
    for trajectory in (route, direct):
        assert isinstance(trajectory.outcome, StoppedByEvent)
        assert crossing(0, trajectory.final) == pytest.approx(0, abs=1e-12)
    assert route.outcome.time == pytest.approx(direct.outcome.time, abs=1e-9)
    assert route.times[-1] == route.outcome.time
    half = route.outcome.time / 2
    # DOP853's dense output is of seventh order: less accurate than its steps.
    np.testing.assert_allclose(route.at(half)["X"], direct.at(half)["X"], atol=1e-8)
    assert route.at([0, half])["X"].shape == (2, 12, 3)


def test_starting_again_leaves_no_gap():
    X, parameters = problem(5, 30)
    trajectory = solve(X, parameters, 30, rtol=1e-8)
    pieces = trajectory._solution.pieces
    assert all(before.end == after.start for before, after in pairwise(pieces))
    jumps = [np.abs(before.final - after.evaluate(after.start)).max() for before, after in pairwise(pieces)]
    assert max(jumps) < 1e-14


def test_only_the_kernel_of_the_derivation_has_a_route():
    X, _ = problem(3, 8)
    assert exact_routes.find(TOKENS, {"X": X}).kernel == "projective"
    # Fewer tokens than dimensions are the smaller system themselves.
    assert exact_routes.find(TOKENS, {"X": X[:3]}) is None
    assert exact_routes.find(load_kernel("softmax_tokens_sphere"), {"X": X}) is None
    assert exact_routes.find(replace(TOKENS, digest="of other heads"), {"X": X}) is None


def test_moments_are_means_of_powers():
    w = np.exp(2j * np.pi * np.random.default_rng(0).random(5000))
    for count in (1, 2, 10, 111):
        expected = [np.mean(w**k) for k in range(1, count + 1)]
        np.testing.assert_allclose(exact_routes.moments(w, count), expected, atol=1e-14)


@pytest.mark.parametrize("size", [0.2, 0.5, 0.7])
def test_the_series_leaves_out_what_is_stated(size):
    """R by K moments against the mean of the moved tokens: the difference is at most (1 + |α|)|α|^K, and nearly is."""
    rng = np.random.default_rng(3)
    w = np.exp(1j * rng.normal(2.0, 0.2, 40))
    alpha, eta, count = size * np.exp(1j * (2.0 + 0.4)), 0.4, 12
    u = np.exp(1j * eta) * w
    exact = np.mean((alpha + u) / (1 + np.conj(alpha) * u))
    series = (
        exact_routes.moments(w, count)
        * (-np.conj(alpha)) ** np.arange(count)
        * np.exp(1j * eta * np.arange(1, count + 1))
    )
    left_out = abs(alpha + (1 - size**2) * series.sum() - exact)
    assert left_out <= (1 + size) * size**count + 1e-15
    assert left_out > 0.05 * (1 - size) * size**count
