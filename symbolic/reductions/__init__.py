"""The registry of reductions: every module in this folder is one, found by its presence here.

A module provides `matches(field, law)`, whether it is meant for the pair; `derive(field, law)`, which returns
the Reduction or raises NotClosed; and `CANONICAL`, which maps the names of the reductions that kernels are
generated for to their (field, law).
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache, partial
from types import ModuleType

from symbolic.fields import AttentionField
from symbolic.reduction import Reduction


@cache
def modules() -> tuple[ModuleType, ...]:
    """The modules of this folder, in alphabetical order."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return tuple(importlib.import_module(f"{__name__}.{name}") for name in names)


def reduce(field: AttentionField, law: object) -> Reduction:
    """Derive the finite system that the parameters of a law obey under an attention field.

    Parameters
    ----------
    field : an attention field, such as `SoftmaxAttention(feed_forward="affine")`.
    law : a family of laws, such as `Gaussian()`.

    Raises
    ------
    NotClosed
        When the flow leaves the family; its `obstruction` is the term that does it.
    ValueError
        When no reduction is known for the pair; the message lists those that are.

    >>> from symbolic import Gaussian, SoftmaxAttention
    >>> reduce(SoftmaxAttention(feed_forward="affine"), Gaussian()).equations.keys()
    dict_keys([mu, Sigma])
    """
    if not isinstance(field, AttentionField):
        raise ValueError(f"field: {field!r} should be an attention field, such as SoftmaxAttention()")
    for module in modules():
        if module.matches(field, law):
            return module.derive(field, law)
    known = "; ".join(f"{field} with {law}" for module in modules() for field, law in module.CANONICAL.values())
    raise ValueError(f"law: no reduction is known for {field} with {law!r}; there are {known}")


def canonical_reductions() -> dict[str, Callable[[], Reduction]]:
    """The reductions that kernels are generated for, by name, each as a function that derives it.

    >>> "ott_antonsen" in canonical_reductions()
    True
    """
    pairs = {name: pair for module in modules() for name, pair in module.CANONICAL.items()}
    return {name: partial(reduce, *pairs[name]) for name in sorted(pairs)}
