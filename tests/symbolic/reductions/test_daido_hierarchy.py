"""Weights on the circle against quadrature, direct sums over tokens, Bessel functions of mpmath, and integration."""

import mpmath
import numpy as np
import pytest
import sympy as sp

from numeric import compile_kernel, integrate, load_kernel
from symbolic import ExponentialAttention, LinearAttention, SoftmaxAttention, Sphere, Tokens, reduce
from symbolic.fields import beta, s, x, y
from symbolic.notation import Inner
from symbolic.reductions.daido_hierarchy import Z, delta, h, k, l, theta, v0, v1, w, weight_coefficient

SCORE = beta * Inner(x, y)
EXPONENTIAL = ExponentialAttention(score=SCORE, space=Sphere(2))
CUBIC = LinearAttention(score=SCORE, weighting=s**3, space=Sphere(2))
FIELDS = {
    "exponential": EXPONENTIAL,
    "linear": LinearAttention(score=SCORE, space=Sphere(2)),
    "cubic": CUBIC,
    "mixed": LinearAttention(score=2 * SCORE, weighting=1 + s - s**4 / 3, space=Sphere(2)),
    "scaled": ExponentialAttention(score=SCORE / 2, weighting=3 * sp.exp(-s / 5), space=Sphere(2)),
    "tanh": ExponentialAttention(score=SCORE, weighting=sp.tanh(s), space=Sphere(2)),
}
derivation = reduce(EXPONENTIAL, Tokens()).derivation


@pytest.mark.parametrize("name", FIELDS)
def test_every_weight_derives(name):
    reduce(FIELDS[name], Tokens()).derivation.verify()


@pytest.mark.parametrize("name", ["exponential", "cubic", "mixed", "scaled"])
def test_coefficients_by_quadrature(name):
    field = FIELDS[name]
    weight = sp.lambdify((delta, beta), field.weight(field.score.xreplace({Inner(x, y): sp.cos(delta)})), "mpmath")
    with mpmath.workdps(40):
        strength = mpmath.mpf(13) / 10
        for index in range(6):
            # The integrand is even, so half a period is enough.
            integral = mpmath.quad(lambda a, j=index: weight(a, strength) * mpmath.cos(j * a), [0, 1, 2, mpmath.pi])
            derived = sp.N(weight_coefficient(field, index).subs(beta, sp.Rational(13, 10)), 40)
            # Forty digits, less those that the cancellation of the oscillating integrand takes.
            assert abs(integral / mpmath.pi - mpmath.mpf(str(derived))) < mpmath.mpf(10) ** -35


def test_exponential_coupling_of_the_literature():
    """e^{β cos φ} sin φ = (2/β) Σ m I_m(β) sin mφ."""
    derived = derivation["bessel_coupling"]
    assert derived.lhs == h(l)
    assert sp.simplify(derived.rhs - 2 / beta * l * sp.besseli(l, beta)) == 0
    with mpmath.workdps(40):
        strength, angle = mpmath.mpf(7) / 3, mpmath.mpf(11) / 10
        coefficient = sp.lambdify((l, beta), derived.rhs, "mpmath")
        # I_40(7/3) is below 1e-45.
        series = sum(coefficient(m, strength) * mpmath.sin(m * angle) for m in range(1, 41))
        assert abs(series - mpmath.exp(strength * mpmath.cos(angle)) * mpmath.sin(angle)) < mpmath.mpf(10) ** -37


def test_linear_weights_have_the_second_harmonic_only():
    field = FIELDS["linear"]
    couplings = [weight_coefficient(field, m - 1) - weight_coefficient(field, m + 1) for m in range(1, 8)]
    assert [m for m, value in enumerate(couplings, 1) if value != 0] == [2]
    assert couplings[1] == beta / 2


def test_the_cubic_weight_is_a_trigonometric_polynomial():
    assert [weight_coefficient(CUBIC, m) for m in range(5)] == [0, 3 * beta**3 / 8, 0, beta**3 / 8, 0]


ANGLES = np.array([0.3, 1.9, -2.2, 0.8, 2.9])
VALUE = np.array([[0.7, -0.4], [1.1, 0.2]])
STRENGTH = 1.3


def direct_rates(weight, value):
    """θ_i' = (1/n) Σ_j w(β cos(θ_j − θ_i)) ⟨x_i^⊥, V x_j⟩, token by token."""
    points = np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=-1)
    normals = np.stack([-np.sin(ANGLES), np.cos(ANGLES)], axis=-1)
    return (weight(STRENGTH * points @ points.T) * (normals @ value @ points.T)).mean(axis=1)


def moment(index):
    return np.exp(1j * index * ANGLES).mean()


def evaluated(expression, field, value, **at):
    """A derived right-hand side with its sum written out, in complex numbers."""
    (total,) = expression.atoms(sp.Sum)
    ((variable, low, high),) = total.limits
    # I_30(1.3) is below 1e-36: 25 terms to each side leave nothing that a double could see.
    low, high = max(low, -25), min(high, 25)
    zeroth = complex(value[0, 0] + value[1, 1], value[1, 0] - value[0, 1]) / 2
    first = complex(value[0, 0] - value[1, 1], value[1, 0] + value[0, 1]) / 2
    weights = {j: float(weight_coefficient(field, j).subs(beta, STRENGTH)) for j in range(30)}
    functions = {
        "w": lambda j: weights[abs(int(j))],
        "h": lambda j: weights[abs(int(j) - 1)] - weights[abs(int(j) + 1)],
        "Z": lambda j: moment(int(j)),
    }
    term = sp.lambdify((variable, k, theta, v0, v1), total.function, [functions, "numpy"])
    factor = sp.lambdify((k,), expression / total)
    index, angle = at.get("k", 0), at.get("theta", 0.0)
    return factor(index) * sum(term(j, index, angle, zeroth, first) for j in range(int(low), int(high) + 1))


@pytest.mark.parametrize(("name", "weight"), [("exponential", np.exp), ("cubic", lambda score: score**3)])
def test_waves_and_hierarchy_against_sums_over_tokens(name, weight):
    field = FIELDS[name]
    equations = reduce(field, Tokens()).derivation
    rates = direct_rates(weight, VALUE)
    for angle, rate in zip(ANGLES, rates, strict=True):
        # Sums of fifty terms of size one in doubles.
        assert abs(evaluated(equations["waves"].rhs, field, VALUE, theta=angle) - rate) < 1e-13
    for index in (1, 2, 5):
        moved = (1j * index * rates * np.exp(1j * index * ANGLES)).mean()
        assert abs(evaluated(equations["hierarchy"].rhs, field, VALUE, k=index) - moved) < 1e-12
    identity = np.eye(2)
    rates = direct_rates(weight, identity)
    for angle, rate in zip(ANGLES, rates, strict=True):
        assert abs(evaluated(equations["coupling"][1].rhs, field, identity, theta=angle) - rate) < 1e-13
    moved = (3j * rates * np.exp(3j * ANGLES)).mean()
    assert abs(evaluated(equations["identity_hierarchy"].rhs, field, identity, k=3) - moved) < 1e-12


def test_linear_hierarchy_is_that_of_kuramoto_daido():
    """With A = I: Z_2 moves as the order parameter R of the doubled angle does, P and Q in the paper's form."""
    rates = direct_rates(lambda score: score, VALUE)
    order = moment(2)
    zeroth = complex(VALUE[0, 0] + VALUE[1, 1], VALUE[1, 0] - VALUE[0, 1]) / 2
    first = complex(VALUE[0, 0] - VALUE[1, 1], VALUE[1, 0] + VALUE[0, 1]) / 2
    p, q = zeroth + first * np.conj(order), zeroth * order + first
    doubled = STRENGTH * (p.imag + (q * np.exp(-2j * ANGLES)).imag)
    np.testing.assert_allclose(2 * rates, doubled, atol=1e-14)
    moved = evaluated(reduce(FIELDS["linear"], Tokens()).derivation["hierarchy"].rhs, FIELDS["linear"], VALUE, k=2)
    assert abs(moved - (1j * doubled * np.exp(2j * ANGLES)).mean()) < 1e-13


def test_angles_against_tokens_on_the_circle():
    points = np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=-1)
    accuracy = {"rtol": 1e-12, "atol": 1e-13}
    tokens = integrate(
        load_kernel("exponential_tokens_sphere"),
        {"X": points},
        (0, 3),
        {"A": np.eye(2), "V": VALUE, "beta": STRENGTH},
        **accuracy,
    )
    angles = integrate(
        load_kernel("daido_hierarchy"), {"theta": ANGLES}, (0, 3), {"V": VALUE, "beta": STRENGTH}, **accuracy
    )
    found = angles.final["theta"]
    # Local errors of 1e-12; the flow is a gradient flow up to a rotation and contracts where tokens gather.
    np.testing.assert_allclose(np.stack([np.cos(found), np.sin(found)], axis=-1), tokens.final["X"], atol=1e-9)


def test_a_kernel_of_any_weight():
    field = ExponentialAttention(score=SCORE, weighting=s**2 + sp.cos(s), space=Sphere(2))
    (rates,) = compile_kernel(reduce(field, Tokens())).rhs(ANGLES, VALUE, STRENGTH)
    np.testing.assert_allclose(rates, direct_rates(lambda score: score**2 + np.cos(score), VALUE), atol=1e-14)


@pytest.mark.parametrize("place", ["amplitude", "backward", "coefficient", "mutual"])
def test_a_wrong_term_inside_a_sum_is_found(place):
    key, old, new = {
        "amplitude": ("waves", v1, -v1),
        "backward": ("hierarchy", sp.conjugate(v1), -sp.conjugate(v1)),
        "coefficient": ("hierarchy", w(l - 1), w(l)),
        "mutual": ("identity_hierarchy", Z(-l), -Z(-l)),
    }[place]
    equation = derivation[key]
    planted = derivation.with_equation(key, sp.Eq(equation.lhs, equation.rhs.xreplace({old: new}), evaluate=False))
    with pytest.raises(ArithmeticError, match="residual"):
        planted.verify_step(derivation.step_to(key).name)


def test_normalised_weights_are_no_coupling_of_angles():
    with pytest.raises(ValueError, match="no reduction is known"):
        reduce(SoftmaxAttention(score=SCORE, space=Sphere(2)), Tokens())
