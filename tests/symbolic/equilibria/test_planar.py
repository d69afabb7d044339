"""Equilibria of the Ott–Antonsen equation: against the formulas of the paper, and against integration."""

import numpy as np
import pytest
import sympy as sp

from numeric import integrate, load_kernel
from symbolic import (
    LinearAttention,
    Sphere,
    StepFailed,
    Tokens,
    WrappedCauchy,
    equilibria,
    reduce,
    specialise,
)
from symbolic.equilibria.signs import negative_if, positive_if
from symbolic.invariants.families import Unsolved

reduction = reduce(LinearAttention(space=Sphere(2)), WrappedCauchy())
A, V, beta = (parameter.symbol for parameter in reduction.parameters)
a, b, c, d = sp.symbols("a b c d", real=True)
v, w = sp.symbols("v w", positive=True)
CASES = {
    1: {A: sp.Matrix([[a, b], [c, d]]), V: sp.eye(2)},
    2: {A: sp.eye(2), V: sp.Matrix([[a, b], [b, d]])},
    4: {A: sp.eye(2), V: sp.Matrix([[v, w], [-w, -v]])},
}


@pytest.fixture(scope="module")
def found():
    return {number: equilibria(specialise(reduction, case)) for number, case in CASES.items()}


def is_zero(expression):
    return sp.simplify(expression) == 0


def test_case_1_is_the_paper_s(found):
    """R* = −a₁/ā₀ iff det A > 0, attracting iff also tr A < 0 (β > 0)."""
    (equilibrium,) = found[1]
    a0, a1 = (a + d) / 2 + sp.I * (c - b) / 2, (a - d) / 2 + sp.I * (b + c) / 2
    assert is_zero(equilibrium.state + a1 / sp.conjugate(a0))
    assert equilibrium.exists_if == (a * d - b * c > 0)
    assert equilibrium.stable_if == (beta * (a + d) < 0)
    assert equilibrium.centre_if == sp.Eq(beta * (a + d), 0)


def test_case_1_in_the_words_of_the_other_paper(found):
    """[L]: an interior limit if sym A ≺ 0, clusters if tr A > 0 or det A ≤ 0."""
    (equilibrium,) = found[1]
    rng = np.random.default_rng(0)
    for entries in rng.normal(size=(200, 4)).round(2):
        numbers = dict(zip((a, b, c, d), map(sp.Rational, map(str, entries)), strict=True)) | {beta: 1}
        attracts = bool(sp.And(equilibrium.exists_if, equilibrium.stable_if).subs(numbers))
        matrix = entries.reshape(2, 2)
        if np.linalg.eigvalsh(matrix + matrix.T).max() < 0:
            assert attracts
        if np.trace(matrix) > 0 or np.linalg.det(matrix) <= 0:
            assert not attracts


def test_case_2_is_the_paper_s(found):
    """A = I, V symmetric: no interior attractor iff λ_max(V) ≥ 0; otherwise R* = −2v₁/tr V."""
    (equilibrium,) = found[2]
    assert is_zero(equilibrium.state + (a - d + 2 * sp.I * b) / (a + d))
    assert equilibrium.exists_if == (a * d - b**2 > 0)
    assert equilibrium.stable_if == (beta * (a + d) < 0)


def test_case_4_is_the_paper_s(found):
    """The centre R = iy*, y* = −tanh(⅓ artanh(v/w)), exists for v < w."""
    (centre,) = found[4]
    assert centre.state == -sp.I * sp.tanh(sp.atanh(v / w) / 3)
    assert centre.exists_if == (w - v > 0)
    assert centre.stable_if == sp.false and centre.centre_if == sp.true
    # By hand at v = 0: P = −iw, Q = −iwR, so R' = −(iβw/2)(3 + |R|²)R.
    at_zero = centre.jacobian.subs(v, 0).applyfunc(sp.simplify)
    assert at_zero.trace() == 0 and is_zero(at_zero.det() - sp.Rational(9, 4) * beta**2 * w**2)


@pytest.mark.parametrize(
    ("number", "values"),
    [
        (1, {a: -1, b: 0.5, c: -0.75, d: -0.5}),
        (2, {a: -1, b: 0.25, d: -0.5}),
    ],
)
def test_orbits_converge_to_the_attractor(found, number, values):
    (equilibrium,) = found[number]
    numbers = {**values, beta: 1}
    assert sp.And(equilibrium.exists_if, equilibrium.stable_if).subs(numbers) == sp.true
    parameters = {p.name: np.array(CASES[number][p].subs(numbers), dtype=float) for p in (A, V)} | {"beta": 1.0}
    end = integrate(load_kernel("ott_antonsen"), {"R": 0.1 + 0.2j}, (0, 200), parameters, rtol=1e-11, atol=1e-12)
    # The slowest rate is above 0.1, so nothing is left of the start after 200 units of time.
    assert abs(end["R"][-1] - complex(equilibrium.state.subs(numbers))) < 1e-8


def test_the_linearisation_gives_the_period_of_small_orbits(found):
    """Case 4 at v = 1/2, w = 1: start 1e-3 from the centre and return after 2π/√det J."""
    (centre,) = found[4]
    numbers = {v: 0.5, w: 1.0, beta: 1.0}
    point = complex(centre.state.subs(numbers))
    period = 2 * np.pi / np.sqrt(float(centre.jacobian.subs(numbers).det()))
    parameters = {"A": np.eye(2), "V": [[0.5, 1.0], [-1.0, -0.5]], "beta": 1.0}
    start = point + 1e-3
    end = integrate(load_kernel("ott_antonsen"), {"R": start}, (0, period), parameters, rtol=1e-12, atol=1e-14)
    # The period depends on the square of the amplitude: 1e-3 · O(1e-6).
    assert abs(end["R"][-1] - start) < 1e-7


@pytest.mark.parametrize("number", CASES)
def test_derivations_verify_and_wrong_signs_do_not(found, number):
    for equilibrium in found[number]:
        derivation = equilibrium.derivation
        for step in ("equilibrium", "linearisation"):
            derivation.verify_step(step)
        first, second = derivation["equilibrium"]
        for relations in (
            (sp.Eq(first.lhs, -first.rhs, evaluate=False), second),
            (first, sp.Eq(second.lhs, -second.rhs, evaluate=False)),
        ):
            if all(relation.rhs == original.rhs for relation, original in zip(relations, (first, second), strict=True)):
                continue
            with pytest.raises(StepFailed, match="equilibrium"):
                derivation.with_equation("equilibrium", *relations).verify_step("equilibrium")
        J = derivation["linearisation"]
        with pytest.raises(StepFailed, match="linearisation"):
            derivation.with_equation("linearisation", sp.Eq(J.lhs, -J.rhs, evaluate=False)).verify_step("linearisation")


def test_equilibria_on_curves_or_beyond_closed_form_are_refused():
    with pytest.raises(Unsolved):
        equilibria(specialise(reduction, {A: sp.Matrix([[a, b], [c, d]]), V: sp.Matrix([[v, w], [-w, -v]])}))
    with pytest.raises(ValueError, match="one complex state"):
        equilibria(reduce(LinearAttention(space=Sphere()), Tokens()))


def test_sign_conditions_keep_only_what_is_open():
    assert positive_if(-3 * a * (b**2 + 2)) == (-a > 0)
    assert negative_if(a * b / (a**2 + 2 * a * d + d**2 + b**2), known=[-a]) == (-b < 0)
    assert positive_if(sp.Integer(2)) == sp.true
