"""Check claims: each one and its control by the same check."""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from types import ModuleType
from typing import Any, TypeVar

from proofs_check import registry
from proofs_check.claim import Claim
from proofs_check.evidence import Evidence
from proofs_check.ledger import Entry, Ledger, Raised

#: Digits at which claims can be checked: with fewer, doubles would do; with more, a check takes minutes.
MIN_DIGITS, MAX_DIGITS = 15, 1000

Subject = TypeVar("Subject")

#: What was found for the subject and for the control, and in how many seconds.
Findings = tuple[Evidence | Raised, Evidence | Raised, float]


def check(pattern: str = "*", digits: int = 50) -> Ledger:
    """Check every claim whose id matches, and its control, one after the other.

    Parameters
    ----------
    pattern
        A shell pattern (`*`, `?`, `[...]`) on the ids of claims.
    digits
        The number of decimal digits at which numerical checks work, from 15 to 1000.

    Returns
    -------
    Ledger
        Its `holds` says whether every claim holds and every control was refuted. A check that raises makes its
        claim fail and leaves the others alone.

    Raises
    ------
    ValueError
        When no claim matches the pattern (the message suggests the nearest id), or digits is out of range.

    >>> check("no.such.claim", digits=5)
    Traceback (most recent call last):
        ...
    ValueError: digits: 5 must be an integer from 15 to 1000
    """
    return run(registry.PACKAGE, pattern, digits)


def run(
    package: ModuleType,
    pattern: str,
    digits: int,
    processes: int = 1,
    on_start: Callable[[int], None] = lambda number: None,
    on_entry: Callable[[Entry], None] = lambda entry: None,
) -> Ledger:
    """Check the claims of a package, as `check` does, in one or several processes.

    `on_start` is told how many claims there are and `on_entry` each entry when it is done. With several processes,
    a script must call this under `if __name__ == "__main__"`, as always with `multiprocessing`.
    """
    if isinstance(digits, bool) or not isinstance(digits, int) or not MIN_DIGITS <= digits <= MAX_DIGITS:
        raise ValueError(f"digits: {digits!r} must be an integer from {MIN_DIGITS} to {MAX_DIGITS}")
    selected = registry.select(pattern, registry.discover(package))
    on_start(len(selected))
    begin = time.perf_counter()
    done: Iterable[Entry]
    if processes == 1:
        done = (assess(claim, digits) for claim in selected)
    else:
        done = _fan_out(package, selected, digits, min(processes, len(selected)))
    entries = []
    for entry in done:
        on_entry(entry)
        entries.append(entry)
    return Ledger(tuple(sorted(entries, key=lambda entry: entry.claim.id)), digits, time.perf_counter() - begin)


def assess(claim: Claim[Any], digits: int) -> Entry:
    """Check one claim and its control, in this process."""
    return Entry(claim, *_findings(claim, digits))


def _findings(claim: Claim[Any], digits: int) -> Findings:
    begin = time.perf_counter()
    found = _judge(claim, claim.subject, digits)
    found_for_control = _judge(claim, claim.control, digits)
    return found, found_for_control, time.perf_counter() - begin


def _judge(claim: Claim[Subject], make: Callable[[], Subject], digits: int) -> Evidence | Raised:
    try:
        found = claim.check(make(), digits)
        if not isinstance(found, Evidence):
            raise TypeError(f"the check returned {found!r}, which is no Evidence")
        return found
    except Exception as error:  # whatever it is, the other claims must still be checked
        return Raised.from_exception(error)


def _fan_out(package: ModuleType, selected: Sequence[Claim[Any]], digits: int, processes: int) -> Iterator[Entry]:
    # Spawned, because forking a process that has threads (a progress bar is one) may lock up.
    with ProcessPoolExecutor(processes, get_context("spawn"), _use_one_thread) as pool:
        try:
            futures = {pool.submit(_findings_by_id, package.__name__, claim.id, digits): claim for claim in selected}
            for future in as_completed(futures):
                failure = future.exception()
                if failure is None:
                    yield Entry(futures[future], *future.result())
                else:  # the process died or was told to stop, which is no finding of the check
                    raised = Raised.from_exception(failure)
                    yield Entry(futures[future], raised, raised, 0.0)
        finally:  # when interrupted, what has not begun is not begun
            pool.shutdown(cancel_futures=True)


def _use_one_thread() -> None:
    """Keep the BLAS of a worker, which is loaded later, from competing with the other workers."""
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")


def _findings_by_id(package: str, id: str, digits: int) -> Findings:
    # By id, because a claim made of lambdas can't be sent to another process.
    (claim,) = registry.select(id, registry.discover(importlib.import_module(package)))
    return _findings(claim, digits)
