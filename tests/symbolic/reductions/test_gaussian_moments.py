"""The moment equations against the formulas of the paper and against quadrature of the attention field itself."""

import mpmath
import pytest
import sympy as sp

from symbolic import Gaussian, SoftmaxAttention, reduce
from symbolic.components import Components

reduction = reduce(SoftmaxAttention(feed_forward="affine"), Gaussian())
mu, Sigma = (variable.symbol for variable in reduction.state)
B, V, A, b = (parameter.symbol for parameter in reduction.parameters)


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_equations_of_the_paper(dimension):
    equations = reduction.expanded()
    components = Components(dimension, symmetric=[Sigma])
    paper_mean = (A + V) * mu + V * Sigma * B * mu + b
    paper_covariance = A * Sigma + Sigma * A.T + V * Sigma * B * Sigma + Sigma * B.T * Sigma * V.T
    for derived, paper in ((equations[mu], paper_mean), (equations[Sigma], paper_covariance)):
        assert all(sp.expand(entry) == 0 for entry in components.difference(derived, paper))


def test_moments_of_the_field_by_quadrature():
    """d/dt of mean and variance at d = 1, from the field's two integrals done numerically at 30 digits."""
    with mpmath.workdps(30):
        m, s, a, bias, score, value = (mpmath.mpf(c) / 10 for c in (3, 8, -5, 2, 7, -9))

        def density(y):
            return mpmath.npdf(y, m, mpmath.sqrt(s))

        # Twelve standard deviations: the tails left out are below 1e-30.
        line = mpmath.linspace(m - 12, m + 12, 13)

        def velocity(x):
            top = mpmath.quad(lambda y: value * y * mpmath.exp(score * x * y) * density(y), line)
            bottom = mpmath.quad(lambda y: mpmath.exp(score * x * y) * density(y), line)
            return top / bottom + a * x + bias

        # The field is affine in x, so five Gauss–Hermite nodes integrate x v(x) exactly.
        nodes = mpmath.polyroots([1, 0, -10, 0, 15, 0], maxsteps=100)
        weights = [_hermite_weight(node) for node in nodes]
        points = [m + mpmath.sqrt(s) * node for node in nodes]
        mean_rate = sum(w * velocity(x) for w, x in zip(weights, points, strict=True))
        variance_rate = sum(2 * w * (x - m) * velocity(x) for w, x in zip(weights, points, strict=True))

        values = {mu: m, Sigma: s, A: a, b: bias, B: score, V: value}
        table = {symbol: sp.ImmutableMatrix([[sp.Float(v, 30)]]) for symbol, v in values.items()}
        components = Components(1, values=table)
        for symbol, expected in ((mu, mean_rate), (Sigma, variance_rate)):
            derived = components(reduction.expanded()[symbol])[0]
            # The quadrature's own error estimate at 30 digits is about 1e-25.
            assert abs(derived - expected) < 1e-20


def _hermite_weight(node):
    """Weight of a node of the five-point Gauss rule for the standard normal law: 4!·5 / (5 He₄(x))²."""
    fourth = node**4 - 6 * node**2 + 3
    return mpmath.mpf(120) / (25 * fourth**2)


def test_printing_names_mean_and_covariance():
    assert r"\dot{\Sigma}" in reduction.latex()
    assert "Σ̇" in reduction.text()
    assert reduction._repr_latex_().startswith("$$")


def test_tampered_definition_is_found_downstream():
    field = reduction.derivation["field"]
    planted = reduction.derivation.with_equation(
        "field", sp.Eq(field.lhs, field.rhs + 2 * sp.MatrixSymbol("x", *mu.shape))
    )
    with pytest.raises(ArithmeticError, match="tilting"):
        planted.verify()
