"""Compiled code that nobody is using, so that what was compiled once serves again."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
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

    @contextmanager
    def borrowed(self, key: Hashable, compiled: Callable[[], Compiled]) -> Iterator[Compiled]:
        """Code for nobody else's use, compiled now where none is idle."""
        try:
            code = self.codes[key].pop()
        except LookupError:
            code = compiled()
        try:
            yield code
        finally:
            if key not in self.codes and len(self.codes) >= self.kept:
                self.codes.pop(next(iter(self.codes)))
            self.codes.setdefault(key, []).append(code)
