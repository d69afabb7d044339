"""Equiangular tokens against the formulas of the literature, direct integration of tokens, and SciPy."""

import mpmath
import numpy as np
import pytest
import sympy as sp
from scipy.integrate import quad

from numeric import compile_kernel, integrate, load_kernel
from symbolic import Equiangular, ExponentialAttention, LinearAttention, SoftmaxAttention, Sphere, reduce
from symbolic.fields import beta, s, x, y
from symbolic.notation import Inner, n
from symbolic.reductions.equiangular import rho

SCORE = beta * Inner(x, y)
FIELDS = {
    "softmax": SoftmaxAttention(score=SCORE, space=Sphere()),
    "exponential": ExponentialAttention(score=SCORE, space=Sphere()),
    "linear": LinearAttention(score=SCORE, space=Sphere()),
}


def equation(field):
    return reduce(field, Equiangular()).equations[rho]


def test_equations_of_the_literature():
    grown = sp.exp(beta * rho) * (1 - rho) * ((n - 1) * rho + 1)
    softmax = 2 * grown / (sp.exp(beta) + (n - 1) * sp.exp(beta * rho))
    assert sp.simplify(equation(FIELDS["softmax"]) - softmax) == 0
    assert sp.simplify(equation(FIELDS["exponential"]) - 2 * grown / n) == 0
    linear = 2 * beta * rho * (1 - rho) * ((n - 1) * rho + 1) / n
    assert sp.expand(equation(FIELDS["linear"]) - linear) == 0


def equiangular_tokens(count, product):
    """n unit vectors in R^n with given inner products: the rows of a Cholesky factor of their Gram matrix."""
    return np.linalg.cholesky((1 - product) * np.eye(count) + product * np.ones((count, count)))


# From below zero, where exponential tokens first spread, to a crowd; from obtuse to acute angles.
@pytest.mark.parametrize("kind", FIELDS)
@pytest.mark.parametrize(("count", "product", "strength"), [(2, -0.9, 1.0), (4, -0.25, -1.5), (9, 0.1, 2.0)])
def test_tokens_integrated_one_by_one(kind, count, product, strength):
    tokens = equiangular_tokens(count, product)
    identity = np.eye(count)
    names = {"softmax": {"B": strength * identity}, "exponential": {"A": identity, "beta": strength}}
    parameters = {"V": identity, **names.get(kind, names["exponential"])}
    times = np.linspace(0, 2, 9)
    accuracy = {"rtol": 1e-12, "atol": 1e-13, "t_eval": times}
    direct = integrate(load_kernel(f"{kind}_tokens_sphere"), {"X": tokens}, (0, 2), parameters, **accuracy)
    kernel = load_kernel(f"equiangular_{kind}")
    reduced = integrate(kernel, {"rho": product}, (0, 2), {"beta": strength, "n": count}, **accuracy)
    gram = direct["X"] @ np.swapaxes(direct["X"], -1, -2)
    expected = np.where(identity == 1, 1, reduced["rho"][:, None, None])
    # Local errors of 1e-12 grow by at most e^{2 |d rho'/d rho|} < 1e4 to t = 2.
    np.testing.assert_allclose(gram, expected, atol=1e-8)


def test_high_precision_against_separation_of_variables():
    """t = ∫ dρ / ρ' between two values, by mpmath's quadrature of the formula of the literature."""
    trajectory = integrate(
        load_kernel("equiangular_softmax", "mpmath"), {"rho": "1/10"}, (0, 1), {"beta": 2, "n": 7}, digits=40
    )
    with mpmath.workdps(50):

        def slowness(c):
            share = mpmath.exp(2 * c) / (mpmath.exp(2) + 6 * mpmath.exp(2 * c))
            return 1 / (2 * share * (1 - c) * (6 * c + 1))

        elapsed = mpmath.quad(slowness, mpmath.linspace(mpmath.mpf(1) / 10, trajectory.final["rho"], 5))
        # Forty digits of the orbit; the time amplifies its error by 1/ρ' < 10.
        assert abs(elapsed - 1) < mpmath.mpf(10) ** -37


def test_large_inverse_temperature_does_not_overflow():
    kernel = load_kernel("equiangular_softmax")
    (rate,) = kernel.rhs(0.0, 2000.0, 5.0)
    assert rate == 0


def test_any_weight_of_inner_products_and_several_heads():
    cubic = LinearAttention(score=1 + Inner(x, y), weighting=s**3, space=Sphere(), heads=2)
    reduction = reduce(cubic, Equiangular())
    reduction.derivation.verify()
    # Two equal heads give twice the rate of one.
    assert sp.simplify(reduction.equations[rho] - 2 * 2 * (1 + rho) ** 3 / n * (1 - rho) * (1 + (n - 1) * rho)) == 0
    assert [parameter.name for parameter in reduction.parameters] == ["n"]
    elapsed, _ = quad(compile_inverse(reduction), -0.1, 0.5)
    trajectory = integrate(compile_kernel(reduction), {"rho": -0.1}, (0, elapsed), {"n": 4}, rtol=1e-12, atol=1e-13)
    # Quadrature and integration are both good to 1e-11 here.
    assert abs(trajectory.final["rho"] - 0.5) < 1e-9


def compile_inverse(reduction):
    return sp.lambdify(rho, 1 / reduction.equations[rho].subs(n, 4))


@pytest.mark.parametrize(
    ("field", "message"),
    [
        (SoftmaxAttention(space=Sphere()), "no reduction is known"),
        (SoftmaxAttention(score=SCORE), "lives on spheres"),
    ],
)
def test_other_scores_and_spaces_are_refused(field, message):
    with pytest.raises(ValueError, match=message):
        reduce(field, Equiangular())
