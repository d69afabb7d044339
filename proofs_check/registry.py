"""Find claims: every module in `proofs_check.claims` contributes its `CLAIMS`."""

from __future__ import annotations

import difflib
import fnmatch
import importlib
import pkgutil
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from proofs_check.claim import Claim

# Imported before `proofs_check` binds the name `claims` to the function below: a first import later would bind
# it to this package again.
PACKAGE = importlib.import_module("proofs_check.claims")


def claims() -> tuple[Claim[Any], ...]:
    """Every claim, sorted by id.

    Raises
    ------
    ValueError
        When two claims have the same id.
    """
    return discover(PACKAGE)


def discover(package: ModuleType) -> tuple[Claim[Any], ...]:
    """The claims in the modules of a package, sorted by id; modules that begin with an underscore hold helpers."""
    found: dict[str, tuple[Claim[Any], str]] = {}
    for module_info in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        if module_info.name.rpartition(".")[2].startswith("_"):
            continue
        module = importlib.import_module(module_info.name)
        if not hasattr(module, "CLAIMS"):
            raise ValueError(f"CLAIMS: {module.__name__} has none; a module of claims assigns a tuple of them to it")
        for claim in module.CLAIMS:
            if claim.id in found:
                raise ValueError(f"id: '{claim.id}' names a claim in {found[claim.id][1]} and one in {module.__name__}")
            found[claim.id] = (claim, module.__name__)
    return tuple(claim for _, (claim, _) in sorted(found.items()))


def select(pattern: str, among: Sequence[Claim[Any]]) -> tuple[Claim[Any], ...]:
    """The claims whose id matches a shell pattern (`*`, `?`, `[...]`).

    Raises
    ------
    ValueError
        When none matches; the message suggests the nearest id.
    """
    selected = tuple(claim for claim in among if fnmatch.fnmatchcase(claim.id, pattern))
    if not selected:
        raise ValueError(f"pattern: no claim matches '{pattern}'{suggestion(pattern, [claim.id for claim in among])}")
    return selected


def suggestion(name: str, names: Sequence[str]) -> str:
    """The end of a message about an unknown name: the name that is probably meant, however far it is.

    >>> suggestion("gausian*", ["circle.rotation", "gaussian.rank"])
    "; did you mean 'gaussian.rank'?"
    """
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.0)
    return f"; did you mean '{close[0]}'?" if close else "; there are none"
