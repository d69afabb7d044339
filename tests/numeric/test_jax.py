"""Kernels on JAX arrays: the rates of NumPy, derivatives, and JAX's transformations."""

import sys
from functools import cache, partial

import numpy as np
import pytest

from numeric import integrate, load_kernel
from numeric.inputs import COMPLEX
from symbolic import canonical_reductions

jax = pytest.importorskip("jax")

#: JAX has no quadrature for these.
MISSING = ("angular_central_gaussian_factor", "angular_central_gaussian_sphere")

every_kernel = pytest.mark.parametrize("name", [name for name in canonical_reductions() if name not in MISSING])

SIZES = {"n": 3, "d": 2, "r": 1, "K": 3}


@pytest.fixture
def double():
    with jax.enable_x64(True):
        yield


@cache
def kernels(name):
    return load_kernel(name), load_kernel(name, "jax")


def point(name, batch=(), seed=0):
    """States and parameters of order one, the leading axes before each."""
    rng = np.random.default_rng(seed)
    used, _ = kernels(name)
    arrays = []
    for argument in used.state + used.parameters:
        shape = (*batch, *(SIZES.get(size, size) for size in argument.shape))
        array = rng.uniform(-1, 1, size=shape) / 2
        if argument.domain == "positive":
            array = np.abs(array) + 0.5
        elif argument.domain == "covariance":
            array = array @ array.mT + np.eye(shape[-1]) / 2
        elif argument.domain in COMPLEX:
            array = array + 1j * rng.uniform(-1, 1, size=shape) / 2
        arrays.append(np.asarray(array))
    return arrays


def assert_close(got, expected, tolerance):
    for rate, other in zip(got, expected, strict=True):
        assert np.asarray(rate).dtype == np.asarray(other).dtype
        np.testing.assert_allclose(rate, other, rtol=tolerance, atol=tolerance)


@every_kernel
def test_compiled_rates_are_those_of_numpy(name, double):
    by_numpy, by_jax = kernels(name)
    arrays = point(name)
    rates = jax.jit(by_jax.rhs)(*arrays)
    assert all(isinstance(rate, jax.Array) for rate in rates)
    # Some hundred operations of order one, 1e-16 each.
    assert_close(rates, by_numpy.rhs(*arrays), 1e-13)


@every_kernel
def test_batches(name, double):
    """Over leading axes, and by vmap, which must be the same."""
    by_numpy, by_jax = kernels(name)
    arrays = point(name, batch=(4,))
    expected = by_numpy.rhs(*arrays)
    assert_close(jax.jit(by_jax.rhs)(*arrays), expected, 1e-13)
    assert_close(jax.jit(jax.vmap(by_jax.rhs))(*arrays), expected, 1e-13)


@every_kernel
def test_derivatives_in_states_and_parameters(name, double):
    """Along a random direction in every state and parameter, against differences of NumPy's rates."""
    by_numpy, by_jax = kernels(name)
    arrays, direction, rng = point(name), point(name, seed=1), np.random.default_rng(2)

    def moved(step):
        return by_numpy.rhs(*(array + step * change for array, change in zip(arrays, direction, strict=True)))

    rates, derivatives = jax.jit(partial(jax.jvp, by_jax.rhs))(tuple(arrays), tuple(direction))
    assert_close(rates, moved(0), 1e-13)
    # Differences of order 6: the error is h^6 = 2e-14 times some derivative, and rounding 1e-16/h.
    h = 5e-3
    differences = [0 * rate for rate in rates]
    for steps, weight in ((1, 45), (2, -9), (3, 1)):
        for i, (after, before) in enumerate(zip(moved(steps * h), moved(-steps * h), strict=True)):
            differences[i] += weight * (after - before) / (60 * h)
    assert_close(derivatives, differences, 1e-9)
    # Reverse mode is the transpose of that; its pairing is the real part of the product.
    cotangents = tuple(rng.normal(size=rate.shape).astype(rate.dtype) for rate in rates)
    gradients = jax.jit(lambda weights: jax.vjp(by_jax.rhs, *arrays)[1](weights))(cotangents)
    assert pairing(gradients, direction) == pytest.approx(pairing(cotangents, derivatives), rel=1e-12, abs=1e-12)


def pairing(left, right):
    return sum(float(np.sum(np.real(np.asarray(a) * np.asarray(b)))) for a, b in zip(left, right, strict=True))


@every_kernel
def test_a_field_at_given_parameters(name, double):
    """Compiled, and mapped over states."""
    by_numpy, by_jax = kernels(name)
    count = len(by_numpy.state)
    states, parameters = point(name, batch=(4,))[:count], point(name, seed=1)[count:]
    expected = by_numpy.field(*parameters)(*states)
    assert_close(jax.jit(jax.vmap(by_jax.field(*parameters)))(*states), expected, 1e-13)


def test_transformations_compose(double):
    """The derivative in β of a rate along a batch: ρ' = 2βρ(1−ρ)(ρ(n−1) + 1)/n is linear in β."""
    _, kernel = kernels("equiangular_linear")
    rho = np.linspace(-0.1, 0.9, 5)
    slope = jax.jit(jax.vmap(jax.grad(lambda rho, beta: kernel.rhs(rho, beta, 8)[0], 1), (0, None)))
    np.testing.assert_allclose(slope(rho, 3.0), 2 * rho * (1 - rho) * (7 * rho + 1) / 8, rtol=1e-14)


def test_single_precision_is_an_error():
    """Without 64 bits, and with numbers that have lost their digits already; the setting is left alone."""
    _, kernel = kernels("equiangular_linear")

    def rate(rho):
        return kernel.rhs(rho, 2.0, 8.0)[0]

    def hidden(rho):
        with jax.enable_x64(True):
            return rate(rho)

    for function in (rate, jax.jit(rate), jax.grad(rate), jax.vmap(rate), jax.jit(hidden), jax.grad(hidden)):
        with pytest.raises(ValueError, match=r"^backend: jax computes in single precision here; expected .*enable_x64"):
            function(np.ones(2) / 3 if function is not jax.grad else 0.5)
    assert not jax.config.jax_enable_x64
    assert hidden(np.float64(1 / 3)).dtype == "float64"
    assert not jax.config.jax_enable_x64


def test_integrate():
    """In double precision, outside any scope, and leaving none behind."""
    by_numpy, by_jax = kernels("ott_antonsen")
    names = [argument.name for argument in by_numpy.state + by_numpy.parameters]
    parameters = dict(zip(names, point("ott_antonsen"), strict=True))
    initial = {"R": parameters.pop("R")}
    expected, got = (integrate(kernel, initial, (0, 1), parameters) for kernel in (by_numpy, by_jax))
    # The same steps, up to rounding.
    assert abs(got.final["R"] - expected.final["R"]) < 1e-12
    assert not jax.config.jax_enable_x64


@pytest.mark.parametrize("name", MISSING)
def test_an_operation_that_jax_does_not_have(name, double):
    with pytest.raises(ValueError, match="^backend: it has no operation acg_second_moment"):
        kernels(name)[1].rhs(*point(name))


def test_without_jax(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    monkeypatch.delitem(sys.modules, "numeric.backends.jax", raising=False)
    with pytest.raises(ValueError, match=r"^backend: 'jax' is not installed; pip install 'attnflow\[jax\]'"):
        load_kernel("ott_antonsen", "jax")
