"""The text of generated modules: deterministic, lint-free, with shared and cheap products, and honest errors."""

import hashlib
import itertools
import os
import subprocess
import sys

import numpy as np
import pytest
import sympy as sp
from sympy.matrices.expressions.applyfunc import ElementwiseApplyFunction

from symbolic import canonical_reductions
from symbolic.derivation import Derivation
from symbolic.printing.array_code import digest, module_text
from symbolic.printing.field_code import field_text
from symbolic.reduction import Reduction, Variable

d, n = sp.symbols("d n", integer=True, positive=True)
A, B, V, S = (sp.MatrixSymbol(name, d, d) for name in "ABVS")
X = sp.MatrixSymbol("X", n, d)
E = sp.MatrixSymbol("E", n, n)
F = sp.MatrixSymbol("F", n, n)
x, y = sp.symbols("x y", real=True)
z = sp.Symbol("z", complex=True)


def typed(state, parameters, equations, definitions=(), title="Typed by hand", name="typed"):
    variables = [tuple(Variable(s, domain, s.name) for s, domain in group.items()) for group in (state, parameters)]
    return Reduction(name, title, None, None, *variables, tuple(definitions), equations, (), (), Derivation(name))


def run(text, function="field"):
    """The function of a module with this text."""
    namespace = {}
    exec(compile(text, "<generated>", "exec"), namespace)
    return namespace[function]


def exponential(matrix):
    return ElementwiseApplyFunction(sp.exp, matrix)


def normalised(weights, values):
    """Rows of weights divided by their sums, times values."""
    reciprocals = sp.HadamardPower(weights * sp.OneMatrix(n, 1), -1)
    return sp.HadamardProduct(reciprocals * sp.OneMatrix(1, values.cols), weights * values)


def long_sum():
    """A rate with many more terms than fit in one line, some of them long."""
    z = sp.symbols("z1:9", real=True)
    products = [a * b * c for a, b, c in itertools.combinations(z, 3)]
    deep = (sum(z) ** 3 + sp.cos(sum(z) + 1)) * sp.sin(sum(z[:4]) * sum(z[4:]) + sp.sqrt(1 + sum(w**2 for w in z)))
    return typed(dict.fromkeys(z, "real"), {}, {w: sum(products) + deep * w for w in z})


CASES = {**canonical_reductions(), "long_sum": long_sum}


@pytest.mark.parametrize("name", CASES)
def test_generated_modules_are_clean(name):
    text = module_text(CASES[name]())
    assert max(map(len, text.splitlines())) <= 120
    assert text.endswith("\n") and not text.endswith("\n\n")
    options = ["--isolated", "--no-cache", "--line-length", "120", "--select", "E,W,F,I,UP,B,SIM,RUF100"]
    ruff = [sys.executable, "-m", "ruff", "check", *options, "-"]
    done = subprocess.run(ruff, input=text, text=True, capture_output=True)
    assert done.returncode == 0, done.stdout


def test_text_does_not_depend_on_the_hash_seed():
    code = (
        "import hashlib, symbolic\n"
        "from symbolic.printing.array_code import module_text\n"
        "for name, reduction in symbolic.canonical_reductions().items():\n"
        "    print(name, hashlib.sha256(module_text(reduction()).encode()).hexdigest())"
    )
    environments = [os.environ | {"PYTHONHASHSEED": seed} for seed in ("1", "2")]
    processes = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment)
        for environment in environments
    ]
    first, second = (process.communicate()[0].splitlines() for process in processes)
    texts = {name: module_text(make()) for name, make in canonical_reductions().items()}
    assert first == second == [f"{name} {hashlib.sha256(text.encode()).hexdigest()}" for name, text in texts.items()]


def test_digest_identifies_the_equations():
    def make(sign=1, order=1, domain="tokens", title="Tokens"):
        terms = [X * A, sign * exponential(X), X][::order]
        return typed({X: domain}, {A: "matrix"}, {X: sp.MatAdd(*terms)}, title=title)

    assert len(digest(make())) == 64
    sp.Dummy()  # ElementwiseApplyFunction makes numbered dummies, whose numbers must not matter
    assert digest(make()) == digest(make()) == digest(make(order=-1)) == digest(make(title="Other words"))
    assert module_text(make()) == module_text(make())
    assert len({digest(make()), digest(make(sign=-1)), digest(make(domain="matrix"))}) == 3


def test_a_product_and_its_transpose_are_computed_once():
    covariance = {S: "covariance"}
    parameters = {A: "matrix", B: "matrix", V: "matrix"}
    rate = A * S + S * A.T + V * S * B * S + S * B.T * S * V.T
    text = field_text(typed(covariance, parameters, {S: rate}))
    assert text.count("@") == 4
    # Without symmetry S Aᵀ is not (A S)ᵀ, and nothing may be shared.
    text = field_text(typed({S: "matrix"}, parameters, {S: A * S + S * A.T}))
    assert text.count("@") == 2
    field = run("import numpy as np\n" + text)
    s, a = np.random.default_rng(0).normal(size=(2, 3, 3))
    (value,) = field(a, a, a)(s)
    np.testing.assert_allclose(value, a @ s + s @ a.T, rtol=1e-13)  # sums of three products


def test_rates_of_covariances_are_exactly_symmetric():
    """Several products, each with its transpose, and symmetric terms: equal to the last bit."""
    rate = A * S + S * A.T + V * S * B * S + S * B.T * S * V.T + S / 3
    field = run(module_text(typed({S: "covariance"}, {A: "matrix", B: "matrix", V: "matrix"}, {S: rate})))
    s, a, b, v = np.random.default_rng(0).normal(size=(4, 5, 5))
    (value,) = field(a, b, v)(s + s.T)
    assert (value == value.T).all()


def test_products_are_associated_for_many_tokens():
    text = field_text(typed({X: "tokens"}, {A: "matrix"}, {X: X * X.T * X * A / n}))
    assert "X @ (X.mT @ X @ A) / n" in text
    L = sp.MatrixSymbol("L", d, sp.Symbol("r", integer=True, positive=True))
    text = field_text(typed({L: "matrix"}, {A: "matrix"}, {L: A * L * L.T * A * L}))
    assert "A @ L @ (L.mT @ A @ L)" in text


def test_softmax_is_shifted_however_it_is_written():
    scores = X * A * X.T
    quotient = normalised(E, X)
    by_product = sp.HadamardProduct(E * X, sp.HadamardPower(E * sp.OneMatrix(n, d), -1))
    heads = normalised(E, X * A) + normalised(F, X) * B
    squares = sp.HadamardProduct(sp.HadamardProduct(E, E), sp.HadamardPower((E * sp.OneMatrix(n, n)), -2)) * X
    for rate, count in ((quotient, 1), (by_product, 1), (heads, 2), (squares, 1), (2 * quotient - X, 1)):
        definitions = [(E, exponential(scores)), (F, exponential(X * B * X.T))]
        text = module_text(typed({X: "tokens"}, {A: "matrix", B: "matrix"}, {X: rate}, definitions))
        assert text.count(".max(axis=-1, keepdims=True)") == 2 * count  # in field and in series
    text = field_text(typed({X: "tokens"}, {A: "matrix"}, {X: quotient}, definitions[:1]))
    assert text.count("@") == 3  # the scores are computed once, though the shift uses them twice


def test_exponentials_that_do_not_cancel_are_not_shifted():
    definitions = [(E, exponential(X * A * X.T))]
    transposed = sp.HadamardProduct(sp.HadamardPower(E * sp.OneMatrix(n, 1), -1) * sp.OneMatrix(1, d), E.T * X)
    shifted_twice = normalised(E, E * X)
    for rate in (E * X, normalised(E, X) + E * X, transposed, shifted_twice, normalised(E + sp.OneMatrix(n, n), X)):
        assert ".max(" not in module_text(typed({X: "tokens"}, {A: "matrix"}, {X: rate}, definitions))


def test_long_expressions_are_broken_up_correctly():
    reduction = long_sum()
    point = [sp.Rational(k, 7) for k in range(1, 9)]
    symbols = [variable.symbol for variable in reduction.state]
    expected = [float(rate.subs(dict(zip(symbols, point, strict=True)))) for rate in reduction.equations.values()]
    np.testing.assert_allclose(run(module_text(reduction))()(*map(float, point)), expected, rtol=1e-13)


def test_what_parameters_determine_is_set_apart():
    """All of it in a product, in a sum, in a quotient and in a power, and each once."""
    p, q = sp.symbols("p q", positive=True)
    rate = 3 * p * q * sp.sin(x) / 2 + sp.sqrt(p) * (x + q) + x / p + q + sp.exp(p)
    text = field_text(typed({x: "real"}, {p: "positive", q: "positive"}, {x: rate}))
    before, rhs = text.split("    def rhs(x):\n")
    assert [line for line in before.splitlines() if " = " in line] == [
        "    t1 = xp.sqrt(p)",
        "    t2 = 3 * p * q / 2",
        "    t3 = q + xp.exp(p)",
    ]
    assert "x_dot = x / p + t1 * (x + q) + xp.sin(x) * t2 + t3\n" in rhs


def test_a_definition_keeps_its_value():
    p, w = sp.symbols("p w", real=True)
    definitions = [(w, p * sp.sin(x))]
    text = field_text(typed({x: "real", y: "real"}, {p: "real"}, {x: w / 2, y: w * y}, definitions))
    assert "w = p * xp.sin(x)\n" in text and "x_dot = w / 2\n" in text


@pytest.mark.parametrize("parameters", [{A: "matrix"}, {A: "matrix", F: "matrix"}])
def test_sizes_are_read_where_they_are_known(parameters):
    """The number of tokens off the parameter F, when there is one, and off the state when not."""
    text = field_text(typed({X: "tokens"}, parameters, {X: sp.OneMatrix(n, n) * X / (n + 1)}))
    before, rhs = text.split("    def rhs(X):\n")
    assert ("n = F.shape[-2]\n" in before) == (F in parameters)
    assert ("n = X.shape[-2]\n" in rhs) == (F not in parameters)
    field = run("import numpy as np\n" + text)
    tokens = np.arange(12.0).reshape(4, 3)
    (rates,) = field(*[np.eye(3), np.eye(4)][: len(parameters)])(tokens)
    np.testing.assert_allclose(rates, np.tile(tokens.sum(0) / 5, (4, 1)), rtol=1e-15)


def test_parameters_that_only_multiply_matrices_become_matrices():
    p = sp.Symbol("p", real=True)
    assert "\n    p = xp.asarray(p)[..., None, None]\n" in field_text(typed({X: "tokens"}, {p: "real"}, {X: p * X}))
    both = typed({X: "tokens", x: "real"}, {p: "real"}, {X: p * X, x: p * x})
    assert "\n    t1 = xp.asarray(p)[..., None, None]\n" in field_text(both)


def test_any_symbol_name_becomes_an_identifier():
    names = ["lambda", "np", "xp", "k", "order", "arithmetic", "t1", "x'", "2y", "x_dot", "rhs"]
    symbols = [sp.Symbol(name, real=True) for name in names]
    rate = sum((index * symbol for index, symbol in enumerate(symbols, 1)), x)
    definition = sp.Symbol("x", positive=True)  # of the same name as the state
    parameters = dict.fromkeys(symbols, "real")
    text = module_text(typed({x: "real"}, parameters, {x: 2 * definition}, [(definition, rate)]))
    assert run(text)(*[1.0] * 11)(1.0) == (2 * 67,)
    assert run(text, "series")(1, 1, *[1] * 11, None) == ([1, 2 * 67],)


@pytest.mark.parametrize(
    ("equations", "message"),
    [
        ({}, "reduction: no equation for the state x"),
        ({x: x + y}, "reduction: 'y' is no state, parameter, earlier definition or size"),
        ({x: sp.Trace(A)}, "reduction: 'A' is no state, parameter or earlier definition"),
        ({x: sp.tan(x)}, r"reduction: no array code for tan, in 'tan\(x\)'"),
        ({x: sp.Float("0.1") * x}, "reduction: no array code for Float"),
        ({x: 2**x}, "reduction: no array code for '2' to the power 'x', which is not rational"),
        ({z: sp.sqrt(z)}, "reduction: no array code for 'sqrt.z.', a root of a complex number"),
        ({z: sp.log(z)}, "reduction: no array code for the real and imaginary part of 'log.z.'"),
    ],
)
def test_what_has_no_array_code_is_named(equations, message):
    with pytest.raises(ValueError, match=message):
        module_text(typed({z: "complex"} if z in equations else {x: "real"}, {}, equations))
