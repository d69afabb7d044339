"""The circle: Kuramoto–Daido form, Ott–Antonsen equation, and Case 4 against the formulas of the paper."""

import numpy as np
import pytest
import sympy as sp

from numeric import compile_kernel, integrate
from symbolic import LinearAttention, Sphere, Tokens, WrappedCauchy, find_invariants, reduce, specialise
from symbolic.notation import without_parts

circle = LinearAttention(space=Sphere(2))
reduction = reduce(circle, WrappedCauchy())
R = reduction.state[0].symbol
A, V, beta = (parameter.symbol for parameter in reduction.parameters)
bar = sp.conjugate


def is_zero(expression):
    return sp.expand(without_parts(expression)) == 0


def coefficients(matrix):
    """The complex form of a matrix as the paper writes it."""
    zeroth = (matrix[0, 0] + matrix[1, 1]) / 2 + sp.I * (matrix[1, 0] - matrix[0, 1]) / 2
    first = (matrix[0, 0] - matrix[1, 1]) / 2 + sp.I * (matrix[1, 0] + matrix[0, 1]) / 2
    return zeroth, first


def free_matrix(name):
    return sp.Matrix(2, 2, lambda i, j: sp.Symbol(f"{name}{i}{j}", real=True))


def test_equation_of_the_paper():
    a, v = free_matrix("a"), free_matrix("v")
    (a0, a1), (v0, v1) = coefficients(a), coefficients(v)
    p = v0 * (bar(a0) + R * bar(a1)) + v1 * (bar(a1) + bar(R) * bar(a0))
    q = v0 * (a1 + R * a0) + v1 * (a0 + bar(R) * a1)
    paper = sp.I * beta * sp.im(p) * R + beta / 2 * (q - bar(q) * R**2)
    assert is_zero(specialise(reduction, {A: a, V: v}).equations[R] - paper)


def test_case_1_value_identity():
    a = free_matrix("a")
    a0, a1 = coefficients(a)
    case = specialise(reduction, {A: a, V: sp.eye(2)})
    assert is_zero(case.equations[R] - beta / 2 * (1 - R * bar(R)) * (a1 + bar(a0) * R))


def test_the_hidden_hamiltonian_of_case_4():
    v, w = sp.symbols("v w", positive=True)
    case = specialise(reduction, {A: sp.eye(2), V: sp.Matrix([[v, w], [-w, -v]])})
    (found,) = find_invariants(case)
    assert found.exponent == 3
    found.derivation.verify()
    x, y = sp.symbols("x y", real=True)
    paper = (w * (1 + x**2 + y**2) + 2 * v * y) / (1 - x**2 - y**2) ** 2
    # The paper's normalisation: R' = (β/4)(1−|R|²)³ (H_y, −H_x).
    assert sp.simplify(found.hamiltonian - beta / 4 * paper) == 0


def test_every_symmetric_score_and_traceless_value_matrix_is_hamiltonian():
    a, b, c, p, q, r = sp.symbols("a b c p q r", real=True)
    case = specialise(reduction, {A: sp.Matrix([[a, b], [b, c]]), V: sp.Matrix([[p, q], [r, -p]])})
    (found,) = find_invariants(case)
    assert found.exponent == 3
    assert sp.degree(sp.numer(found.hamiltonian), sp.Symbol("x", real=True)) == 2


def test_a_system_without_a_weight_has_no_first_integral():
    a = sp.Matrix([[-2, 0], [-2, 3]])
    assert find_invariants(specialise(reduction, {A: a, V: sp.Matrix([[0, 3], [1, 0]])})) == ()


def test_order_parameter_of_tokens_obeys_the_mean_field():
    """Ξ' of two tokens equals 2θ' computed from the attention sum itself, at exact points of the circle."""
    tokens = reduce(circle, Tokens())
    angle, mean_field = tokens.derivation["angle"], tokens.derivation["kuramoto_daido"][2]
    assert angle.lhs.name == "thetadot" and mean_field.lhs.name == "Xidot"
    a, v = free_matrix("a"), free_matrix("v")
    points = [sp.Matrix([sp.Rational(3, 5), sp.Rational(4, 5)]), sp.Matrix([sp.Rational(-5, 13), sp.Rational(12, 13)])]
    order = sum((z[0] + sp.I * z[1]) ** 2 for z in points) / 2
    table = {**dict(zip(A, a, strict=True)), **dict(zip(V, v, strict=True))}
    definitions = {}
    for symbol, value in tokens.definitions[:4] + tokens.definitions[-2:]:
        definitions[symbol] = sp.expand(value.xreplace(table).xreplace(definitions).subs(R, sp.expand(order)))
    for z in points:
        normal = sp.Matrix([-z[1], z[0]])
        direct = sum((z.T * a * other)[0] * (normal.T * v * other)[0] for other in points) / 2 * beta
        wave = sp.expand((z[0] - sp.I * z[1]) ** 2)
        derived = beta * (sp.im(definitions[_symbol("P")]) + sp.im(sp.expand(definitions[_symbol("Q")] * wave)))
        assert is_zero(2 * direct - derived)


def test_heads_add_against_tokens():
    """Two heads: R of a hundred tokens at wrapped Cauchy quantiles, integrated directly."""
    start, random = 0.2 - 0.1j, np.random.default_rng(3)
    reduced = compile_kernel(reduce(LinearAttention(space=Sphere(2), heads=2), WrappedCauchy()))
    direct = compile_kernel(reduce(LinearAttention(space=Sphere(), heads=2), Tokens()))
    parameters = {p.name: random.normal(size=p.shape) for p in reduced.parameters if p.shape} | {"beta": 0.7}
    roots = np.exp(2j * np.pi * np.arange(100) / 100)
    angles = np.angle((start + roots) / (1 + np.conj(start) * roots)) / 2
    tokens = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    points = integrate(direct, {"X": tokens}, (0, 1), parameters).final["X"]
    order = integrate(reduced, {"R": start}, (0, 1), parameters).final["R"]
    # Both are integrated to 1e-10, and |R|^99 is far below that.
    assert abs(np.mean((points[:, 0] + 1j * points[:, 1]) ** 2) - order) < 1e-8


def _symbol(name):
    return sp.Symbol(name, complex=True)


@pytest.mark.parametrize("values", [{"A": sp.eye(3)}, {"Z": sp.eye(2)}])
def test_specialise_refuses_wrong_shapes_and_names(values):
    with pytest.raises(ValueError, match="values: "):
        specialise(reduction, {sp.MatrixSymbol(name, 2, 2): value for name, value in values.items()})
