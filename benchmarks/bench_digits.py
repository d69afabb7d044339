"""Fifty digits of a reduced orbit: `integrate(..., digits=50)` against mpmath.odefun at the same true error.

Both sides run the same generated kernels on the same numbers, odefun on the real components of the state. Their true
errors, against our run with 80 digits, are asserted to be below 10^-50 before a ratio is measured. Repetitions
alternate between the sides, so that a busy machine slows both.

    python benchmarks/bench_digits.py            writes RESULTS.md beside this file
"""

from __future__ import annotations

import cProfile
import platform
import pstats
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import mpmath
import numpy as np

from numeric import integrate, load_kernel
from numeric.inputs import check_values
from numeric.layout import Layout

DIGITS, REFERENCE_DIGITS, REPETITIONS, BAR = 50, 80, 5, 15

#: With these odefun is as accurate as asked on both workloads; more would only slow it.
ODEFUN_DIGITS = DIGITS


def twelfths(rows: list[list[int]]) -> list[list[str]]:
    return [[f"{entry}/12" for entry in row] for row in rows]


@dataclass(frozen=True)
class Workload:
    title: str
    kernel: str
    initial: dict[str, Any]
    end: str
    parameters: dict[str, Any]

    def ours(self, digits: int = DIGITS) -> np.ndarray:
        """The flat final state."""
        trajectory = integrate(load_kernel(self.kernel), self.initial, (0, self.end), self.parameters, digits=digits)
        return Layout(load_kernel(self.kernel).state, trajectory.final).flatten(trajectory.final)

    def odefun(self) -> np.ndarray:
        with mpmath.workdps(ODEFUN_DIGITS):
            kernel = load_kernel(self.kernel, "mpmath")
            groups = ("initial", kernel.state, self.initial), ("parameters", kernel.parameters, self.parameters)
            state, parameters = check_values(*groups, exact=True)
            layout = Layout(kernel.state, state)

            def rhs(t: Any, flat: list[Any]) -> list[Any]:
                states = layout.unflatten(np.array(flat, dtype=object))
                rates = kernel.rhs(*states.values(), *parameters.values())
                return layout.flatten(dict(zip(states, rates, strict=True))).tolist()

            solution = mpmath.odefun(rhs, 0, layout.flatten(state).tolist())
            return np.array(solution(mpmath.mpmathify(self.end)), dtype=object)


WORKLOADS = (
    Workload(
        "Ott–Antonsen orbit, T = 4.64",
        "ott_antonsen",
        {"R": "1/5 + 1/10j"},
        "4.64",
        {"A": [["1", "1/3"], ["-1/4", "1/2"]], "V": [["1/2", "-1"], ["1", "1/3"]], "beta": 1},
    ),
    Workload(
        "Gaussian moments, d = 3, T = 4",
        "gaussian_moments",
        {"mu": ["1/2", "-1/3", "1/4"], "Sigma": twelfths([[12, 3, 1], [3, 9, 2], [1, 2, 6]])},
        "4",
        {
            "A": twelfths([[-3, 1, 2], [0, -4, 1], [1, 0, -5]]),
            "B": twelfths([[3, 1, 0], [-1, 2, 1], [0, 1, 4]]),
            "V": twelfths([[-5, 1, 0], [0, -4, 2], [1, 0, -6]]),
            "b": ["1/3", "-1/5", "1/7"],
        },
    ),
)


def seconds(function: Callable[[], Any]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def true_errors(workload: Workload) -> tuple[float, float]:
    """Of both sides, relative to the largest entry; each must be below 10^-DIGITS."""
    with mpmath.workdps(REFERENCE_DIGITS):
        exact = workload.ours(REFERENCE_DIGITS)
        ours, theirs = (
            float(np.abs(found - exact).max() / np.abs(exact).max()) for found in (workload.ours(), workload.odefun())
        )
    assert ours < 10.0**-DIGITS and theirs < 10.0**-DIGITS, f"{workload.title}: errors {ours:.1e}, {theirs:.1e}"
    return ours, theirs


def profile(workload: Workload) -> list[str]:
    """Where the time goes: the five functions with the most time of their own."""
    profiler = cProfile.Profile()
    profiler.runcall(workload.ours)
    stats = pstats.Stats(profiler)
    total = stats.total_tt  # type: ignore[attr-defined]
    entries = sorted(stats.stats.items(), key=lambda entry: -entry[1][2])[:5]  # type: ignore[attr-defined]
    return [f"- {own / total:.0%} {Path(file).name} {name}" for (file, _, name), (_, _, own, _, _) in entries]


def report() -> str:
    lines = [
        f"## {DIGITS} digits: `integrate(..., digits={DIGITS})` against mpmath.odefun",
        "",
        "| workload | true error, ours | odefun | seconds, ours | odefun | ratio (least to largest) | bar |",
        "|---|---|---|---|---|---|---|",
    ]
    missed = []
    for workload in WORKLOADS:
        ours, theirs = true_errors(workload)
        pairs = [(seconds(workload.ours), seconds(workload.odefun)) for _ in range(REPETITIONS)]
        fast, slow = (median(side) for side in zip(*pairs, strict=True))
        ratios = sorted(b / a for a, b in pairs)
        ratio = median(ratios)
        verdict = f"{BAR}: {'reached' if ratio >= BAR else 'missed'}"
        lines.append(
            f"| {workload.title} | {ours:.0e} | {theirs:.0e} | {fast:.3f} | {slow:.2f} "
            f"| {ratio:.1f} ({ratios[0]:.1f} to {ratios[-1]:.1f}) | {verdict} |"
        )
        if ratio < BAR:
            missed += ["", f"The bar is missed on: {workload.title}. Share of the time by function:", ""]
            missed += profile(workload)
    return "\n".join([*lines, *missed])


def main() -> None:
    packages = ("mpmath", "gmpy2", "numpy")
    versions = ", ".join(f"{package} {version(package)}" for package in packages)
    head = (
        "# Benchmarks\n\nWritten by `make bench`. A ratio is the time of the other over ours, the median of "
        f"{REPETITIONS} interleaved repetitions.\n\nPython {platform.python_version()}, {versions}, "
        f"{platform.machine()}.\n\n"
    )
    text = head + report() + "\n"
    Path(__file__).with_name("RESULTS.md").write_text(text, "utf-8")
    print(text)


if __name__ == "__main__":
    main()
