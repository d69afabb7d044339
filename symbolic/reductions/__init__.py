"""The registry of reductions: every module in this folder is one, found by its presence here.

A module provides `CANONICAL`, which maps the names of the reductions that kernels are generated for to their
(field, law); and, when it has a derivation of its own, `matches(field, law)`, whether that is meant for the pair, and
`derive(field, law)`, which returns the Reduction or raises NotClosed.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache, partial
from types import ModuleType

from symbolic.fields import AttentionField
from symbolic.laws import Law
from symbolic.reduction import Reduction


@cache
def modules() -> tuple[ModuleType, ...]:
    """The modules of this folder, in alphabetical order."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return tuple(importlib.import_module(f"{__name__}.{name}") for name in names)


def reduce(field: AttentionField, law: Law) -> Reduction:
    """Derive the finite system that the parameters of a law obey under an attention field.

    Parameters
    ----------
    field : an attention field, such as `SoftmaxAttention(feed_forward="affine")`.
    law : a family of laws, such as `Gaussian()`.

    Raises
    ------
    NotClosed
        When the flow leaves the family; its `obstruction` is the term that does it.
    ClosureUndecided
        When neither a reduction nor an obstruction is found; its `residual` is the term in question.
    ValueError
        When the law does not live on the field's space, or no reduction is known for the pair; the message says
        which are supported.

    >>> from symbolic import Gaussian, SoftmaxAttention
    >>> reduce(SoftmaxAttention(feed_forward="affine"), Gaussian()).equations.keys()
    dict_keys([mu, Sigma])
    """
    if not isinstance(field, AttentionField):
        raise ValueError(f"field: {field!r} should be an attention field, such as SoftmaxAttention()")
    if not isinstance(law, Law):
        raise ValueError(f"law: {law!r} should be a family of laws, such as Gaussian()")
    if not law.admits(field.space):
        raise ValueError(f"law: {law} lives on {law.lives_on}, but the field moves tokens on {field.space}")
    for module in modules():
        if hasattr(module, "matches") and module.matches(field, law):
            return module.derive(field, law)
    known = "; ".join(f"{field} with {law}" for module in modules() for field, law in module.CANONICAL.values())
    raise ValueError(f"law: no reduction is known for {field} with {law}; there are {known}")


def canonical_reductions() -> dict[str, Callable[[], Reduction]]:
    """The reductions that kernels are generated for, by name, each as a function that derives it.

    >>> "ott_antonsen" in canonical_reductions()
    True
    """
    pairs = {name: pair for module in modules() for name, pair in module.CANONICAL.items()}
    return {name: partial(reduce, *pairs[name]) for name in sorted(pairs)}
