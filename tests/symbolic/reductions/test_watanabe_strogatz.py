"""The Möbius map that moves all tokens on the circle: the formulas of the paper, and other ways to the same tokens."""

import numpy as np
import pytest
import sympy as sp

from numeric import integrate, load_kernel
from symbolic import LinearAttention, Sphere, Tokens, reduce
from symbolic.derivation import StepFailed
from symbolic.notation import without_parts

reduction = reduce(LinearAttention(space=Sphere(2)), Tokens(moved_by_group=True))
alpha, eta = (variable.symbol for variable in reduction.state)
PARAMETERS = {"A": [[1.0, 0.5], [-0.25, 0.75]], "V": [[0.4, 1.0], [-0.8, -0.5]], "beta": 1.2}
ANGLES = np.array([0.1, 0.9, 1.6, 2.2, -0.7, -2.5, 2.9])


def solve(kernel, initial, parameters, end=2):
    return integrate(load_kernel(kernel), initial, (0, end), parameters, rtol=1e-12, atol=1e-13, exact=False).final


def moebius_map(state, constants):
    rotated = np.exp(1j * state["eta"]) * constants
    return (state["alpha"] + rotated) / (1 + np.conj(state["alpha"]) * rotated)


def circle_tokens():
    return np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=-1)


def by_watanabe_strogatz():
    return solve("watanabe_strogatz", {"alpha": 0, "eta": 0}, {**PARAMETERS, "psi": 2 * ANGLES})


def test_equations_of_the_paper():
    beta, omega = (sp.Symbol(name, real=True) for name in ("beta", "omega"))
    H, P, Q = sp.symbols("H P Q", complex=True)
    paper = {
        alpha: sp.I * omega * alpha + (H - sp.conjugate(H) * alpha**2) / 2,
        eta: omega + sp.im(sp.conjugate(alpha) * H),
    }
    for state, equation in reduction.equations.items():
        assert sp.expand(without_parts(equation - paper[state])) == 0
    definitions = dict(reduction.definitions)
    assert (definitions[omega], definitions[H]) == (beta * sp.im(P), beta * Q)


def test_a_moebius_map_moves_the_tokens_of_the_attention_field():
    direct = solve("linear_tokens_sphere", {"X": circle_tokens()}, PARAMETERS)["X"]
    doubled = (direct[:, 0] + 1j * direct[:, 1]) ** 2
    moved = moebius_map(by_watanabe_strogatz(), np.exp(2j * ANGLES))
    assert np.abs(doubled - np.exp(2j * ANGLES)).max() > 0.5
    # Local errors of 1e-12 grow by less than a hundred until t = 2.
    np.testing.assert_allclose(moved, doubled, atol=1e-9)


def test_the_matrix_of_the_projective_reduction_gives_the_same_map():
    group = solve("projective", {"G": np.eye(2)}, {**PARAMETERS, "X0": circle_tokens()})["G"]
    first, second = group[:, 0] @ [1, 1j], group[:, 1] @ [1, 1j]
    gamma0, gamma1 = (first - 1j * second) / 2, (first + 1j * second) / 2
    state = by_watanabe_strogatz()
    assert abs(state["alpha"]) > 0.1
    # As above.
    assert abs(state["alpha"] - gamma1 / np.conj(gamma0)) < 1e-9
    assert abs(np.exp(1j * state["eta"]) - gamma0 / np.conj(gamma0)) < 1e-9


def test_uniform_constants_give_the_ott_antonsen_equation():
    """With w_k the 200th roots of unity the mean of the moved points is α, up to |α|^199."""
    constants = 2 * np.pi * np.arange(200) / 200
    start = 0.3 + 0.2j
    state = solve("watanabe_strogatz", {"alpha": start, "eta": 0.4}, {**PARAMETERS, "psi": constants})
    order = solve("ott_antonsen", {"R": start}, PARAMETERS)["R"]
    assert abs(order) < 0.85  # 0.85^199 is 1e-14
    assert abs(state["alpha"] - order) < 1e-9


def test_cross_ratios_are_invariants_with_an_expression():
    """Of tokens integrated directly, in the expression that the reduction states."""
    expression = reduction.invariants[0].expression
    value = sp.lambdify(sorted(expression.free_symbols, key=str), expression)
    direct = solve("linear_tokens_sphere", {"X": circle_tokens()}, PARAMETERS)["X"]
    doubled = (direct[:, 0] + 1j * direct[:, 1]) ** 2
    for k in range(3, len(ANGLES)):
        chosen = [0, 1, 2, k]
        before, after = value(*np.exp(2j * ANGLES[chosen])), value(*doubled[chosen])
        assert abs(before.imag) < 1e-12  # four points of a circle have a real cross-ratio
        assert abs(after / before - 1) < 1e-8  # differences of tokens of size 0.1 lose a digit or two


@pytest.mark.parametrize("step", ["cross-ratio under the Riccati equation", "cross-ratio under the Möbius map"])
def test_a_ratio_that_is_no_cross_ratio_is_found(step):
    derivation = reduction.derivation
    ratio = derivation["cross_ratio"]
    e3, e4 = sp.symbols("e3 e4", complex=True, nonzero=True)
    planted = derivation.with_equation("cross_ratio", sp.Eq(ratio.lhs, ratio.rhs * (e3 - e4)))
    with pytest.raises(StepFailed, match=step):
        planted.verify_step(step)
