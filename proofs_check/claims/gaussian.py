"""Claims about Gaussian laws under softmax attention."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random
from typing import Any

import mpmath
import numpy as np
import sympy as sp

from numeric import Kernel, compile_kernel, integrate, load_kernel
from numeric.outcome import BlewUp
from proofs_check.claim import Claim
from proofs_check.evidence import Evidence, Refuted
from proofs_check.verdicts import agreement, verified
from symbolic import Derivation, Gaussian, Reduction, SoftmaxAttention, reduce

FIELD = SoftmaxAttention(feed_forward="affine")


def moments() -> Reduction:
    return reduce(FIELD, Gaussian())


# Invariance and moment equations


def flipped_feedback() -> Derivation:
    """The derivation with the sign of the terms that V brings into Σ' changed."""
    derivation = moments().derivation
    mean, covariance = derivation["moment_equations"]
    value = next(p.symbol for p in moments().parameters if p.name == "V")
    terms = [-term if term.has(value) else term for term in covariance.rhs.args]
    return derivation.with_equation("moment_equations", mean, sp.Eq(covariance.lhs, sp.MatAdd(*terms)))


# The moment rates against quadrature of the field


@dataclass(frozen=True)
class Law:
    """A one-dimensional Gaussian and the parameters of the field, exact."""

    mean: Fraction
    variance: Fraction
    parameters: dict[str, Fraction]

    def __str__(self) -> str:
        values = {"μ": self.mean, "Σ": self.variance, **self.parameters}
        return ", ".join(f"{name} = {value}" for name, value in values.items())


def sample_laws(count: int) -> list[Law]:
    random = Random(0)

    def draw() -> Fraction:
        return Fraction(random.randint(-9, 9), 10)

    return [Law(draw(), Fraction(random.randint(2, 9), 10), {name: draw() for name in "BVAb"}) for _ in range(count)]


def check_moment_rates(kernel: Kernel, digits: int) -> Evidence:
    """The kernel's μ', Σ' at d = 1 against averages of the attention field, its integrals done by quadrature."""
    worst, where = mpmath.mpf(0), "no law"
    with mpmath.workdps(digits + 10):
        for law in sample_laws(3):
            mean, variance = _number(law.mean), _number(law.variance)
            exact = {name: _number(value) for name, value in law.parameters.items()}
            matrices = {name: [[value]] for name, value in exact.items() if name != "b"}
            state = [_array([mean]), _array([[variance]])]
            parameters = [_array(matrices.get(p.name, [exact[p.name]])) for p in kernel.parameters]
            derived = [rate.ravel()[0] for rate in kernel.rhs(*state, *parameters)]
            for got, expected in zip(derived, _rates_by_quadrature(mean, variance, exact), strict=True):
                if not abs(got - expected) <= worst:
                    worst, where = abs(got - expected), str(law)
        # Quadrature and evaluation carry ten guard digits.
        return agreement(worst, mpmath.mpf(10) ** (3 - digits), where, detail="3 laws at d = 1, against quadrature")


def _rates_by_quadrature(mean: Any, variance: Any, exact: dict[str, Any]) -> tuple[Any, Any]:
    """∫ v dm and 2 ∫ (x − μ) v dm by the trapezoidal rule, which converges geometrically for Gaussian integrands."""
    width = mpmath.sqrt(variance)
    # The tail beyond ±16σ and the aliasing of step σ/4 (e^{-2π²·16}) are both below 1e-54; both improve with digits.
    reach = mpmath.sqrt(2 * mpmath.log(10) * (mpmath.mp.dps + 10)) + 2
    step = 2 * mpmath.pi / reach
    half = int(mpmath.ceil(reach / step))
    points = [mean + width * step * j for j in range(-half, half + 1)]
    weights = [step * mpmath.npdf(step * j) for j in range(-half, half + 1)]

    def velocity(x: Any) -> Any:
        tilts = [weight * mpmath.exp(exact["B"] * x * (y - mean)) for y, weight in zip(points, weights, strict=True)]
        attention = exact["V"] * mpmath.fdot(tilts, points) / mpmath.fsum(tilts)
        return attention + exact["A"] * x + exact["b"]

    velocities = [velocity(x) for x in points]
    first = mpmath.fdot(weights, velocities)
    second = 2 * mpmath.fsum(w * (x - mean) * v for w, x, v in zip(weights, points, velocities, strict=True))
    return first, second


def without_feedback() -> Kernel:
    """The kernel of the moment equations with W = A in place of W = A + VΣB."""
    reduction = moments()
    value = next(parameter.symbol for parameter in reduction.parameters if parameter.name == "V")
    (matrix, definition), offset = reduction.definitions
    feed_forward = sp.MatAdd(*(term for term in definition.args if not term.has(value)))
    return compile_kernel(replace(reduction, definitions=((matrix, feed_forward), offset)), "mpmath")


# Rank


@dataclass(frozen=True)
class Flows:
    """The moment flow as it stands, and the same flow through a factor of the covariance."""

    plain: Kernel
    factored: Kernel


def derived_flows() -> Flows:
    return Flows(load_kernel("gaussian_moments", "mpmath"), load_kernel("gaussian_factor", "mpmath"))


def noisy_flows() -> Flows:
    """Tokens that also diffuse: Σ' gains a multiple of the identity."""
    reduction = moments()
    equations = dict(reduction.equations)
    covariance = reduction.state[1].symbol
    equations[covariance] += sp.Identity(covariance.rows) / 1000
    return Flows(compile_kernel(replace(reduction, equations=equations), "mpmath"), derived_flows().factored)


def check_rank(flows: Flows, digits: int) -> Evidence:
    """Ranks 1, 2, 3 in d = 3: Σ(1) has the rank of Σ(0), and both flows end at the same Σ."""
    worst, where = mpmath.mpf(0), "no flow"
    tolerance = mpmath.mpf(10) ** (5 - digits)
    for rank in (1, 2, 3):
        parameters, factor = _sample_flow(rank)
        start = {"mu": [0, 0, 0], "Sigma": _gram(factor)}
        plain = integrate(flows.plain, start, (0, 1), parameters, digits=digits)
        factored = integrate(flows.factored, {"mu": [0, 0, 0], "L": factor}, (0, 1), parameters, digits=digits)
        with mpmath.workdps(digits + 10):
            covariance = mpmath.matrix(plain.final["Sigma"].tolist())
            eigenvalues = sorted(map(abs, mpmath.eigsy(covariance, eigvals_only=True)), reverse=True)
            if eigenvalues[rank - 1] < mpmath.mpf(10) ** -6 * eigenvalues[0]:
                return Refuted(f"rank {rank} at t = 0 but the eigenvalues {_short(eigenvalues)} at t = 1")
            left = mpmath.matrix(factored.final["L"].tolist())
            lost = [value / eigenvalues[0] for value in eigenvalues[rank:]]
            apart = mpmath.mnorm(covariance - left * left.T, "f") / eigenvalues[0]
            deviation = max([apart, *lost])
            if not deviation <= worst:
                worst, where = deviation, f"rank {rank}, eigenvalues {_short(eigenvalues)} at t = 1"
    # Each flow is right to the digits asked; the eigenvalues and the product lose a few of them.
    return agreement(worst, tolerance, where, detail="d = 3, ranks 1, 2, 3, plain and factored flow to t = 1")


def _sample_flow(rank: int) -> tuple[dict[str, Any], list[list[Fraction]]]:
    """Exact parameters of a bounded flow (V negative, B positive definite up to small parts), and a 3 × rank factor."""
    random = Random(rank)

    def draw(scale: int) -> list[list[Fraction]]:
        return [[Fraction(random.randint(-scale, scale), 10) for _ in range(3)] for _ in range(3)]

    def shifted(matrix: list[list[Fraction]], shift: int) -> list[list[Fraction]]:
        return [[entry + shift * (i == j) for j, entry in enumerate(row)] for i, row in enumerate(matrix)]

    factor = [[Fraction(random.randint(-9, 9), 10) for _ in range(rank)] for _ in range(3)]
    parameters = {"A": draw(5), "B": shifted(draw(3), 1), "V": shifted(draw(3), -1), "b": [0, 0, 0]}
    return parameters, factor


def _gram(factor: list[list[Fraction]]) -> list[list[Fraction]]:
    return [[sum((a * b for a, b in zip(p, q, strict=True)), Fraction(0)) for q in factor] for p in factor]


# Blow-up


@dataclass(frozen=True)
class BlowUpCase:
    """A covariance flow with V = cI and Σ₀ = LLᵀ, and the time at which it blows up, known from outside."""

    feed_forward: list[list[Fraction]]
    score: list[list[Fraction]]
    value: Fraction
    factor: list[list[Fraction]]
    time: str


def _fractions(*rows: str) -> list[list[Fraction]]:
    return [[Fraction(entry) for entry in row.split()] for row in rows]


#: Computed outside this package, to 35 digits.
BLOW_UPS = (
    BlowUpCase(_fractions("0 0", "0 0"), _fractions("1 0", "0 2"), Fraction(1), _fractions("1 0", "0 1"), "0.25"),
    BlowUpCase(
        _fractions("1/2 1", "0 -1/3"),
        _fractions("1 1/4", "0 1"),
        Fraction(3, 2),
        _fractions("1 0", "1/2 1"),
        "0.16504183346828508677768559822671361",
    ),
    BlowUpCase(
        _fractions("0 1 0", "-1 0 0", "0 0 -1/5"),
        _fractions("2 1 0", "0 1 0", "0 0 1"),
        Fraction(1, 2),
        _fractions("1", "2", "-1"),
        "0.10697379598057195020847325581178242",
    ),
)
#: Half a unit in the last digit that the references are given to.
REFERENCE_ERROR = "5e-36"


def check_blow_up(case: BlowUpCase, digits: int) -> Evidence:
    """The moment flow blows up within a bracket that agrees with the reference."""
    size = len(case.factor)
    value = [[case.value * (i == j) for j in range(size)] for i in range(size)]
    parameters = {"A": case.feed_forward, "B": case.score, "V": value, "b": [0] * size}
    start = {"mu": [0] * size, "Sigma": _gram(case.factor)}
    kernel = load_kernel("gaussian_moments", "mpmath")
    outcome = integrate(kernel, start, (0, 1), parameters, digits=digits).outcome
    if not isinstance(outcome, BlewUp):
        return Refuted(f"the flow {outcome}")
    with mpmath.workdps(digits + 10):
        reference = mpmath.mpf(case.time)
        deviation = max(abs(end - reference) for end in outcome.bracket)
        # The bracket is narrow to digits − 5; the references end at 35 digits.
        tolerance = mpmath.mpf(10) ** (5 - digits) + mpmath.mpf(REFERENCE_ERROR)
        return agreement(deviation, tolerance, f"the bracket of {outcome}", detail=str(outcome))


def _blow_up_claim(number: int, case: BlowUpCase) -> Claim[BlowUpCase]:
    negative = [[-entry for entry in row] for row in case.score]
    return Claim(
        id=f"gaussian.blow-up-{number}",
        statement=f"The covariance blows up at t = {case.time}",
        hypotheses=(f"V = {case.value} I, d = {len(case.factor)}, Σ₀ = L Lᵀ of rank {len(case.factor[0])}",),
        source="[G], blow-up for V and B of the same sign",
        check=check_blow_up,
        subject=lambda: case,
        control=lambda: replace(case, score=negative),
        control_statement="the sign of B is flipped",
    )


def _number(value: Fraction) -> Any:
    return mpmath.mpf(value.numerator) / value.denominator


def _array(nested: Any) -> Any:
    return np.array(nested, dtype=object)


def _short(numbers: list[Any]) -> str:
    return ", ".join(mpmath.nstr(number, 3) for number in numbers)


CLAIMS: tuple[Claim[Any], ...] = (
    Claim(
        id="gaussian.moment-equations",
        statement="Softmax attention with affine feed-forward keeps Gaussian laws Gaussian, "
        "with μ' = (A+V)μ + VΣBμ + b and Σ' = AΣ + ΣAᵀ + VΣBΣ + ΣBᵀΣVᵀ",
        hypotheses=("Σ of any rank", "components proved for d = 1, 2, 3"),
        source="[G], moment equations",
        check=lambda derivation, digits: verified(derivation),
        subject=lambda: moments().derivation,
        control=flipped_feedback,
        control_statement="the sign of the terms with V in Σ' is flipped",
    ),
    Claim(
        id="gaussian.moment-rates",
        statement="The generated moment kernel gives the rates of mean and variance under the attention field itself",
        hypotheses=("d = 1",),
        source="[G], moment equations",
        check=check_moment_rates,
        subject=lambda: load_kernel("gaussian_moments", "mpmath"),
        control=without_feedback,
        control_statement="the attention term VΣB is left out of W",
    ),
    Claim(
        id="gaussian.rank-conserved",
        statement="The rank of Σ is conserved",
        hypotheses=("tokens move by the field alone", "d = 3, ranks 1, 2, 3"),
        source="[G], reachability",
        check=check_rank,
        subject=derived_flows,
        control=noisy_flows,
        control_statement="tokens also diffuse, Σ' gains I/1000",
    ),
    *(_blow_up_claim(number, case) for number, case in enumerate(BLOW_UPS, 1)),
)
