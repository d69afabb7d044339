"""heyoka's expressions against NumPy, and its orbits against closed forms and SciPy."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from numeric import integrate, integrate_ensemble, load_kernel
from numeric.integrators.idle import Idle
from numeric.layout import Layout
from numeric.outcome import BlewUp, Finished, StepLimit, StoppedByEvent
from symbolic import canonical_reductions

hy = pytest.importorskip("heyoka")

from numeric.backends.heyoka import LARGEST, system  # noqa: E402
from numeric.integrators import heyoka_solver  # noqa: E402

#: 100 times the tolerance of a step, 1e-12 by default: what errors may grow to over the time spans used here.
CLOSE = 1e-10

#: 100 times the default rtol of DOP853, which is the less accurate one.
CLOSE_TO_SCIPY = 1e-8

CIRCLE = {"A": [[1, 1 / 3], [-1 / 4, 1 / 2]], "V": [[1 / 2, -1], [1, 1 / 3]], "beta": 1.0}

SIZES = {"n": 3, "d": 2, "r": 1}


def random_values(kernel, rng):
    """Any values near those of the domain; positive ones where roots and logarithms need it."""
    values = {}
    for argument in kernel.state + kernel.parameters:
        shape = tuple(SIZES.get(size, size) for size in argument.shape)
        value = rng.normal(size=shape)
        if argument.domain in ("complex", "disc"):
            value = (value + 1j * rng.normal(size=shape)) / 4
        elif argument.domain == "covariance":
            value = value @ value.T + np.eye(len(value))
        elif argument.domain == "positive":
            value = np.exp(value)
        values[argument.name] = value
    return values


WITH_SERIES = [name for name in canonical_reductions() if load_kernel(name).series is not None]


@pytest.mark.parametrize("name", sorted(canonical_reductions().keys() - set(WITH_SERIES)))
def test_auto_leaves_kernels_without_a_recurrence_to_numpy(name):
    assert load_kernel(name, "auto").backend == "numpy"


@pytest.mark.parametrize("name", WITH_SERIES)
def test_expressions_are_those_of_numpy(name):
    kernel = load_kernel(name)
    rng = np.random.default_rng(3)
    values = random_values(kernel, rng)
    pairs = system(kernel, {name: np.shape(value) for name, value in values.items()})
    variables, rates = zip(*pairs, strict=True)
    compiled = hy.cfunc(list(rates), vars=list(variables), compact_mode=True)
    for _ in range(3):
        values = random_values(kernel, rng)
        state = Layout(kernel.state, values)
        parameters = Layout(kernel.parameters, values).flatten(values)
        expected = kernel.rhs(*values.values())
        expected = state.flatten(dict(zip(state.blocks, expected, strict=True)))
        found = compiled(state.flatten(values), pars=parameters)
        # Sums and products in another order, and an inverse of condition number 1e3 at most.
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11 * np.abs(expected).max())


@pytest.fixture
def compiled(kernels):
    """The systems of `kernels` for heyoka."""
    return lambda name: replace(getattr(kernels, name), backend="heyoka")


@pytest.fixture
def empty_cache(monkeypatch):
    monkeypatch.setattr(heyoka_solver, "idle", Idle(kept=64))
    return heyoka_solver.idle.codes


def moments(sigma, b, backend="heyoka", **options):
    size = len(sigma)
    parameters = {"A": np.zeros((size, size)), "B": b, "V": np.eye(size), "b": np.zeros(size)}
    kernel = load_kernel("gaussian_moments", backend)
    return integrate(kernel, {"mu": np.zeros(size), "Sigma": sigma}, (0, 1), parameters, **options)


def orbit(backend="heyoka", t_span=(0, 5), start=0.2 + 0.1j, **options):
    parameters = CIRCLE | options.pop("parameters", {})
    return integrate(load_kernel("ott_antonsen", backend), {"R": start}, t_span, parameters, **options)


@pytest.mark.parametrize("beta", [0.5, 1.0, 3.0])
def test_order_parameter_for_unit_matrices(beta):
    """A = V = I: R' = beta R (1 - |R|^2)/2, so 1/|R|^2 - 1 falls like e^(-beta t) and the phase stays."""
    start, times = 0.2 + 0.1j, np.linspace(0, 4, 9)
    unit = {"A": np.eye(2), "V": np.eye(2), "beta": beta}
    trajectory = orbit(t_span=(0, 4), start=start, parameters=unit, t_eval=times)
    modulus = 1 / np.sqrt(1 + (1 / abs(start) ** 2 - 1) * np.exp(-beta * times))
    np.testing.assert_allclose(trajectory["R"], modulus * start / abs(start), rtol=CLOSE)
    assert trajectory["R"].dtype == complex


def test_riccati_in_one_dimension():
    """S' = 2 b S^2: S = 1/(1/S0 - 2 b t)."""
    trajectory = moments([[0.5]], [[0.75]])
    assert trajectory.final["Sigma"] == pytest.approx(2.0, rel=CLOSE)
    expected = 1 / (2 - 1.5 * trajectory.times)
    np.testing.assert_allclose(trajectory["Sigma"][:, 0, 0], expected, rtol=CLOSE)
    middle = trajectory.at([0.123, 0.9])["Sigma"][:, 0, 0]
    np.testing.assert_allclose(middle, 1 / (2 - 1.5 * np.array([0.123, 0.9])), rtol=CLOSE)


def test_beta_scales_time():
    slow, fast = orbit(), orbit(t_span=(0, 2), parameters={"beta": 2.5})
    assert fast.final["R"] == pytest.approx(slow.final["R"], rel=CLOSE)


def test_negative_times(compiled):
    trajectory = integrate(compiled("oscillator"), {"q": 1, "p": 0}, (-3, -1), {"omega": 2}, t_eval=[-3, -2, -1])
    np.testing.assert_allclose(trajectory["q"], np.cos([0, 2, 4]), atol=CLOSE)


def test_dense_output_and_times():
    trajectory, other = orbit(), orbit("numpy")
    assert trajectory.outcome == Finished(5.0)
    assert trajectory.times[0] == 0 and trajectory.times[-1] == 5
    assert trajectory.final["R"] == trajectory["R"][-1] == trajectory.at(5)["R"]
    times = np.linspace(0, 5, 41)
    np.testing.assert_allclose(trajectory.at(times)["R"], other.at(times)["R"], rtol=CLOSE_TO_SCIPY)
    for wanted in (times, times[1:], times[:-1], times[3:8], [0], [5], []):
        found = orbit(t_eval=wanted)
        assert found.times.tolist() == list(wanted)
        np.testing.assert_allclose(found["R"], trajectory.at(list(wanted))["R"], rtol=CLOSE)
        assert found.final["R"] == trajectory.final["R"]


def test_events():
    def real_part(t, state):
        return state["R"].real

    def stop(t, state):
        return state["R"].imag - 0.4

    stop.terminal = True
    found, expected = (orbit(backend, events=[real_part, stop]) for backend in ("heyoka", "numpy"))
    assert isinstance(found.outcome, StoppedByEvent) and found.outcome.event == 1
    assert [len(times) for times in found.events] == [len(times) for times in expected.events]
    for ours, theirs in zip(found.events, expected.events, strict=True):
        for (time, state), (other, other_state) in zip(ours, theirs, strict=True):
            assert time == pytest.approx(other, rel=CLOSE_TO_SCIPY)
            assert state["R"] == pytest.approx(other_state["R"], rel=CLOSE_TO_SCIPY)


def test_blow_up():
    """Sigma = (1 - 2 t B)^-1 with B = diag(1, 2): the second entry is 1/(1 - 4 t)."""
    trajectory = moments(np.eye(2), np.diag([1.0, 2.0]), t_eval=[0.1, 0.2, 0.3])
    outcome = trajectory.outcome
    assert isinstance(outcome, BlewUp) and outcome.state == "Sigma"
    low, high = outcome.bracket
    assert low < 0.25 < high
    assert high - low < 1e-9  # the default rtol on either side, and a margin
    assert outcome.exponent == 1
    assert outcome.rate == pytest.approx(0.25, rel=1e-3)
    assert trajectory.times.tolist() == [0.1, 0.2]
    np.testing.assert_allclose(trajectory["Sigma"][:, 1, 1], [1 / 0.6, 1 / 0.2], rtol=CLOSE)
    assert moments(np.eye(2), np.diag([1.0, 2.0])).times[-1] <= low


@pytest.mark.parametrize("rtol", [1e-3, 1e-6, 1e-9, 1e-13])
@pytest.mark.parametrize("x0", [0.3, 1.0, 5.0])
def test_blow_up_is_bracketed_at_any_tolerance(compiled, x0, rtol):
    outcome = integrate(compiled("square"), {"x": x0}, (0, 10), {}, rtol=rtol, atol=rtol).outcome
    assert isinstance(outcome, BlewUp)
    assert outcome.bracket[0] < 1 / x0 < outcome.bracket[1]
    # A bracket as wide as 1e-3 leaves no steps clear of the error of t* to read an exponent from.
    assert outcome.exponent == (1 if rtol < 1e-3 else None)


def test_blow_up_with_another_exponent(compiled):
    outcome = integrate(compiled("cube"), {"x": -1.0}, (0, 10), {}).outcome
    assert isinstance(outcome, BlewUp) and outcome.exponent == Fraction(1, 2)
    assert outcome.bracket[0] < 0.5 < outcome.bracket[1]
    steep = integrate(compiled("steep"), {"x": 0.0}, (0, 10), {}).outcome
    assert isinstance(steep, BlewUp) and steep.exponent is None
    assert steep.bracket[0] < 1 < steep.bracket[1]


def test_other_failures(compiled, monkeypatch):
    singular = integrate(compiled("root"), {"x": 1.0}, (0, 10), {}).outcome
    assert isinstance(singular, StepLimit) and "singular there" in str(singular)
    assert singular.time == pytest.approx(0.5, abs=1e-6)  # x = sqrt(1 - 2 t)
    large = integrate(compiled("exponential"), {"x": 1.0}, (0, 2000), {"rate": 1.0}).outcome
    assert isinstance(large, StepLimit) and "too large for doubles" in str(large)
    undefined = integrate(compiled("root"), {"x": 0.0}, (0, 1), {})
    assert "not finite at the initial state" in str(undefined.outcome)
    assert undefined.times.tolist() == [0.0]
    monkeypatch.setattr(heyoka_solver, "MAX_STEPS", 3)
    long = integrate(compiled("oscillator"), {"q": 1, "p": 0}, (0, 1000), {"omega": 1}).outcome
    assert isinstance(long, StepLimit) and "not reached in 3 steps" in str(long)


def test_a_sweep_compiles_once(empty_cache):
    for beta in np.linspace(0.5, 2, 20):
        trajectory = orbit(parameters={"beta": beta})
        assert trajectory.at(1.0)
    assert [len(integrators) for integrators in empty_cache.values()] == [1]
    orbit(rtol=1e-6, atol=1e-6)
    assert len(empty_cache) == 2


def test_the_cache_is_bounded(empty_cache, monkeypatch):
    monkeypatch.setattr(heyoka_solver.idle, "kept", 2)
    for exponent in range(6, 10):
        orbit(rtol=10.0**-exponent, atol=10.0**-exponent)
    assert len(empty_cache) == 2


def test_an_event_may_integrate_the_same_kernel():
    inner = []

    def event(t, state):
        inner.append(orbit().final["R"])
        return 1.0

    assert orbit(events=event).final["R"] == orbit().final["R"]
    assert set(inner) == {orbit().final["R"]}


def test_threads_do_not_disturb_each_other():
    starts = [0.01 * k for k in range(40)]
    expected = [orbit(start=start).final["R"] for start in starts]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda start: orbit(start=start).final["R"], starts)) == expected


def test_digits_are_those_of_the_taylor_integrator():
    """x' = beta R (1 - |R|^2)/2 again, to 30 digits."""
    unit = {"A": [[1, 0], [0, 1]], "V": [[1, 0], [0, 1]], "beta": 1}
    trajectory = orbit(t_span=(0, 2), start="1/2", parameters=unit, digits=30)
    with mpmath.workdps(40):
        assert abs(trajectory.final["R"] - 1 / mpmath.sqrt(1 + 3 * mpmath.exp(-2))) < mpmath.mpf(10) ** -30


def test_inputs_are_not_mutated_and_results_are_the_callers():
    sigma = np.eye(1)
    trajectory = moments(sigma, [[0.25]])
    end = trajectory.final["Sigma"].copy()
    for states in (trajectory.final, trajectory.states, trajectory.at(1.0), trajectory.at(0.0)):
        states["Sigma"][:] = 7
    np.testing.assert_array_equal(trajectory.at(1.0)["Sigma"], end)
    np.testing.assert_array_equal(sigma, np.eye(1))


def test_large_arrays_are_refused():
    size = 12
    with pytest.raises(ValueError, match=rf"^backend: .* have 600 entries; expected at most {LARGEST}.*'numpy'"):
        moments(np.eye(size), np.eye(size))


def test_large_arrays_are_integrated_by_numpy_where_that_was_left_open():
    """Sigma' = 2 Sigma^2 from I/4: I/(4 - 2 t)."""
    size = 12
    initial = {"mu": np.zeros(size), "Sigma": np.eye(size) / 4}
    parameters = {"A": np.zeros((size, size)), "B": np.eye(size), "V": np.eye(size), "b": np.zeros(size)}
    kernel = load_kernel("gaussian_moments", "auto")
    assert kernel.backend == "heyoka"
    for function in (integrate, integrate_ensemble):
        found = function(kernel, initial, (0, 1), parameters)
        assert found.method == "DOP853"
        np.testing.assert_allclose(found.final["Sigma"], np.eye(size) / 2, atol=1e-9)
        small = {
            name: value[:1] if value.ndim == 1 else value[:1, :1] for name, value in (initial | parameters).items()
        }
        states, others = ({name: small[name] for name in names} for names in (initial, parameters))
        assert function(kernel, states, (0, 1), others).method == "heyoka"
