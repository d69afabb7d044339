"""The public door: what it lets in, and that every refusal names the argument, what was wrong, what would be right."""

import copy
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import sympy as sp

from numeric import integrate, load_kernel
from numeric.inputs import (
    DOMAINS,
    check_digits,
    check_events,
    check_time_span,
    check_times,
    check_tolerances,
    check_values,
)
from numeric.kernel import Argument
from symbolic.reduction import DOMAINS as SYMBOLIC_DOMAINS

MU = Argument("mu", ("d",), "vector")
SIGMA = Argument("Sigma", ("d", "d"), "covariance")
A = Argument("A", ("d", "d"), "matrix")
R = Argument("R", (), "disc")
X = Argument("X", ("n", "d"), "unit tokens")
BETA = Argument("beta", (), "real")


def checked(argument, value, **options):
    (arrays,) = check_values(("initial", [argument], {argument.name: value}), **options)
    return arrays[argument.name]


def test_domains_are_those_of_reductions():
    assert DOMAINS == SYMBOLIC_DOMAINS


@pytest.mark.parametrize(
    ("argument", "value", "wrong", "right"),
    [
        (MU, [[1, 2]], r"shape \(1, 2\)", r"expected \(d,\)"),
        (SIGMA, [1, 2], r"shape \(2,\)", r"expected \(d, d\)"),
        (SIGMA, np.ones((2, 3)), r"shape \(2, 3\)", r"expected \(2, 2\)|expected \(d, d\)"),
        (SIGMA, np.ones((2, 2, 2)), r"shape \(2, 2, 2\)", r"expected \(d, d\)"),
        (MU, [], r"shape \(0,\)", r"expected \(d,\)"),
        (BETA, [1.0], r"shape \(1,\)", r"expected \(\)"),
        (MU, [1, np.nan], "infinite or not a number", "finite"),
        (BETA, np.inf, "infinite or not a number", "finite"),
        (SIGMA, [[1, 0.5], [0, 1]], "not symmetric", "symmetric positive semidefinite"),
        (SIGMA, [[1, 2], [2, 1]], "negative eigenvalue -1", "symmetric positive semidefinite"),
        (R, 1.1j, "modulus 1.1", "modulus at most 1"),
        (X, [[1.0, 0.0], [1.0, 1.0]], r"length 1\.414", "unit length"),
        (Argument("c", (), "positive"), 0, "is 0", "positive"),
        (BETA, 1 + 2j, "not a real number", "a real number"),
        (MU, np.array([1j, 2]), "not a real number", "a real vector"),
        (BETA, "one", "'one' is not a real number", "a real number"),
        (BETA, "1/0", "'1/0' is not a real number", "a real number"),
        (BETA, None, "None is not a real number", "a real number"),
        (A, [[1, 2], [3]], r"\[1, 2\] is not a real number", "a real matrix"),
    ],
)
@pytest.mark.parametrize("exact", [False, True])
def test_refused_values(argument, value, wrong, right, exact):
    with pytest.raises(ValueError, match=rf"^{argument.name}: .*({wrong}).*({right})"):
        checked(argument, value, exact=exact)


def test_equal_size_names_mean_equal_sizes():
    groups = ("initial", [MU, SIGMA], {"mu": [0, 0], "Sigma": np.eye(2)}), ("parameters", [A], {"A": np.eye(3)})
    with pytest.raises(ValueError, match=r"^A: has shape \(3, 3\); expected \(2, 2\), as d = 2 in 'mu'"):
        check_values(*groups)


def test_fixed_sizes():
    with pytest.raises(ValueError, match=r"^A: has shape \(3, 3\); expected \(2, 2\)"):
        checked(Argument("A", (2, 2), "matrix"), np.eye(3))


def test_names():
    with pytest.raises(ValueError, match="^initial: missing Sigma; expected mu, Sigma"):
        check_values(("initial", [MU, SIGMA], {"mu": [0]}))
    with pytest.raises(ValueError, match="^initial: unknown name 'sigma'; did you mean 'Sigma'.; expected mu, Sigma"):
        check_values(("initial", [MU, SIGMA], {"mu": [0], "sigma": [[1]]}))
    with pytest.raises(ValueError, match="^parameters: unknown name 'Q'; expected A"):
        check_values(("parameters", [A], {"A": [[1]], "Q": 1}))
    with pytest.raises(ValueError, match="^parameters: list is not a mapping; expected values for A by name"):
        check_values(("parameters", [A], [1]))


def test_admissible_up_to_the_error_of_an_earlier_integration():
    # Errors of 1e-10, the default tolerance, must be let in.
    checked(R, np.exp(1j) * (1 + 1e-10))
    checked(SIGMA, [[1, 1], [1, 1 - 1e-10]])
    checked(X, np.array([[1.0, 1e-6], [0.6, 0.8]]))
    checked(SIGMA, np.zeros((2, 2)))


def test_scale_of_a_covariance_does_not_matter():
    # Beyond the range of doubles in both directions; its eigenvalues are 0, 2 and then -1, 3 times the scale.
    for scale in (mpmath.mpf(10) ** 400, mpmath.mpf(10) ** -400):
        checked(SIGMA, [[scale, scale], [scale, scale]], exact=True)
        with pytest.raises(ValueError, match="negative eigenvalue"):
            checked(SIGMA, [[scale, 2 * scale], [2 * scale, scale]], exact=True)


def test_double_arrays_are_new_and_typed():
    value = np.array([[2, 1], [1, 2]])
    array = checked(SIGMA, value)
    assert array.dtype == float
    assert not np.shares_memory(array, value)
    original = np.eye(2)
    assert not np.shares_memory(checked(SIGMA, original), original)
    assert checked(R, 0.5).dtype == complex
    assert checked(BETA, "1/4") == checked(BETA, Fraction(1, 4)) == checked(BETA, sp.Rational(1, 4)) == 0.25
    assert checked(Argument("z", ("n",), "complex"), ["1/4 + 1/2j", 1]).tolist() == [0.25 + 0.5j, 1]


THIRD = [Fraction(1, 3), "1/3", sp.Rational(1, 3)]
TENTH = ["0.1", "1/10", "1e-1", Decimal("0.1"), sp.Rational(1, 10)]


SEVEN = [7, np.int64(7), 7.0]


@pytest.mark.parametrize(("numerator", "denominator", "values"), [(1, 3, THIRD), (1, 10, TENTH), (7, 1, SEVEN)])
def test_exact_values_are_converted_at_the_working_precision(numerator, denominator, values):
    for digits in (20, 100):
        with mpmath.workdps(digits):
            for value in values:
                assert checked(BETA, value, exact=True) == mpmath.mpf(numerator) / denominator


def test_exact_irrational_and_complex_numbers():
    with mpmath.workdps(60):
        root = checked(BETA, sp.sqrt(2), exact=True)
        # Half a unit of the 60th digit, and that of the text that the number passes through.
        assert abs(root - mpmath.sqrt(2)) < mpmath.mpf(10) ** -59
        half = mpmath.mpf(1) / 2
        tenth = mpmath.mpf(1) / 10
        texts = ["1/2 + 1/10j", "0.5+0.1*I", "1/2 + 1/10i"]
        for value in (*texts, sp.Rational(1, 2) + sp.I / 10, mpmath.mpc(half, tenth)):
            assert checked(R, value, exact=True) == mpmath.mpc(half, tenth)
        assert checked(R, "-1/10j", exact=True) == mpmath.mpc(0, -tenth)
        assert checked(R, "-j", exact=True) == mpmath.mpc(0, -1)
        assert checked(R, "1e-1-1e-1j", exact=True) == mpmath.mpc(tenth, -tenth)
        assert checked(R, "1/10", exact=True) == tenth
        assert checked(R, 0.5j, exact=True) == mpmath.mpc(0, half)
        # A float means the binary number that it is.
        assert checked(BETA, 0.1, exact=True) == mpmath.mpf(0.1) != tenth


@pytest.mark.parametrize(
    "matrix",
    [
        [["1/3", 0], [0, 1]],
        ((Fraction(1, 3), 0), (0, 1)),
        sp.Matrix([[sp.Rational(1, 3), 0], [0, 1]]),
        np.array([[Fraction(1, 3), 0], [0, 1]], dtype=object),
    ],
)
def test_exact_matrices_in_any_wrapping(matrix):
    with mpmath.workdps(40):
        array = checked(SIGMA, matrix, exact=True)
        assert array.dtype == object
        assert array.shape == (2, 2)
        assert array[0, 0] == mpmath.mpf(1) / 3
        assert all(isinstance(entry, mpmath.mpf) for entry in array.flat)


def test_mpmath_matrix_keeps_its_digits():
    with mpmath.workdps(40):
        third = mpmath.mpf(1) / 3
        assert checked(A, mpmath.matrix([[third, 0], [0, 1]]), exact=True)[0, 0] == third


@pytest.mark.parametrize("exact", [False, True])
def test_inputs_are_not_mutated(exact):
    values = {"mu": np.array([1.0, 2.0]), "Sigma": [[2, "1/2"], [Fraction(1, 2), 1]]}
    before = copy.deepcopy(values)
    (arrays,) = check_values(("initial", [MU, SIGMA], values), exact=exact)
    arrays["mu"][0] = 7
    arrays["Sigma"][0, 0] = 7
    assert values["mu"].tolist() == before["mu"].tolist()
    assert values["Sigma"] == before["Sigma"]


def test_batch_axes():
    groups = (("initial", [MU, SIGMA], {"mu": np.zeros((5, 1, 2)), "Sigma": np.stack([np.eye(2)] * 4)}),)
    (arrays,) = check_values(*groups, batch=True)
    assert arrays["mu"].shape == (5, 1, 2)
    with pytest.raises(ValueError, match=r"^mu \(5,\), Sigma \(4,\): these batch axes do not broadcast; expected"):
        check_values(("initial", [MU, SIGMA], {"mu": np.zeros((5, 2)), "Sigma": np.stack([np.eye(2)] * 4)}), batch=True)
    with pytest.raises(ValueError, match=r"^Sigma: has shape \(4, 2, 3\); expected \(d, d\) after any leading batch"):
        checked(SIGMA, np.zeros((4, 2, 3)), batch=True)


def test_one_bad_member_of_a_batch_is_found():
    batch = np.stack([np.eye(2), np.array([[1.0, 2.0], [2.0, 1.0]])])
    with pytest.raises(ValueError, match="negative eigenvalue -1"):
        checked(SIGMA, batch, batch=True)


def test_time_span():
    assert check_time_span([0, "1/2"]) == (0.0, 0.5)
    with mpmath.workdps(50):
        assert check_time_span((0, "1/3"), exact=True)[1] == mpmath.mpf(1) / 3
    for span in ((1, 1), (2, 1)):
        with pytest.raises(ValueError, match="^t_span: .*not increasing; expected start < end"):
            check_time_span(span)
    for span in ((0, np.inf), (np.nan, 1)):
        with pytest.raises(ValueError, match="^t_span: .*not finite; expected two finite times"):
            check_time_span(span)
    for span in ((0, 1, 2), 3, ("now", "then"), None):
        with pytest.raises(ValueError, match=r"^t_span: .*not a pair of numbers; expected \(start, end\)"):
            check_time_span(span)


def test_times():
    assert check_times(np.array([0, 0.5, 1]), (0.0, 1.0)) == [0, 0.5, 1]
    with pytest.raises(ValueError, match="^t_eval: the times are not increasing; expected"):
        check_times([0, 1, 1], (0.0, 1.0))
    with pytest.raises(ValueError, match=r"^t_eval: some times lie outside t_span; expected times from 0\.0 to 1\.0"):
        check_times([0, 2], (0.0, 1.0))
    with pytest.raises(ValueError, match="^t_eval: .*not a sequence of numbers; expected times"):
        check_times(3, (0.0, 1.0))


@pytest.mark.parametrize("digits", [14, 10_001, -50])
def test_digits_out_of_range(digits):
    with pytest.raises(ValueError, match=f"^digits: {digits} is out of range; expected 15 to 10000"):
        check_digits(digits)


@pytest.mark.parametrize("digits", [50.0, "50", True])
def test_digits_of_another_type(digits):
    with pytest.raises(ValueError, match="^digits: .* is not an integer; expected 15 to 10000"):
        check_digits(digits)


def test_tolerances():
    assert check_tolerances(1e-8, 0) == (1e-8, 0.0)
    with pytest.raises(ValueError, match="^rtol: 1e-20 is no usable tolerance; expected 1e-13 <= rtol < 1; for more"):
        check_tolerances(1e-20, 1e-12)
    with pytest.raises(ValueError, match="^atol: -1 is no usable tolerance; expected 0 <= atol"):
        check_tolerances(1e-8, -1)
    with pytest.raises(ValueError, match="^rtol: 'tight' is no usable tolerance"):
        check_tolerances("tight", 0)


def test_events():
    def event(t, state):
        return t

    assert check_events(event) == check_events([event]) == (event,)
    with pytest.raises(ValueError, match=r"^events: 3 is not callable; expected functions event\(t, state\)"):
        check_events([event, 3])
    with pytest.raises(ValueError, match="^events: 3 is not callable"):
        check_events(3)


@pytest.mark.parametrize("digits", [None, 30])
def test_unit_tokens_are_asked_for_or_made(digits):
    kernel = load_kernel("softmax_tokens_sphere")
    parameters = {"B": [[1, 0], [0, 1]], "V": [[1, 2], [0, 1]]}
    unit, long = [["3/5", "4/5"], [0, 1]], [[3, 4], [0, 10**200]]
    with pytest.raises(ValueError, match=r"^X: has a token of length .*; expected .*, or normalize=True"):
        integrate(kernel, {"X": long}, (0, 1), parameters, digits=digits)
    made = integrate(kernel, {"X": long}, (0, 1), parameters, digits=digits, normalize=True).final["X"]
    asked = integrate(kernel, {"X": unit}, (0, 1), parameters, digits=digits).final["X"]
    assert abs(made - asked).max() < 10.0 ** -(digits or 14)
    with pytest.raises(ValueError, match=r"^X: has a token of length 0"):
        integrate(kernel, {"X": [[0, 0], [0, 1]]}, (0, 1), parameters, digits=digits, normalize=True)
