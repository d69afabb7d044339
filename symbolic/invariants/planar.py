"""Planar reductions: one complex state R = x + iy, as a polynomial vector field (x', y') = (F, G) in the plane."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import sympy as sp

from symbolic.circle import real_matrix
from symbolic.derivation import Derivation
from symbolic.notation import conjugate_parts, rate, without_parts
from symbolic.reduction import Reduction
from symbolic.specialise import specialise

x, y = sp.symbols("x y", real=True)
H = sp.Symbol("H", real=True)
#: 1 − |R|², which vanishes on the unit circle.
gap = 1 - x**2 - y**2

Field = tuple[sp.Expr, sp.Expr]


@dataclass(frozen=True)
class FirstIntegral:
    """A conserved quantity of a planar reduction, for a family of parameters.

    Parameters
    ----------
    hamiltonian : H in x = Re R, y = Im R.
    exponent : k of the integrating factor (1 − |R|²)^{−k} that H comes from; None when it does not come from one.
    values : the parameters that the family determines, in terms of free ones.
    conditions : polynomials in the parameters that vanish exactly on the family (its closure).
    reduction : the reduction at these values.
    derivation : the reduction's derivation, continued to H.
    """

    hamiltonian: sp.Expr
    exponent: sp.Expr | None
    values: Mapping[sp.Basic, sp.Basic]
    conditions: tuple[sp.Expr, ...]
    reduction: Reduction
    derivation: Derivation

    def in_state(self, state: sp.Symbol) -> sp.Expr:
        """H in terms of the complex state."""
        return self.hamiltonian.subs({x: sp.re(state), y: sp.im(state)})


def require_planar(reduction: Reduction) -> None:
    """Raise ValueError unless the state is one complex number."""
    if len(reduction.state) != 1 or reduction.state[0].domain not in ("disc", "complex"):
        raise ValueError(f"reduction: {reduction.name} should have one complex state, such as the Ott–Antonsen R")


def free_matrices(reduction: Reduction) -> dict[sp.MatrixSymbol, sp.ImmutableMatrix]:
    """For each 2×2 matrix parameter X, its general value in the real symbols of X₀ = τ + iω and X₁ = δ + iσ.

    So τ is half the trace, ω the rotation, and δ, σ are the traceless symmetric part: [[τ + δ, σ − ω], [σ + ω, τ − δ]].
    """
    matrices = {}
    for parameter in reduction.parameters:
        if isinstance(parameter.symbol, sp.MatrixSymbol):
            tau, omega, delta, sigma = (
                sp.Symbol(f"{part}_{parameter.name}", real=True) for part in ("tau", "omega", "delta", "sigma")
            )
            matrices[parameter.symbol] = real_matrix(tau + sp.I * omega, delta + sp.I * sigma)
    return matrices


def with_scalar_parameters(reduction: Reduction) -> Reduction:
    """The reduction with every matrix parameter written in real symbols."""
    matrices = free_matrices(reduction)
    return specialise(reduction, matrices) if matrices else reduction


def planar_field(reduction: Reduction) -> Field:
    """(F, G) with x' = F(x, y), y' = G(x, y) for the state x + iy; parameters must be scalars."""
    state = reduction.state[0].symbol
    first, second = conjugate_parts(without_parts(reduction.expanded()[state]).subs(state, x + sp.I * y))
    return sp.factor_terms(first), sp.factor_terms(second)


def without_content(field: Field) -> Field:
    """The field divided by what all its coefficients have in common, such as β: a change of the speed only."""
    content = sp.gcd_list([c for component in field for c in sp.Poly(component, x, y).coeffs()])
    return (sp.cancel(field[0] / content), sp.cancel(field[1] / content)) if content != 0 else field


def powers_of_state(expression: sp.Expr) -> dict[tuple[int, int], sp.Expr]:
    """The coefficients of R^i R̄^j, by (i, j), of a polynomial in x and y."""
    R, mirrored = sp.symbols("R Rbar")
    in_state = expression.subs({x: (R + mirrored) / 2, y: (R - mirrored) / (2 * sp.I)}, simultaneous=True)
    return dict(sp.Poly(sp.expand(in_state), R, mirrored).terms())


def unknown_parameters(reduction: Reduction, field: Field) -> list[sp.Symbol]:
    """The parameters that the field depends on: those of a matrix together, in the order of the reduction."""
    symbols: list[sp.Symbol] = []
    matrices = free_matrices(reduction)
    for parameter in reduction.parameters:
        if parameter.symbol in matrices:
            symbols += sorted(matrices[parameter.symbol].free_symbols, key=str, reverse=True)
        else:
            symbols.append(parameter.symbol)
    return [symbol for symbol in symbols if symbol in sp.Tuple(*field).free_symbols]


def parameter_values(
    reduction: Reduction, values: Mapping[sp.Symbol, sp.Expr]
) -> dict[sp.Basic, sp.Expr | sp.ImmutableMatrix]:
    """The values of a family for the parameters of the reduction: whole matrices, and determined scalars."""
    matrices = {symbol: matrix.subs(values) for symbol, matrix in free_matrices(reduction).items()}
    known = {parameter.symbol for parameter in reduction.parameters}
    return matrices | {symbol: value for symbol, value in values.items() if symbol in known}


def planar_derivation(reduction: Reduction, field: Field) -> Derivation:
    """The reduction's derivation, continued by the equations in the plane under the key `planar`."""
    state = reduction.state[0].symbol
    derivation = Derivation(reduction.derivation.name)
    derivation.include(reduction.derivation)
    system = [key for key, e in derivation.equations.items() if rate(state) in {r.lhs for r in e.relations}][-1]
    derivation.conclude(
        "planar",
        "In the plane",
        sp.Eq(rate(x), field[0], evaluate=False),
        sp.Eq(rate(y), field[1], evaluate=False),
        step="real and imaginary part",
        premises=[system],
        why=f"{state} = x + iy.",
        check=lambda system, planar: [
            without_parts(system.rhs).subs(state, x + sp.I * y) - (planar[0].rhs + sp.I * planar[1].rhs)
        ],
    )
    return derivation


def conclude_conserved(derivation: Derivation, premise: str) -> None:
    """Add H' = 0, which follows from the equations in the plane and the H of the premise."""
    derivation.conclude(
        "conserved",
        "It is conserved",
        sp.Eq(rate(H), sp.S.Zero, evaluate=False),
        step="conservation",
        premises=["planar", premise],
        why="H' = x' ∂H/∂x + y' ∂H/∂y.",
        check=_check_conserved,
    )


def _check_conserved(
    planar: tuple[sp.Equality, ...], hamiltonian: sp.Equality, conserved: sp.Equality
) -> Iterable[sp.Expr]:
    yield planar[0].rhs * hamiltonian.rhs.diff(x) + planar[1].rhs * hamiltonian.rhs.diff(y) - conserved.rhs
