"""Verified steps, kept between runs: a step whose digest is known holds, and its check need not run again.

One small file for each step, named by its digest, so that runs at the same time do not disturb one another: each file
is written aside and then renamed. Only steps that hold are kept. A cache that cannot be read or written is as good as
an empty one.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from symbolic.fingerprint import Indescribable, step_digest


@dataclass(frozen=True)
class Verdict:
    """What a check found: how many identities reduced to zero, and for which sizes, each a symbol and its value."""

    identities: int
    sizes: tuple[tuple[tuple[str, int], ...], ...]


@dataclass(frozen=True)
class StepCache:
    """The cache in one folder; `StepCache.of_user()` is the one that the command uses."""

    folder: Path

    @classmethod
    def of_user(cls) -> StepCache | None:
        """The user's cache: in the folder that ATTNFLOW_CACHE names, by default where the platform keeps caches.

        None when ATTNFLOW_CACHE is empty, or there is no home to keep one in.
        """
        if (chosen := os.environ.get("ATTNFLOW_CACHE")) is not None:
            return cls(Path(chosen)) if chosen else None
        with suppress(RuntimeError):
            return cls(_platform_cache() / "attnflow" / "steps")
        return None

    def key(self, check: object, relations: Iterable[object]) -> str | None:
        """The name of a step in the cache; None when something that its check uses has no digest."""
        try:
            return step_digest(check, relations)
        except Indescribable:
            return None

    def get(self, key: str) -> Verdict | None:
        """What the check of a step found in an earlier run, or None."""
        try:
            kept = json.loads((self.folder / key).read_text(encoding="utf-8"))
            sizes = tuple(tuple((str(symbol), int(value)) for symbol, value in size) for size in kept["sizes"])
            verdict = Verdict(int(kept["identities"]), sizes)
        except (OSError, ValueError, TypeError, LookupError):
            return None
        # A file that belongs to another step, or was cut short, is no evidence.
        return verdict if kept.get("step") == key and verdict.identities > 0 else None

    def put(self, key: str, verdict: Verdict) -> None:
        """Keep what the check of a step that holds found."""
        text = json.dumps({"step": key, "identities": verdict.identities, "sizes": verdict.sizes})
        with suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=self.folder) as aside:
                written = Path(aside) / key
                written.write_text(text, encoding="utf-8")
                os.replace(written, self.folder / key)


def _platform_cache() -> Path:
    """Where programs keep what they can make again: XDG_CACHE_HOME, or the custom of the platform."""
    if chosen := os.environ.get("XDG_CACHE_HOME"):
        return Path(chosen)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    return Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")
