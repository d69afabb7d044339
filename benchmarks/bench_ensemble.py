"""A hundred thousand Ott–Antonsen orbits to t = 5, against a loop of solve_ivp.

Initial states are uniform in the disc; the entries of A and V are normal, drawn for every orbit, or once for all. The
loop runs over the first orbits only and its time is scaled up. It calls the fastest field a user would get from SymPy,
lambdified real and imaginary parts with shared subexpressions, and has the largest tolerance with which its orbits are
as accurate as asked, 1e-9. Ours are checked on these and on the orbits that are most sensitive to the tolerance,
against runs with 30 digits. diffrax solves the first ones in one jitted vmap, for information. Compiling is not timed.
The loop runs on one processor, and heyoka on all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import numpy as np
import sympy as sp
from scipy.integrate import solve_ivp
from side_by_side import Comparison, Side

from numeric import integrate, integrate_ensemble, load_kernel
from symbolic import canonical_reductions

COUNT, END, ACCURACY = 100_000, 5.0, 1e-9

#: The largest tolerances (1, 2 or 5 times a power of ten) with errors of at most ACCURACY on the whole sample, or on
#: the orbits that the loop and diffrax run.
OWN_MATRICES = {"numpy": 5e-12, "heyoka": 2e-11, "loop": 1e-10, "diffrax": 5e-11}
COMMON_MATRICES = {"numpy": 2e-11, "heyoka": 2e-9, "loop": 1e-9}

#: Orbits of the loop, and of the sample for errors: the first ones and the most sensitive ones.
LOOPED, SAMPLED = 100, 100

#: Orbits that diffrax solves: it needs about a minute for all.
MAPPED = 10_000


def ensemble(common: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Initial states and the matrices A and V, for all orbits or for each one."""
    rng = np.random.default_rng(20)
    R = np.sqrt(rng.random(COUNT)) * np.exp(2j * np.pi * rng.random(COUNT))
    A, V = rng.standard_normal((2, *(() if common else (COUNT,)), 2, 2))
    return R, A, V


class Workload:
    """One of the two ensembles, with its reference values."""

    def __init__(self, common: bool):
        self.R, self.A, self.V = ensemble(common)
        self.tolerances = COMMON_MATRICES if common else OWN_MATRICES
        coarse, fine = (self.ours("numpy", tolerance)() for tolerance in (1e-8, 1e-10))
        self.sample = np.union1d(np.arange(LOOPED), np.argsort(np.abs(coarse - fine))[-SAMPLED:])
        self.exact = np.array([self._exact(k) for k in self.sample])

    def member(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        return (self.A[k], self.V[k]) if self.A.ndim == 3 else (self.A, self.V)

    def _exact(self, k: int) -> complex:
        A, V = self.member(k)
        parameters = {"A": A, "V": V, "beta": 1}
        return complex(
            integrate(load_kernel("ott_antonsen"), {"R": self.R[k]}, (0, END), parameters, digits=30).final["R"]
        )

    def error(self, final: np.ndarray) -> float:
        """The largest error on the part of the sample that these are."""
        known = self.sample < len(final)
        return float(np.abs(final[self.sample[known]] - self.exact[known]).max())

    def ours(self, backend: str, tolerance: float | None = None) -> Callable[[], np.ndarray]:
        kernel = load_kernel("ott_antonsen", backend)
        tolerance = self.tolerances[backend] if tolerance is None else tolerance
        parameters = {"A": self.A, "V": self.V, "beta": 1}

        def run() -> np.ndarray:
            found = integrate_ensemble(kernel, {"R": self.R}, (0, END), parameters, rtol=tolerance, atol=tolerance)
            assert found.finished.all()
            return found.final["R"]

        return run

    def loop(self) -> np.ndarray:
        function = field()
        finals = []
        for k in range(LOOPED):
            values = [float(x) for matrix in self.member(k) for x in matrix.flat]
            solution = solve_ivp(
                lambda t, z, values=values: function(z[0], z[1], *values),
                (0, END),
                [self.R[k].real, self.R[k].imag],
                method="DOP853",
                rtol=self.tolerances["loop"],
                atol=self.tolerances["loop"],
            )
            finals.append(complex(*solution.y[:, -1]))
        return np.array(finals)

    @cache  # noqa: B019 (one instance, as long as the process)
    def diffrax(self) -> Callable[[], np.ndarray]:
        import diffrax
        import jax
        import jax.numpy as jnp

        function = field()
        steps = diffrax.PIDController(rtol=self.tolerances["diffrax"], atol=self.tolerances["diffrax"])
        term = diffrax.ODETerm(lambda t, z, values: jnp.stack(function(z[0], z[1], *values)))

        def orbit(start: Any, values: Any) -> Any:
            solution = diffrax.diffeqsolve(
                term, diffrax.Dopri8(), 0.0, END, None, start, values, stepsize_controller=steps, max_steps=10_000
            )
            return solution.ys[-1]

        A, V = (np.broadcast_to(matrix, (COUNT, 2, 2)).reshape(COUNT, 4) for matrix in (self.A, self.V))
        starts, values = np.stack((self.R.real, self.R.imag), axis=1)[:MAPPED], np.concatenate((A, V), axis=1)[:MAPPED]
        solve = jax.jit(jax.vmap(orbit))

        def run() -> np.ndarray:
            with jax.enable_x64(True):
                return np.asarray(solve(starts, values)) @ [1, 1j]

        return run


@cache
def field() -> Callable[..., list[float]]:
    """(x, y, entries of A, entries of V) -> the rates of R = x + iy, for beta = 1."""
    reduction = canonical_reductions()["ott_antonsen"]()
    (state,) = reduction.state
    x, y = sp.symbols("x y", real=True)
    entries = {name: sp.Matrix(2, 2, sp.symbols(f"{name}:4", real=True)) for name in "AV"}
    values = {v.symbol: entries.get(v.name, sp.Integer(1)) for v in reduction.parameters}
    rate = reduction.expanded()[state.symbol].xreplace(values).subs(state.symbol, x + sp.I * y).doit()
    rates = [sp.factor_terms(part) for part in sp.expand(rate, complex=True).as_real_imag()]
    return sp.lambdify((x, y, *entries["A"], *entries["V"]), rates, modules="math", cse=True)


def comparisons() -> Iterator[Comparison]:
    for common in (False, True):
        workload = Workload(common)
        title = "10⁵ orbits with " + ("one A and V" if common else "an A and V each")
        loop = Side("loop of solve_ivp (DOP853), lambdified", workload.loop, workload.error)
        compare = partial(Comparison, theirs=loop, tolerance=ACCURACY, share=LOOPED / COUNT)
        ours = Side("integrate_ensemble", workload.ours("numpy"), workload.error)
        yield compare(work=f"{title}, integrate_ensemble", ours=ours, bar=50)
        fast = Side("integrate_ensemble", lambda run=workload.ours: run("heyoka")(), workload.error)
        yield compare(work=f"{title}, integrate_ensemble with heyoka", ours=fast, bar=2000, needs=("heyoka",))
        if not common:
            peer = Side("diffrax, vmap of Dopri8", lambda run=workload.diffrax: run()(), workload.error)
            yield Comparison(
                work=f"{title}, integrate_ensemble",
                ours=ours,
                theirs=peer,
                tolerance=ACCURACY,
                share=MAPPED / COUNT,
                repetitions=3,
                needs=("jax", "diffrax"),
            )
