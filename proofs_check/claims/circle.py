"""Claims about linear attention on the circle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import mpmath
import numpy as np
import sympy as sp

from numeric import Kernel, compile_kernel, integrate, load_kernel
from proofs_check.claim import Claim
from proofs_check.evidence import Evidence, Exact, Refuted
from proofs_check.verdicts import agreement, vanishing, verified
from symbolic import (
    AttentionField,
    Derivation,
    FirstIntegral,
    LinearAttention,
    Reduction,
    Sphere,
    WrappedCauchy,
    find_invariants,
    reduce,
    specialise,
)
from symbolic.fields import s
from symbolic.notation import without_parts
from symbolic.reductions.kuramoto_daido import angle_equation, angle_harmonics
from symbolic.zero import nonzero_witness

FIELD = LinearAttention(space=Sphere(2))


def ott_antonsen() -> Reduction:
    return reduce(FIELD, WrappedCauchy())


def with_wrong_sign() -> Reduction:
    """The Ott–Antonsen reduction with + Q̄R² in place of − Q̄R²."""
    reduction = ott_antonsen()
    state, q = reduction.state[0].symbol, next(symbol for symbol, _ in reduction.definitions if symbol.name == "Q")
    wrong = reduction.equations[state] + reduction.parameters[-1].symbol * sp.conjugate(q) * state**2
    return replace(reduction, equations={state: wrong})


# Second harmonic


def check_second_harmonic(field: AttentionField, digits: int) -> Evidence:
    """Expand θ' in harmonics of θ for free 2×2 matrices, and ask which are there."""
    harmonics = angle_harmonics(angle_equation(field))
    others = {frequency: value for frequency, value in harmonics.items() if frequency not in (-2, 0, 2)}
    if others:
        frequency, value = max(others.items())
        return Refuted(f"the coefficient of e^({frequency} iθ) is {nonzero_witness(value)}")
    return Exact(len(harmonics), detail=f"frequencies {', '.join(map(str, harmonics))} for free A and V")


# Ott–Antonsen equation


def derivation_with_wrong_sign() -> Derivation:
    equation = with_wrong_sign().equations
    ((state, wrong),) = equation.items()
    derivation = ott_antonsen().derivation
    return derivation.with_equation("ott_antonsen", sp.Eq(derivation["ott_antonsen"].lhs, wrong, evaluate=False))


@dataclass(frozen=True)
class Orbit:
    """Parameters of linear attention on the circle and an initial order parameter."""

    score: list[list[float]]
    value: list[list[float]]
    start: complex


#: A converging, a rotating and an oscillating orbit.
ORBITS = (
    Orbit([[1.0, 0.5], [-0.25, 0.75]], [[1.0, 0.0], [0.0, 1.0]], 0.3 + 0.2j),
    Orbit([[1.0, 0.0], [0.0, 1.0]], [[0.5, 1.0], [-1.0, -0.5]], 0.2 + 0.1j),
    Orbit([[-2.0, 0.0], [-2.0, 3.0]], [[0.0, 3.0], [1.0, 0.0]], -0.5 + 0.1j),
)
TOKENS = 2000


def check_tokens(kernel: Kernel, digits: int) -> Evidence:
    """The order parameter of 2000 tokens, each integrated in the attention field, against the kernel's R."""
    tokens = load_kernel("linear_tokens_sphere")
    times = np.linspace(0.0, 3.0, 31)
    worst, where = 0.0, "no orbit"
    for orbit in ORBITS:
        parameters = {"A": orbit.score, "V": orbit.value, "beta": 1.0}
        points = wrapped_cauchy_tokens(orbit.start)
        options: dict[str, Any] = {"rtol": 1e-12, "atol": 1e-13, "t_eval": list(times)}
        # Without the route through their group, which would be the reduction again.
        direct = integrate(tokens, {"X": points}, (0, 3), parameters, exact=False, **options)
        reduced = integrate(kernel, {"R": orbit.start}, (0, 3), parameters, **options)
        order = np.mean((direct["X"][..., 0] + 1j * direct["X"][..., 1]) ** 2, axis=-1)
        if len(reduced["R"]) != len(order):
            return Refuted(f"the reduced orbit from R = {orbit.start} {reduced.outcome}")
        deviations = abs(order - reduced["R"])
        if not deviations.max() <= worst:
            worst, where = deviations.max(), f"R₀ = {orbit.start}, t = {times[deviations.argmax()]:.1f}"
    # Local errors of 1e-12 grow by at most a few hundred along these orbits.
    return agreement(worst, "1e-9", where, detail=f"{TOKENS} tokens, {len(ORBITS)} orbits to t = 3")


def wrapped_cauchy_tokens(order: complex) -> np.ndarray:
    """Tokens whose doubled angles are the quantiles of a wrapped Cauchy law, a Möbius image of roots of unity.

    Their order parameter differs from `order` by |order|^(n−1) only, so no sampling error is left.
    """
    roots = np.exp(2j * np.pi * (np.arange(TOKENS) + 0.5) / TOKENS)
    angles = np.angle((order + roots) / (1 + np.conj(order) * roots)) / 2
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)


# The unit circle


def check_unit_circle(reduction: Reduction, digits: int) -> Evidence:
    """(|R|²)' at R = (1 + is)²/(1 + s²), every point of the circle but −1, for free parameters."""
    state = reduction.state[0].symbol
    slope = sp.Symbol("s", real=True)
    point = (1 + sp.I * slope) ** 2 / (1 + slope**2)
    entries = {
        parameter.symbol[i, j]: sp.Symbol(f"{parameter.name}_{i + 1}{j + 1}", real=True)
        for parameter in reduction.parameters
        if isinstance(parameter.symbol, sp.MatrixSymbol)
        for i in range(2)
        for j in range(2)
    }
    # Entries first, so that conjugates know them to be real.
    moved = without_parts(reduction.expanded()[state].xreplace(entries))
    radial = without_parts(sp.re(sp.conjugate(state) * moved)).subs(state, point)
    return vanishing([radial], detail="for free A, V and β")


# Case 4


@dataclass(frozen=True)
class Case4:
    """A = I, V = [[v, w], [−w, −v]] with v = 1/2, w = 1, its last entry off by `trace`; β = 1."""

    trace: sp.Rational = sp.S.Zero

    @property
    def parameters(self) -> dict[str, Any]:
        half = sp.Rational(1, 2)
        return {"A": [[1, 0], [0, 1]], "V": [[half, 1], [-1, -half + self.trace]], "beta": 1}


START = {"R": "1/5 + 1/10j"}
#: Period and extremes of |R| of the orbit from START, computed outside this package to ten digits.
ORBIT = {"period": "4.6383409549", "R_abs_min": "0.1712589122", "R_abs_max": "0.4823341029"}
#: Half a unit in the last digit that the references are given to.
ORBIT_ERROR = "5e-11"


def case_4() -> FirstIntegral:
    """The first integral that the search finds for free v, w > 0."""
    v, w = sp.symbols("v w", positive=True)
    general = ott_antonsen()
    score, value, _ = (parameter.symbol for parameter in general.parameters)
    (found,) = find_invariants(specialise(general, {score: sp.eye(2), value: sp.Matrix([[v, w], [-w, -v]])}))
    return found


def case_4_with_wrong_sign() -> Derivation:
    found = case_4()
    hamiltonian = found.derivation["hamiltonian"]
    wrong = sp.Eq(hamiltonian.lhs, hamiltonian.rhs.subs(sp.Symbol("v", positive=True), -sp.Symbol("v", positive=True)))
    return found.derivation.with_equation("hamiltonian", wrong)


def hamiltonian_function() -> Callable[[Any], Any]:
    """The Hamiltonian found, at v = 1/2, w = 1, β = 1, as a function of R for mpmath numbers."""
    values = {"v": sp.Rational(1, 2), "w": 1, "beta": 1}
    expression = case_4().hamiltonian
    at_values = expression.subs({s: values[s.name] for s in expression.free_symbols if s.name in values})
    coordinates = sp.symbols("x y", real=True)
    function = sp.lambdify(coordinates, at_values, "mpmath")
    return lambda order: function(order.real, order.imag)


def check_hamiltonian(case: Case4, digits: int) -> Evidence:
    """H along ten periods, relative to its value at the start."""
    kernel = load_kernel("ott_antonsen", "mpmath")
    hamiltonian = hamiltonian_function()
    end = mpmath.mpf(ORBIT["period"]) * 10
    trajectory = integrate(kernel, START, (0, end), case.parameters, digits=digits)
    with mpmath.workdps(digits + 10):
        values = [hamiltonian(order) for order in trajectory["R"]]
        drifts = [abs(value / values[0] - 1) for value in values]
        worst = max(drifts)
        where = f"t = {mpmath.nstr(trajectory.times[drifts.index(worst)], 5)}"
        # The orbit is right to the digits asked; 1 − |R|² and its square lose a few of them.
        return agreement(worst, mpmath.mpf(10) ** (5 - digits), where, detail="ten periods, at every step")


def check_orbit(case: Case4, digits: int) -> Evidence:
    """Period and extremes of |R| against the reference: times when (|R|²)' changes sign, two by two."""
    kernel = load_kernel("ott_antonsen", "mpmath")

    def radial_rate(time: Any, state: dict[str, Any]) -> Any:
        (rate,) = kernel.rhs(state["R"], *exact_parameters)
        return (mpmath.conj(state["R"]) * rate).real

    radial_rate.terminal = 3  # type: ignore[attr-defined]
    exact_parameters = [_matrix(case.parameters["A"]), _matrix(case.parameters["V"]), mpmath.mpf(1)]
    trajectory = integrate(kernel, START, (0, 20), case.parameters, digits=digits, events=radial_rate)
    (turns,) = trajectory.events
    if len(turns) < 3:
        return Refuted(f"|R| has only {len(turns)} extremes before t = 20")
    with mpmath.workdps(digits):
        sizes = sorted(abs(state["R"]) for _, state in turns[:2])
        found = {"period": turns[2][0] - turns[0][0], "R_abs_min": sizes[0], "R_abs_max": sizes[1]}
        deviations = {name: abs(found[name] - mpmath.mpf(value)) for name, value in ORBIT.items()}
        name = max(deviations, key=lambda key: deviations[key])
        detail = ", ".join(f"{key} {mpmath.nstr(value, 20)}" for key, value in found.items())
        return agreement(deviations[name], ORBIT_ERROR, f"{name} = {mpmath.nstr(found[name], 15)}", detail=detail)


def _matrix(rows: Any) -> np.ndarray:
    return np.array([[mpmath.mpf(sp.Rational(e).p) / sp.Rational(e).q for e in row] for row in rows], dtype=object)


CLAIMS: tuple[Claim[Any], ...] = (
    Claim(
        id="circle.second-harmonic",
        statement="Linear attention on the circle moves the angle by a pure second harmonic",
        hypotheses=("every 2×2 matrix A and V", "every law of the tokens"),
        source="[L], linear attention on the circle",
        check=check_second_harmonic,
        subject=lambda: FIELD,
        control=lambda: LinearAttention(weighting=s**2, space=Sphere(2)),
        control_statement="the weight is the square of the score",
    ),
    Claim(
        id="circle.ott-antonsen",
        statement="Wrapped Cauchy laws are kept, with R' = iβ Im(P) R + (β/2)(Q − Q̄R²)",
        hypotheses=("the doubled angle is wrapped Cauchy",),
        source="[L], Ott–Antonsen reduction",
        check=lambda derivation, digits: verified(derivation),
        subject=lambda: ott_antonsen().derivation,
        control=derivation_with_wrong_sign,
        control_statement="the sign of Q̄R² is flipped",
    ),
    Claim(
        id="circle.ott-antonsen-tokens",
        statement="The order parameter of 2000 tokens integrated directly obeys the Ott–Antonsen equation",
        hypotheses=("doubled angles at the quantiles of a wrapped Cauchy law",),
        source="[L], Ott–Antonsen reduction",
        check=check_tokens,
        subject=lambda: load_kernel("ott_antonsen"),
        control=lambda: compile_kernel(with_wrong_sign()),
        control_statement="the sign of Q̄R² is flipped",
    ),
    Claim(
        id="circle.unit-circle-invariant",
        statement="The circle |R| = 1 is invariant",
        hypotheses=("the doubled angle is wrapped Cauchy",),
        source="[L], Ott–Antonsen reduction",
        check=check_unit_circle,
        subject=ott_antonsen,
        control=with_wrong_sign,
        control_statement="the sign of Q̄R² is flipped",
    ),
    Claim(
        id="circle.case-4-hamiltonian",
        statement="Case 4 has the integrating factor (1 − |R|²)⁻³ and a Hamiltonian",
        hypotheses=("A = I", "V = [[v, w], [−w, −v]], v, w > 0"),
        source="[L], Case 4",
        check=lambda derivation, digits: verified(derivation),
        subject=lambda: case_4().derivation,
        control=case_4_with_wrong_sign,
        control_statement="the sign of v in H is flipped",
    ),
    Claim(
        id="circle.case-4-conserved",
        statement="The Hamiltonian of Case 4 is conserved over ten periods",
        hypotheses=("A = I", "V = [[1/2, 1], [−1, −1/2]], traceless", "R₀ = 1/5 + i/10"),
        source="[L], Case 4",
        check=check_hamiltonian,
        subject=Case4,
        control=lambda: Case4(trace=sp.Rational(1, 1000)),
        control_statement="V has the trace 1/1000",
    ),
    Claim(
        id="circle.case-4-orbit",
        statement="The orbit of Case 4 has the period 4.6383409549 and |R| between 0.1712589122 and 0.4823341029",
        hypotheses=("A = I", "V = [[1/2, 1], [−1, −1/2]]", "R₀ = 1/5 + i/10", "β = 1"),
        source="[L], Case 4",
        check=check_orbit,
        subject=Case4,
        control=lambda: Case4(trace=sp.Rational(1, 1000)),
        control_statement="V has the trace 1/1000",
    ),
)
