"""Find what a planar reduction conserves, for which parameters, and which reflections reverse its time."""

from __future__ import annotations

import sympy as sp

from symbolic.invariants.integrating_factor import weighted_families
from symbolic.invariants.planar import FirstIntegral, require_planar
from symbolic.invariants.rational import polynomial_integral, rational_integral
from symbolic.invariants.reversibility import Reversibility, find_reversibility
from symbolic.reduction import Reduction

__all__ = ["FirstIntegral", "Reversibility", "find_invariants", "find_reversibility"]

ANSATZE = ("weight", "polynomial", "rational")


def find_invariants(
    reduction: Reduction, ansatz: str = "weight", *, exponent: object = None, degree: int = 4
) -> tuple[FirstIntegral, ...]:
    """Search a planar reduction for first integrals.

    With the ansatz "weight", for the families of parameters with an integrating factor (1 − |R|²)^{−k}: the
    divergence condition

        ∂ₓ[(1 − x² − y²)^{−k} x'] + ∂_y[(1 − x² − y²)^{−k} y'] = 0

    is solved for the parameters (and k) by exhaustive case distinction over the reals, then each family is integrated:
    H = N(x, y) (1 − x² − y²)^{1−k} + c log(1 − x² − y²), N a polynomial, by linear algebra. With "polynomial" and
    "rational", for an H of that form up to a degree at the given parameters, by linear algebra.

    Parameters
    ----------
    reduction : one with a single complex state. Its free parameters, matrices (2 × 2) or scalars, are the unknowns of
        "weight"; "polynomial" asks for an H for all their values; "rational" needs numbers (but for a common factor
        such as β).
    ansatz : "weight", "polynomial" or "rational".
    exponent : k of "weight": a number; a real symbol, for the families that exist for every k but finitely many; None,
        for the parameters that have such a weight with any real k.
    degree : the largest degree of the polynomial, or of numerator and denominator.

    Returns
    -------
    For "weight" every family, largest first; a family that lies within another is left out. Where a family stands
    still, H = 0. For the others one first integral of the lowest degree, or none; all others are functions of it.

    Raises
    ------
    ValueError
        When the state is not a single complex number, a parameter lacks its number, or an option is unknown.
    symbolic.invariants.families.Unsolved
        When the conditions on the parameters can't be solved by case distinction.

    >>> from symbolic import LinearAttention, Sphere, WrappedCauchy, reduce, specialise
    >>> v, w = sp.symbols("v w", positive=True)
    >>> general = reduce(LinearAttention(space=Sphere(2)), WrappedCauchy())
    >>> A, V, _ = (parameter.symbol for parameter in general.parameters)
    >>> found, = find_invariants(specialise(general, {A: sp.eye(2), V: sp.Matrix([[v, w], [-w, -v]])}))
    >>> found.exponent
    3
    >>> at_rest = specialise(general, {A: sp.Matrix([[1, -2], [2, -1]]), V: sp.eye(2)})
    >>> [integral.hamiltonian for integral in find_invariants(at_rest, "polynomial")]
    [x**2 + y**2 + y]
    """
    require_planar(reduction)
    if ansatz not in ANSATZE:
        raise ValueError(f"ansatz: {ansatz!r} should be one of {', '.join(ANSATZE)}")
    if isinstance(degree, bool) or not isinstance(degree, int) or degree < 1:
        raise ValueError(f"degree: {degree!r} should be a positive integer")
    if ansatz == "weight":
        return weighted_families(reduction, None if exponent is None else _real(exponent))
    if exponent is not None:
        raise ValueError(f"exponent: it belongs to the ansatz 'weight', not to '{ansatz}'")
    return (polynomial_integral if ansatz == "polynomial" else rational_integral)(reduction, degree)


def _real(exponent: object) -> sp.Expr:
    value = sp.sympify(exponent)
    if not (isinstance(value, sp.Expr) and (value.is_Rational or (value.is_Symbol and value.is_real))):
        raise ValueError(f"exponent: {exponent!r} should be a rational number or a real symbol")
    return value
