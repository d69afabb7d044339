"""A reduction at particular parameters: matrices put in, what is left free becoming the new parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial

import sympy as sp

from symbolic.derivation import Derivation
from symbolic.notation import rate, without_parts
from symbolic.reduction import Reduction, Variable


def specialise(reduction: Reduction, values: Mapping[sp.Basic, sp.Basic]) -> Reduction:
    """Put values in for parameters; the real symbols that the values contain become parameters.

    Parameters
    ----------
    reduction : a reduction whose parameters are scalars or matrices of given size.
    values : for each parameter to replace, an expression or an explicit matrix of its shape.

    Raises
    ------
    ValueError
        When a key is no parameter, or a matrix has the wrong shape.

    >>> from symbolic import LinearAttention, Sphere, WrappedCauchy, reduce
    >>> general = reduce(LinearAttention(space=Sphere(2)), WrappedCauchy())
    >>> A, V, beta = (parameter.symbol for parameter in general.parameters)
    >>> [p.name for p in specialise(general, {A: sp.eye(2), V: sp.diag(1, sp.Symbol("c", real=True))}).parameters]
    ['beta', 'c']
    """
    known = {parameter.symbol: parameter for parameter in reduction.parameters}
    entries: dict[sp.Basic, sp.Basic] = {}
    for symbol, value in values.items():
        if symbol not in known:
            raise ValueError(
                f"values: {symbol} is no parameter of {reduction.name}; those are {', '.join(map(str, known))}"
            )
        if isinstance(symbol, sp.MatrixSymbol):
            matrix = sp.ImmutableMatrix(value)
            if matrix.shape != symbol.shape:
                raise ValueError(f"values: {symbol} has the shape {symbol.shape}, not {matrix.shape}")
            rows, columns = matrix.shape
            entries.update({symbol[i, j]: matrix[i, j] for i in range(rows) for j in range(columns)})
        else:
            entries[symbol] = sp.sympify(value)
    free = sorted({s for value in entries.values() for s in value.free_symbols} - set(known), key=str)
    equations = {symbol: _as_real(expression, entries) for symbol, expression in reduction.expanded().items()}
    derivation = Derivation(reduction.derivation.name)
    derivation.include(reduction.derivation)
    times = sum(key.startswith("specialised") for key in derivation.equations)
    again = f"_{times + 1}" if times else ""
    derivation.conclude(
        f"specialised{again}",
        "The system at the given parameters",
        *(sp.Eq(rate(symbol), value, evaluate=False) for symbol, value in equations.items()),
        step=f"specialisation{again}",
        premises=_sources(reduction),
        why="Put in " + ", ".join(f"{symbol} = {value}" for symbol, value in values.items()) + ".",
        check=partial(_check, entries=entries),
    )
    return replace(
        reduction,
        title=f"{reduction.title} at given parameters",
        parameters=(
            *(parameter for symbol, parameter in known.items() if symbol not in values),
            *(Variable(symbol, "real", "free parameter") for symbol in free),
        ),
        definitions=(),
        equations=equations,
        derivation=derivation,
    )


def _as_real(expression: sp.Expr, entries: Mapping[sp.Basic, sp.Basic]) -> sp.Expr:
    """Entries put in before re, im and conjugates are written out, so that SymPy knows them to be real."""
    return sp.factor_terms(sp.expand(without_parts(expression.xreplace(entries))))


def _sources(reduction: Reduction) -> list[str]:
    """The equations of the derivation that state the definitions and the differential equations."""
    wanted = {symbol for symbol, _ in reduction.definitions} | {rate(symbol) for symbol in reduction.equations}
    equations = reduction.derivation.equations.values()
    return [equation.key for equation in equations if wanted & {relation.lhs for relation in equation.relations}]


def _check(
    *relations: sp.Equality | tuple[sp.Equality, ...], entries: Mapping[sp.Basic, sp.Basic]
) -> Iterable[sp.Expr]:
    *premises, result = (relation if isinstance(relation, tuple) else (relation,) for relation in relations)
    known = {relation.lhs: relation.rhs for premise in premises for relation in premise}
    for relation in result:
        expected = known[relation.lhs]
        while expected.atoms(*map(type, known)) & known.keys():
            expected = expected.xreplace(known)
        yield without_parts(expected.xreplace(entries)) - without_parts(relation.rhs)
