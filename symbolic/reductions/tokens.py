"""Finitely many tokens: the attention field on its empirical law, as equations for the n × d matrix X of tokens.

Row i of X is token i. With the matrix of scores S_ij = s(x_i, x_j) and weights E = w(S),

    U = E X Vᵀ / (E 1)  (normalised),    U = E X Vᵀ / n  (unnormalised),    X' = U + X Aᵀ + 1 bᵀ,

and on the sphere X' = U − ⟨x_i, u_i⟩ x_i row by row. Linear weights need no n × n matrix:

    U = X Wᵀ,   W = β V M Aᵀ,   M = XᵀX / n.
"""

from __future__ import annotations

from collections.abc import Iterable

import sympy as sp
from sympy.matrices.expressions.applyfunc import ElementwiseApplyFunction

from symbolic.components import Components
from symbolic.derivation import Derivation
from symbolic.fields import FEED_FORWARD_A, AttentionField, LinearAttention, SoftmaxAttention, V, b, s, x, y
from symbolic.laws import Tokens
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
    "softmax_tokens": (SoftmaxAttention(feed_forward="affine"), Tokens()),
    "softmax_tokens_sphere": (SoftmaxAttention(space=Sphere()), Tokens()),
    "linear_tokens": (LinearAttention(), Tokens()),
    "linear_tokens_sphere": (LinearAttention(space=Sphere()), Tokens()),
}
#: Numbers of tokens and dimensions for which the array form is proved entry by entry.
SIZES = ((2, 2), (3, 2), (2, 3))


def matches(field: object, law: object) -> bool:
    return isinstance(field, AttentionField) and law == Tokens() and field.space.dimension is None


def derive(field: AttentionField, law: Tokens) -> Reduction:
    """Write the field on the empirical law m = (1/n) Σ δ as equations for the array of tokens."""
    on_sphere = isinstance(field.space, Sphere)
    name = f"{type(field).__name__.removesuffix('Attention').lower()}_tokens{'_sphere' * on_sphere}"
    derivation = Derivation(name)
    derivation.define("field", "Attention field", sp.Eq(rate(x), field.velocity(), evaluate=False))
    definitions, velocity = _attention_rows(field)
    if field.feed_forward:
        velocity = sp.MatAdd(velocity, X * FEED_FORWARD_A.T, ONES * b.T)
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
) -> tuple[tuple[tuple[sp.MatrixSymbol, sp.MatrixExpr], ...], sp.MatrixExpr]:
    """Definitions, and the attention part of every token's velocity in terms of them."""
    scores = _score_matrix(field.score)
    if field.weighting == s and not field.normalised:
        factor, (_, *inner, _) = scores.as_coeff_matrices()
        matrix = sp.MatMul(factor, V, M, *(factor.T for factor in reversed(inner)))
        return ((M, X.T * X / n), (W, matrix)), X * W.T
    weights = ElementwiseApplyFunction(sp.Lambda(s, field.weighting), scores)
    if field.normalised:
        shares = sp.HadamardPower(E * ONES, -1) * sp.OneMatrix(1, d)
        return ((E, weights),), sp.HadamardProduct(shares, E * X * V.T)
    return ((E, weights),), E * X * V.T / n


def _score_matrix(score: sp.Expr) -> sp.MatrixExpr:
    """S with S_ij = s(x_i, x_j): ⟨Lx, Ry⟩ becomes X Lᵀ R Xᵀ."""
    factor, inner = score.as_independent(Inner, as_Add=False)
    left, right = inner.args
    rows = left.T.doit().xreplace({x.T: X})
    columns = right.xreplace({y: X.T})
    return sp.MatMul(factor, *sp.MatMul.make_args(rows), *sp.MatMul.make_args(columns)).doit()


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
            for weight in field.rhs.atoms(Average):
                for j, other in enumerate(atoms):
                    yield values[E][i, j] - Components(dimension, values={x: token, y: other})(weight.args[0])
