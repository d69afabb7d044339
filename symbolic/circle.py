"""Attention on the circle: coordinates, complex form of 2×2 matrices, harmonics.

A real 2×2 matrix X acts on C = R² as X z = x₀ z + x₁ z̄ with

    x₀ = (X₁₁ + X₂₂)/2 + i (X₂₁ − X₁₂)/2,    x₁ = (X₁₁ − X₂₂)/2 + i (X₂₁ + X₁₂)/2.
"""

from __future__ import annotations

import sympy as sp

from symbolic.notation import Average, conjugate_parts, without_parts

#: The angle of a token and of the tokens that it attends to.
theta = sp.Symbol("theta", real=True)
phi = sp.Symbol("phi", real=True)


#: The token, the tangent vector at it, and the matrices of linear attention, in the plane.
x = sp.MatrixSymbol("x", 2, 1)
x_perp = sp.MatrixSymbol("x_perp", 2, 1)
y = sp.MatrixSymbol("y", 2, 1)
A = sp.MatrixSymbol("A", 2, 2)
V = sp.MatrixSymbol("V", 2, 2)


def point(angle: sp.Symbol) -> sp.ImmutableMatrix:
    """(cos, sin) of an angle, a column."""
    return sp.ImmutableMatrix([sp.cos(angle), sp.sin(angle)])


def tangent(angle: sp.Symbol) -> sp.ImmutableMatrix:
    """(−sin, cos) of an angle, a column: the derivative of the point."""
    return point(angle).diff(angle)


def complex_coefficients(matrix: sp.MatrixSymbol) -> tuple[tuple[sp.Symbol, sp.Expr], tuple[sp.Symbol, sp.Expr]]:
    """The complex symbols x₀, x₁ of a 2×2 matrix symbol X, each with its value in the entries of X.

    They are found by solving X z = x₀ z + x₁ z̄ at z = 1 and z = i.
    """
    letter, *head = matrix.name.lower().split("_")
    first, second = (sp.Symbol("_".join([f"{letter}{index}", *head]), complex=True) for index in (0, 1))
    at_one = matrix[0, 0] + sp.I * matrix[1, 0] - (first + second)
    at_i = matrix[0, 1] + sp.I * matrix[1, 1] - (sp.I * first - sp.I * second)
    solution = sp.solve([at_one, at_i], [first, second], dict=True)[0]
    return (first, solution[first].expand()), (second, solution[second].expand())


def real_matrix(zeroth: sp.Expr, first: sp.Expr) -> sp.ImmutableMatrix:
    """The real 2×2 matrix whose complex coefficients are given, as a polynomial in them and their conjugates."""
    columns = [conjugate_parts(zeroth + first), conjugate_parts(sp.I * zeroth - sp.I * first)]
    return sp.ImmutableMatrix(2, 2, lambda i, j: columns[j][i])


def harmonics(expression: sp.Expr, angle: sp.Symbol) -> dict[sp.Expr, sp.Expr]:
    """The coefficients c_j of a trigonometric polynomial Σ c_j e^{i j angle}, by frequency j.

    Frequencies may be symbolic (e^{ikΞ}). Raises ValueError when the expression is no trigonometric polynomial.

    >>> t = sp.Symbol("t", real=True)
    >>> harmonics(sp.cos(t)**2, t)
    {-2: 1/4, 0: 1/2, 2: 1/4}
    """
    coefficients: dict[sp.Expr, sp.Expr] = {}
    for term in sp.Add.make_args(sp.expand(without_parts(expression).rewrite(sp.exp))):
        coefficient, wave = term.as_independent(angle, as_Add=False)
        frequency = sum((_frequency(factor, angle) for factor in sp.Mul.make_args(wave)), sp.S.Zero)
        coefficients[frequency] = coefficients.get(frequency, sp.S.Zero) + coefficient
    simplified = {frequency: sp.expand(value) for frequency, value in coefficients.items()}
    ordered = sorted(simplified, key=sp.default_sort_key)
    return {frequency: simplified[frequency] for frequency in ordered if simplified[frequency] != 0}


def averaged(expression: sp.Expr) -> sp.Expr:
    """Write every average of a trigonometric polynomial over φ as a sum of averages of e^{ikφ}."""

    def split(average: Average) -> sp.Expr:
        integrand, variable, law = average.args
        terms = harmonics(integrand, variable)
        return sum(
            (value * Average(sp.exp(sp.I * k * variable), variable, law) for k, value in terms.items()), sp.S.Zero
        )

    return expression.replace(lambda e: isinstance(e, Average), split)


def _frequency(factor: sp.Expr, angle: sp.Symbol) -> sp.Expr:
    """k of a factor e^{ik angle}."""
    if factor.is_number:
        return sp.S.Zero
    frequency = sp.expand(factor.args[0] / (sp.I * angle)) if isinstance(factor, sp.exp) else None
    if frequency is None or frequency.has(angle):
        raise ValueError(f"expression: {factor} is no harmonic of {angle}")
    return frequency
