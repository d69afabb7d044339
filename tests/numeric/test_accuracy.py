"""Derived flows against closed forms: in double precision to 1e-12, and as many digits as are asked for.

Double precision runs with tolerances of 1e-13, over time spans that let local errors grow by less than a factor of ten.
"""

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from numeric import integrate, load_kernel, riccati
from numeric.integrators import taylor

#: Digits, or the backend of a run in double precision.
MODES = ["numpy", "heyoka", *(f"{digits} {kind}" for digits in (30, 50, 100) for kind in ("gmpy2", "compiled"))]
# Numbers of many digits in base 2^56.
MODES += ["250 compiled"]

TIGHT = {"rtol": 1e-13, "atol": 1e-13}
DOUBLE = 1e-12


@pytest.fixture(params=MODES)
def run(request, monkeypatch):
    """Integrate a kernel by name, and the largest error allowed, relative to the largest entry of the state."""
    mode, *kind = request.param.split()
    if not kind:
        if mode != "numpy":
            pytest.importorskip(mode)
        return lambda name, *arguments: integrate(load_kernel(name, mode), *arguments, **TIGHT).final, DOUBLE
    if kind == ["compiled"]:
        pytest.importorskip("numba")
    monkeypatch.setattr(taylor, "COMPILED", kind == ["compiled"])
    digits = int(mode)
    return (
        lambda name, *arguments: integrate(load_kernel(name), *arguments, digits=digits).final,
        mpmath.mpf(10) ** -digits,
    )


@pytest.fixture(autouse=True)
def precision():
    """That of the closed forms; an integration has its own."""
    with mpmath.workdps(290):
        yield


def number(fraction):
    return mpmath.mpf(Fraction(fraction).numerator) / Fraction(fraction).denominator


def matrix(rows):
    return mpmath.matrix([[number(entry) for entry in row] for row in rows])


def assert_close(found, expected, allowed, size=None):
    found, expected = (np.ravel(np.array(x.tolist() if hasattr(x, "tolist") else x)) for x in (found, expected))
    size = size or max(map(abs, expected))
    assert max(map(abs, found - expected)) < allowed * size


@pytest.mark.parametrize(
    "A",
    [[["1/2", "1/3"], ["-1/4", 1]], [["3/5", "-3/2"], ["3/2", -1]], [["-1", "2"], ["1/2", "-3/2"]]],
    ids=["to clusters", "to either", "to an interior point"],
)
def test_case_1(run, A):
    """V = I: R' = (beta/2)(1 - |R|^2)(a1 + conj(a0) R) is linear in the time s with ds = (beta/2)(1 - |R|^2) dt."""
    integrated, allowed = run
    beta, start, s = number("3/2"), mpmath.mpc(number("1/5"), number("1/10")), number("1/2")
    a = matrix(A)
    a0 = mpmath.mpc(a[0, 0] + a[1, 1], a[1, 0] - a[0, 1]) / 2
    a1 = mpmath.mpc(a[0, 0] - a[1, 1], a[1, 0] + a[0, 1]) / 2
    rate, shift = mpmath.conj(a0), a1 / mpmath.conj(a0)

    def linear(s):
        return (start + shift) * mpmath.exp(rate * s) - shift

    # Analytic on a neighbourhood of the interval: Gauss-Legendre quadrature converges like a power series.
    time, estimate = mpmath.quad(
        lambda s: 2 / (beta * (1 - abs(linear(s)) ** 2)), [0, s], method="gauss-legendre", error=True
    )
    assert estimate < mpmath.mpf(10) ** -120
    final = integrated("ott_antonsen", {"R": "1/5 + 1/10j"}, (0, time), {"A": A, "V": [[1, 0], [0, 1]], "beta": "3/2"})
    assert_close([final["R"]], [linear(s)], allowed)


@pytest.mark.parametrize("L", [[["1", "0"], ["1/2", "1"]], [["1"], ["1/3"]]], ids=["rank 2", "rank 1"])
def test_bernoulli(run, L):
    """V = -I: Sigma = E L (I + L^T C L)^-1 L^T E^T with E = e^{At} and C the integral of e^{A^T s} (B + B^T) e^{As}."""
    integrated, allowed = run
    A, B, time = [["-1/2", "1"], ["-1/3", "1/4"]], [["1", "1/4"], ["0", "2"]], "5/4"
    a, b, root, t = matrix(A), matrix(B), matrix(L), number(time)
    block = mpmath.zeros(4)
    block[:2, :2], block[:2, 2:], block[2:, 2:] = -a.T, b + b.T, a
    exponential = mpmath.expm(block * t, method="taylor")
    E = exponential[2:, 2:]
    C = E.T * exponential[:2, 2:]
    expected = E * root * mpmath.inverse(mpmath.eye(root.cols) + root.T * C * root) * root.T * E.T
    covariance = (root * root.T).tolist()
    parameters = {"A": A, "B": B, "V": [[-1, 0], [0, -1]], "b": [0, 0]}
    final = integrated("gaussian_moments", {"mu": [0, 0], "Sigma": covariance}, (0, time), parameters)
    assert_close(final["Sigma"], expected, allowed)
    final = integrated("gaussian_factor", {"mu": [0, 0], "L": L}, (0, time), parameters)
    factor = np.array(final["L"])
    # The product doubles the relative error of a factor, whose size is the root of the covariance's.
    assert_close(factor @ factor.T, expected, 4 * allowed)


def test_one_dimension_with_its_mean(run):
    """sigma = E s0/(1 - b v s0 (E - 1)/a) with E = e^{2 a t}, and mu' = (a + v + v b sigma) mu + c."""
    integrated, allowed = run
    a, s0, b, v, c, m0, time = "1/4", "3/2", "1", "-2/3", "1/5", "1/2", "7/4"
    rate, s, w, value, source, mean, t = (number(x) for x in (a, s0, v, v, c, m0, time))  # w = b v

    def denominator(t):
        return 1 - w * s * mpmath.expm1(2 * rate * t) / rate

    def growth(t):
        """exp of the integral of a + v + v b sigma from 0 to t."""
        return mpmath.exp((rate + value) * t) / mpmath.sqrt(denominator(t))

    integral, estimate = mpmath.quad(lambda u: source / growth(u), [0, t / 2, t], method="gauss-legendre", error=True)
    assert estimate < mpmath.mpf(10) ** -120
    expected = [growth(t) * (mean + integral), mpmath.exp(2 * rate * t) * s / denominator(t)]
    parameters = {"A": [[a]], "B": [[b]], "V": [[v]], "b": [c]}
    final = integrated("gaussian_moments", {"mu": [m0], "Sigma": [[s0]]}, (0, time), parameters)
    assert_close([final["mu"][0], final["Sigma"][0, 0]], expected, allowed)


@pytest.mark.parametrize("L", [[["1", "0"], ["1/2", "1"]], [["1"], ["1/3"]]], ids=["rank 2", "rank 1"])
def test_the_mean_with_a_source(run, L):
    """A = 0, V = -I, B symmetric: mu' = -(I + Sigma B) mu + b.

    With K = L^T B L and Sigma = L (I + 2 t K)^-1 L^T, G' = -Sigma B G has G = I + L f(K) L^T B, for any rank, where
    1 + k f = (1 + 2 t k)^(-1/2); so mu = e^-t G (mu_0 + integral of e^u G(u)^-1 b), by variation of constants.
    """
    integrated, allowed = run
    B, mean, source, time = [["1", "1/4"], ["1/4", "2"]], ["1/2", "-1/3"], ["1/5", "1"], "3/4"
    score, root, t = matrix(B), matrix(L), number(time)
    start, b = (mpmath.matrix([number(x) for x in vector]) for vector in (mean, source))
    eigenvalues, vectors = mpmath.eigsy(root.T * score * root)

    def conjugated(function):
        """L function(K) L^T."""
        return root * vectors * mpmath.diag([function(k) for k in eigenvalues]) * vectors.T * root.T

    def flow(t):
        return mpmath.eye(2) + conjugated(lambda k: (1 / mpmath.sqrt(1 + 2 * t * k) - 1) / k) * score

    def integrand(u):
        inverse = mpmath.eye(2) + conjugated(lambda k: (mpmath.sqrt(1 + 2 * u * k) - 1) / k) * score
        return mpmath.exp(u) * inverse * b

    # Split so that the nearest singularity, at u = -1/(2 k), is far from each part in terms of its length.
    points = [number(x) for x in ("0", "1/12", "1/4", time)]
    integrals, estimates = zip(
        *(mpmath.quad(lambda u, i=i: integrand(u)[i], points, method="gauss-legendre", error=True) for i in range(2)),
        strict=True,
    )
    assert max(estimates) < mpmath.mpf(10) ** -120
    mu = mpmath.exp(-t) * flow(t) * (start + mpmath.matrix(integrals))
    covariance = conjugated(lambda k: 1 / (1 + 2 * t * k))
    parameters = {"A": [[0, 0], [0, 0]], "B": B, "V": [[-1, 0], [0, -1]], "b": source}
    initial = {"mu": mean, "Sigma": (root * root.T).tolist()}
    final = integrated("gaussian_moments", initial, (0, time), parameters)
    assert_close([*final["mu"], *final["Sigma"].ravel()], [*mu, *covariance], allowed)


def test_second_moment_in_one_dimension(run):
    """M' = 2 beta v a M^2."""
    integrated, allowed = run
    final = integrated("second_moment", {"M": [["2/3"]]}, (0, 1), {"A": [["1/2"]], "V": [["1/3"]], "beta": "3/2"})
    assert_close(final["M"], [[1 / (number("3/2") - number("1/2"))]], allowed)


def test_flow_tends_to_the_equilibrium():
    """A has eigenvalues with positive real parts and V = -I: Sigma tends to X^-1, where A^T X + X A = B + B^T."""
    A, B, V = [[1, 0.5], [-0.25, 1.5]], [[1, 0.25], [0.25, 0.5]], [[-1, 0], [0, -1]]
    found = riccati.equilibrium(A, B, V)
    initial = {"mu": [0, 0], "Sigma": [[1, 0], [0, 1]]}
    parameters = {"A": A, "B": B, "V": V, "b": [0, 0]}
    late = integrate(load_kernel("gaussian_moments"), initial, (0, 40), parameters, digits=30).final["Sigma"]
    # Twice the least real part times the time is above 80: what is left of the start is e^-80.
    assert_close(found.Sigma, late, 1e-14)
    assert found.residual < 1e-14
