"""The one way to integrate a kernel: inputs are checked here, then the integrator that fits is run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import mpmath

from numeric import exact_routes
from numeric.flat_inputs import flat_inputs
from numeric.inputs import check_digits, check_events, check_time_span, check_times, check_tolerances, check_values
from numeric.integrators import many_digits
from numeric.integrators.events import follow
from numeric.integrators.scipy_solver import flat_rhs, scipy_steps
from numeric.integrators.taylor import Problem
from numeric.kernel import Kernel
from numeric.layout import Layout
from numeric.trajectory import Trajectory

#: What kernels of the multiple precision backend are integrated with when no digits are given.
DEFAULT_DIGITS = 50

Event = Callable[[Any, dict[str, Any]], Any]


def integrate(
    kernel: Kernel,
    initial: Mapping[str, Any],
    t_span: tuple[Any, Any],
    parameters: Mapping[str, Any],
    *,
    digits: int | None = None,
    events: Event | Sequence[Event] = (),
    rtol: float = 1e-10,
    atol: float = 1e-12,
    t_eval: Sequence[Any] | None = None,
    normalize: bool = False,
    exact: bool = True,
) -> Trajectory:
    """Solve z' = F(z; parameters), z(t_span[0]) = initial, where F is the kernel's right-hand side.

    Without `digits`, in double precision by SciPy's DOP853, with the tolerances given for its local errors. With
    `digits`, by Taylor series in multiple precision, with that many correct decimal digits in the final state,
    relative to the size of the state (`numeric.integrators.taylor` states the error bound and its hypothesis,
    `numeric.integrators.pilot` how the growth of errors is measured).
    Kernels of the backends "flint", "gmpy2" and "mpmath" are always integrated by Taylor series, with 50 digits unless
    others are given; the trajectory of one for "flint" is made of numbers with an error estimate, not of enclosures,
    since balls alone do not enclose a solution.
    Kernels of the backend "heyoka" are compiled on first use with given shapes, and integrated by its Taylor method in
    double precision (`numeric.integrators.heyoka_solver` says how it meets the tolerances).

    Parameters
    ----------
    kernel
        From `compile_kernel` or `load_kernel`.
    initial, parameters
        Name -> value, with the shapes and domains of `kernel.state` and `kernel.parameters`. With `digits`, give
        exact values: ints, Fractions, text such as "1/3" or "0.1", or SymPy numbers; a float counts as the binary
        fraction that it is.
    t_span
        Start and end, start < end.
    digits
        Correct decimal digits of the final state, 15 to 10000.
    events
        Functions event(t, state), with state a dict of arrays, whose sign changes are located. As in SciPy, an
        attribute `terminal` (True, or the number of occurrences) stops there, and `direction` (+1 or -1) restricts to
        rising or falling sign changes. A zero at the start is no event. With `digits`, t and the states are mpmath
        numbers, and mpmath works at a sufficient precision while the function runs; terminal ones are also called along
        the low precision runs that measure the growth of errors.
    rtol, atol
        Relative (at least 1e-13) and absolute tolerance, in double precision only.
    t_eval
        Increasing times at which `times` and `states` are wanted; by default those of the integrator's steps.
    normalize
        Scale unit tokens to unit length first. Without it, tokens of other lengths are an error.
    exact
        In double precision, integrate the group that moves all tokens where there is one (`numeric.exact_routes`);
        `trajectory.route` names the kernel that was integrated. False: always the kernel given, which keeps
        cross-ratios to its tolerances only.

    Returns
    -------
    Trajectory
        Blow-up is an outcome (`BlewUp`, with a bracket of its time), not an exception. The trajectory then ends before
        the bracket. With `digits` it ends where a thousandth of the time since the start is left or less, while the
        bracket is far tighter: up to its lower end the solution is known to exist. Where errors far below 10^-digits
        decide how it ends, near a separatrix, or where the runs that measure the error give up, the outcome says that
        it is unconfirmed. All integrators are explicit: very stiff equations end in a `StepLimit`, and DOP853 says that
        it is for stiffness. Unit tokens have unit length to within rounding at all times.

    Raises
    ------
    ValueError
        For inputs that do not fit; the message names the argument, what was wrong and what would be right.

    Examples
    --------
    >>> from numeric.kernel import Argument, Kernel
    >>> growth = Kernel("growth", "numpy", "", (Argument("x", (), "real"),), (), lambda: lambda x: (x * x,), None)
    >>> trajectory = integrate(growth, {"x": 1}, (0, "1/2"), {})
    >>> print(trajectory.outcome, trajectory.final["x"].round(8))
    finished at t = 0.5 2.0
    """
    functions = check_events(events)
    if digits is not None or kernel.backend in ("flint", "gmpy2", "mpmath"):
        digits = check_digits(DEFAULT_DIGITS if digits is None else digits)
        problem = partial(_exact_problem, kernel, initial, parameters, t_span, normalize)
        solution = many_digits.solve(problem, functions, digits)
        assert solution.precision is not None
        with mpmath.workprec(solution.precision):
            times = None if t_eval is None else check_times(t_eval, check_time_span(t_span, exact=True), exact=True)
            return Trajectory(solution, kernel.name, "Taylor series", times)

    rtol, atol = check_tolerances(rtol, atol)
    start, end = check_time_span(t_span)
    times = None if t_eval is None else check_times(t_eval, (start, end))
    if kernel.backend == "heyoka":
        from numeric.integrators import heyoka_solver

        places, vector = flat_inputs(kernel, initial, parameters, normalize)
        if heyoka_solver.serves(kernel, len(vector)):
            compiled = heyoka_solver.Problem(kernel, places, vector, start, end, rtol, atol)
            return Trajectory(heyoka_solver.solve(compiled, functions), kernel.name, "heyoka", times)
    groups = ("initial", kernel.state, initial), ("parameters", kernel.parameters, parameters)
    state, values = check_values(*groups, normalize=normalize)
    layout = Layout(kernel.state, state)
    flat = layout.flatten(state)
    if kernel.backend == "jax":
        from numeric.backends import jax

        kernel = jax.compiled(kernel)
    route = exact_routes.find(kernel, state) if exact else None
    if route is not None:
        steps = exact_routes.steps(route, state, values, start, end, rtol, atol)
    else:
        steps = scipy_steps(flat_rhs(kernel, layout, values), layout, start, end, flat, rtol, atol)
    solution = follow(steps, layout, start, flat, functions, precision=None)
    return Trajectory(solution, route.kernel if route else kernel.name, "DOP853", times)


def _exact_problem(
    kernel: Kernel,
    initial: Mapping[str, Any],
    parameters: Mapping[str, Any],
    t_span: tuple[Any, Any],
    normalize: bool,
) -> Problem:
    """The checked problem, converted at the current working precision."""
    groups = ("initial", kernel.state, initial), ("parameters", kernel.parameters, parameters)
    state, values = check_values(*groups, exact=True, normalize=normalize)
    start, end = check_time_span(t_span, exact=True)
    return Problem(kernel, state, values, start, end)
