"""Fifty digits of a reduced orbit against mpmath.odefun.

Both sides run the same generated kernels on the same numbers, odefun on the real components of the state. True errors
are taken against a Gragg-Bulirsch-Stoer extrapolation with 90 digits, which neither side computes; it agrees with one
of fewer steps to 55 digits. Compiled code is used where numba is installed; in the rows of the default install it is
turned off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import gmpy2
import mpmath
import numpy as np
from extrapolation import extrapolated
from side_by_side import Comparison, Side

from numeric import integrate, load_kernel
from numeric.backends.gmpy2 import to_mpmath
from numeric.inputs import check_values
from numeric.integrators import taylor
from numeric.kernel import Kernel
from numeric.layout import Layout

DIGITS, REFERENCE_DIGITS = 50, 90

#: Two extrapolations must agree to so many digits.
AGREED_DIGITS = 55

#: The least ratios: with what is always installed, and with numba.
BAR, COMPILED_BAR = 15, 60

#: With these odefun is as accurate as asked on both workloads; more would only slow it.
ODEFUN_DIGITS = DIGITS

NAMES = "ott_antonsen", "gaussian_moments"
KERNELS = {name: load_kernel(name) for name in NAMES}
MPMATH_KERNELS, GMPY2_KERNELS = (
    {name: load_kernel(name, backend) for name in NAMES} for backend in ("mpmath", "gmpy2")
)


def twelfths(rows: list[list[int]]) -> list[list[str]]:
    return [[f"{entry}/12" for entry in row] for row in rows]


@dataclass(frozen=True)
class Workload:
    title: str
    kernel: str
    initial: dict[str, Any]
    end: str
    parameters: dict[str, Any]
    reference_steps: int

    def ours(self, digits: int = DIGITS) -> np.ndarray:
        """The flat final state."""
        kernel = KERNELS[self.kernel]
        trajectory = integrate(kernel, self.initial, (0, self.end), self.parameters, digits=digits)
        return Layout(kernel.state, trajectory.final).flatten(trajectory.final)

    def odefun(self) -> np.ndarray:
        with mpmath.workdps(ODEFUN_DIGITS):
            rhs, start = self.flat(MPMATH_KERNELS[self.kernel])
            solution = mpmath.odefun(lambda t, flat: rhs(np.array(flat, dtype=object)).tolist(), 0, start.tolist())
            return np.array(solution(mpmath.mpmathify(self.end)), dtype=object)

    def reference(self) -> np.ndarray:
        with mpmath.workdps(REFERENCE_DIGITS), gmpy2.context(precision=mpmath.mp.prec):
            rhs, start = self.flat(GMPY2_KERNELS[self.kernel])
            coarse, fine = (
                extrapolated(lambda flat: to_mpmath(rhs(flat)), start, self.end, steps)
                for steps in (2 * self.reference_steps // 3, self.reference_steps)
            )
            apart = np.abs(coarse - fine).max() / np.abs(fine).max()
            assert apart < mpmath.mpf(10) ** -AGREED_DIGITS, f"{self.title}: references are {apart} apart"
            return fine

    def flat(self, kernel: Kernel) -> tuple[Callable[[np.ndarray], np.ndarray], np.ndarray]:
        """The right-hand side on real components at the current precision, and the initial state."""
        groups = ("initial", kernel.state, self.initial), ("parameters", kernel.parameters, self.parameters)
        state, parameters = check_values(*groups, exact=True)
        layout, field = Layout(kernel.state, state), kernel.field(*parameters.values())

        def rhs(flat: np.ndarray) -> np.ndarray:
            states = layout.unflatten(flat)
            return layout.flatten(dict(zip(states, field(*states.values()), strict=True)))

        return rhs, layout.flatten(state)


WORKLOADS = (
    Workload(
        "Ott–Antonsen orbit, T = 4.64",
        "ott_antonsen",
        {"R": "1/5 + 1/10j"},
        "4.64",
        {"A": [["1", "1/3"], ["-1/4", "1/2"]], "V": [["1/2", "-1"], ["1", "1/3"]], "beta": 1},
        reference_steps=60,
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
        reference_steps=24,
    ),
)


def comparisons() -> Iterator[Comparison]:
    for workload in WORKLOADS:
        exact = workload.reference()

        def error(flat: np.ndarray, exact: np.ndarray = exact) -> float:
            """Relative to the largest entry."""
            with mpmath.workdps(REFERENCE_DIGITS):
                return float(np.abs(flat - exact).max() / np.abs(exact).max())

        for compiled, bar, needs in ((False, BAR, ()), (True, COMPILED_BAR, ("numba",))):

            def run(workload: Workload = workload, compiled: bool = compiled) -> np.ndarray:
                with patch.object(taylor, "COMPILED", compiled):
                    return workload.ours()

            yield Comparison(
                work=f"{workload.title}, {'compiled' if compiled else 'default install'}",
                ours=Side("integrate", run, error),
                theirs=Side("mpmath.odefun", workload.odefun, error),
                tolerance=10.0**-DIGITS,
                bar=bar,
                needs=needs,
            )
