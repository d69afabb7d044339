"""Polynomial and rational first integrals at given parameters."""

import pytest
import sympy as sp

from symbolic import (
    Gaussian,
    LinearAttention,
    SoftmaxAttention,
    Sphere,
    WrappedCauchy,
    find_invariants,
    reduce,
    specialise,
)

reduction = reduce(LinearAttention(space=Sphere(2)), WrappedCauchy())
A, V, beta = (parameter.symbol for parameter in reduction.parameters)
x, y = sp.symbols("x y", real=True)
half = sp.Rational(1, 2)


def at(score, value):
    return specialise(reduction, {A: sp.Matrix(score), V: sp.Matrix(value)})


def same_up_to_constants(found, known):
    """Whether one is a function of the other: their gradients are parallel."""
    return sp.simplify(found.diff(x) * known.diff(y) - found.diff(y) * known.diff(x)) == 0


def test_case_4_is_found_again_without_the_weight():
    """H of the paper at v = 1/2, w = 1; its degree, 4, is needed."""
    case = at([[1, 0], [0, 1]], [[half, 1], [-1, -half]])
    (found,) = find_invariants(case, "rational", degree=4)
    found.derivation.verify()
    paper = (1 + x**2 + y**2 + y) / (1 - x**2 - y**2) ** 2
    assert sp.simplify(found.hamiltonian / paper).is_number
    assert find_invariants(case, "rational", degree=3) == ()
    assert find_invariants(case, "polynomial", degree=4) == ()


def test_the_rotated_transpose_is_found_again():
    score = sp.Matrix([[1, half], [-half, 2]])
    case = at(score, sp.Matrix([[0, -1], [1, 0]]) * score.T)
    (found,) = find_invariants(case, "rational")
    (weighted,) = find_invariants(case, exponent=3)
    assert same_up_to_constants(found.hamiltonian, weighted.hamiltonian)


def test_closed_orbits_of_case_1():
    """V = I, tr A = 0: circles or other conics; the polynomial has free parameters."""
    p, q, r = sp.symbols("p q r", real=True)
    (found,) = find_invariants(at([[p, q], [r, -p]], [[1, 0], [0, 1]]), "polynomial", degree=2)
    found.derivation.verify()
    assert found.exponent is None
    assert sp.Poly(found.hamiltonian, x, y).total_degree() == 2


def test_a_limit_cycle_leaves_no_rational_first_integral():
    """The orbits that approach an isolated cycle lie on no algebraic curve of a pencil."""
    case = at([[-2, 0], [-2, 3]], [[0, 3], [1, 0]])
    assert find_invariants(case, "rational", degree=4) == find_invariants(case, "polynomial", degree=4) == ()


def test_a_wrong_first_integral_does_not_verify():
    (found,) = find_invariants(at([[1, -2], [2, -1]], [[1, 0], [0, 1]]), "polynomial")
    relation = found.derivation["hamiltonian"]
    broken = found.derivation.with_equation("hamiltonian", sp.Eq(relation.lhs, relation.rhs + x, evaluate=False))
    with pytest.raises(ArithmeticError, match="conservation"):
        broken.verify()


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="numbers for delta_A"):
        find_invariants(reduction, "rational")
    with pytest.raises(ValueError, match="ansatz: 'cubic' should be one of weight"):
        find_invariants(reduction, "cubic")
    with pytest.raises(ValueError, match="degree: 0"):
        find_invariants(reduction, "polynomial", degree=0)
    with pytest.raises(ValueError, match="exponent: it belongs to"):
        find_invariants(reduction, "polynomial", exponent=3)
    with pytest.raises(ValueError, match="exponent: 0.5 should be a rational"):
        find_invariants(reduction, exponent=0.5)
    with pytest.raises(ValueError, match="one complex state"):
        find_invariants(reduce(SoftmaxAttention(feed_forward="affine"), Gaussian()))
