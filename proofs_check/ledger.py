"""The ledger: what was found for each claim, as objects, as JSON and as a table."""

from __future__ import annotations

import json
import traceback
from dataclasses import dataclass
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from proofs_check.claim import Claim
from proofs_check.evidence import Evidence, Refuted


@dataclass(frozen=True)
class Raised:
    """A check that raised instead of returning evidence: it says nothing about the statement.

    >>> print(Raised.from_exception(ZeroDivisionError("division by zero")))
    error: ZeroDivisionError: division by zero
    """

    error: str
    traceback: str

    @classmethod
    def from_exception(cls, error: BaseException) -> Raised:
        """The record of an exception, which can be sent between processes whatever the exception holds."""
        return cls(f"{type(error).__name__}: {error}".strip(": "), "".join(traceback.format_exception(error)))

    def __str__(self) -> str:
        return f"error: {self.error}"


@dataclass(frozen=True)
class Entry:
    """One line of the ledger: a claim, what its check found for it and for its control, in how many seconds."""

    claim: Claim[Any]
    evidence: Evidence | Raised
    control: Evidence | Raised
    seconds: float

    @property
    def control_refuted(self) -> bool:
        """Whether the check can fail, as it must on the control."""
        return isinstance(self.control, Refuted)

    @property
    def holds(self) -> bool:
        """Whether the claim stands and its control was refuted."""
        return isinstance(self.evidence, Evidence) and self.evidence.holds and self.control_refuted

    @property
    def control_text(self) -> str:
        """The evidence for the control, and what the control is."""
        return f"{self.control} (when {self.claim.control_statement})"

    @property
    def remark(self) -> str:
        """What was compared, and whether the control spoils it; one or two lines."""
        compared = "" if isinstance(self.evidence, Raised) else self.evidence.detail
        spoilt = "" if self.control_refuted else "The control was not refuted: this check proves nothing."
        return "\n".join(text for text in (compared, spoilt) if text)

    @property
    def detail(self) -> str:
        """The remark, and the traceback of a check that raised."""
        raised = [result.traceback for result in (self.evidence, self.control) if isinstance(result, Raised)]
        return "\n".join(text for text in (self.remark, *raised) if text)

    def to_json(self) -> dict[str, str | float]:
        """The entry under the keys id, statement, source, evidence, detail, control, seconds.

        The texts of evidence and control begin with exact, certified, numerical or refuted; with error, when the
        check raised.
        """
        return {
            "id": self.claim.id,
            "statement": self.claim.full_statement,
            "source": self.claim.source,
            "evidence": str(self.evidence),
            "detail": self.detail,
            "control": self.control_text,
            "seconds": round(self.seconds, 3),
        }


@dataclass(frozen=True)
class Ledger:
    """The entries of all claims that were checked, sorted by id, and how long it took."""

    entries: tuple[Entry, ...]
    digits: int
    seconds: float

    @property
    def holds(self) -> bool:
        """Whether every claim holds and every control was refuted."""
        return all(entry.holds for entry in self.entries)

    def to_json(self) -> str:
        """A JSON list with one object for each claim."""
        return json.dumps([entry.to_json() for entry in self.entries], indent=2)

    def summary(self) -> str:
        """One line: how many claims hold, at how many digits, in how many seconds."""
        failed = [entry.claim.id for entry in self.entries if not entry.holds]
        refuted = sum(entry.control_refuted for entry in self.entries)
        total = len(self.entries)
        return (
            f"{total - len(failed)} of {total} claims hold, {refuted} of {total} controls refuted, "
            f"at {self.digits} digits in {self.seconds:.1f} s" + (f"; failed: {', '.join(failed)}" if failed else "")
        )

    def table(self) -> Table:
        """The ledger for a terminal of 80 columns or more."""
        table = Table(show_lines=True, expand=True)
        table.add_column("claim", ratio=5, overflow="fold")
        table.add_column("evidence", ratio=4, overflow="fold")
        table.add_column("control", ratio=4, overflow="fold")
        table.add_column("s", justify="right", no_wrap=True)
        for entry in self.entries:
            mark = Text("✓ ", style="green") if entry.holds else Text("✗ ", style="bold red")
            evidence = Text(str(entry.evidence), style="" if entry.holds else "red")
            table.add_row(
                Group(
                    mark + Text(entry.claim.id, style="bold"),
                    Text(entry.claim.full_statement),
                    Text(entry.claim.source, style="dim"),
                ),
                Group(evidence, Text(entry.remark, style="dim")) if entry.remark else evidence,
                Text(entry.control_text, style="" if entry.control_refuted else "red"),
                f"{entry.seconds:.1f}",
            )
        return table
