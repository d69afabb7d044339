"""One reduced orbit in double precision against SciPy.

The Ott–Antonsen equation from t = 0 to t = 5, final state only, errors at most 1e-12 against a run with 30 digits. Both
sides take A, V and beta at run time. Theirs is `solve_ivp` on the field that SymPy's `lambdify` makes of the
reduction's equations, in complex numbers, common subexpressions shared. Either side's tolerance is the loosest power of
ten that is accurate enough. "integrate" is the public call, which checks every input; "compiled" what runs beneath it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import sympy as sp
from scipy.integrate import solve_ivp
from side_by_side import Comparison, Side

from numeric import integrate, load_kernel
from symbolic import canonical_reductions

END, BAR, ACCURACY = 5.0, 500, 1e-12
OUR_TOLERANCE, THEIR_TOLERANCE = 1e-10, 1e-12

#: An orbit takes us microseconds, so that many are timed.
ORBITS = 300

EXACT = {"A": [["1", "1/3"], ["-1/4", "1/2"]], "V": [["1/2", "-1"], ["1", "1/3"]], "beta": 1}
PARAMETERS = {"A": np.array([[1, 1 / 3], [-1 / 4, 1 / 2]]), "V": np.array([[1 / 2, -1], [1, 1 / 3]]), "beta": 1.0}
START = 0.2 + 0.1j


@cache
def reference() -> complex:
    exact = integrate(load_kernel("ott_antonsen"), {"R": "1/5 + 1/10j"}, (0, 5), EXACT, digits=30)
    return complex(exact.final["R"])


def error(final: complex) -> float:
    return abs(final - reference())


def ours() -> complex:
    kernel = load_kernel("ott_antonsen", "heyoka")
    for _ in range(ORBITS):
        trajectory = integrate(kernel, {"R": START}, (0.0, END), PARAMETERS, rtol=OUR_TOLERANCE, atol=OUR_TOLERANCE)
        final = complex(trajectory.final["R"])
    return final


@cache
def integrator() -> Any:
    import heyoka as hy

    from numeric.backends.heyoka import system

    shapes = {"R": (), "A": (2, 2), "V": (2, 2), "beta": ()}
    return hy.taylor_adaptive(system(load_kernel("ott_antonsen"), shapes), [0.0, 0.0], tol=OUR_TOLERANCE)


def compiled() -> complex:
    orbit, parameters = integrator(), np.concatenate([np.ravel(value) for value in PARAMETERS.values()])
    for _ in range(ORBITS):
        orbit.time = 0.0
        orbit.state[:] = START.real, START.imag
        orbit.pars[:] = parameters
        orbit.propagate_until(END)
    return complex(*orbit.state)


@cache
def field() -> Any:
    reduction = canonical_reductions()["ott_antonsen"]()
    ((state, expression),) = reduction.equations.items()
    for symbol, definition in reversed(reduction.definitions):
        expression = expression.subs(symbol, definition)
    parameters = [parameter.symbol for parameter in reduction.parameters]
    return sp.lambdify([state, *parameters], expression, "numpy", cse=True)


def theirs() -> complex:
    rhs, parameters = field(), tuple(PARAMETERS.values())
    solution = solve_ivp(
        lambda t, y: [rhs(y[0], *parameters)],
        (0, END),
        [START],
        method="DOP853",
        rtol=THEIR_TOLERANCE,
        atol=THEIR_TOLERANCE,
    )
    return complex(solution.y[0, -1])


def comparisons() -> Iterator[Comparison]:
    for name, run in (("integrate", ours), ("compiled", compiled)):
        yield Comparison(
            work=f"Ott–Antonsen orbit, T = 5, warm, {name}, {ORBITS} orbits",
            ours=Side(name, run, error),
            theirs=Side("solve_ivp DOP853", theirs, error),
            tolerance=ACCURACY,
            bar=BAR,
            share=1 / ORBITS,
            repetitions=9,
            needs=("heyoka",),
        )
