"""What every flow must do, on every generated kernel: compose, reverse, scale in time, and commute with symmetries.

A new kernel inherits these tests; those of reversal, scaling and rotation once the tables below say how it behaves.
"""

import pkgutil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numeric import generated, integrate, load_kernel
from numeric.outcome import Finished

NAMES = sorted(module.name for module in pkgutil.iter_modules(generated.__path__))

#: The parameters in which the field is linear: all of them times c is a change of time, and c = -1 its reversal.
LINEAR_IN = {
    "angular_central_gaussian": ["beta"],
    "angular_central_gaussian_factor": ["beta"],
    "angular_central_gaussian_sphere": ["beta"],
    "daido_hierarchy": ["V"],
    "equiangular_exponential": None,
    "equiangular_linear": ["beta"],
    "equiangular_softmax": None,
    "exponential_tokens_sphere": ["V"],
    "gaussian_factor": ["V", "A", "b"],
    "gaussian_group": ["V", "A", "b"],
    "gaussian_mixture": ["beta"],
    "gaussian_moments": ["V", "A", "b"],
    "gaussian_moments_l2": ["V", "A", "b"],
    "gaussian_moments_linear": ["beta"],
    "kuramoto_daido": ["beta"],
    "l2_tokens": ["V"],
    "linear_tokens": ["beta"],
    "linear_tokens_sphere": ["beta"],
    "ott_antonsen": ["beta"],
    "projective": ["beta"],
    "second_moment": ["beta"],
    "softmax_tokens": ["V", "A", "b"],
    "softmax_tokens_sphere": ["V"],
    "watanabe_strogatz": ["beta"],
    "watanabe_strogatz_moments": ["beta"],
}

#: On the circle a rotation by phi moves these by so many times phi: numbers turn, angles shift. Everything else turns
#: along each axis of size d.
TURNS = {
    "daido_hierarchy": {"theta": 1},
    "kuramoto_daido": {"Xi": 2},
    "ott_antonsen": {"R": 2},
    "watanabe_strogatz": {"alpha": 2, "eta": 2, "psi": 0},
    "watanabe_strogatz_moments": {"alpha": 2, "eta": 2},
}

SIZES = {"d": 3, "n": 4, "r": 2, "K": 4}
SPAN = 0.5

#: Local errors of 1e-12 may grow a hundredfold over the short time spans used here, twice where two runs are compared.
TOLERANCES = {"rtol": 1e-12, "atol": 1e-13}
CLOSE = 2e-10

every_kernel = pytest.mark.parametrize("name", NAMES)
few = settings(max_examples=4, deadline=None, derandomize=True)
seeds = st.integers(0, 10**6)


def sample(argument, rng, sizes):
    """An admissible value, of a size at which nothing blows up within the time span."""
    shape = tuple(sizes.get(size, size) for size in argument.shape)
    value = rng.uniform(-0.7, 0.7, shape)
    match argument.domain:
        case "positive":
            return 0.5 + abs(value)
        case "disc" | "complex":
            return complex(value, rng.uniform(-0.7, 0.7))
        case "covariance":
            return value @ value.T
        case "unit tokens":
            return value / np.linalg.norm(value, axis=-1, keepdims=True)
        case "phases":
            return 4 * value
    return value


def problem(name, seed, sizes=SIZES):
    kernel, rng = load_kernel(name), np.random.default_rng(seed)
    state, parameters = ({a.name: sample(a, rng, sizes) for a in group} for group in (kernel.state, kernel.parameters))
    return kernel, state, parameters


def flow(kernel, state, time, parameters):
    trajectory = integrate(kernel, state, (0, time), parameters, **TOLERANCES)
    assert isinstance(trajectory.outcome, Finished)
    return trajectory.final


def assert_equal(found, expected):
    size = max(np.abs(value).max() for value in expected.values())
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=0, atol=CLOSE * max(size, 1))


@pytest.mark.parametrize("name", [name for name in NAMES if load_kernel(name).series is not None])
@pytest.mark.parametrize("backend", ["numpy", "heyoka", "jax"])
def test_backends_agree(name, backend):
    """Each in double precision with twenty digits by the Taylor method, on the same doubles."""
    if backend != "numpy":
        pytest.importorskip(backend)
    # Small: heyoka unrolls arrays into scalars, and takes seconds to compile large ones.
    kernel, state, parameters = problem(name, 7, {"d": 2, "n": 3, "r": 1})
    exact = integrate(kernel, state, (0, SPAN), parameters, digits=20).final
    found = flow(load_kernel(name, backend), state, SPAN, parameters)
    assert_equal(found, {key: np.asarray(value).astype(np.asarray(found[key]).dtype) for key, value in exact.items()})


@every_kernel
@few
@given(seed=seeds, part=st.floats(0.1, 0.9))
def test_flows_compose(name, seed, part):
    kernel, state, parameters = problem(name, seed)
    middle = flow(kernel, state, part * SPAN, parameters)
    assert_equal(
        flow(kernel, middle, (1 - part) * SPAN, parameters),
        flow(kernel, state, SPAN, parameters),
    )


@every_kernel
@few
@given(seed=seeds)
def test_time_reverses(name, seed):
    kernel, state, parameters = problem(name, seed)
    if LINEAR_IN.get(name) is None:
        pytest.skip("no parameters reverse this field")
    backward = parameters | {key: -parameters[key] for key in LINEAR_IN[name]}
    assert_equal(flow(kernel, flow(kernel, state, SPAN, parameters), SPAN, backward), state)


@every_kernel
@few
@given(seed=seeds, scale=st.floats(0.25, 4))
def test_parameters_scale_time(name, seed, scale):
    """beta, where the field is linear in it, and the value matrix with the feed-forward part elsewhere."""
    kernel, state, parameters = problem(name, seed)
    if LINEAR_IN.get(name) is None:
        pytest.skip("no parameters scale this field")
    faster = parameters | {key: scale * parameters[key] for key in LINEAR_IN[name]}
    assert_equal(flow(kernel, state, SPAN / scale, faster), flow(kernel, state, SPAN, parameters))


@every_kernel
@few
@given(seed=seeds)
def test_rotations_commute_with_the_flow(name, seed):
    if name not in LINEAR_IN:
        pytest.skip("not in the tables above")
    kernel, state, parameters = problem(name, seed)
    rng = np.random.default_rng(seed + 1)
    angle, orthogonal = rng.uniform(0, 6), np.linalg.qr(rng.normal(size=(SIZES["d"], SIZES["d"])))[0]
    plane = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])

    def rotated(argument, value):
        turns = TURNS.get(name, {}).get(argument.name)
        if turns is not None:
            return (
                value + turns * angle if argument.domain in ("phases", "real") else value * np.exp(1j * turns * angle)
            )
        for axis, size in enumerate(argument.shape):
            if size in ("d", 2):
                value = np.moveaxis(np.tensordot(plane if size == 2 else orthogonal, value, (1, axis)), 0, axis)
        return value

    turned_state, turned_parameters = (
        {a.name: rotated(a, values[a.name]) for a in group}
        for group, values in ((kernel.state, state), (kernel.parameters, parameters))
    )
    final = flow(kernel, state, SPAN, parameters)
    assert_equal(
        flow(kernel, turned_state, SPAN, turned_parameters),
        {a.name: rotated(a, final[a.name]) for a in kernel.state},
    )


@every_kernel
@few
@given(seed=seeds)
def test_permutations_of_tokens_commute_with_the_flow(name, seed):
    kernel, state, parameters = problem(name, seed)
    if not any("n" in argument.shape for argument in kernel.state + kernel.parameters):
        pytest.skip("no tokens")
    order = np.random.default_rng(seed + 1).permutation(SIZES["n"])

    def permuted(group, values):
        return {a.name: values[a.name][order] if "n" in a.shape else values[a.name] for a in group}

    final = flow(kernel, state, SPAN, parameters)
    assert_equal(
        flow(kernel, permuted(kernel.state, state), SPAN, permuted(kernel.parameters, parameters)),
        permuted(kernel.state, final),
    )
