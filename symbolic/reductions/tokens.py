"""Finitely many tokens: the attention field on its empirical law, as equations for the n × d matrix X of tokens.

Row i of X is token i. With the matrix of scores S_ij = s(x_i, x_j) and weights E = w(S),

    U = E X Vᵀ / (E 1)  (normalised),    U = E X Vᵀ / n  (unnormalised),    X' = U + X Aᵀ + 1 bᵀ,

and on the sphere X' = U − ⟨x_i, u_i⟩ x_i row by row. Linear weights need no n × n matrix:

    U = X Wᵀ,   W = β V M Aᵀ,   M = XᵀX / n.

>>> from symbolic import ExponentialAttention, reduce, Sphere, Tokens
>>> reduce(ExponentialAttention(space=Sphere()), Tokens()).equations
{X: -(HadamardProduct(r*1, X)) + U}
"""

from __future__ import annotations

from collections.abc import Iterable

import sympy as sp
from sympy.matrices.expressions.applyfunc import ElementwiseApplyFunction

from symbolic.components import Components
from symbolic.derivation import Derivation
from symbolic.fields import (
    FEED_FORWARD_A,
    AttentionField,
    ExponentialAttention,
    L2Attention,
    LinearAttention,
    SoftmaxAttention,
    b,
    s,
    x,
    y,
)
from symbolic.laws import Tokens
from symbolic.matrix_calculus import bilinear_terms
from symbolic.notation import Average, Inner, d, n, rate
from symbolic.reduction import Reduction, Variable
from symbolic.spaces import Sphere

X = sp.MatrixSymbol("X", n, d)
U = sp.MatrixSymbol("U", n, d)
E = sp.MatrixSymbol("E", n, n)
M = sp.MatrixSymbol("M", d, d)
W = sp.MatrixSymbol("W", d, d)
#: The radial component ⟨x_i, u_i⟩ of each velocity.
r = sp.MatrixSymbol("r", n, 1)
ONES = sp.OneMatrix(n, 1)

CANONICAL = {
    "exponential_tokens_sphere": (ExponentialAttention(space=Sphere()), Tokens()),
    "l2_tokens": (L2Attention(), Tokens()),
    "softmax_tokens": (SoftmaxAttention(feed_forward="affine"), Tokens()),
    "softmax_tokens_sphere": (SoftmaxAttention(space=Sphere()), Tokens()),
    "linear_tokens": (LinearAttention(), Tokens()),
    "linear_tokens_sphere": (LinearAttention(space=Sphere()), Tokens()),
}
#: Numbers of tokens and dimensions for which the array form is proved entry by entry.
SIZES = ((2, 2), (3, 2), (2, 3))


def matches(field: object, law: object) -> bool:
    if not isinstance(field, AttentionField) or law != Tokens():
        return False
    return field.space.dimension is None and isinstance(field.heads, int)


def derive(field: AttentionField, law: Tokens) -> Reduction:
    """Write the field on the empirical law m = (1/n) Σ δ as equations for the array of tokens."""
    on_sphere = isinstance(field.space, Sphere)
    name = f"{type(field).__name__.removesuffix('Attention').lower()}_tokens{'_sphere' * on_sphere}"
    derivation = Derivation(name)
    derivation.define("field", "Attention field", sp.Eq(rate(x), field.velocity(), evaluate=False))
    definitions, parts = _attention_rows(field)
    if field.activation is not None:
        parts = [*parts, _each(field.activation, X) * FEED_FORWARD_A.T, ONES * b.T]
    velocity = sp.MatAdd(*parts) if len(parts) > 1 else parts[0]
    if on_sphere:
        definitions = (*definitions, (U, velocity), (r, sp.HadamardProduct(X, U) * sp.OneMatrix(d, 1)))
        velocity = U - sp.HadamardProduct(r * sp.OneMatrix(1, d), X)
    derivation.conclude(
        "tokens",
        "The tokens as rows of a matrix",
        sp.Eq(rate(X), velocity, evaluate=False),
        *(sp.Eq(symbol, value, evaluate=False) for symbol, value in definitions),
        step="empirical law",
        premises=["field"],
        why="An average over the empirical law is a mean over the rows of X.",
        check=_check_rows,
    )
    return Reduction(
        name=name,
        title=f"Tokens under {type(field).__name__} on {field.space}",
        field=field,
        law=law,
        state=(Variable(X, "unit tokens" if on_sphere else "tokens", "tokens, one a row"),),
        parameters=field.parameters,
        definitions=definitions,
        equations={X: velocity},
        assumptions=("all tokens have the same weight 1/n",),
        invariants=(),
        derivation=derivation,
    )


def _attention_rows(
    field: AttentionField,
) -> tuple[tuple[tuple[sp.MatrixSymbol, sp.MatrixExpr], ...], list[sp.MatrixExpr]]:
    """Definitions, and the attention of every head for all tokens in terms of them."""
    if matrix := _linear_map(field):
        return ((M, X.T * X / n), (W, matrix)), [X * W.T]
    definitions, parts = [], []
    for number, head in enumerate(field.attention_heads, 1):
        weights = E if field.heads == 1 else sp.MatrixSymbol(f"E_{number}", n, n)
        definitions.append((weights, _each(field.weighting, _score_matrix(head.score))))
        rows = weights * X * head.value.T
        shares = sp.HadamardPower(weights * ONES, -1) * sp.OneMatrix(1, d)
        parts.append(sp.HadamardProduct(shares, rows) if field.normalised else rows / n)
    return tuple(definitions), parts


def _linear_map(field: AttentionField) -> sp.MatrixExpr | None:
    """W with ∫ s(x,y) V y dm = W x for weights that are the score itself, linear in x and in y; else None."""
    if field.normalised or field.weighting != s:
        return None
    parts = []
    for head in field.attention_heads:
        for factor, left, right in bilinear_terms(head.score):
            if not (left.has(x) and right.has(y)):
                return None
            rows, columns = left.xreplace({x: sp.Identity(d)}).doit(), right.xreplace({y: sp.Identity(d)}).doit()
            parts.append((factor * sp.MatMul(head.value, M, columns.T, rows)).doit())
    return sp.MatAdd(*parts) if len(parts) > 1 else parts[0]


def _score_matrix(score: sp.Expr) -> sp.MatrixExpr:
    """S with S_ij = s(x_i, x_j), term by term: ⟨Lx, Ry⟩ becomes X Lᵀ R Xᵀ, and ⟨Ly, Ry⟩ a row that all tokens share."""
    terms = []
    for term in sp.Add.make_args(score):
        factor, inner = term.as_independent(Inner, as_Add=False)
        if not isinstance(inner, Inner):
            raise ValueError(
                f"score: {score} should be a sum of multiples of inner products; put functions of it in the weighting"
            )
        terms.append(factor * _inner_matrix(inner))
    return sp.MatAdd(*terms).doit()


def _inner_matrix(inner: Inner) -> sp.MatrixExpr:
    """The n × n matrix of an inner product at all pairs of tokens."""
    terms = []
    for factor, left, right in bilinear_terms(inner):
        rows, columns = (_at_tokens(side) for side in (left, right))
        if left.has(x) and right.has(y):
            terms.append(factor * rows * columns.T)
        elif left.has(y) and right.has(x):
            terms.append(factor * columns * rows.T)
        else:
            products = sp.HadamardProduct(rows, columns) * sp.OneMatrix(d, 1)
            terms.append(factor * (products * ONES.T if x in (left * right.T).free_symbols else ONES * products.T))
    return sp.MatAdd(*terms) if len(terms) > 1 else terms[0]


def _at_tokens(side: sp.MatrixExpr) -> sp.MatrixExpr:
    """The rows of a column at every token; a constant vector is the same row for all."""
    transposed = side.T.doit()
    return transposed.xreplace({x.T: X, y.T: X}) if side.free_symbols & {x, y} else ONES * transposed


def _each(function: sp.Expr, matrix: sp.MatrixExpr) -> sp.MatrixExpr:
    return matrix if function == s else ElementwiseApplyFunction(sp.Lambda(s, function), matrix)


def _check_rows(field: sp.Equality, result: tuple[sp.Equality, ...]) -> Iterable[sp.Expr]:
    """Entry by entry, the averages of the field taken over the rows of X; the weights against the field's own."""
    rows, *definitions = result
    for tokens, dimension in SIZES:
        sizes = {n: tokens}
        points = Components(dimension, sizes=sizes)(X)
        values = {X: points}
        for definition in definitions:
            values[definition.lhs] = Components(dimension, sizes=sizes, values=values)(definition.rhs)
        array = Components(dimension, sizes=sizes, values=values)(rows.rhs)
        atoms = [points[j, :].T for j in range(tokens)]
        for i, token in enumerate(atoms):
            expected = Components(dimension, values={x: token}, atoms=atoms)(field.rhs)
            yield from array[i, :].T - expected
            # The weights of softmax drop out of X' up to a factor, so they are compared themselves as well.
            for weight in field.rhs.atoms(Average):
                found = [definition.lhs for definition in definitions if _is_weight(definition, weight)]
                for j, other in enumerate(atoms):
                    expected = Components(dimension, values={x: token, y: other})(weight.args[0])
                    yield sp.prod(values[symbol][i, j] - expected for symbol in found)


def _is_weight(definition: sp.Equality, weight: Average) -> bool:
    """Whether a definition is that of the n × n weights, of the head that an average belongs to."""
    matrices = weight.args[0].free_symbols - {x, y, d}
    return definition.lhs.shape == (n, n) and matrices <= definition.rhs.free_symbols
