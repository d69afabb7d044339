"""Normal forms of the Gaussian equations against integration, matrix exponentials, and components written out."""

import json
from pathlib import Path

import numpy as np
import pytest
import sympy as sp
from scipy.linalg import expm, sqrtm

from numeric import compile_kernel, integrate, load_kernel
from symbolic import (
    GaussianOrbit,
    L2Attention,
    LinearAttention,
    SoftmaxAttention,
    bernoulli_solution,
    congruence_normal_form,
    reduce,
)
from symbolic.components import Components
from symbolic.derivation import StepFailed
from symbolic.fields import FEED_FORWARD_A as A
from symbolic.normal_forms import C, E, L, S, X, Y, r, v

DERIVATIONS = {"bernoulli": bernoulli_solution(), "congruence": congruence_normal_form()}
KEYS = {
    "bernoulli": ("bernoulli", "precision", "precision_solution", "closed_form", "blow_up"),
    "congruence": ("congruence",),
}
REFERENCES = json.loads((Path(__file__).parents[1] / "data" / "values.json").read_text())["blow_up_times"]


@pytest.mark.parametrize("name", DERIVATIONS)
def test_every_step_reduces_to_zero(name):
    assert all(result.identities > 0 for result in DERIVATIONS[name].verify())


def with_one_sign_flipped(expression):
    """The expression with the sign of one term changed, for every term of every sum inside it."""
    if isinstance(expression, sp.MatAdd):
        for i, term in enumerate(expression.args):
            yield sp.MatAdd(*expression.args[:i], -term, *expression.args[i + 1 :])
    for i, part in enumerate(expression.args):
        if part.has(sp.MatrixSymbol) and not isinstance(part, sp.MatrixSymbol | sp.core.symbol.Str):
            for flipped in with_one_sign_flipped(part):
                yield expression.func(*expression.args[:i], flipped, *expression.args[i + 1 :])


@pytest.mark.parametrize(("name", "key"), [(name, key) for name, keys in KEYS.items() for key in keys])
def test_a_flipped_sign_anywhere_is_found(name, key):
    derivation = DERIVATIONS[name]
    relation, step = derivation[key], derivation.step_to(key).name
    for wrong in (-relation.rhs, *with_one_sign_flipped(relation.rhs)):
        with pytest.raises(StepFailed, match="residual"):
            derivation.with_equation(key, sp.Eq(relation.lhs, wrong, evaluate=False)).verify_step(step)


def is_zero(expressions):
    return all(sp.cancel(expression) == 0 for expression in expressions)


def test_equations_of_the_literature():
    """Entry by entry at d = 2: the precision equation, and Y' with the matrices of the paper."""
    components = Components(2, symmetric=[X, Y])
    precision = DERIVATIONS["bernoulli"]["precision"].rhs
    assert is_zero(components.difference(precision, -A.T * X - X * A - S))
    congruence = DERIVATIONS["congruence"]["congruence"].rhs
    a, value = (sp.MatrixSymbol(name, *Y.shape) for name in ("Atilde", "Vtilde"))
    assert is_zero(components.difference(congruence, a * Y + Y * a.T + value * Y * Y + Y * Y * value.T))


@pytest.mark.parametrize(("dimension", "rank"), [(1, 1), (2, 1), (2, 2), (3, 1), (3, 2), (3, 3)])
def test_closed_form_entry_by_entry(dimension, rank):
    """At random rational matrices: the derivative along E' = AE, C' = EᵀSE is AΣ + ΣAᵀ + ΣSΣ, exactly."""
    rng = np.random.default_rng(dimension + 10 * rank)

    def draw(rows, columns):
        return sp.Matrix(rows, columns, [sp.Rational(int(rng.integers(-9, 10)), 10) for _ in range(rows * columns)])

    square = [draw(dimension, dimension) for _ in range(4)]
    exponential, feed_forward = square[:2]
    integral, source = (matrix + matrix.T for matrix in square[2:])
    step = sp.Symbol("epsilon", real=True)
    values = {
        E: exponential + step * feed_forward * exponential,
        C: integral + step * exponential.T * source * exponential,
        L: draw(dimension, rank),
    }
    closed = Components(dimension, sizes={r: rank}, values=values)(DERIVATIONS["bernoulli"]["closed_form"].rhs)
    now, moved = closed.subs(step, 0), closed.diff(step).subs(step, 0)
    assert moved == feed_forward * now + now * feed_forward.T + now * source * now


def test_closed_form_in_one_dimension():
    """Σ = e^{2at} σ₀ / (1 − σ₀ S (e^{2at} − 1)/2a), S = 2bv, solves σ' = 2aσ + 2bvσ²."""
    t, a, b, start = sp.symbols("t a b sigma", positive=True)
    value = v
    exponential, source = sp.exp(a * t), 2 * b * value
    integral = sp.integrate(exponential**2 * source, (t, 0, t))
    values = {E: exponential, C: integral, L: sp.sqrt(start)}
    components = Components(1, sizes={r: 1}, values={symbol: sp.Matrix([[e]]) for symbol, e in values.items()})
    (closed,) = components(DERIVATIONS["bernoulli"]["closed_form"].rhs)
    paper = sp.exp(2 * a * t) * start / (1 - start * source * (sp.exp(2 * a * t) - 1) / (2 * a))
    assert sp.simplify(closed - paper) == 0
    assert sp.simplify(closed.diff(t) - 2 * a * closed - 2 * b * value * closed**2) == 0
    assert closed.subs(t, 0) == start


def exact(rows):
    return np.array([[float(sp.Rational(entry)) for entry in row] for row in rows])


def propagators(feed_forward, source, time):
    """e^{At} and C(t) from one exponential of a block matrix."""
    size = len(feed_forward)
    blocks = expm(np.block([[-feed_forward.T, source], [np.zeros((size, size)), feed_forward]]) * time)
    exponential = blocks[size:, size:]
    return exponential, exponential.T @ blocks[:size, size:]


@pytest.mark.parametrize("case", REFERENCES, ids=lambda case: f"rank {len(case['L'][0])} of {len(case['L'])}")
def test_closed_form_against_the_moment_flow(case):
    feed_forward, score, factor = exact(case["A"]), exact(case["B"]), exact(case["L"])
    value = float(sp.Rational(case["V_scalar"]))
    size, rank = factor.shape
    time = 0.8 * float(case["t"])
    parameters = {"A": feed_forward, "B": score, "V": value * np.eye(size), "b": np.zeros(size)}
    start = {"mu": np.zeros(size), "Sigma": factor @ factor.T}
    flow = integrate(load_kernel("gaussian_moments"), start, (0, time), parameters, rtol=1e-12, atol=1e-13)
    exponential, integral = propagators(feed_forward, value * (score + score.T), time)
    values = {E: exponential, C: integral, L: factor}
    components = Components(size, sizes={r: rank}, values={key: sp.Matrix(array) for key, array in values.items()})
    closed = np.array(components(DERIVATIONS["bernoulli"]["closed_form"].rhs), dtype=float)
    # At four fifths of the blow-up time errors have grown by (1/5)^{-2} at most.
    np.testing.assert_allclose(closed, flow.final["Sigma"], rtol=1e-9)


def test_resolvent_identity_numerically():
    rng = np.random.default_rng(1)
    half = rng.normal(size=(3, 3))
    values = {E: rng.normal(size=(3, 3)), C: half + half.T, L: rng.normal(size=(3, 2))}
    components = Components(3, sizes={r: 2}, values={key: sp.Matrix(array) for key, array in values.items()})
    identity, closed = DERIVATIONS["bernoulli"]["blow_up"], DERIVATIONS["bernoulli"]["closed_form"]
    left = components(identity.lhs)
    right = components(identity.rhs.xreplace({closed.lhs: closed.rhs}))
    # Four inverses of well-conditioned matrices in doubles.
    np.testing.assert_allclose(np.array(left, dtype=float), np.array(right, dtype=float), rtol=1e-9)


def random_flow(rng):
    """A bounded flow in three dimensions with B = Bᵀ ≻ 0."""
    half = rng.normal(size=(3, 3))
    score = half @ half.T + np.eye(3)
    return {"A": rng.normal(size=(3, 3)), "B": score, "V": -np.eye(3) + 0.1 * rng.normal(size=(3, 3)), "b": np.ones(3)}


def test_congruence_against_the_moment_flow():
    parameters = random_flow(np.random.default_rng(2))
    start = {"mu": np.zeros(3), "Sigma": np.diag([1.0, 0.5, 0.0])}
    kernel = load_kernel("gaussian_moments")
    (_, rate) = kernel.rhs(*start.values(), *(parameters[argument.name] for argument in kernel.parameters))
    root = np.real(sqrtm(parameters["B"]))
    inverse = np.linalg.inv(root)
    seen = {
        Y: root @ start["Sigma"] @ root,
        sp.MatrixSymbol("Atilde", *Y.shape): root @ parameters["A"] @ inverse,
        sp.MatrixSymbol("Vtilde", *Y.shape): root @ parameters["V"] @ inverse,
    }
    components = Components(3, values={key: sp.Matrix(array) for key, array in seen.items()})
    derived = np.array(components(DERIVATIONS["congruence"]["congruence"].rhs), dtype=float)
    # A few dozen products in doubles.
    np.testing.assert_allclose(derived, root @ rate @ root, atol=1e-11)


def test_group_form_against_the_moment_flow_and_a_token():
    parameters = random_flow(np.random.default_rng(3))
    mean, covariance = np.array([0.3, -0.2, 0.5]), np.diag([1.0, 0.5, 0.0])
    accuracy = {"rtol": 1e-12, "atol": 1e-13}
    flow = integrate(load_kernel("gaussian_moments"), {"mu": mean, "Sigma": covariance}, (0, 1), parameters, **accuracy)
    group = integrate(
        load_kernel("gaussian_group"),
        {"G": np.eye(3), "g": np.zeros(3)},
        (0, 1),
        {"mu_0": mean, "Sigma_0": covariance, **parameters},
        **accuracy,
    ).final
    # Local errors of 1e-12 in a bounded flow to t = 1.
    np.testing.assert_allclose(group["G"] @ mean + group["g"], flow.final["mu"], atol=1e-9)
    np.testing.assert_allclose(group["G"] @ covariance @ group["G"].T, flow.final["Sigma"], atol=1e-9)


@pytest.mark.parametrize("field", [LinearAttention(), L2Attention(feed_forward="affine"), SoftmaxAttention(heads=2)])
def test_group_form_of_other_fields(field):
    reduction = reduce(field, GaussianOrbit())
    reduction.derivation.verify_step("product rule")
    assert [argument.name for argument in compile_kernel(reduction).state] == ["G", "g"]
