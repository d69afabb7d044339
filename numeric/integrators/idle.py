"""Compiled code that nobody is using, so that what was compiled once serves again."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Compiled = TypeVar("Compiled")


class Idle(Generic[Compiled]):
    """Compiled code by what it was compiled for: at most `kept` kinds, of which the one compiled first goes first.

    It is taken out while it runs, so that neither threads nor an event function that integrates the same kernel
    disturb it.
    """

    def __init__(self, kept: int):
        self.kept = kept
        self.codes: dict[Hashable, list[Compiled]] = {}

    def borrowed(self, key: Hashable, compiled: Callable[[], Compiled]) -> Borrowed[Compiled]:
        """Code for nobody else's use within a `with` block, compiled now where none is idle."""
        return Borrowed(self, key, compiled)


class Borrowed(Generic[Compiled]):
    """A class, as a generator as context manager takes three times as long."""

    def __init__(self, idle: Idle[Compiled], key: Hashable, compiled: Callable[[], Compiled]):
        self.idle, self.key, self.compiled = idle, key, compiled

    def __enter__(self) -> Compiled:
        try:
            self.code = self.idle.codes[self.key].pop()
        except LookupError:
            self.code = self.compiled()
        return self.code

    def __exit__(self, *_: object) -> None:
        codes, key = self.idle.codes, self.key
        if key not in codes:
            if len(codes) >= self.idle.kept:
                codes.pop(next(iter(codes)))
            codes.setdefault(key, [])
        codes[key].append(self.code)
