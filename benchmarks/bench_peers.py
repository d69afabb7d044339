"""An Ott–Antonsen orbit, ten times over, against other packages that integrate, for information.

Each peer gets the real and the imaginary part of the generated equation with the parameters as numbers, and the largest
tolerance of its own at which the final state is as accurate as asked. Compiling (Numba, diffrax, jitcode) is not timed.
`integrate` also checks its inputs, keeps the dense output and looks for blow-up. The reference is our run with 40
digits of the same dyadic numbers.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import chdir
from functools import cache, partial
from importlib.util import find_spec
from tempfile import TemporaryDirectory

import numpy as np
import sympy as sp
from scipy.integrate import solve_ivp
from side_by_side import Comparison, Side

from numeric import integrate, load_kernel
from symbolic import canonical_reductions

COUNT, INITIAL, END = 10, {"R": 0.25 + 0.125j}, 4.5
PARAMETERS = {"A": [[1, 0.25], [-0.25, 0.5]], "V": [[0.5, -1], [1, 0.25]], "beta": 1}

#: An orbit at a tolerance: its final state (Re R, Im R).
Orbit = Callable[[float], np.ndarray]


def equations() -> tuple[tuple[sp.Symbol, sp.Symbol], list[sp.Expr]]:
    """(x, y), and the rates of R = x + iy at the parameters."""
    reduction = canonical_reductions()["ott_antonsen"]()
    (state,) = reduction.state
    x, y = sp.symbols("x y", real=True)
    values = {v.symbol: sp.sympify(PARAMETERS[v.name], rational=True) for v in reduction.parameters}
    matrices = {s: sp.Matrix(value) for s, value in values.items() if isinstance(s, sp.MatrixSymbol)}
    rate = reduction.expanded()[state.symbol].xreplace(values | matrices).subs(state.symbol, x + sp.I * y).doit()
    return (x, y), list(sp.expand(rate, complex=True).as_real_imag())


def our_orbit(backend: str) -> Orbit:
    kernel = load_kernel("ott_antonsen", backend)

    def orbit(rtol: float) -> np.ndarray:
        final = integrate(kernel, INITIAL, (0, END), PARAMETERS, rtol=rtol, atol=rtol / 10).final["R"]
        return np.array([final.real, final.imag])

    return orbit


def by_scipy(rhs: Callable[[float, np.ndarray], np.ndarray], rtol: float) -> np.ndarray:
    start = [INITIAL["R"].real, INITIAL["R"].imag]
    return solve_ivp(rhs, (0, END), start, method="DOP853", rtol=rtol, atol=rtol / 10).y[:, -1]


@cache
def scipy_orbit() -> Orbit:
    function = sp.lambdify(*equations())
    return partial(by_scipy, lambda t, z: function(*z))


@cache
def numba_orbit() -> Orbit:
    import numba

    function = numba.njit(sp.lambdify(*equations(), modules="math"))
    rhs = numba.njit(lambda t, z: np.array(function(z[0], z[1])))
    return partial(by_scipy, rhs)


@cache
def diffrax_orbit() -> Orbit:
    import diffrax
    import jax
    import jax.numpy as jnp

    function = sp.lambdify(*equations(), modules="math")
    term = diffrax.ODETerm(lambda t, z, _: jnp.stack(function(*z)))

    @jax.jit
    def solve(start: jax.Array, rtol: float) -> jax.Array:
        steps = diffrax.PIDController(rtol=rtol, atol=rtol / 10)
        solution = diffrax.diffeqsolve(
            term, diffrax.Dopri8(), 0.0, END, None, start, stepsize_controller=steps, max_steps=100_000
        )
        return solution.ys[-1]

    def orbit(rtol: float) -> np.ndarray:
        with jax.enable_x64(True):
            return np.asarray(solve(jnp.array([INITIAL["R"].real, INITIAL["R"].imag]), rtol))

    return orbit


@cache
def jitcode_orbit() -> Orbit:
    from jitcode import jitcode, y

    symbols, rates = equations()
    system = jitcode([rate.subs(dict(zip(symbols, (y(0), y(1)), strict=True))) for rate in rates], verbose=False)
    with TemporaryDirectory() as folder, chdir(folder):  # it runs setuptools, which reads any pyproject.toml around it
        system.compile_C()

    def orbit(rtol: float) -> np.ndarray:
        system.set_integrator("dop853", rtol=rtol, atol=rtol / 10, nsteps=100_000)
        system.set_initial_value(np.array([INITIAL["R"].real, INITIAL["R"].imag]), 0.0)
        return np.array(system.integrate(END))

    return orbit


#: Name, what makes its orbits, and the package it needs.
PEERS = (
    ("solve_ivp (DOP853), lambdified", scipy_orbit, "scipy"),
    ("solve_ivp (DOP853), Numba", numba_orbit, "numba"),
    ("diffrax (Dopri8)", diffrax_orbit, "diffrax"),
    ("jitcode (dop853)", jitcode_orbit, "jitcode"),
)


def comparisons() -> Iterator[Comparison]:
    trajectory = integrate(load_kernel("ott_antonsen"), INITIAL, (0, END), PARAMETERS, digits=40)
    exact = np.array([float(trajectory.final["R"].real), float(trajectory.final["R"].imag)])

    def error(final: np.ndarray) -> float:
        return float(np.linalg.norm(final - exact) / np.linalg.norm(exact))

    def side(name: str, orbit: Orbit, tolerance: float) -> Side:
        """At the largest tolerance that is accurate enough."""
        rtol = next(rtol for rtol in np.logspace(-6, -13, 15) if error(orbit(rtol)) <= tolerance)
        return Side(name, lambda: [orbit(rtol) for _ in range(COUNT)][-1], error)

    def pair(backend: str, peer: tuple[str, Callable[[], Orbit], str], tolerance: float) -> Comparison:
        needs = tuple({backend, peer[2]})
        missing = not all(map(find_spec, needs))
        ours, theirs = (
            Side(name, lambda: None, error) if missing else side(name, make(), tolerance)
            for name, make in (("integrate", partial(our_orbit, backend)), peer[:2])
        )
        work = f"{COUNT} orbits at {tolerance:.0e}, kernel for {backend}"
        return Comparison(work, ours, theirs, tolerance, repetitions=7, needs=needs)

    for peer in PEERS:
        if peer[2] == "jitcode" and not shutil.which("cc"):  # what it generates is C
            continue
        for backend in ("numpy", "heyoka"):
            for tolerance in (1e-9, 1e-12):
                yield pair(backend, peer, tolerance)
