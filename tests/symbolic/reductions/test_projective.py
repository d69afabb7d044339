"""The matrix that moves all tokens on the sphere: direct integration, a closed form, and projective geometry."""

import numpy as np
import pytest
import scipy.linalg
import sympy as sp

from numeric import integrate, load_kernel
from symbolic import LinearAttention, SoftmaxAttention, Sphere, Tokens, reduce
from symbolic.derivation import StepFailed
from symbolic.fields import beta, s

GROUP = Tokens(moved_by_group=True)
reduction = reduce(LinearAttention(space=Sphere()), GROUP)


def random_problem(dimension, count, seed=0):
    """Unit tokens, and parameters of a size that moves them by about their distance in unit time."""
    rng = np.random.default_rng(seed)
    tokens = rng.normal(size=(count, dimension))
    matrices = {name: rng.normal(size=(dimension, dimension)) for name in "AV"}
    return tokens / np.linalg.norm(tokens, axis=-1, keepdims=True), {**matrices, "beta": 0.8}


def moved_by(matrix, tokens):
    moved = tokens @ matrix.T
    return moved / np.linalg.norm(moved, axis=-1, keepdims=True)


def solve(kernel, initial, parameters, end):
    return integrate(load_kernel(kernel), initial, (0, end), parameters, rtol=1e-12, atol=1e-13, exact=False).final


def test_equations_are_those_of_the_linear_field():
    d, n = sp.symbols("d n", integer=True, positive=True)
    A, V, G, W, U, M = (sp.MatrixSymbol(name, d, d) for name in "AVGWUM")
    assert reduction.equations == {G: W * G}
    assert dict(reduction.definitions)[U] == beta * V * M * A.T
    assert dict(reduction.definitions)[W] == U - sp.Trace(M * U) * sp.Identity(d)
    assert [(variable.name, variable.domain) for variable in reduction.state] == [("G", "matrix")]
    assert [parameter.name for parameter in reduction.parameters] == ["A", "V", "beta", "X0"]


@pytest.mark.parametrize("dimension", [2, 3, 5])
def test_one_matrix_moves_the_tokens_of_the_attention_field(dimension):
    tokens, parameters = random_problem(dimension, 3 * dimension)
    direct = solve("linear_tokens_sphere", {"X": tokens}, parameters, 2)["X"]
    group = solve("projective", {"G": np.eye(dimension)}, {**parameters, "X0": tokens}, 2)["G"]
    assert np.abs(direct - tokens).max() > 0.1
    # Local errors of 1e-12 grow by less than a hundred until t = 2.
    np.testing.assert_allclose(moved_by(group, tokens), direct, atol=1e-9)


def test_a_single_token_that_scores_itself_moves_by_the_exponential_of_the_value_matrix():
    """For A = I and n = 1 the score is ⟨x, x⟩ = 1, so x' = β P_x V x and x(t) has the direction of exp(βtV) x(0)."""
    token, parameters = random_problem(4, 1)
    parameters["A"] = np.eye(4)
    group = solve("projective", {"G": np.eye(4)}, {**parameters, "X0": token}, 3)["G"]
    expected = moved_by(scipy.linalg.expm(3 * 0.8 * parameters["V"]), token)
    np.testing.assert_allclose(moved_by(group, token), expected, atol=1e-9)


def test_the_scale_of_the_matrix_does_not_matter():
    tokens, parameters = random_problem(3, 7)
    matrix = np.random.default_rng(1).normal(size=(3, 3))
    rates = [load_kernel("projective").rhs(c * matrix, *parameters.values(), tokens)[0] for c in (1, -8)]
    np.testing.assert_allclose(rates[1], -8 * rates[0], rtol=1e-12)


def test_the_geometric_mean_of_the_lengths_is_kept_and_the_matrix_comes_to_rest():
    tokens, parameters = random_problem(3, 9)
    parameters |= {"A": np.eye(3), "V": np.eye(3)}  # two clusters
    group = solve("projective", {"G": np.eye(3)}, {**parameters, "X0": tokens}, 100)["G"]
    lengths = np.linalg.norm(tokens @ group.T, axis=1)
    # A hundred steps or so with local errors of 1e-12.
    assert abs(np.log(lengths).mean()) < 1e-10
    (rate,) = load_kernel("projective").rhs(group, *parameters.values(), tokens)
    assert np.abs(rate).max() < 1e-10


def test_another_multiple_of_the_identity_does_not_keep_the_scale():
    """Twice the multiple is the same field, and the tokens move alike, but their mean stretch is not zero."""
    derivation = reduction.derivation
    velocity, balanced, stretch = derivation["balanced_field"]
    twice = balanced.rhs.replace(sp.Trace, lambda matrix: 2 * sp.Trace(matrix))
    planted = sp.Eq(balanced.lhs, twice, evaluate=False)
    with pytest.raises(StepFailed, match="tangential part"):
        derivation.with_equation("balanced_field", velocity, planted, stretch).verify()
    nothing = sp.Eq(sp.S.Zero, sp.S.Zero, evaluate=False)
    same_field = derivation.with_equation("balanced_field", velocity, planted, nothing)
    same_field.verify_step("tangential part")
    with pytest.raises(StepFailed, match="mean stretch"):
        same_field.verify_step("mean stretch")


def test_cross_ratios_of_tokens_integrated_directly_are_conserved():
    """|a e c| |b f c| / (|a f c| |b e c|) for five of the tokens at d = 3."""
    tokens, parameters = random_problem(3, 6)

    def ratio(points):
        a, b, e, f, c = points[:5]
        triples = [(a, e, c), (b, f, c), (a, f, c), (b, e, c)]
        values = [np.linalg.det(np.stack(triple)) for triple in triples]
        return values[0] * values[1] / (values[2] * values[3])

    moved = solve("linear_tokens_sphere", {"X": tokens}, parameters, 2)["X"]
    single = [np.linalg.det(points[[0, 2, 4]]) for points in (tokens, moved)]
    assert abs(single[1] - single[0]) > 0.01
    # Four determinants, the smallest about 0.01: two of the twelve digits of the integration are lost.
    assert abs(ratio(moved) / ratio(tokens) - 1) < 1e-8


def test_a_ratio_in_which_tokens_do_not_cancel_is_found():
    derivation = reduction.derivation
    ratio = derivation["cross_ratio"]
    planted = derivation.with_equation("cross_ratio", sp.Eq(ratio.lhs, 1 / ratio.rhs.as_numer_denom()[1]))
    with pytest.raises(StepFailed, match="cancellation"):
        planted.verify()


def test_heads_add_up():
    """Two heads: each adds β V_h M A_hᵀ, against the attention sum over the tokens."""
    several = reduce(LinearAttention(space=Sphere(), heads=2), GROUP)
    several.derivation.verify()
    symbols = {parameter.name: parameter.symbol for parameter in several.parameters}
    moment = sp.MatrixSymbol("M", *symbols["A_1"].shape)
    expected = sp.MatAdd(*(beta * symbols[f"V_{h}"] * moment * symbols[f"A_{h}"].T for h in (1, 2)))
    assert several.definitions[-2][1] == expected


@pytest.mark.parametrize("field", [LinearAttention(weighting=s**2, space=Sphere()), SoftmaxAttention(space=Sphere())])
def test_fields_that_no_matrix_moves_are_refused(field):
    with pytest.raises(ValueError, match="no reduction is known"):
        reduce(field, GROUP)
