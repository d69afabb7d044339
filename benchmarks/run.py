"""Run every comparison of the bench_*.py files beside this one and write RESULTS.md.

    python benchmarks/run.py              all of them
    python benchmarks/run.py digits       those of bench_digits.py, printed only

A file bench_NAME.py has a docstring whose first line is its title, and `comparisons()`, which yields them one by one,
so that each one's data lives no longer than needed.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from side_by_side import HEADER, rows

HERE = Path(__file__).parent
PACKAGES = ("numpy", "scipy", "mpmath", "gmpy2", "python-flint", "heyoka", "numba", "jax", "diffrax", "jitcode")


def report(name: str) -> Iterator[str]:
    module = import_module(f"bench_{name}")
    title, _, about = (module.__doc__ or "").partition("\n")
    yield from (f"## {title.rstrip('.')}", "", about.strip(), "", HEADER)
    explanations = []
    for comparison in module.comparisons():
        row, *explanation = rows(comparison)
        print(row, file=sys.stderr)
        explanations += explanation
        yield row
    yield from explanations
    yield ""


def versions() -> str:
    found = []
    for package in PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            found.append(f"no {package}")
    return f"Python {platform.python_version()}, {', '.join(found)}; {platform.machine()}."


def main() -> None:
    names = sys.argv[1:] or sorted(path.stem.removeprefix("bench_") for path in HERE.glob("bench_*.py"))
    lines = [
        "# Benchmarks",
        "",
        "Written by `make bench`. A ratio is the time of the other over ours, the median of interleaved repetitions, "
        "with the least and the largest. Errors are true errors, against closed forms or far more accurate runs, as "
        "each section says.",
        "",
        versions(),
        "",
    ]
    for name in names:
        lines += report(name)
    text = "\n".join(lines).rstrip() + "\n"
    if len(sys.argv) == 1:
        (HERE / "RESULTS.md").write_text(text, "utf-8")
    print(text)


if __name__ == "__main__":
    main()
