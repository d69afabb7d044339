"""Find what a planar reduction conserves: an integrating factor, and the Hamiltonian behind it.

For one complex state R = x + iy in the unit disc with x' = F, y' = G, a weight (1 − |R|²)^{−k} is an
integrating factor when

    ∂ₓ[(1 − x² − y²)^{−k} F] + ∂_y[(1 − x² − y²)^{−k} G] = 0,

and then there is an H, found by linear algebra, with

    x' = (1 − x² − y²)^k ∂H/∂y,    y' = −(1 − x² − y²)^k ∂H/∂x,    H' = 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import sympy as sp

from symbolic.derivation import Derivation
from symbolic.notation import rate, without_parts
from symbolic.reduction import Reduction

x, y = sp.symbols("x y", real=True)
H = sp.Symbol("H", real=True)
gap = 1 - x**2 - y**2
#: The degree of a numerator: one above the degree of the cubic field, so that its integral is reached.
DEGREE = 4


@dataclass(frozen=True)
class FirstIntegral:
    """A conserved quantity of a planar reduction.

    `exponent` is k of the integrating factor (1 − |R|²)^{−k}; `hamiltonian` is H in x = Re R, y = Im R;
    `derivation` extends the reduction's by the steps that lead to H.
    """

    exponent: sp.Expr
    hamiltonian: sp.Expr
    derivation: Derivation

    def in_state(self, state: sp.Symbol) -> sp.Expr:
        """H in terms of the complex state."""
        return self.hamiltonian.subs({x: sp.re(state), y: sp.im(state)})


def find_invariants(reduction: Reduction) -> tuple[FirstIntegral, ...]:
    """Search a planar reduction for integrating factors (1 − |R|²)^{−k} and integrate them.

    Solves the divergence condition, a polynomial identity in x and y, for k; then solves for
    H = N(x, y) (1 − x² − y²)^{1−k} + c log(1 − x² − y²), N a polynomial, by linear algebra.

    Parameters
    ----------
    reduction : one with a single complex state and real scalar parameters (see `specialise`).

    Returns
    -------
    A first integral for each k found; none when no such weight is an integrating factor for all values
    of the parameters.

    Raises
    ------
    ValueError
        When the state is not a single complex number.

    >>> from symbolic import LinearAttention, Sphere, WrappedCauchy, reduce, specialise
    >>> v, w = sp.symbols("v w", positive=True)
    >>> general = reduce(LinearAttention(space=Sphere(2)), WrappedCauchy())
    >>> A, V, _ = (parameter.symbol for parameter in general.parameters)
    >>> found, = find_invariants(specialise(general, {A: sp.eye(2), V: sp.Matrix([[v, w], [-w, -v]])}))
    >>> found.exponent
    3
    """
    if len(reduction.state) != 1 or reduction.state[0].domain not in ("disc", "complex"):
        raise ValueError(f"reduction: {reduction.name} should have one complex state, such as the Ott–Antonsen R")
    derivation = Derivation(reduction.derivation.name)
    derivation.include(reduction.derivation)
    state = reduction.state[0].symbol
    field = planar_field(reduction)
    derivation.conclude(
        "planar",
        "In the plane",
        sp.Eq(rate(x), field[0], evaluate=False),
        sp.Eq(rate(y), field[1], evaluate=False),
        step="real and imaginary part",
        premises=["specialised"] if "specialised" in derivation.equations else [reduction.name],
        why=f"{state} = x + iy.",
        check=lambda system, planar: [
            without_parts(system.rhs).subs(state, x + sp.I * y) - (planar[0].rhs + sp.I * planar[1].rhs)
        ],
    )
    return tuple(
        integral
        for exponent in integrating_exponents(field)
        if (integral := _first_integral(derivation, field, exponent)) is not None
    )


def planar_field(reduction: Reduction) -> tuple[sp.Expr, sp.Expr]:
    """(F, G) with x' = F(x, y), y' = G(x, y) for the state x + iy."""
    state = reduction.state[0].symbol
    in_plane = sp.expand(without_parts(reduction.expanded()[state]).subs(state, x + sp.I * y))
    mirrored = sp.expand(sp.conjugate(in_plane))
    return sp.factor_terms(sp.expand((in_plane + mirrored) / 2)), sp.factor_terms(
        sp.expand((in_plane - mirrored) / (2 * sp.I))
    )


def integrating_exponents(field: tuple[sp.Expr, sp.Expr]) -> list[sp.Expr]:
    """The k for which (1 − x² − y²)^{−k} is an integrating factor, whatever the parameters.

    The condition, divided by the weight, is (1 − x² − y²)(∂ₓF + ∂_yG) + 2k (xF + yG) = 0.
    """
    k = sp.Symbol("k", real=True)
    condition = gap * (field[0].diff(x) + field[1].diff(y)) + 2 * k * (x * field[0] + y * field[1])
    coefficients = [c for c in sp.Poly(sp.expand(condition), x, y).coeffs() if c != 0]
    solutions = sp.solve(coefficients, k, dict=True)
    parameters = sp.Tuple(*field).free_symbols - {x, y}
    return [solution[k] for solution in solutions if k in solution and not solution[k].free_symbols & parameters]


def _first_integral(derivation: Derivation, field: tuple[sp.Expr, sp.Expr], exponent: sp.Expr) -> FirstIntegral | None:
    hamiltonian = integrate_weighted(field, exponent)
    if hamiltonian is None:
        return None
    extended = Derivation(derivation.name)
    extended.include(derivation)
    mu = sp.Symbol("mu")
    extended.conclude(
        "integrating_factor",
        "An integrating factor",
        sp.Eq(mu, gap ** (-exponent), evaluate=False),
        step="divergence condition",
        premises=["planar"],
        why="∂ₓ(μ x') + ∂_y(μ y') = 0 is a polynomial identity in x and y, linear in the exponent.",
        check=_check_divergence,
    )
    extended.conclude(
        "hamiltonian",
        "The Hamiltonian",
        sp.Eq(H, hamiltonian, evaluate=False),
        step="integration",
        premises=["planar", "integrating_factor"],
        why="x' = μ⁻¹ ∂H/∂y and y' = −μ⁻¹ ∂H/∂x are linear equations for the coefficients of H.",
        check=_check_hamiltonian,
    )
    extended.conclude(
        "conserved",
        "It is conserved",
        sp.Eq(rate(H), sp.S.Zero, evaluate=False),
        step="conservation",
        premises=["planar", "hamiltonian"],
        why="H' = x' ∂H/∂x + y' ∂H/∂y.",
        check=lambda planar, h, conserved: [
            planar[0].rhs * h.rhs.diff(x) + planar[1].rhs * h.rhs.diff(y) - conserved.rhs
        ],
    )
    return FirstIntegral(exponent, hamiltonian, extended)


def integrate_weighted(field: tuple[sp.Expr, sp.Expr], exponent: sp.Expr) -> sp.Expr | None:
    """H with F = gap^k ∂H/∂y and G = −gap^k ∂H/∂x, of the form N gap^{1−k} + c log(gap); None when there is none."""
    monomials = [x**i * y**j for i in range(DEGREE + 1) for j in range(DEGREE + 1 - i)]
    unknowns = sp.symbols(f"n:{len(monomials)}")
    logarithmic = sp.Symbol("c")
    numerator = sum(c * monomial for c, monomial in zip(unknowns, monomials, strict=True))

    def weighted_gradient(variable: sp.Symbol) -> sp.Expr:
        rational = numerator.diff(variable) * gap + 2 * (exponent - 1) * variable * numerator
        return rational - 2 * logarithmic * variable * gap ** (exponent - 1)

    if not (exponent.is_Integer and exponent >= 1):
        logarithmic = sp.S.Zero
    equations = []
    for residual in (weighted_gradient(y) - field[0], weighted_gradient(x) + field[1]):
        equations += sp.Poly(sp.expand(residual), x, y).coeffs()
    free = [*unknowns, *sp.sympify(logarithmic).free_symbols]
    solution = sp.solve(equations, free, dict=True)
    if not solution:
        return None
    # What stays free multiplies constants, such as gap^{k−1} gap^{1−k} = 1.
    rest = dict.fromkeys(free, sp.S.Zero)
    value = (numerator * gap ** (1 - exponent) + logarithmic * sp.log(gap)).subs(solution[0]).subs(rest)
    rational, logs = value.as_independent(sp.log, as_Add=True)
    return sp.factor(rational) + logs


def _check_divergence(planar: tuple[sp.Equality, ...], weight: sp.Equality) -> Iterable[sp.Expr]:
    first, second = planar
    yield (weight.rhs * first.rhs).diff(x) + (weight.rhs * second.rhs).diff(y)


def _check_hamiltonian(
    planar: tuple[sp.Equality, ...], weight: sp.Equality, hamiltonian: sp.Equality
) -> Iterable[sp.Expr]:
    first, second = planar
    yield weight.rhs * first.rhs - hamiltonian.rhs.diff(y)
    yield weight.rhs * second.rhs + hamiltonian.rhs.diff(x)
