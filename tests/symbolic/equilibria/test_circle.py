"""The saddle-node of Case 4 on the unit circle."""

import numpy as np
import pytest
import sympy as sp

from numeric import integrate, load_kernel
from symbolic import LinearAttention, Sphere, StepFailed, WrappedCauchy, reduce, saddle_nodes, specialise
from symbolic.invariants.families import Unsolved

reduction = reduce(LinearAttention(space=Sphere(2)), WrappedCauchy())
A, V, beta = (parameter.symbol for parameter in reduction.parameters)
v, w = sp.symbols("v w", positive=True)


def test_case_4_folds_at_equal_v_and_w():
    (fold,) = saddle_nodes(specialise(reduction, {A: sp.eye(2), V: sp.Matrix([[v, w], [-w, -v]])}))
    assert fold.condition == sp.Eq(v, w) and fold.state == -sp.I
    assert fold.two_if == (v - w > 0)
    for step in ("tangential component", "fold"):
        fold.derivation.verify_step(step)
    condition, place = fold.derivation["fold"]
    for wrong in (
        (sp.Eq(condition.lhs, 2 * condition.rhs, evaluate=False), place),
        (condition, sp.Eq(place.lhs, -place.rhs, evaluate=False)),
    ):
        with pytest.raises(StepFailed, match="fold"):
            fold.derivation.with_equation("fold", *wrong).verify_step("fold")


@pytest.mark.parametrize(("value", "converges"), [(0.99, False), (1.01, True)])
def test_clusters_stop_past_the_fold(value, converges):
    """Started on the circle (full clusters): they rotate for v < w and come to rest for v > w."""
    parameters = {"A": np.eye(2), "V": [[value, 1.0], [-1.0, -value]], "beta": 1.0}
    orbit = integrate(load_kernel("ott_antonsen"), {"R": 1.0 + 0.0j}, (0, 60), parameters, rtol=1e-10, atol=1e-12)
    angle = np.unwrap(np.angle(orbit["R"]))
    # Near the fold one turn takes 2π/(2√(w² − v²)) = 22 units of time at v = 0.99.
    assert (abs(angle[-1] - angle[0]) < np.pi) == converges


def test_what_is_not_quadratic_is_refused():
    a, b, c, d = sp.symbols("a b c d", real=True)
    with pytest.raises(Unsolved, match="not quadratic"):
        saddle_nodes(specialise(reduction, {A: sp.Matrix([[a, b], [b, c]]), V: sp.Matrix([[d, 1], [2, 3]])}))
