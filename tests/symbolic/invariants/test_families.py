"""Solving polynomial conditions over the reals by case distinction, on systems whose solutions are known."""

import pytest
import sympy as sp

from symbolic.invariants.families import Unsolved, solution_families

a, b, c, d = sp.symbols("a b c d", real=True)


def solved(*conditions, unknowns=(a, b, c, d), **options):
    return [dict(family.values) for family in solution_families(conditions, unknowns, **options)]


def test_a_product_splits():
    assert solved(a * b) == [{a: 0}, {b: 0}]


def test_sums_of_squares_vanish_only_where_every_square_does():
    assert solved(a**2 + b**2) == [{a: 0, b: 0}]
    assert solved(a**2 - 2 * a * c + 4 * b**2 + c**2) == [{b: 0, c: a}]
    assert solved(a**2 + b**2 + 1) == []


def test_generic_symbols_may_stand_in_squares():
    k = sp.Symbol("k", real=True)
    assert solved((k - 1) ** 2 * a**2 + (k - 3) ** 2 * b**2) == [{a: 0, b: 0}]


def test_positive_unknowns_do_not_vanish():
    p, q = sp.symbols("p q", positive=True)
    assert solved(p * a, unknowns=[p, a]) == [{a: 0}]
    assert solved(p + q, unknowns=[p, q]) == []


def test_what_lies_within_another_family_is_left_out():
    """The determinant: the case a = b = 0 is part of the closure of the case d = bc/a."""
    (family,) = solution_families([a * d - b * c], [a, b, c, d])
    assert family.dimension == 3
    assert {a: 0, b: 0} in family
    assert {a: 1, b: 2, c: 3, d: 6} in family
    assert {a: 1, b: 2, c: 3, d: 7} not in family


def test_the_values_of_a_family_satisfy_its_conditions():
    """Rank one of a 2 × 3 matrix, whose minors are not independent."""
    e, f = sp.symbols("e f", real=True)
    minors = [a * e - b * d, b * f - c * e, a * f - c * d]
    (family,) = solution_families(minors, [a, b, c, d, e, f])
    assert family.dimension == 4
    basis = sp.groebner(family.conditions, a, b, c, d, e, f)
    assert all(basis.contains(minor) for minor in minors)
    assert all(sp.cancel(condition.subs(family.values)) == 0 for condition in family.conditions)


def test_hidden_unknowns_do_not_tell_families_apart():
    conditions = [a * (b - 1), c * (b - 1)]
    assert solved(*conditions, unknowns=[b, a, c]) == [{b: 1}, {a: 0, c: 0}]
    assert solved(*conditions, unknowns=[b, a, c], hidden=[b]) == [{b: 1}]


def test_a_condition_that_can_not_be_solved_is_shown():
    with pytest.raises(Unsolved, match=r"a\*\*2 - 2"):
        solved(a**2 - 2)
