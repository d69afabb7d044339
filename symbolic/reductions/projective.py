"""Linear attention on the sphere, in any dimension: n tokens are moved by one d × d matrix.

The field of linear attention is the tangential part of a linear one, x' = P_x W x, so that every token is the
direction of a solution of z' = W z, and all of them are moved by the same matrix G:

    x_k(t) = G x_k(0) / |G x_k(0)|,    G' = W G,  G(0) = I,
    U = β V M Aᵀ,    M = (1/n) Σ G x_k(0) x_k(0)ᵀ Gᵀ / |G x_k(0)|²,    W = U − tr(M U) I.

G acts as an element of the projective group: G and c G move the tokens alike, and so do U and W. With G' = U G, G would
grow or shrink exponentially while tokens come to rest; the multiple of I in W keeps the geometric mean of the
|G x_k(0)|, so that G comes to rest with them.

>>> from symbolic import LinearAttention, reduce, Sphere, Tokens
>>> reduce(LinearAttention(space=Sphere()), Tokens(moved_by_group=True)).equations
{G: W*G}
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeGuard

import sympy as sp

from symbolic.components import DIMENSIONS, Components
from symbolic.derivation import Derivation
from symbolic.fields import AttentionField, LinearAttention, s, x, y
from symbolic.laws import Tokens
from symbolic.notation import Inner, Mean, TimeDerivative, VectorAverage, d, n, rate
from symbolic.reduction import Invariant, Reduction, Variable
from symbolic.spaces import Sphere

G = sp.MatrixSymbol("G", d, d)
M = sp.MatrixSymbol("M", d, d)
#: The matrix that the score gives, and the one without the mean rate at which it stretches tokens.
U = sp.MatrixSymbol("U", d, d)
W = sp.MatrixSymbol("W", d, d)
#: A token at the start, and all of them as the rows of a matrix.
x0 = sp.MatrixSymbol("x0", d, 1)
X0 = sp.MatrixSymbol("X0", n, d)
#: The rows G x_k(0), and their squared lengths.
Y = sp.MatrixSymbol("Y", n, d)
q = sp.MatrixSymbol("q", n, 1)
#: Any d tokens as the columns of a matrix; four tokens, with d − 2 others that complete two of them to such a matrix.
K = sp.MatrixSymbol("K", d, d)
a, b, e, f = (sp.MatrixSymbol(name, d, 1) for name in "abef")
C = sp.MatrixSymbol("C", d, d - 2)
chi = sp.Symbol("chi", real=True)

FIELD = LinearAttention(space=Sphere())

CANONICAL = {"projective": (FIELD, Tokens(moved_by_group=True))}
#: Numbers of tokens and dimensions for which the array form is proved entry by entry.
SIZES = ((2, 2), (3, 2), (2, 3))


def matches(field: object, law: object) -> bool:
    return is_bilinear(field) and field.space.dimension is None and law == Tokens(moved_by_group=True)


def is_bilinear(field: object) -> TypeGuard[LinearAttention]:
    """Whether a field is ∫ c⟨Lx, Ry⟩ V y dm(y) on the sphere, summed over heads: linear in x and in yyᵀ."""
    if not isinstance(field, LinearAttention) or field.weighting != s:
        return False
    scores = [head.score.as_independent(Inner, as_Add=False)[1] for head in field.attention_heads]
    return isinstance(field.space, Sphere) and all(
        isinstance(score, Inner) and _ends_with(score.args[0], x) and _ends_with(score.args[1], y) for score in scores
    )


def derive(field: LinearAttention, law: Tokens) -> Reduction:
    """Derive the equation of the matrix that moves all tokens."""
    derivation = Derivation("projective")
    derivation.define("field", "Attention field", sp.Eq(rate(x), field.velocity(), evaluate=False))
    add_group_action(derivation, field)
    inverse = sp.HadamardPower(q, -1) * sp.OneMatrix(1, d)
    definitions = (
        (Y, X0 * G.T),
        (q, sp.HadamardProduct(Y, Y) * sp.OneMatrix(d, 1)),
        (M, Y.T * sp.HadamardProduct(inverse, Y) / n),
    )
    derivation.conclude(
        "tokens",
        "The second moment of n tokens",
        *(sp.Eq(symbol, value, evaluate=False) for symbol, value in definitions),
        step="empirical law",
        premises=["linear_field", "group"],
        why="The law is m = (1/n) Σ δ, and row k of X0 is x_k(0): M = (1/n) Σ G x_k(0) x_k(0)ᵀ Gᵀ / |G x_k(0)|².",
        check=_check_tokens,
    )
    _add_scale(derivation)
    _add_cross_ratios(derivation)
    return Reduction(
        name="projective",
        title="The matrix that moves all tokens under linear attention on the sphere",
        field=field,
        law=law,
        state=(Variable(G, "matrix", "matrix that moves the tokens, up to a factor; the identity at the start"),),
        parameters=(*field.parameters, Variable(X0, "unit tokens", "tokens at the start, one a row")),
        definitions=(*definitions, *matrices(derivation)),
        equations={G: W * G},
        assumptions=("all tokens have the same weight 1/n", "G is invertible, as it stays by (det G)' = tr(W) det G"),
        invariants=(
            Invariant(
                "cross-ratios",
                "ratios of products of determinants det(x_i1, …, x_id) in which every token occurs as often above "
                "as below; n(d−1) − (d²−1) of them are independent when n ≥ d + 1 tokens are in general position",
                derivation["cross_ratio"].rhs,
            ),
            Invariant(
                "scale",
                "the geometric mean of the |G x_k(0)|; G and c G are the same motion, because M does not depend on the "
                "scale of G: d² − 1 dimensions of G matter",
            ),
        ),
        derivation=derivation,
    )


def add_group_action(derivation: Derivation, field: AttentionField) -> None:
    """From "field" to "linear_field", "balanced_field", x' = P_x W x, and "group", x = G x(0)/|G x(0)| with G' = W G.

    In the dimension of the field's space when it has one, else in any.
    """
    token, start, group, matrix, given, moment = (in_dimension(symbol, field) for symbol in (x, x0, G, W, U, M))
    derivation.conclude(
        "linear_field",
        "The tangential part of a linear field",
        sp.Eq(rate(token), field.space.project(token, given * token), evaluate=False),
        sp.Eq(given, in_dimension(_field_matrix(field), field), evaluate=False),
        sp.Eq(moment, in_dimension(VectorAverage(y * y.T, y), field), evaluate=False),
        step="bilinear score",
        premises=["field"],
        why="A score that is linear in x and in y is a row vector yᵀ(…) times x, so the average is over y yᵀ alone.",
        check=_check_linear_field,
    )
    derivation.conclude(
        "balanced_field",
        "The same field, without the mean rate at which it stretches tokens",
        sp.Eq(rate(token), field.space.project(token, matrix * token), evaluate=False),
        sp.Eq(matrix, given - sp.Trace(moment * given) * sp.Identity(token.rows), evaluate=False),
        sp.Eq(sp.Trace(moment * matrix), sp.S.Zero, evaluate=False),
        step="tangential part",
        premises=["linear_field"],
        why="P_x x = 0: a multiple of the identity moves no token. The mean of ⟨x, U x⟩ over the tokens is tr(M U), "
        "and that of ⟨x, W x⟩ is zero, because tr M = 1.",
        check=_check_balanced_field,
    )
    moved = group * start
    derivation.conclude(
        "group",
        "One matrix moves every token",
        sp.Eq(token, sp.MatMul(Inner(moved, moved) ** sp.Rational(-1, 2), group, start), evaluate=False),
        sp.Eq(rate(group), matrix * group, evaluate=False),
        step="projective action",
        premises=["balanced_field"],
        why="The direction z/|z| of a solution of z' = W z moves by P_x W x, and z = G x(0) with G' = W G, G(0) = I.",
        check=_check_group,
    )


def matrices(derivation: Derivation) -> tuple[tuple[sp.Basic, sp.Expr], ...]:
    """The definitions of U and W, given M."""
    return tuple((node.lhs, node.rhs) for node in (derivation["linear_field"][1], derivation["balanced_field"][1]))


def in_dimension(expression: sp.Basic, field: AttentionField) -> sp.Basic:
    """The expression at the dimension of the field's space; as it is when that is left general."""
    return expression if field.space.dimension is None else expression.subs(d, field.space.dimension)


def dimensions(vector: sp.MatrixExpr) -> tuple[int, ...]:
    """The dimension of a column, or those for which identities are proved when it is left general."""
    return (int(vector.rows),) if vector.rows.is_Integer else DIMENSIONS


def _ends_with(factor: sp.MatrixExpr, variable: sp.MatrixSymbol) -> bool:
    """Whether a vector is a product of matrices that do not depend on the variable, and the variable."""
    *matrices, last = sp.MatMul.make_args(factor)
    return last == variable and not any({x, y} & matrix.free_symbols for matrix in matrices)


def _field_matrix(field: AttentionField) -> sp.MatrixExpr:
    """W: each head's c⟨Lx, Ry⟩ V y = c V (y yᵀ) Rᵀ L x, with M for y yᵀ and without the x."""
    matrices = []
    for head in field.attention_heads:
        factor, score = head.score.as_independent(Inner, as_Add=False)
        left, right = score.args
        _, *factors = sp.MatMul.make_args((right.T * left).doit())
        matrices.append(sp.MatMul(factor, head.value, M, *factors[:-1]))
    return sp.MatAdd(*matrices) if len(matrices) > 1 else matrices[0]


def _add_scale(derivation: Derivation) -> None:
    derivation.conclude(
        "scale",
        "The geometric mean of the |G x_k(0)| is conserved",
        sp.Eq(TimeDerivative(Mean(q.applyfunc(sp.log))), sp.S.Zero, evaluate=False),
        step="mean stretch",
        premises=["balanced_field", "group", "tokens"],
        why="(log |G x_k(0)|²)' = 2⟨x_k, W x_k⟩, whose mean over the tokens is 2 tr(M W) = 0.",
        check=_check_scale,
    )


def _add_cross_ratios(derivation: Derivation) -> None:
    determinant = sp.Determinant(K)
    derivation.conclude(
        "determinant",
        "A determinant of d tokens",
        sp.Eq(TimeDerivative(determinant), (sp.Trace(W) - sp.Trace(K.T * W * K)) * determinant, evaluate=False),
        step="Jacobi's formula",
        premises=["balanced_field"],
        why="The columns of K are tokens, so K' = W K − K diag⟨x_i, W x_i⟩, and (det K)' = tr(K⁻¹K') det K: every "
        "token contributes −⟨x_i, W x_i⟩ of its own.",
        check=_check_determinant,
    )
    above, below = ((a, e), (b, f)), ((a, f), (b, e))
    numerator, denominator = (
        sp.Mul(*(sp.Determinant(sp.BlockMatrix([[*pair, C]])) for pair in pairs)) for pairs in (above, below)
    )
    derivation.define(
        "cross_ratio",
        "A cross-ratio of four tokens, in the presence of d − 2 others",
        sp.Eq(chi, numerator / denominator, evaluate=False),
    )
    derivation.conclude(
        "conserved",
        "It is conserved",
        sp.Eq(rate(chi), sp.S.Zero, evaluate=False),
        step="cancellation",
        premises=["determinant", "cross_ratio"],
        why="Every token occurs once above and once below, so the contributions to (log χ)' cancel.",
        check=_check_conserved,
    )


def _check_linear_field(field: sp.Equality, result: tuple[sp.Equality, ...]) -> Iterable[sp.Expr]:
    velocity, matrix, moment = result
    for dimension in dimensions(velocity.lhs):
        components = Components(dimension)
        averages = {moment.lhs: components(moment.rhs)}
        values = {matrix.lhs: Components(dimension, values=averages)(matrix.rhs)}
        yield from components(field.rhs) - Components(dimension, values=values)(velocity.rhs)


def _check_balanced_field(linear: tuple[sp.Equality, ...], result: tuple[sp.Equality, ...]) -> Iterable[sp.Expr]:
    """For free U and M at unit tokens: those whose square length is 1, so that tr M = 1."""
    velocity, matrix, stretch = result
    for dimension in dimensions(velocity.lhs):
        components = Components(dimension)
        values = {matrix.lhs: components(matrix.rhs)}
        balanced = Components(dimension, values=values)
        difference = components(linear[0].rhs) - balanced(velocity.rhs)
        first, *others = components(x)
        on_sphere = {first: sp.sqrt(1 - sum(entry**2 for entry in others))}
        yield from (sp.expand(entry.subs(on_sphere)) for entry in difference)
        first, *others = components(M).diagonal()
        yield sp.expand(balanced(stretch.lhs).subs(first, 1 - sum(others))) - stretch.rhs


def _check_group(linear: tuple[sp.Equality, ...], result: tuple[sp.Equality, ...]) -> Iterable[sp.Expr]:
    """For the first basis vector as x(0); with G free, G x(0) is then any vector."""
    action, group = result
    for dimension in dimensions(action.lhs):
        start = {x0: sp.eye(dimension)[:, 0]}
        components = Components(dimension, values=start)
        token, square = components(action.rhs), components(Inner(G * x0, G * x0))
        moved = sum(
            (token.diff(entry) * speed for entry, speed in zip(components(G), components(group.rhs), strict=True)),
            sp.zeros(dimension, 1),
        )
        velocity = Components(dimension, values={x: token})(linear[0].rhs)
        yield from (moved - velocity) * square ** sp.Rational(3, 2)
        identity = Components(dimension, values={**start, G: sp.eye(dimension)})
        yield from identity(action.rhs) - identity(x0)


def _check_tokens(
    linear: tuple[sp.Equality, ...], group: tuple[sp.Equality, ...], result: tuple[sp.Equality, ...]
) -> Iterable[sp.Expr]:
    """Entry by entry, each row against its token, and M against the average over the tokens that G has moved."""
    for tokens, dimension in SIZES:
        sizes = {n: tokens}
        values = {X0: Components(dimension, sizes=sizes)(X0)}
        for definition in result:
            values[definition.lhs] = Components(dimension, sizes=sizes, values=values)(definition.rhs)
        atoms = []
        for i in range(tokens):
            components = Components(dimension, values={x0: values[X0][i, :].T})
            atoms.append(components(group[0].rhs))
            yield from values[Y][i, :].T - components(G * x0)
            yield values[q][i] - components(Inner(G * x0, G * x0))
        yield from values[M] - Components(dimension, atoms=atoms)(linear[2].rhs)


def _check_scale(
    balanced: tuple[sp.Equality, ...],
    group: tuple[sp.Equality, ...],
    definitions: tuple[sp.Equality, ...],
    result: sp.Equality,
) -> Iterable[sp.Expr]:
    """At G = I: for any other G, the rows G x_k(0) are the free ones of X0."""
    rows, squares, moment = definitions
    for tokens, dimension in SIZES:
        sizes = {n: tokens}
        moving = Components(dimension, sizes=sizes)
        squares_of_rows = Components(dimension, sizes=sizes, values={Y: moving(rows.rhs)})(squares.rhs)
        mean = Components(dimension, sizes=sizes, values={q: squares_of_rows})(result.lhs.args[0])
        identity = dict(zip(moving(G), sp.eye(dimension), strict=True))
        values: dict[sp.Basic, sp.MatrixBase] = {G: sp.eye(dimension)}
        for definition in (rows, squares, moment, balanced[1]):
            values[definition.lhs] = Components(dimension, sizes=sizes, values=values)(definition.rhs)
        speeds = zip(moving(G), Components(dimension, sizes=sizes, values=values)(group[1].rhs), strict=True)
        yield sum((mean.diff(entry).subs(identity) * speed for entry, speed in speeds), sp.S.Zero) - result.rhs


def _check_determinant(linear: tuple[sp.Equality, ...], result: sp.Equality) -> Iterable[sp.Expr]:
    for dimension in DIMENSIONS:
        components = Components(dimension)
        tokens = components(K)
        determinant = tokens.det()
        moved = sp.S.Zero
        for j in range(dimension):
            velocity = Components(dimension, values={x: tokens[:, j]})(linear[0].rhs)
            moved += sum(determinant.diff(tokens[i, j]) * velocity[i] for i in range(dimension))
        yield moved - components(result.rhs).doit()


def _check_conserved(determinant: sp.Equality, cross_ratio: sp.Equality, result: sp.Equality) -> Iterable[sp.Expr]:
    """(log χ)' as the sum of the relative rates of its determinants."""
    relative = determinant.rhs / sp.Determinant(K)
    for dimension in (2, 3):
        total = sp.S.Zero
        for factor in sp.Mul.make_args(cross_ratio.rhs):
            block, power = factor.as_base_exp()
            columns = [Components(dimension)(column) for column in block.arg.blocks]
            total += power * Components(dimension, values={K: sp.Matrix.hstack(*columns)})(relative)
        yield total - result.rhs
