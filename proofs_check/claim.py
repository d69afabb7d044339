"""What a claim is: a statement with a check that can fail, shown by a control that it refutes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from proofs_check.evidence import Evidence

Subject = TypeVar("Subject")

_ID = re.compile(r"[a-z0-9]+([._-][a-z0-9]+)*")


@dataclass(frozen=True)
class Claim(Generic[Subject]):
    """A statement, with the one check that judges both its subject and its control.

    A control is a deliberately broken sibling of the subject: a flipped sign, a dropped hypothesis. The claim
    holds only when the check accepts the subject and refutes the control; a check that accepts both could not
    fail, so it proves nothing.

    Parameters
    ----------
    id
        Lower-case words joined by dots, hyphens or underscores; the part before the first dot is the group.
    statement
        What is claimed, in one sentence.
    hypotheses
        Under which conditions, one by one.
    source
        Where it comes from: the key of a paper in `proofs_check.sources` in brackets, and the place in it.
    check
        Judges a subject at so many decimal digits. It must not depend on anything else, least of all on the order
        in which claims are checked.
    subject, control
        Make the subject and its broken sibling, at the time of the check.
    control_statement
        What is broken in the control, to be read after "when": "the sign of B is flipped".

    Raises
    ------
    ValueError
        When the id can't be typed as a pattern, or a text is empty.

    >>> from proofs_check.evidence import Exact, Refuted
    >>> even = Claim(
    ...     id="parity.even", statement="The number is even", hypotheses=(), source="folklore",
    ...     check=lambda number, digits: Exact(1) if number % 2 == 0 else Refuted(f"{number} = 2*{number // 2} + 1"),
    ...     subject=lambda: 4, control=lambda: 5, control_statement="1 is added",
    ... )
    >>> print(even.check(even.subject(), 50), even.check(even.control(), 50), sep="; ")
    exact: 1 identity reduces to zero; refuted: 5 = 2*2 + 1
    """

    id: str
    statement: str
    hypotheses: tuple[str, ...]
    source: str
    check: Callable[[Subject, int], Evidence]
    subject: Callable[[], Subject]
    control: Callable[[], Subject]
    control_statement: str

    def __post_init__(self) -> None:
        if not _ID.fullmatch(self.id):
            raise ValueError(f"id: '{self.id}' must be lower-case words joined by '.', '-' or '_', as in gaussian.rank")
        for name in ("statement", "source", "control_statement"):
            if not getattr(self, name).strip():
                raise ValueError(f"{name}: it is empty in the claim '{self.id}'")
        if isinstance(self.hypotheses, str):
            raise ValueError(f"hypotheses: '{self.hypotheses}' must be a tuple of texts in the claim '{self.id}'")

    @property
    def full_statement(self) -> str:
        """The statement with its hypotheses, as one text."""
        return f"{self.statement} (if {'; '.join(self.hypotheses)})" if self.hypotheses else self.statement
