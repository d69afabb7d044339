"""How an integration ended: each outcome carries its numbers and reads as a sentence."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import mpmath


@dataclass(frozen=True)
class Finished:
    """The end of the time span was reached; `note` says what is uncertain about that.

    >>> str(Finished(2.0))
    'finished at t = 2.0'
    """

    time: Any
    note: str = ""

    def __str__(self) -> str:
        return _noted(f"finished at t = {_text(self.time)}", self.note)


@dataclass(frozen=True)
class StoppedByEvent:
    """A terminal event, the one numbered `event`, occurred; `note` says what is uncertain about that."""

    time: Any
    event: int
    note: str = ""

    def __str__(self) -> str:
        return _noted(f"stopped by event {self.event} at t = {_text(self.time)}", self.note)


@dataclass(frozen=True)
class StepLimit:
    """The integration could not be carried on beyond `time`, for the reason given."""

    time: Any
    reason: str

    def __str__(self) -> str:
        return f"gave up at t = {_text(self.time)}: {self.reason}"


@dataclass(frozen=True)
class BlewUp:
    """The array `state` leaves every bound at a time t* between the two ends of `bracket`.

    Its norm |state|, the root of the sum of squares of all entries, times (t* - t)^exponent tends to `rate`. Exponent
    and rate are None when the singularity was not recognised as a power; `note` says so, and what else is uncertain.

    >>> str(BlewUp("Sigma", (0.2499999, 0.2500001), 0.25, Fraction(1)))
    'blew up between t = 0.2499999 and t = 0.2500001 (|Sigma| (t* - t) -> 0.25)'
    """

    state: str
    bracket: tuple[Any, Any]
    rate: Any = None
    exponent: Fraction | None = None
    note: str = ""

    @property
    def time(self) -> Any:
        """The last time at which the solution is known to exist: the lower end of the bracket."""
        return self.bracket[0]

    def __str__(self) -> str:
        low, high = self.bracket
        relative = float((high - low) / max(abs(low), abs(high)))
        digits = 2 + math.ceil(-math.log10(relative)) if relative > 0 else 17
        sentence = f"blew up between t = {_text(low, digits)} and t = {_text(high, digits)}"
        if self.exponent is not None:
            exponent = str(self.exponent) if self.exponent.denominator == 1 else f"({self.exponent})"
            power = "" if self.exponent == 1 else f"^{exponent}"
            sentence += f" (|{self.state}| (t* - t){power} -> {_text(self.rate, 6)})"
        return _noted(sentence, self.note)


Outcome = Finished | StoppedByEvent | StepLimit | BlewUp


def _noted(sentence: str, note: str) -> str:
    return f"{sentence}; {note}" if note else sentence


def _text(number: Any, digits: int = 15) -> str:
    return mpmath.nstr(mpmath.mpf(number) if isinstance(number, float | int) else number, digits)
