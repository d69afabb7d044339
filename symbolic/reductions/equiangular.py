"""Tokens on the sphere with equal inner products, ⟨x_i, x_j⟩ = ρ for i ≠ j: one number instead of n tokens.

With V = I and a score that depends on inner products alone, such as β⟨x, y⟩, the configuration stays
equiangular under every weighting w:

    ρ' = 2 q (1 − ρ)(1 + (n − 1)ρ),    q = w(ρ) / n  or, normalised,  q = w(ρ) / (w(1) + (n − 1) w(ρ)),

w(c) being the weight of two tokens with inner product c. All tokens meet at ρ = 1.

>>> from symbolic import Equiangular, LinearAttention, Sphere, reduce
>>> from symbolic.fields import beta, x, y
>>> from symbolic.notation import Inner
>>> list(reduce(LinearAttention(score=beta * Inner(x, y), space=Sphere()), Equiangular()).equations)
[rho]
"""

from __future__ import annotations

from collections.abc import Iterable

import sympy as sp

from symbolic.components import Components
from symbolic.derivation import Derivation
from symbolic.fields import AttentionField, ExponentialAttention, LinearAttention, SoftmaxAttention, beta, x, y
from symbolic.laws import Equiangular
from symbolic.notation import Average, Inner, TimeDerivative, VectorAverage, d, n, rate
from symbolic.reduction import Invariant, Reduction, Variable
from symbolic.spaces import Sphere

rho = sp.Symbol("rho", real=True)
#: How much of every other token a token takes up.
q = sp.Symbol("q", real=True)
#: Another token than x, all tokens as rows, and their sum.
other = sp.MatrixSymbol("x_j", d, 1)
X = sp.MatrixSymbol("X", n, d)
total = sp.MatrixSymbol("S", d, 1)
#: Numbers of tokens for which the vectors are also written out entry by entry.
TOKENS = (2, 3, 4)

SCORE = beta * Inner(x, y)
CANONICAL = {
    "equiangular_softmax": (SoftmaxAttention(score=SCORE, space=Sphere()), Equiangular()),
    "equiangular_exponential": (ExponentialAttention(score=SCORE, space=Sphere()), Equiangular()),
    "equiangular_linear": (LinearAttention(score=SCORE, space=Sphere()), Equiangular()),
}


def matches(field: object, law: object) -> bool:
    return (
        isinstance(law, Equiangular)
        and isinstance(field, AttentionField)
        and field.space == Sphere()
        and all(_at_products(head.score, sp.S.One, rho) is not None for head in field.attention_heads)
    )


def derive(field: AttentionField, law: Equiangular) -> Reduction:
    """Derive ρ' from the projected field on an equiangular configuration, through inner products alone."""
    name = f"equiangular_{type(field).__name__.removesuffix('Attention').lower()}"
    derivation = Derivation(name)
    derivation.define("field", "Attention field", sp.Eq(rate(x), field.velocity(), evaluate=False))
    derivation.define(
        "identity_value",
        "The value matrix is the identity",
        *(sp.Eq(head.value, sp.Identity(d), evaluate=False) for head in field.attention_heads),
    )
    derivation.define(
        "configuration",
        "Equiangular tokens: x is any of them, x_j any other, S the sum of all",
        sp.Eq(Inner(x, x), sp.S.One, evaluate=False),
        sp.Eq(Inner(x, other), rho, evaluate=False),
        sp.Eq(total, X.T * sp.OneMatrix(n, 1), evaluate=False),
    )
    of_total = 1 + (n - 1) * rho
    derivation.conclude(
        "velocity",
        "The velocity of a token",
        sp.Eq(rate(x), q * (total - of_total * x), evaluate=False),
        sp.Eq(q, _share(field), evaluate=False),
        step="attention to equal neighbours",
        premises=["field", "identity_value", "configuration"],
        why="A token gives one weight to itself and one to every other token, so it moves along S and along "
        "itself; the projection removes the part along itself, and ⟨x, S⟩ = 1 + (n − 1)ρ.",
        check=_check_velocity,
    )
    derivation.conclude(
        "products",
        "Inner products move alike",
        sp.Eq(TimeDerivative(Inner(x, other)), 2 * q * (1 - rho) * of_total, evaluate=False),
        sp.Eq(TimeDerivative(Inner(x, x)), sp.S.Zero, evaluate=False),
        step="product rule",
        premises=["velocity", "configuration"],
        why="∂ₜ⟨x, x_j⟩ = ⟨x', x_j⟩ + ⟨x, x_j'⟩ is the same for all pairs, and inner products determine their own "
        "rates: tokens that are equiangular once are equiangular for all time.",
        check=_check_products,
    )
    equation = 2 * _share(field) * (1 - rho) * of_total
    derivation.conclude(
        name,
        "The equation of the common inner product",
        sp.Eq(rate(rho), equation, evaluate=False),
        step="substitution",
        premises=["velocity", "products"],
        why="Put in q.",
        check=lambda velocity, products, result: [products[0].rhs.subs(q, velocity[1].rhs) - result.rhs],
    )
    return Reduction(
        name=name,
        title=f"Equiangular tokens under {type(field).__name__} on {field.space}",
        field=field,
        law=law,
        state=(Variable(rho, "real", "inner product of any two tokens"),),
        parameters=(
            *(parameter for parameter in field.parameters if not parameter.shape),
            Variable(n, "positive", "number of tokens"),
        ),
        definitions=(),
        equations={rho: equation},
        assumptions=("V = I", "−1/(n − 1) ≤ ρ ≤ 1, and n ≥ 2"),
        invariants=(
            Invariant("interval", "−1/(n − 1) ≤ ρ ≤ 1 is kept: both ends are equilibria"),
            Invariant("equal angles", "all pairs of tokens keep the same inner product"),
        ),
        derivation=derivation,
    )


def _at_products(expression: sp.Expr, own: sp.Expr, mutual: sp.Expr) -> sp.Expr | None:
    """A score in terms of ⟨x,x⟩ = ⟨y,y⟩ and ⟨x,y⟩, or None where other things enter."""
    values = {Inner(x, x): own, Inner(y, y): own, Inner(x, y): mutual, Inner(y, x): mutual}
    reduced = expression.xreplace(values)
    return None if reduced.atoms(sp.MatrixSymbol) else reduced


def _share(field: AttentionField) -> sp.Expr:
    """The share of every other token in a token's velocity, summed over heads."""
    shares = []
    for head in field.attention_heads:
        own, mutual = (field.weight(_at_products(head.score, sp.S.One, c)) for c in (sp.S.One, rho))
        if field.normalised:
            # In terms of the ratio, which for exponential weights does not overflow.
            ratio = sp.powsimp(mutual / own)
            shares.append(ratio / (1 + (n - 1) * ratio))
        else:
            shares.append(mutual / n)
    return sp.Add(*shares)


def _tokens(count: int) -> list[sp.ImmutableMatrix]:
    """n tokens in R^n: the rows of the square root of their Gram matrix (1 − ρ) I + ρ 1 1ᵀ."""
    small, large = sp.sqrt(1 - rho), sp.sqrt(1 + (count - 1) * rho)
    root = small * sp.eye(count) + (large - small) / count * sp.ones(count)
    return [sp.ImmutableMatrix(root[i, :].T) for i in range(count)]


def _check_velocity(
    field: sp.Equality,
    identities: sp.Equality | tuple[sp.Equality, ...],
    configuration: tuple[sp.Equality, ...],
    result: tuple[sp.Equality, ...],
) -> Iterable[sp.Expr]:
    """The share of S for symbolic n; every entry of the velocity for two, three and four tokens with free ρ."""
    velocity, share = result
    identities = identities if isinstance(identities, tuple) else (identities,)
    at_identity = field.rhs.xreplace({relation.lhs: relation.rhs for relation in identities}).doit()
    # The projection only adds multiples of x.
    unprojected = at_identity.xreplace({sp.MatMul(-1, x, x.T): sp.ZeroMatrix(d, d)}).doit()
    yield _coefficient(_averaged(unprojected), total) - share.rhs
    for count in TOKENS:
        tokens = _tokens(count)
        sizes = {n: count}
        values = {x: tokens[0], X: sp.ImmutableMatrix(sp.Matrix.hstack(*tokens).T)}
        with_sum = {**values, total: Components(count, values=values, sizes=sizes)(configuration[2].rhs)}
        expected = Components(count, values=with_sum, sizes=sizes)(velocity.rhs.subs(q, share.rhs))
        given = Components(count, values=values, atoms=tokens)(at_identity)
        # The exponents multiplied out, so that they are seen to be multiples of 1 and ρ.
        yield from (given - expected).applyfunc(lambda e: e.replace(sp.exp, lambda power: sp.exp(sp.expand(power))))


def _averaged(velocity: sp.MatrixExpr) -> sp.MatrixExpr:
    """Averages over the law as sums over one token at x and n − 1 others that look alike from there."""

    def weights(integrand: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
        return _at_products(integrand.xreplace({y: x}), sp.S.One, rho), _at_products(integrand, sp.S.One, rho)

    values: dict[sp.Basic, sp.Expr] = {}
    for average in velocity.atoms(Average):
        own, mutual = weights(average.args[0])
        values[average] = (own + (n - 1) * mutual) / n
    for average in velocity.atoms(VectorAverage):
        *factors, _ = sp.MatMul.make_args(average.args[0])
        own, mutual = weights(sp.Mul(*factors))
        values[average] = own / n * x + mutual / n * (total - x)
    return velocity.xreplace(values)


def _check_products(
    velocity: tuple[sp.Equality, ...], configuration: tuple[sp.Equality, ...], result: tuple[sp.Equality, ...]
) -> Iterable[sp.Expr]:
    """For symbolic n from the inner products; for two, three and four tokens pair by pair."""
    mutual, own = result
    # x' = a S + b x in inner products with the other token and with itself.
    along_total, along_token = (_coefficient(velocity[0].rhs, symbol) for symbol in (total, x))
    product = {relation.lhs: relation.rhs for relation in configuration[:2]}
    with_total = product[Inner(x, x)] + (n - 1) * product[Inner(x, other)]
    yield 2 * (along_total * with_total + along_token * product[Inner(x, other)]) - mutual.rhs
    yield 2 * (along_total * with_total + along_token * product[Inner(x, x)]) - own.rhs
    for count in TOKENS:
        tokens = _tokens(count)
        summed = sum(tokens[1:], tokens[0])
        sizes = {n: count}
        rates = [Components(count, values={x: t, total: summed}, sizes=sizes)(velocity[0].rhs) for t in tokens]
        for i in range(count):
            for j in range(i + 1):
                expected = own.rhs if i == j else mutual.rhs
                yield rates[i].dot(tokens[j]) + tokens[i].dot(rates[j]) - expected.subs(n, count)


def _coefficient(expression: sp.MatrixExpr, vector: sp.MatrixSymbol) -> sp.Expr:
    """a of the terms a · vector in a linear combination of vectors."""
    terms = map(sp.MatMul.make_args, sp.MatAdd.make_args(sp.expand(expression).doit()))
    return sp.Add(*(sp.Mul(*factors[:-1]) for factors in terms if factors[-1] == vector))
