"""From a computation to its evidence: the three ways in which most checks end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sympy as sp

from proofs_check.evidence import Evidence, Exact, Numerical, Refuted, magnitude
from symbolic.derivation import Derivation, StepFailed
from symbolic.zero import Witness, first_witness


def vanishing(expressions: Iterable[sp.Expr], detail: str = "") -> Evidence:
    """Exact when every expression vanishes identically, refuted with a rational point where one does not.

    Raises
    ------
    symbolic.zero.Undecided
        When an expression can't be decided; the ledger reports the claim as failed.

    >>> x = sp.Symbol("x")
    >>> print(vanishing([(x + 1)**2 - x**2 - 2*x - 1]))
    exact: 1 identity reduces to zero
    """
    residuals = list(expressions)
    witness = first_witness(residuals)
    return Exact(len(residuals), detail=detail) if witness is None else Refuted(str(witness), detail=detail)


def verified(derivation: Derivation) -> Evidence:
    """Exact when every step of the derivation verifies, refuted with the step that does not.

    Raises
    ------
    symbolic.derivation.StepFailed
        When a step can't be decided; the ledger reports the claim as failed.
    """
    try:
        results = derivation.verify()
    except StepFailed as failure:
        if not isinstance(failure.reason, Witness):
            raise
        return Refuted(str(failure))
    return Exact(sum(result.identities for result in results), detail=f"every step of {derivation.name}")


def agreement(deviation: Any, tolerance: Any, witness: str, detail: str = "") -> Evidence:
    """Numerical when the worst deviation is within the tolerance, otherwise (also for NaN) refuted.

    Parameters
    ----------
    deviation
        The worst deviation between two computations, or from a condition; a number of any kind.
    tolerance
        What is allowed, for a reason that the claim states.
    witness
        Where the worst deviation was seen, in words.

    >>> print(agreement(3.2e-49, "1e-45", "t = 1"))
    numerical: within 1e-45, worst 3.2e-49
    >>> print(agreement(0.25, "1e-45", "t = 1"))
    refuted: off by 0.25 at t = 1, where 1e-45 is allowed
    """
    allowed = magnitude("tolerance", tolerance)
    try:
        worst = magnitude("deviation", deviation)
    except ValueError:
        return Refuted(f"no finite value ({deviation}) at {witness}", detail=detail)
    if worst <= allowed:
        return Numerical(allowed, worst, detail=detail)
    return Refuted(f"off by {worst:.2g} at {witness}, where {allowed:.2g} is allowed", detail=detail)
