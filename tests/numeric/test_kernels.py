"""Generated kernels against SymPy's own evaluation of the equations, exact power series, and closed forms."""

import ast
import inspect
import random
import re
import subprocess
import sys
import textwrap
import traceback
from collections import Counter
from fractions import Fraction
from functools import cache
from math import factorial

import gmpy2
import mpmath
import numpy as np
import pytest
import sympy as sp
from sympy.matrices.expressions.applyfunc import ElementwiseApplyFunction

from numeric import Kernel, backends, compile_kernel, load_kernel, regenerate_kernels
from numeric.backends import gmpy2 as gmpy2_backend
from numeric.backends.mpmath import arithmetic
from symbolic import canonical_reductions
from symbolic.derivation import Derivation
from symbolic.notation import Mean, PolynomialValue, SecondMomentOfACG
from symbolic.reduction import Reduction, Variable

d, n, r = sp.symbols("d n r", integer=True, positive=True)
SIZES = {"n": 3, "d": 2, "r": 1, "K": 4}
COMPLEX = ("complex", "disc")


def typed(name, state, parameters, definitions, equations):
    """A reduction typed by hand, which no field stands behind."""
    variables = [tuple(Variable(s, domain, s.name) for s, domain in group.items()) for group in (state, parameters)]
    return Reduction(name, name, None, None, *variables, tuple(definitions), equations, (), (), Derivation(name))


def scalar_functions():
    """Every function of real scalars, every kind of power, and constants that are no floats."""
    x, y, z, p, q = sp.symbols("x y z p q", positive=True)
    s, u, v = sp.symbols("s u v", real=True)
    third = sp.Rational(1, 3)
    return typed(
        "scalar_functions",
        {x: "positive", y: "positive", z: "positive", u: "real", s: "real"},
        {p: "positive", q: "positive"},
        [(v, sp.exp(-x) * sp.log(y))],
        {
            x: sp.sin(x * y) + sp.cos(p * x) / 3 + sp.sqrt(y) + x ** (2 * third),
            y: v + x**5 / y**2 + 2 * third - q / (x + y) + 1 / sp.sqrt(y),
            z: sp.sqrt(2) + sp.exp(third),
            u: p * sp.Abs(u) + sp.log(q) - u**3 + sp.cos(u),
            s: sp.Integer(2),
        },
    )


def complex_scalars():
    """Complex states, parameters and definitions in every function that splits into real and imaginary parts."""
    w, c, v = sp.symbols("w c v", complex=True)
    u = sp.Symbol("u", real=True)
    return typed(
        "complex_scalars",
        {w: "complex", u: "real"},
        {c: "complex"},
        [(v, w**3 - c * sp.conjugate(w) / 3)],
        {
            w: sp.exp(v / 9) + 1 / (w + 3) + sp.I / 3 + sp.Abs(v) ** 2 + sp.cos(w) * sp.sin(c) + w**-2,
            u: w * sp.conjugate(w) + sp.re(v) * u + sp.im(c * v) + sp.Abs(w),
        },
    )


def matrix_operations():
    """Every operation on matrices and vectors, and every way of broadcasting."""
    S, A, L = (sp.MatrixSymbol(name, d, d) for name in "SAL")
    X, Y = (sp.MatrixSymbol(name, n, d) for name in "XY")
    m, g, h = sp.MatrixSymbol("m", d, 1), sp.MatrixSymbol("g", n, 1), sp.MatrixSymbol("h", n, 1)
    D, T = sp.MatrixSymbol("D", n, d), sp.MatrixSymbol("T", d, n)
    p = sp.Symbol("p", positive=True)
    one, each, entrywise = sp.OneMatrix, ElementwiseApplyFunction, sp.HadamardProduct
    return typed(
        "matrix_operations",
        {S: "covariance", X: "tokens", m: "vector", g: "phases", h: "phases", Y: "tokens"},
        {A: "matrix", p: "positive"},
        [(L, (sp.Identity(d) + S * S).inverse() * A), (D, g * one(1, d)), (T, X.T)],
        {
            S: sp.trace(L) * S / 3 + S * L.T + L * S + A * S * S * A.T + m * m.T - sp.Identity(d),
            X: each(sp.sin, X * A)
            + one(n, n) * X / n
            + sp.HadamardPower(one(n, d) + entrywise(X, X), sp.Rational(-1, 2))
            + Mean(entrywise(X, X)) * X
            + g * m.T
            + m[0, 0] * A[1, 0] * X
            + g * one(1, d) * A * p / (n + 1)
            - Y,
            m: L * m + X.T * each(sp.cos, g) + sp.sqrt(d) * A.T * m + (one(1, n) * X).T,
            g: p * one(n, 1) + D * D.T * g + T[1, 2] * D[2, 1] * one(n, 1),
            h: p * one(n, 1),
            Y: sp.ZeroMatrix(n, d),
        },
    )


def exponential_tokens():
    """Exponentials that are not normalised: no factor of theirs may be dropped."""
    X, A, E = sp.MatrixSymbol("X", n, d), sp.MatrixSymbol("A", d, d), sp.MatrixSymbol("E", n, n)
    scores = ElementwiseApplyFunction(sp.exp, X * A * X.T)
    return typed("exponential_tokens", {X: "tokens"}, {A: "matrix"}, [(E, scores)], {X: E * X / n})


def complex_matrices():
    """Matrices with an imaginary part among the definitions, in every operation that is linear in them."""
    g, C, S, Z = (sp.MatrixSymbol(name, n, 1) for name in ("g", "C", "S", "Z"))
    w = sp.Symbol("w", complex=True)
    definitions = [
        (C, ElementwiseApplyFunction(sp.cos, g)),
        (S, ElementwiseApplyFunction(sp.sin, g)),
        (Z, C + sp.I * S),
        (w, Mean(sp.HadamardProduct(Z, Z)) + sp.trace(Z.T * Z) / 2 + sp.I * Z[0, 0]),
    ]
    return typed("complex_matrices", {g: "phases"}, {}, definitions, {g: sp.re(w) * C - sp.im(w) * S})


MAKERS = (scalar_functions, complex_scalars, matrix_operations, exponential_tokens, complex_matrices)
TYPED = {make.__name__: make for make in MAKERS}
NAMES = [*canonical_reductions(), *TYPED]
every_reduction = pytest.mark.parametrize("name", NAMES)
#: Those with an operation that has no Taylor recurrence.
WITHOUT_SERIES = [name for name in canonical_reductions() if load_kernel(name).series is None]
every_series = pytest.mark.parametrize("name", [name for name in NAMES if name not in WITHOUT_SERIES])


@cache
def reduction(name) -> Reduction:
    return TYPED[name]() if name in TYPED else canonical_reductions()[name]()


@cache
def kernel(name, backend) -> Kernel:
    """The kernel that users get: the committed one where there is one."""
    return compile_kernel(reduction(name), backend) if name in TYPED else load_kernel(name, backend)


def random_point(name, seed):
    """Small rational states and parameters in their domains (tokens need no unit length for the equations)."""
    rng = random.Random(f"{name} {seed}")

    def rational():
        return Fraction(rng.choice([-1, 1]) * rng.randint(1, 9), 10)

    def value(argument):
        shape = tuple(SIZES.get(size, size) for size in argument.shape)
        array = np.empty(shape, dtype=object)
        for place in np.ndindex(shape):
            array[place] = abs(rational()) if argument.domain == "positive" else rational()
        return (array @ array.T)[()] if argument.domain == "covariance" else array[()]

    arguments = kernel(name, "numpy").state + kernel(name, "numpy").parameters
    return {a.name: (value(a), value(a)) if a.domain in COMPLEX else value(a) for a in arguments}


def in_doubles(point):
    def convert(value):
        return complex(*map(float, value)) if isinstance(value, tuple) else np.asarray(value, dtype=float)

    return [convert(value) for value in point.values()]


def to_mpmath(value):
    if isinstance(value, tuple):
        return mpmath.mpc(*(mpmath.mpf(part.numerator) / part.denominator for part in value))
    return np.frompyfunc(lambda x: mpmath.mpf(x.numerator) / x.denominator, 1, 1)(value)


def in_mpmath(point):
    return [to_mpmath(value) for value in point.values()]


def plane_second_moment(covariance):
    """Its closed form at d = 2, the size here."""
    covariance = sp.ImmutableMatrix(covariance.doit())
    root = sp.sqrt(covariance.det())
    return (covariance + root * sp.eye(2)) / (covariance.trace() + 2 * root)


def horner(coefficients, at):
    return sp.Poly(list(coefficients)[::-1], sp.Symbol("x")).as_expr().subs(sp.Symbol("x"), at)


def by_sympy(name, point):
    """The rates as SymPy evaluates the expanded equations entry by entry, to 60 digits."""
    given = reduction(name)
    variables = given.state + given.parameters
    sizes = {s: SIZES[s.name] for v in variables for size in v.shape for s in sp.sympify(size).free_symbols}
    values = {}
    for variable in variables:
        symbol, value = variable.symbol.subs(sizes), point[variable.name]
        if isinstance(value, tuple):
            values[symbol] = sp.Rational(value[0]) + sp.I * sp.Rational(value[1])
        elif isinstance(symbol, sp.Symbol):
            values[symbol] = sp.Rational(value)
        else:
            values[symbol] = sp.ImmutableMatrix(*symbol.shape, [sp.Rational(entry) for entry in value.flat])
    rates = []
    for variable in given.state:
        rate = given.expanded()[variable.symbol].subs(sizes).subs(values).doit()
        rate = rate.replace(Mean, lambda matrix: sum(matrix.as_explicit()) / sp.prod(matrix.shape))
        rate = rate.replace(SecondMomentOfACG, plane_second_moment).replace(PolynomialValue, horner).doit()
        rate = rate.replace(sp.Trace, lambda matrix: matrix.as_explicit().trace()).doit()
        rate = rate.as_explicit() if isinstance(rate, sp.MatrixExpr) else rate
        entries = list(rate) if isinstance(rate, sp.MatrixBase) else [rate]
        rates.append([sp.N(entry, 60) for entry in entries])
    return rates


def difference(left, right):
    """The largest difference of two lists of arrays, relative to the largest entry of the right one."""
    pairs = [(x, y) for a, b in zip(left, right, strict=True) for x, y in zip(np.ravel(a), np.ravel(b), strict=True)]
    return max(abs(x - y) for x, y in pairs) / max(1, max(abs(y) for _, y in pairs))


def from_sympy(rates):
    return [[mpmath.mpmathify(entry._to_mpmath(mpmath.mp.prec)) for entry in rate] for rate in rates]


@every_reduction
@pytest.mark.parametrize("seed", [0, 1])
def test_rhs_is_what_sympy_evaluates(name, seed):
    point = random_point(name, seed)
    precision = mpmath.mp.prec
    doubles = kernel(name, "numpy").rhs(*in_doubles(point))
    with mpmath.workdps(50):
        exact = from_sympy(by_sympy(name, point))
        digits = kernel(name, "mpmath").rhs(*in_mpmath(point))
        assert difference(digits, exact) < mpmath.mpf(10) ** -45  # 50 digits, less a few lost to cancellation
        assert difference(doubles, digits) < 1e-13  # some hundred operations in doubles, 1e-16 each
    assert mpmath.mp.prec == precision
    for argument, rate in zip(kernel(name, "numpy").state, doubles, strict=True):
        assert np.shape(rate) == tuple(SIZES.get(size, size) for size in argument.shape)
        assert np.iscomplexobj(rate) == (argument.domain in COMPLEX)


@every_reduction
def test_batches_are_what_a_loop_gives(name):
    used = kernel(name, "numpy")
    points = [in_doubles(random_point(name, seed)) for seed in range(7)]
    count = len(used.state)
    states = [np.stack([p[i] for p in points[:3]]) for i in range(count)]
    parameters = [np.stack([p[i] for p in points[3:]])[:, None] for i in range(count, len(points[0]))]
    batch = used.rhs(*states, *parameters)
    for i in range(4):
        for j in range(3):
            single = used.rhs(*points[j][:count], *points[3 + i][count:])
            for argument, rates, rate in zip(used.state, batch, single, strict=True):
                rates = np.broadcast_to(rates, (4, 3) + np.shape(rate))
                # BLAS may add in another order for another memory layout: rounding of sums of a few terms.
                np.testing.assert_allclose(rates[i, j], rate, rtol=1e-12, atol=1e-13, err_msg=argument.name)


@every_reduction
def test_each_argument_alone_may_have_a_batch_axis(name):
    used = kernel(name, "numpy")
    point, other = (in_doubles(random_point(name, seed)) for seed in (5, 6))
    for i, argument in enumerate(used.state + used.parameters):
        batch = used.rhs(*point[:i], np.stack([point[i], other[i]]), *point[i + 1 :])
        for j, value in enumerate((point[i], other[i])):
            for rates, rate in zip(batch, used.rhs(*point[:i], value, *point[i + 1 :]), strict=True):
                rates = np.broadcast_to(rates, (2, *np.shape(rate)))
                # As above.
                np.testing.assert_allclose(rates[j], rate, rtol=1e-12, atol=1e-13, err_msg=argument.name)


@pytest.mark.parametrize("name", canonical_reductions())
def test_nothing_is_computed_twice(name):
    """Neither products nor functions; halves and negatives of one name cost less than another name would."""
    (function,) = ast.parse(textwrap.dedent(inspect.getsource(load_kernel(name).field))).body
    written = Counter(
        ast.unparse(node)
        for node in ast.walk(function)
        if isinstance(node, ast.Call | ast.BinOp) and not isinstance(getattr(node, "right", None), ast.Constant)
    )
    assert [text for text, count in written.items() if count > 1] == []


@every_reduction
def test_a_field_serves_many_states(name):
    """At one choice of parameters for all states, it is `rhs` to the last bit, and no call disturbs the next."""
    used = kernel(name, "numpy")
    points = [in_doubles(random_point(name, seed)) for seed in range(3)]
    count = len(used.state)
    parameters = points[0][count:]
    field = used.field(*parameters)
    for point in (*points, points[0]):
        for rate, expected in zip(field(*point[:count]), used.rhs(*point[:count], *parameters), strict=True):
            np.testing.assert_array_equal(rate, expected)


def names_in(node):
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def factors_of(node):
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return factors_of(node.left) + factors_of(node.right)
    return [node]


@every_reduction
def test_what_parameters_determine_is_computed_outside_of_rhs(name):
    """No operation in `rhs` has operands that are known without the states, and no product has two such factors."""
    (field,) = ast.parse(textwrap.dedent(inspect.getsource(kernel(name, "numpy").field))).body
    (rhs,) = (node for node in field.body if isinstance(node, ast.FunctionDef))
    varying = {argument.arg for argument in rhs.args.args}
    for statement in rhs.body[1:]:
        operations = [node for node in ast.walk(statement) if isinstance(node, ast.Call | ast.BinOp)]
        known = [ast.unparse(node) for node in operations if names_in(node) - {"xp"} and not names_in(node) & varying]
        assert known == []
        for factors in map(factors_of, operations):
            assert sum(bool(names_in(factor)) and not names_in(factor) & varying for factor in factors) <= 1
        varying |= {target.id for target in getattr(statement, "targets", ())}


@every_reduction
def test_what_is_computed_outside_of_rhs_is_numbers_where_it_can_be(name):
    """NumPy is several times slower on arrays without axes."""
    used = kernel(name, "numpy")
    parameters = [value[()] for value in map(np.asarray, in_doubles(random_point(name, 0))[len(used.state) :])]
    known = inspect.getclosurevars(used.field.__wrapped__(*parameters, xp=backends.load("numpy"))).nonlocals
    assert [key for key, value in known.items() if isinstance(value, np.ndarray) and value.ndim == 0] == []


@pytest.mark.parametrize("name", ["linear_tokens", "linear_tokens_sphere"])
def test_linear_attention_forms_no_matrix_of_all_pairs(name):
    """2·10^5 tokens, whose n × n weights would take 320 GB, against the mean over all of them for three."""
    rng = np.random.default_rng(0)
    X, A, V = rng.normal(size=(200_000, 2)), *rng.normal(size=(2, 2, 2))
    (rates,) = load_kernel(name).rhs(X, A, V, 0.5)
    for i in (0, 7, -1):
        weights = X @ (A.T @ X[i]) * 0.5
        expected = V @ (weights @ X) / len(X)
        if name.endswith("sphere"):
            expected = expected - (X[i] @ expected) * X[i]
        # Sums of 2·10^5 terms of random sign.
        np.testing.assert_allclose(rates[i], expected, rtol=1e-11, atol=1e-12)


@every_reduction
def test_inputs_are_not_changed(name):
    point = in_doubles(random_point(name, 0))
    copies = [np.copy(value) for value in point]
    kernel(name, "numpy").rhs(*point)
    if name not in WITHOUT_SERIES:
        kernel(name, "numpy").series(3, *real_parts(name, point), backends.load("numpy"))
    for value, copy in zip(point, copies, strict=True):
        np.testing.assert_array_equal(value, copy)


def real_parts(name, point):
    """The arguments of `series`: complex values as two real ones."""
    arguments = kernel(name, "numpy").state + kernel(name, "numpy").parameters
    parts = []
    for argument, value in zip(arguments, point, strict=True):
        parts += [value.real, value.imag] if argument.domain in COMPLEX else [value]
    return parts


@every_series
def test_series_solves_the_equation(name):
    """(k + 1) x_{k+1} is Taylor coefficient k of the rate along the series itself, which `rhs` gives independently."""
    order = 4
    used = kernel(name, "mpmath")
    with mpmath.workdps(30):
        point = in_mpmath(random_point(name, 2))
        lists = iter(used.series(order + 1, *real_parts(name, point), arithmetic))
        states = []
        for argument in used.state:
            coefficients = next(lists)
            if argument.domain in COMPLEX:
                coefficients = [a + 1j * b for a, b in zip(coefficients, next(lists), strict=True)]
            assert len(coefficients) == order + 2
            states.append(coefficients)
        assert difference([x[0] for x in states], point[: len(states)]) == 0

        @cache
        def rates(t):
            moved = [sum(c * t**k for k, c in enumerate(coefficients)) for coefficients in states]
            return np.concatenate([np.ravel(rate) for rate in used.rhs(*moved, *point[len(states) :])])

        for i in range(len(rates(mpmath.mpf(0)))):
            expected = mpmath.taylor(lambda t, i=i: rates(t)[i], 0, order)
            for k in range(order + 1):
                flat = np.concatenate([np.ravel(coefficients[k + 1]) for coefficients in states])
                # mpmath differentiates numerically, to a few digits less than the working precision.
                assert abs((k + 1) * flat[i] - expected[k]) < mpmath.mpf(10) ** -20 * (1 + abs(expected[k]))


@every_series
def test_series_in_doubles_agrees_with_many_digits(name):
    point = random_point(name, 3)
    doubles = kernel(name, "numpy").series(6, *real_parts(name, in_doubles(point)), backends.load("numpy"))
    with mpmath.workdps(30):
        digits = kernel(name, "mpmath").series(6, *real_parts(name, in_mpmath(point)), arithmetic)
        for few, many in zip(doubles, digits, strict=True):
            assert all(isinstance(entry, mpmath.mpf) for array in many for entry in np.ravel(array))
            # Coefficients grow, and cancellations among them cost a few of the 16 digits.
            assert difference(few, many) < 1e-10


@every_reduction
def test_gmpy2_agrees_with_mpmath(name):
    point = random_point(name, 4)
    used, fast = kernel(name, "mpmath"), backends.load("gmpy2")
    with mpmath.workdps(50), gmpy2.context(precision=mpmath.mp.prec):
        given = in_mpmath(point)
        rates = kernel(name, "gmpy2").rhs(*given)
        assert not any(isinstance(entry, float | complex) for rate in rates for entry in np.ravel(rate))
        back = [np.ravel(gmpy2_backend.to_mpmath(rate)) for rate in rates]
        assert difference(back, used.rhs(*given)) < mpmath.mpf(10) ** -45
        if name in WITHOUT_SERIES:
            return
        parts = real_parts(name, given)
        lists = used.series(9, *parts, arithmetic)
        others = used.series(9, *map(gmpy2_backend.from_mpmath, parts), fast)
        for expected, found in zip(lists, others, strict=True):
            # Coefficients grow, and cancellations among them cost a few of the 50 digits.
            assert difference(map(gmpy2_backend.to_mpmath, found), expected) < mpmath.mpf(10) ** -42


@every_series
def test_jax_agrees_with_numpy(name):
    jax = pytest.importorskip("jax")
    point = in_doubles(random_point(name, 5))
    parts = real_parts(name, point)
    with jax.enable_x64(True):
        # Some hundred operations in doubles, 1e-16 each; coefficients grow, and cancellations cost a few digits.
        assert difference(kernel(name, "jax").rhs(*point), kernel(name, "numpy").rhs(*point)) < 1e-13
        given = [backends.load("jax").asarray(part) for part in parts]
        lists = kernel(name, "jax").series(4, *given, backends.load("jax"))
        for found, expected in zip(lists, kernel(name, "numpy").series(4, *parts, backends.load("numpy")), strict=True):
            assert difference(found, expected) < 1e-11


@pytest.mark.parametrize("name", WITHOUT_SERIES)
def test_a_series_that_does_not_exist_is_refused(name):
    with pytest.raises(ValueError, match=rf"^digits, backend: the kernel '{name}' has no Taylor recurrence"):
        kernel(name, "numpy").recurrence()


def test_conversion_to_gmpy2_and_back_is_exact():
    with mpmath.workdps(70), gmpy2.context(precision=mpmath.mp.prec):
        third = mpmath.mpf(1) / 3
        numbers = [third, -third * mpmath.mpf(2) ** 5000, third / mpmath.mpf(10) ** 3000, mpmath.mpf(0), mpmath.mpf(8)]
        for number in (*numbers, mpmath.inf, -mpmath.inf, mpmath.mpc(third, -7)):
            assert gmpy2_backend.to_mpmath(gmpy2_backend.from_mpmath(number)) == number


@pytest.mark.parametrize("count", range(1, 8))
def test_squares_are_products(count):
    with gmpy2.context(precision=100):
        a = [gmpy2.mpfr(3 * j * j - 5 * j + 2) for j in range(count)]
        used = backends.load("gmpy2")
        for k in range(count):
            assert used.convolve(a, a, k) == used.convolve(a, list(a), k)


def test_series_of_quadratic_growth():
    """x' = x² with x(0) = 2/3 has the solution 1/(3/2 − t), so x_k = (2/3)^(k+1)."""
    x = sp.Symbol("x", real=True)
    used = compile_kernel(typed("growth", {x: "real"}, {}, [], {x: x**2}), "mpmath")
    with mpmath.workdps(60):
        start = mpmath.mpf(2) / 3
        (coefficients,) = used.series(40, start, arithmetic)
        assert len(coefficients) == 41
        assert all(abs(c / start ** (k + 1) - 1) < mpmath.mpf(10) ** -57 for k, c in enumerate(coefficients))
        (first,) = used.series(0, start, arithmetic)
        assert first == [start]


def test_series_of_known_functions():
    """x' = e^(−x), y' = (1 + y²)/2, z' = 1/(2z) have the solutions log(t + e^x₀), tan(t/2 + c), √(t + z₀²)."""
    x, y, z = sp.symbols("x y z", real=True)
    equations = {x: sp.exp(-x), y: (1 + y**2) / 2, z: 1 / (2 * z)}
    used = compile_kernel(typed("known", dict.fromkeys(equations, "real"), {}, [], equations), "mpmath")
    with mpmath.workdps(40):
        functions = [lambda t: mpmath.log(t + 1), lambda t: mpmath.tan(t / 2), lambda t: mpmath.sqrt(t + 4)]
        lists = used.series(8, mpmath.mpf(0), mpmath.mpf(0), mpmath.mpf(2), arithmetic)
        for coefficients, function in zip(lists, functions, strict=True):
            for value, expected in zip(coefficients, mpmath.taylor(function, 0, 8), strict=True):
                assert abs(value - expected) < mpmath.mpf(10) ** -25  # mpmath differentiates numerically


def test_series_of_gaussian_covariance():
    """Without feed-forward, V = I and B = Bᵀ: Σ(t) = (Σ₀⁻¹ − 2tB)⁻¹, so Σ_k = Σ₀ (2BΣ₀)^k, exactly."""
    sigma, b = sp.Matrix([[2, 1], [1, 3]]) / 4, sp.Matrix([[1, -2], [-2, 5]]) / 3
    zero, unit = sp.zeros(2), sp.eye(2)
    used = load_kernel("gaussian_moments", "mpmath")
    matrices = {"Sigma": sigma, "A": zero, "B": b, "V": unit}
    with mpmath.workdps(50):
        values = []
        for argument in used.state + used.parameters:
            matrix = matrices.get(argument.name, sp.zeros(2, 1))
            array = np.array([mpmath.mpf(entry.p) / entry.q for entry in matrix], dtype=object)
            values.append(array if len(argument.shape) == 1 else array.reshape(2, 2))
        _, coefficients = used.series(12, *values, arithmetic)
        for k, value in enumerate(coefficients):
            exact = sigma * (2 * b * sigma) ** k
            expected = [mpmath.mpf(entry.p) / entry.q for entry in exact]
            assert difference([value], [expected]) < mpmath.mpf(10) ** -46


def test_series_is_an_exact_power_series_of_a_linear_equation():
    """x' = A x: x_k = A^k x₀ / k!, computed with fractions."""
    x, A = sp.MatrixSymbol("x", d, 1), sp.MatrixSymbol("A", d, d)
    used = compile_kernel(typed("linear", {x: "vector"}, {A: "matrix"}, [], {x: A * x}))
    matrix = np.array([[Fraction(1, 2), Fraction(-3)], [Fraction(2, 5), Fraction(1, 7)]])
    start = np.array([Fraction(1, 3), Fraction(-2)])
    (coefficients,) = used.series(9, start, matrix, backends.load("numpy"))
    power = start
    for k, coefficient in enumerate(coefficients):
        assert (coefficient * factorial(k) == power).all()
        power = matrix @ power


def test_covariance_rates_are_exactly_symmetric():
    """Σ' = P + Pᵀ with one product P: equal to the last bit, batch or not."""
    rng = np.random.default_rng(0)
    used = load_kernel("gaussian_moments")
    values = {argument.name: rng.normal(size=(5,) + (3,) * len(argument.shape)) for argument in used.parameters}
    factor = rng.normal(size=(5, 3, 3))
    values |= {"mu": rng.normal(size=(5, 3)), "Sigma": factor + factor.mT}
    _, rate = used.rhs(*(values[argument.name] for argument in used.state + used.parameters))
    assert (rate == rate.mT).all()


def softmax_kernels():
    return [name for name in canonical_reductions() if name.startswith("softmax_tokens")]


@pytest.mark.parametrize("name", softmax_kernels())
def test_softmax_of_large_scores(name):
    """Scores of size 1e4, whose exponentials are no doubles, against the quotient in multiple precision."""
    rng = np.random.default_rng(1)
    used = load_kernel(name)
    tokens = rng.normal(size=(6, 2))
    values = {argument.name: np.zeros((2,) * len(argument.shape)) for argument in used.parameters}
    values |= {"B": 1e4 * rng.normal(size=(2, 2)), "V": rng.normal(size=(2, 2))}
    (rate,) = used.rhs(tokens, *(values[argument.name] for argument in used.parameters))

    scores = tokens @ values["B"].T @ tokens.T
    assert np.abs(scores).max() > 1e4
    expected = []
    for token, row in zip(tokens, scores, strict=True):
        weights = [mpmath.exp(score) for score in row]
        mean = [mpmath.fdot(weights, column) / mpmath.fsum(weights) for column in tokens.T]
        value = values["V"] @ np.array(mean, dtype=float)
        expected.append(value - token * (token @ value) if name.endswith("sphere") else value)
    # Scores of 1e4 carry a rounding error of 1e-12, which is the relative error of their exponentials.
    np.testing.assert_allclose(rate, expected, rtol=1e-10, atol=1e-10)


def test_compiled_and_committed_kernels_are_the_same():
    for name in canonical_reductions():
        compiled, committed = compile_kernel(reduction(name)), load_kernel(name)
        assert compiled.digest == committed.digest
        assert (compiled.name, compiled.state, compiled.parameters) == (name, committed.state, committed.parameters)
        assert inspect.getsource(compiled.field) == inspect.getsource(committed.field)
        if name in WITHOUT_SERIES:
            assert compiled.series is None
        else:
            assert inspect.getsource(compiled.series) == inspect.getsource(committed.series)


def test_source_of_compiled_kernels_is_shown():
    used = compile_kernel(scalar_functions())
    assert "y_dot = " in inspect.getsource(used.field)
    with pytest.raises(TypeError) as caught:
        used.rhs("no number", *[1.0] * 6)
    assert any("v = xp.exp(-x)" in line for line in traceback.format_tb(caught.value.__traceback__))


def test_loading_a_kernel_does_not_import_sympy():
    code = (
        "import sys, numeric\n"
        "for name in sys.argv[1:]: numeric.load_kernel(name, 'mpmath')\n"
        "assert 'sympy' not in sys.modules and 'symbolic' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, *canonical_reductions()], check=True)


def test_committed_kernels_match_their_derivations():
    report = regenerate_kernels(check=True)
    assert report.matches, str(report)
    assert set(report.unchanged) == set(canonical_reductions())


def test_regeneration_finds_every_tampering(tmp_path):
    """One sign changed in `field` or in `series` of a kernel, a file too many, and a file too few."""
    assert set(regenerate_kernels(directory=tmp_path).changed) == set(canonical_reductions())
    untouched, *others = sorted(canonical_reductions())
    originals = {path.stem: path.read_text("utf-8") for path in tmp_path.glob("*.py")}
    for index, name in enumerate(others):
        in_series = index % 2 == 1 and name not in WITHOUT_SERIES
        place = r"(_dot\.append\()" if in_series else r"(_dot = )"
        flipped = re.sub(place, r"\1-", originals[name], count=1)
        assert len(flipped) == len(originals[name]) + 1
        (tmp_path / f"{name}.py").write_text(flipped, "utf-8")
    (tmp_path / f"{others[-1]}.py").unlink()
    (tmp_path / "left_over.py").write_text("NAME = 'left_over'\n", "utf-8")

    report = regenerate_kernels(check=True, directory=tmp_path)
    assert not report.matches
    assert report.unchanged == (untouched,)
    assert set(report.changed) == {*others, "left_over"}
    for name in others[:-1]:
        removed = [line for line in report.changed[name].splitlines() if line.startswith("-") and "---" not in line]
        assert len(removed) == 1 and "_dot" in removed[0]
        assert name in str(report)
    assert (tmp_path / "left_over.py").exists()  # a check writes nothing

    regenerate_kernels(directory=tmp_path)
    assert {path.stem: path.read_text("utf-8") for path in tmp_path.glob("*.py")} == originals


def test_unknown_names_are_errors_with_a_suggestion():
    with pytest.raises(ValueError, match=r"^name: there is no kernel 'ott_antonson'; did you mean 'ott_antonsen'\?"):
        load_kernel("ott_antonson")
    with pytest.raises(ValueError, match=r"^backend: there is no 'nunpy'; did you mean 'numpy'\?"):
        load_kernel("ott_antonsen", "nunpy")
    with pytest.raises(ValueError, match=r"^backend: there is no 'mpmaths'; did you mean 'mpmath'\?.*mpmath, numpy"):
        compile_kernel(scalar_functions(), backend="mpmaths")
    with pytest.raises(ValueError, match=r"^name: there is no kernel '\.\./kernels'"):
        load_kernel("../kernels")


@pytest.mark.parametrize("backend", sorted({*backends.names()} - {"jax"}))  # which has NumPy's
def test_backends_compute_products_of_series(backend):
    """(1 + 2t + 3t²)(4 + 5t + 6t²) = 4 + 13t + 28t² + ..., as scalars, entrywise with broadcasting, and as matrices."""
    pytest.importorskip(backend)
    used = backends.load(backend)
    a, b = [1, 2, 3], [4, 5, 6]
    scalars = [used.convolve([used.asarray(x)[()] for x in a], [used.asarray(x)[()] for x in b], k) for k in range(3)]
    assert scalars == [4, 13, 28]
    column = np.array([[1], [2]])
    rows = [used.asarray(x * np.array([[1, -1, 3]])) for x in b]
    for k in range(3):
        entrywise = used.convolve([used.asarray(x * column) for x in a], rows, k)
        outer = used.matmul([used.asarray(x * column) for x in a], rows, k)
        scaled = used.convolve([used.asarray(x)[()] for x in a], rows, k)
        assert (entrywise == scalars[k] * np.array([[1, -1, 3], [2, -2, 6]])).all()
        assert (outer == entrywise).all()
        assert (scaled == scalars[k] * np.array([[1, -1, 3]])).all()


def test_mpmath_divides_integers_at_working_precision():
    """x' = x/3 at the integer 1: a float would be wrong in digit 17."""
    x = sp.Symbol("x", real=True)
    used = compile_kernel(typed("third", {x: "real"}, {}, [], {x: x / 3 + sp.Rational(1, 7)}), "mpmath")
    for digits in (20, 60):
        with mpmath.workdps(digits):
            assert abs(21 * used.rhs(1)[0] - 10) < mpmath.mpf(10) ** (2 - digits)
