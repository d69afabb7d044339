"""Reflections that reverse time: the families, and orbits run back along their mirror images."""

import numpy as np
import pytest
import sympy as sp

from numeric import integrate, load_kernel
from symbolic import LinearAttention, Sphere, StepFailed, WrappedCauchy, find_reversibility, reduce, specialise

reduction = reduce(LinearAttention(space=Sphere(2)), WrappedCauchy())
A, V, beta = (parameter.symbol for parameter in reduction.parameters)


@pytest.fixture(scope="module")
def families():
    return find_reversibility(reduction)


def test_three_families(families):
    """V = cJSAS with a reflection S; A symmetric and V traceless, or A traceless and V symmetric, with a₁ ⊥ v₁."""
    tau_A, omega_A, delta_A, sigma_A = sp.symbols("tau_A omega_A delta_A sigma_A", real=True)
    tau_V, omega_V, delta_V, sigma_V = sp.symbols("tau_V omega_V delta_V sigma_V", real=True)
    orthogonal = delta_A * delta_V + sigma_A * sigma_V
    assert len(families) == 3
    assert {frozenset(family.conditions) for family in families[1:]} == {
        frozenset({omega_A, tau_V, orthogonal}),
        frozenset({tau_A, omega_V, orthogonal}),
    }
    first, c = families[0], sp.Symbol("c", real=True)
    a0, a1 = tau_A + sp.I * omega_A, delta_A + sp.I * sigma_A
    # As complex maps, S z = √(e^{iφ}) z̄ and V z = ci (ā₀ z + e^{iφ} ā₁ z̄).
    for column, point in enumerate((1, sp.I)):
        image = c * sp.I * (sp.conjugate(a0) * point + first.reflection * sp.conjugate(a1) * sp.conjugate(point))
        difference = first.values[V][0, column] + sp.I * first.values[V][1, column] - image
        assert sp.cancel(sp.expand(difference)) == 0


def test_derivations_verify_and_wrong_reflections_do_not(families):
    for family in families:
        for step in family.derivation.steps.keys() - reduction.derivation.steps.keys():
            family.derivation.verify_step(step)
        first, second = family.derivation["reflection"]
        turned = family.derivation.with_equation("reflection", first, sp.Eq(second.lhs, -second.rhs, evaluate=False))
        with pytest.raises(StepFailed, match="reflection"):
            turned.verify_step("reflection")


def test_orbits_run_back(families):
    """Integrate, reflect, integrate again, reflect: back at the start."""
    rng = np.random.default_rng(3)
    kernel = load_kernel("ott_antonsen")
    for family in families:
        symbols = sorted({s for v in (*family.values.values(), family.reflection) for s in v.free_symbols}, key=str)
        numbers = dict(zip(symbols, rng.uniform(0.3, 1, len(symbols)), strict=True))
        parameters = {p.name: np.array(family.values[p].subs(numbers), dtype=float) for p in (A, V)} | {"beta": 1.0}
        mirror = complex(family.reflection.subs(numbers))
        assert abs(abs(mirror) - 1) < 1e-12
        start = 0.3 - 0.2j

        def flow(R, parameters=parameters):
            return integrate(kernel, {"R": R}, (0, 3), parameters, rtol=1e-12, atol=1e-13)["R"][-1]

        there = flow(start)
        assert abs(there - start) > 1e-2
        back = mirror * np.conj(flow(mirror * np.conj(there)))
        # Local errors of 1e-12, and at most e^9 of growth in three units of time.
        assert abs(back - start) < 1e-7


def test_case_4_and_a_system_that_is_not_reversible():
    v, w = sp.symbols("v w", positive=True)
    (found,) = find_reversibility(specialise(reduction, {A: sp.eye(2), V: sp.Matrix([[v, w], [-w, -v]])}))
    assert found.reflection == -1 and found.values == {}
    assert (
        find_reversibility(specialise(reduction, {A: sp.Matrix([[-2, 0], [-2, 3]]), V: sp.Matrix([[0, 3], [1, 0]])}))
        == ()
    )
