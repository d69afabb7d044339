"""Angular central Gaussian laws: moments against references and other libraries, the flow against Ott–Antonsen."""

import json
from pathlib import Path

import mpmath
import numpy as np
import pytest
import scipy.integrate
import sympy as sp

from numeric import integrate, load_kernel
from numeric.outcome import Finished
from symbolic import AngularCentralGaussian, Gaussian, LinearAttention, SoftmaxAttention, Sphere, reduce
from symbolic.components import Components
from symbolic.derivation import StepFailed
from symbolic.printing.text import system_text

REFERENCES = json.loads((Path(__file__).parents[2] / "data" / "values.json").read_text())["acg_second_moments"]
general = reduce(LinearAttention(space=Sphere()), AngularCentralGaussian())
circle = reduce(LinearAttention(space=Sphere(2)), AngularCentralGaussian())
d, i = sp.symbols("d i", integer=True, positive=True)


def second_moment(eigenvalues, index):
    """The derived integral, by quadrature at the current precision of mpmath."""
    integral = general.derivation["second_moment"].rhs
    ((variable, lower, upper),) = integral.limits
    integrand = integral.function.subs({d: len(eigenvalues), i: index}).doit()
    values = {sp.Function("lambda", positive=True)(k): value for k, value in enumerate(eigenvalues, 1)}
    function = sp.lambdify(variable, integrand.subs(values), "mpmath")
    return mpmath.quad(function, [0, 0.1, 1, 10, 1000, mpmath.inf])


@pytest.mark.parametrize("reference", REFERENCES, ids=lambda reference: f"d={len(reference['M'])}")
def test_second_moments_of_the_reference(reference):
    eigenvalues = [sp.Rational(value) for value in reference["eigenvalues"]]
    with mpmath.workdps(30):
        for index, expected in enumerate(reference["M"], 1):
            # The references have 30 digits, and quadrature at 30 digits loses the last one or two.
            assert abs(second_moment(eigenvalues, index) - mpmath.mpf(expected)) < 1e-28


def test_second_moments_in_three_dimensions_are_carlson_integrals():
    """M_ii = ⅓ (λ₁λ₂λ₃)^{−1/2} R_D(1/λ_j, 1/λ_k; 1/λ_i)."""
    eigenvalues = [sp.Rational(2, 7), sp.Rational(1), sp.Rational(9, 4)]
    with mpmath.workdps(30):
        reciprocals = [mpmath.mpf(value.q) / value.p for value in eigenvalues]
        for index in range(3):
            own, others = reciprocals[index], reciprocals[:index] + reciprocals[index + 1 :]
            carlson = mpmath.sqrt(mpmath.fprod(reciprocals)) * mpmath.elliprd(*others, own) / 3
            # As above.
            assert abs(second_moment(eigenvalues, index + 1) - carlson) < 1e-28


def at(expression, values, dimension=2):
    """A derived expression at explicit matrices."""
    named = {sp.MatrixSymbol(k, d, 1) if isinstance(k, str) else k: v for k, v in values.items()}
    return Components(dimension, values=named)(expression).doit()


def test_density_has_total_mass_one_and_the_second_moment_of_the_closed_form():
    """At d = 2, integrated over the angle."""
    symbols = {variable.name: variable.symbol for variable in circle.state}
    covariance = sp.Matrix([[2, sp.Rational(3, 4)], [sp.Rational(3, 4), 1]])
    angle = sp.Symbol("theta", real=True)
    point = sp.Matrix([sp.cos(angle), sp.sin(angle)])
    density = at(circle.derivation["density"].rhs, {symbols["Sigma"]: covariance, "x": point})
    (_, delta), (_, moment), *_ = circle.definitions
    delta = at(delta, {symbols["Sigma"]: covariance})
    stated = at(moment, {symbols["Sigma"]: covariance}).subs(sp.Symbol("delta", nonnegative=True), delta)
    function = sp.lambdify(angle, density, "mpmath")
    period = mpmath.linspace(0, 2 * mpmath.pi, 9)
    assert abs(mpmath.quad(function, period) - 1) < 1e-12  # 15 digits, less rounding in the sum
    for row in range(2):
        for column in range(2):
            weighted = sp.lambdify(angle, density * point[row] * point[column], "mpmath")
            assert abs(mpmath.quad(weighted, period) - stated[row, column]) < 1e-12


def test_density_in_three_dimensions_has_total_mass_one():
    Sigma = general.state[0].symbol
    polar, azimuth = sp.symbols("theta phi", real=True)
    point = sp.Matrix([sp.sin(polar) * sp.cos(azimuth), sp.sin(polar) * sp.sin(azimuth), sp.cos(polar)])
    density = at(general.derivation["density"].rhs, {Sigma: sp.diag(sp.Rational(1, 3), 1, 2), "x": point}, 3)
    function = sp.lambdify((polar, azimuth), density * sp.sin(polar))
    mass, error = scipy.integrate.dblquad(function, 0, 2 * np.pi, 0, np.pi)
    assert abs(mass - 1) < max(1e-7, 10 * error)  # SciPy's own error estimate, with room


def test_the_circle_is_the_ott_antonsen_equation():
    parameters = {"A": [[-2.0, 0.0], [-2.0, 3.0]], "V": [[0.0, 3.0], [1.0, 0.0]], "beta": 0.9}
    size, angle = 0.5, 0.7
    # √λ₁ : √λ₂ = 1 + |R| : 1 − |R|, and the first eigenvector has half the argument of R.
    axes = np.array([[np.cos(angle / 2), -np.sin(angle / 2)], [np.sin(angle / 2), np.cos(angle / 2)]])
    covariance = axes @ np.diag([(1 + size) ** 2, (1 - size) ** 2]) @ axes.T
    times = np.linspace(0, 3, 31)
    options = {"t_eval": times, "rtol": 1e-12, "atol": 1e-13}
    law = integrate(load_kernel("angular_central_gaussian"), {"Sigma": covariance}, (0, 3), parameters, **options)
    start = {"R": size * np.exp(1j * angle)}
    order = integrate(load_kernel("ott_antonsen"), start, (0, 3), parameters, **options)["R"]
    values, vectors = np.linalg.eigh(law["Sigma"])
    roots = np.sqrt(values)
    eigenvector = vectors[..., 0, 1] + 1j * vectors[..., 1, 1]
    found = (roots[:, 1] - roots[:, 0]) / (roots[:, 1] + roots[:, 0]) * eigenvector**2
    assert np.abs(order - order[0]).max() > 0.3
    # Local errors of 1e-12 grow by at most a hundred along this orbit.
    np.testing.assert_allclose(found, order, atol=1e-9)


def test_laws_that_collapse_to_two_clusters_stay_finite():
    """Σ loses its rank to rounding on the way to |R| = 1, where its determinant comes out negative at times."""
    parameters = {"A": np.eye(2), "V": np.eye(2), "beta": 1.0}
    start = {"Sigma": [[2.0, 0.3], [0.3, 1.0]]}
    trajectory = integrate(load_kernel("angular_central_gaussian"), start, (0, 60), parameters)
    assert isinstance(trajectory.outcome, Finished)
    values = np.linalg.eigvalsh(trajectory.final["Sigma"] / np.trace(trajectory.final["Sigma"]))
    assert abs(values[0]) < 1e-12


def test_every_dimension_at_once():
    """The derivation without a fixed dimension verifies; a sign planted in a conclusion is found."""
    general.derivation.verify()
    for key in ("covariance", "density", "continuity", "second_moment"):
        equation = general.derivation[key]
        planted = general.derivation.with_equation(key, sp.Eq(equation.lhs, -equation.rhs, evaluate=False))
        with pytest.raises(StepFailed):
            planted.verify_step(general.derivation.step_to(key).name)


def test_the_second_moment_in_any_dimension_is_a_node_with_a_name():
    assert "M(Σ)" in system_text(general.relations())
    assert r"M\left(\Sigma\right)" in general.latex()


def test_a_factor_obeys_the_equation_of_the_matrix_that_moves_tokens():
    factored = reduce(LinearAttention(space=Sphere()), AngularCentralGaussian(factored=True))
    factored.derivation.verify()
    (L,) = (variable.symbol for variable in factored.state)
    assert L.shape == (d, sp.Symbol("r", integer=True, positive=True))
    W, M = (sp.MatrixSymbol(name, d, d) for name in "WM")
    assert factored.equations == {L: W * L}
    assert str(dict(factored.definitions)[M]) == "M(L*L.T)"
    planted = factored.derivation.with_equation("factor_equation", sp.Eq(sp.MatrixSymbol("Ldot", *L.shape), W.T * L))
    with pytest.raises(StepFailed, match="product rule for the factor"):
        planted.verify()
    with pytest.raises(ValueError, match="Softmax"):
        reduce(SoftmaxAttention(space=Sphere()), AngularCentralGaussian(factored=True))


def test_the_covariance_equation_is_the_one_of_gaussian_laws():
    """One structure: a law moved by Σ' = WΣ + ΣWᵀ."""
    gaussian = reduce(SoftmaxAttention(feed_forward="affine"), Gaussian())
    Sigma = general.state[0].symbol
    assert general.equations[Sigma] == gaussian.equations[Sigma]
