"""Polynomial and rational first integrals of planar reductions up to a given degree, by linear algebra.

Both search the field without its common factors, which change the speed along orbits but not the orbits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy as sp
from sympy import QQ
from sympy.polys.matrices import DomainMatrix

from symbolic.invariants.planar import (
    Field,
    FirstIntegral,
    H,
    conclude_conserved,
    planar_derivation,
    planar_field,
    with_scalar_parameters,
    x,
    y,
)
from symbolic.reduction import Reduction

#: Where orbits are started to find the curves that they lie on, and where the denominator shall vanish: on the
#: unit circle, which is invariant in an Ott–Antonsen equation.
STARTS = ((sp.Rational(1, 3), sp.Rational(1, 5)), (sp.Rational(-1, 4), sp.Rational(2, 7)))
POLE = (sp.Rational(3, 5), sp.Rational(4, 5))
#: Equations beyond the number of unknowns: an orbit that fits a curve to so many orders more is not there by chance.
EXTRA_ORDERS = 6


def polynomial_integral(reduction: Reduction, degree: int) -> tuple[FirstIntegral, ...]:
    """A polynomial H of the lowest degree, if there is one up to `degree`: F H_x + G H_y = 0 is linear in H."""
    scalar = with_scalar_parameters(reduction)
    field = planar_field(scalar)
    reduced = without_common_factor(field)
    for size in range(1, degree + 1):
        monomials = _monomials(size)[1:]
        rates = [sp.Poly(reduced[0] * m.diff(x) + reduced[1] * m.diff(y), x, y) for m in monomials]
        powers = sorted({power for rate in rates for power in rate.monoms()})
        rows = [[rate.coeff_monomial(power) for rate in rates] for power in powers]
        if kernel := _nullspace(rows):
            hamiltonian = sum(c * m for c, m in zip(kernel[0], monomials, strict=True))
            return (_integral(scalar, field, hamiltonian),)
    return ()


def rational_integral(reduction: Reduction, degree: int) -> tuple[FirstIntegral, ...]:
    """A rational H = N/D with N and D of the lowest degree, if there is one up to `degree`.

    Orbits then lie on the algebraic curves N = h D. The orbit through a point is a power series in time; the
    polynomial of lowest degree that vanishes on it to all computed orders is found by linear algebra, for two orbits.
    The quotient of two such polynomials is conserved if any rational function of this degree is, which is checked
    exactly.

    Source: Bostan, Chèze, Cluzeau, Weil: Efficient algorithms for computing rational first integrals and Darboux
    polynomials of planar polynomial vector fields. Mathematics of Computation 85 (2016).
    """
    scalar = with_scalar_parameters(reduction)
    field = planar_field(scalar)
    reduced = without_common_factor(field)
    free = sp.Tuple(*reduced).free_symbols - {x, y}
    if free:
        raise ValueError(f"reduction: a rational first integral needs numbers for {', '.join(sorted(map(str, free)))}")
    for size in range(1, degree + 1):
        first, second = (_curve_of_orbit(reduced, start, size) for start in STARTS)
        if first is None or second is None:
            continue
        if sp.expand(_rate(reduced, first) * second - first * _rate(reduced, second)) == 0:
            pole = dict(zip((x, y), POLE, strict=True))
            denominator = sp.expand(first * second.subs(pole) - second * first.subs(pole))
            return (_integral(scalar, field, _quotient(first, denominator if denominator != 0 else second)),)
    return ()


def without_common_factor(field: Field) -> Field:
    """The field divided by the greatest common divisor of its components."""
    common = sp.gcd(*field)
    return (sp.cancel(field[0] / common), sp.cancel(field[1] / common)) if common != 0 else field


def _quotient(numerator: sp.Expr, denominator: sp.Expr) -> sp.Expr:
    """N/D, up to constants, with N freed of the leading term that it shares with D; D where no more of N is left."""
    bottom = sp.Poly(denominator, x, y).primitive()[1]
    top = sp.Poly(numerator, x, y)
    top -= bottom * (top.coeff_monomial(bottom.LM(order="grlex")) / bottom.LC(order="grlex"))
    if top.is_ground:
        return bottom.as_expr()
    return top.clear_denoms()[1].primitive()[1].as_expr() / sp.factor(bottom.as_expr())


def _rate(field: Field, function: sp.Expr) -> sp.Expr:
    return field[0] * function.diff(x) + field[1] * function.diff(y)


def _monomials(degree: int) -> list[sp.Expr]:
    """1, then the powers of x and y by rising degree."""
    return [x ** (total - j) * y**j for total in range(degree + 1) for j in range(total + 1)]


def _nullspace(rows: Sequence[Sequence[sp.Expr]]) -> list[list[sp.Expr]]:
    return DomainMatrix.from_Matrix(sp.Matrix(rows)).to_field().nullspace().to_Matrix().tolist()


def _curve_of_orbit(field: Field, start: tuple[sp.Rational, sp.Rational], degree: int) -> sp.Expr | None:
    """The polynomial of this degree that vanishes along the orbit from a point; None when there is none."""
    monomials = _monomials(degree)
    order = len(monomials) + EXTRA_ORDERS
    series = _orbit_series(field, start, order)
    columns = [_along(sp.Poly(monomial, x, y), series, order) for monomial in monomials]
    kernel = DomainMatrix(columns, (len(monomials), order), QQ).transpose().nullspace().to_Matrix().tolist()
    return sum(c * m for c, m in zip(kernel[0], monomials, strict=True)) if kernel else None


def _orbit_series(field: Field, start: tuple[sp.Rational, sp.Rational], order: int) -> list[list[Any]]:
    """The Taylor coefficients of x(t) and y(t): (n + 1) x_{n+1} is the n-th coefficient of F along the orbit."""
    polynomials = [sp.Poly(component, x, y) for component in field]
    series = [[QQ.from_sympy(coordinate)] for coordinate in start]
    for n in range(order - 1):
        rates = [_along(polynomial, series, n + 1)[n] for polynomial in polynomials]
        for coefficients, rate in zip(series, rates, strict=True):
            coefficients.append(rate / (n + 1))
    return series


def _along(polynomial: sp.Poly, series: list[list[Any]], order: int) -> list[Any]:
    """The first Taylor coefficients of a polynomial along an orbit."""
    total = [QQ.zero] * order
    for powers, coefficient in polynomial.terms():
        term = [QQ.from_sympy(coefficient)] + [QQ.zero] * (order - 1)
        for factor, power in zip(series, powers, strict=True):
            for _ in range(power):
                term = [sum((term[i] * factor[n - i] for i in range(n + 1)), QQ.zero) for n in range(order)]
        total = [a + b for a, b in zip(total, term, strict=True)]
    return total


def _integral(reduction: Reduction, field: Field, hamiltonian: sp.Expr) -> FirstIntegral:
    derivation = planar_derivation(reduction, field)
    derivation.define("hamiltonian", "A first integral, found by linear algebra", sp.Eq(H, hamiltonian, evaluate=False))
    conclude_conserved(derivation, "hamiltonian")
    return FirstIntegral(hamiltonian, None, {}, (), reduction, derivation)
