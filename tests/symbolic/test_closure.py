"""Which pairs of a field and a law close, and that the others are shown not to."""

import mpmath
import pytest
import sympy as sp

from symbolic import (
    AngularCentralGaussian,
    ClosureUndecided,
    Euclidean,
    ExponentialAttention,
    Gaussian,
    GaussianMixture,
    L2Attention,
    LinearAttention,
    NotClosed,
    SecondMoment,
    SoftmaxAttention,
    Sphere,
    Tokens,
    WrappedCauchy,
    reduce,
)
from symbolic.closure import circle_instance, gaussian_instance, mixture_instance
from symbolic.components import Components
from symbolic.fields import B, V, b, s, x, y
from symbolic.notation import Inner

circle = Sphere(2)
C = sp.MatrixSymbol("C", *B.shape)
p = sp.Symbol("p", integer=True, positive=True)

#: A field of the user: softmax with a score that has a part quadratic in y and a bias.
own = SoftmaxAttention(score=Inner(B * x, y) - 3 * Inner(y, y) / 2 + Inner(b, y), heads=2)

H = sp.Symbol("H", integer=True, positive=True)

CLOSED = [
    (SoftmaxAttention(heads=H, feed_forward="affine"), Gaussian()),
    (L2Attention(heads=H), Gaussian()),
    (LinearAttention(heads=H), SecondMoment()),
    (SoftmaxAttention(), Gaussian()),
    (SoftmaxAttention(feed_forward="affine"), Gaussian()),
    (SoftmaxAttention(heads=3), Gaussian()),
    (L2Attention(), Gaussian()),
    (L2Attention(heads=2, feed_forward="affine"), Gaussian()),
    (LinearAttention(), Gaussian()),
    (own, Gaussian()),
    (LinearAttention(), GaussianMixture(3)),
    (LinearAttention(), SecondMoment()),
    (LinearAttention(heads=2), SecondMoment()),
    (LinearAttention(space=circle), WrappedCauchy()),
    (LinearAttention(space=circle, heads=2), WrappedCauchy()),
    (LinearAttention(space=circle), Tokens()),
    (SoftmaxAttention(space=Sphere()), Tokens()),
]
NOT_CLOSED = [
    (ExponentialAttention(), Gaussian()),
    (SoftmaxAttention(feed_forward="relu"), Gaussian()),
    (SoftmaxAttention(feed_forward="tanh"), Gaussian()),
    (SoftmaxAttention(feed_forward="gelu"), Gaussian()),
    (SoftmaxAttention(feed_forward=s**3), Gaussian()),
    (SoftmaxAttention(weighting=sp.cosh(s)), Gaussian()),
    (SoftmaxAttention(score=Inner(B * x, y) ** 2), Gaussian()),
    (LinearAttention(weighting=s**2), Gaussian()),
    (LinearAttention(weighting=s**p), Gaussian()),
    (SoftmaxAttention(), GaussianMixture(2)),
    (SoftmaxAttention(), SecondMoment()),
    (ExponentialAttention(), SecondMoment()),
    (SoftmaxAttention(space=circle), WrappedCauchy()),
    (ExponentialAttention(space=circle), WrappedCauchy()),
    (LinearAttention(weighting=s**2, space=circle), WrappedCauchy()),
    (LinearAttention(weighting=s**3, space=circle), WrappedCauchy()),
    (LinearAttention(weighting=s**4, space=circle), WrappedCauchy()),
    (SoftmaxAttention(space=circle), AngularCentralGaussian()),
    (ExponentialAttention(space=Sphere()), AngularCentralGaussian()),
    (LinearAttention(weighting=s**3, space=Sphere()), AngularCentralGaussian()),
]


def name(pair):
    return f"{pair[0]}-{pair[1]}"


@pytest.mark.parametrize("pair", CLOSED, ids=name)
def test_closed(pair):
    reduction = reduce(*pair)
    assert reduction.equations
    reduction.derivation.verify()


@pytest.mark.parametrize("pair", NOT_CLOSED, ids=name)
def test_not_closed_and_why(pair):
    with pytest.raises(NotClosed) as refusal:
        reduce(*pair)
    obstruction = refusal.value.obstruction
    assert obstruction.free_symbols
    assert refusal.value.witness.value != 0
    assert str(obstruction) in str(refusal.value)
    assert refusal.value.latex()


def test_the_obstruction_of_exponential_attention_is_the_generating_function():
    with pytest.raises(NotClosed) as refusal:
        reduce(ExponentialAttention(), Gaussian())
    assert r"e^{\frac{\left\langle \beta A^{T} x" in refusal.value.latex()


@pytest.mark.parametrize(
    ("instance", "points"),
    [
        (gaussian_instance(SoftmaxAttention(feed_forward="affine")), 3),
        (gaussian_instance(L2Attention()), 3),
        (mixture_instance(LinearAttention()), 6),
        (circle_instance(LinearAttention(space=circle)), 3),
    ],
)
def test_the_determinant_vanishes_where_the_family_is_kept(instance, points):
    """The control of the determinant test: it must not refuse what a derivation proves closed."""
    assert instance.witness([sp.Rational(2 * k - points, points) + sp.Rational(1, 7) for k in range(points)]) is None


def test_a_general_number_of_heads_is_that_number_of_heads():
    """Sums over H heads, written out for two, are the equations derived for two heads."""
    general, two = (reduce(SoftmaxAttention(heads=heads), Gaussian()) for heads in (H, 2))
    components = Components(2, sizes={H: 2})
    for symbol, equation in two.expanded().items():
        difference = components.difference(general.expanded()[symbol], equation)
        assert all(sp.expand(entry) == 0 for entry in difference)
    assert r"\sum_{h=1}^{H} V_{h} \Sigma B_{h}" in general.latex()


def test_undecided_is_said():
    with pytest.raises(ClosureUndecided, match="undecided") as refusal:
        reduce(SoftmaxAttention(space=Sphere(3)), AngularCentralGaussian())
    assert refusal.value.residual.has(V) or refusal.value.residual.free_symbols


def rates_by_quadrature(field, values):
    """Rates of mean and variance at d = 1 from the field's own integrals, tanh-sinh quadrature at 25 digits."""
    mean, variance = values["mu"], values["Sigma"]
    at, to = sp.symbols("q r", real=True)
    components = Components(1, values={x: sp.ImmutableMatrix([at]), y: sp.ImmutableMatrix([to])})

    def average(function):
        deviation = mpmath.sqrt(variance)
        return mpmath.quad(lambda q: function(q) * mpmath.npdf(q, mean, deviation), [-mpmath.inf, mean, mpmath.inf])

    def attention(head, point):
        expression = components(field.weight(head.score)).subs(at, point)
        table = {symbol: sp.Float(values[str(symbol)], 30) for symbol in expression.free_symbols - {to}}
        weight = sp.lambdify(to, expression.subs(table), "mpmath")
        top = average(lambda q: weight(q) * q)
        return values[f"{head.value.name}_1"] * (top / average(weight) if field.normalised else top)

    # Affine velocities: the three-point Gauss–Hermite rule integrates (q − μ) v(q) exactly.
    nodes = [mean + mpmath.sqrt(3 * variance) * k for k in (-1, 0, 1)]
    weights = [mpmath.mpf(1) / 6, mpmath.mpf(2) / 3, mpmath.mpf(1) / 6]
    velocities = [sum(attention(head, node) for head in field.attention_heads) for node in nodes]
    first = sum(w * v for w, v in zip(weights, velocities, strict=True))
    second = sum(2 * w * (q - mean) * v for w, q, v in zip(weights, nodes, velocities, strict=True))
    return first, second


@pytest.mark.parametrize("field", [LinearAttention(), L2Attention(), SoftmaxAttention(heads=2), own], ids=str)
def test_rates_against_quadrature_of_the_field(field):
    with mpmath.workdps(25):
        reduction = reduce(field, Gaussian())
        values = {"mu": mpmath.mpf("0.3"), "Sigma": mpmath.mpf("0.8"), "beta": mpmath.mpf("0.9")}
        for k, parameter in enumerate(reduction.parameters):
            number = mpmath.mpf((-1) ** k * (k + 3)) / 10
            values[parameter.name if parameter.shape == () else f"{parameter.name}_1"] = number
        expected = rates_by_quadrature(field, values)
        for symbol, rate in zip(reduction.equations, expected, strict=True):
            derived = Components(1)(reduction.expanded()[symbol])[0]
            table = {
                entry: sp.Float(values[str(entry)] if str(entry) in values else values[str(entry)[:-2]], 30)
                for entry in derived.free_symbols
            }
            # Quadrature at 25 digits.
            assert abs(derived.subs(table) - rate) < 1e-18


@pytest.mark.parametrize(
    ("field", "law", "words"),
    [
        (LinearAttention(space=Sphere(3)), WrappedCauchy(), "the circle"),
        (LinearAttention(), WrappedCauchy(), "the circle"),
        (LinearAttention(space=Sphere()), Gaussian(), "R\\^d"),
        (SoftmaxAttention(), "Gaussian", "family of laws"),
        ("softmax", Gaussian(), "attention field"),
    ],
)
def test_meaningless_pairs_are_named(field, law, words):
    with pytest.raises(ValueError, match=words):
        reduce(field, law)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"space": Sphere(), "feed_forward": "affine"}, "leaves the sphere"),
        ({"score": B * x}, "not a scalar"),
        ({"score": 3}, "not a scalar"),
        ({"weighting": C * x}, "not a scalar"),
        ({"weighting": sp.exp(p)}, "symbol s"),
        ({"heads": 0}, "positive integer"),
        ({"heads": p / 2}, "positive integer"),
        ({"heads": True}, "positive integer"),
        ({"feed_forward": "swish"}, "affine, relu"),
        ({"space": 3}, "Euclidean"),
    ],
)
def test_meaningless_fields_are_named(options, words):
    with pytest.raises(ValueError, match=words):
        SoftmaxAttention(**options)


@pytest.mark.parametrize("dimension", [0, 1.5])
def test_spaces_have_dimensions(dimension):
    with pytest.raises(ValueError, match="dimension"):
        Euclidean(dimension)
