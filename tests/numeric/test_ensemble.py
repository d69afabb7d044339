"""Ensembles against closed forms and against their members integrated one by one."""

import copy
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numeric import ensemble as ensemble_module
from numeric import integrate, integrate_ensemble, load_kernel
from numeric.integrators import vectorised
from numeric.integrators.idle import Idle
from numeric.kernel import Argument, Kernel
from numeric.outcome import BlewUp, Finished, StepLimit

#: 100 times the default rtol: what local errors may grow to over the time spans used here.
CLOSE = 1e-8

#: Members take the steps they would take alone, so that only rounding differs (1e-16 a step, some hundred operations
#: in each, and growth along the orbit).
ROUNDING = 1e-11


def circle(rng, leading):
    return {"A": rng.standard_normal((*leading, 2, 2)), "V": rng.standard_normal((*leading, 2, 2)), "beta": 1.0}


def disc(rng, leading):
    return np.sqrt(rng.random(leading)) * np.exp(2j * np.pi * rng.random(leading))


def covariances(rng, leading, d):
    factors = rng.standard_normal((*leading, d, d)) / 2
    return factors @ factors.mT


def gaussian(rng, leading, d):
    B = covariances(rng, leading, d) + 0.2 * np.eye(d)
    matrices = rng.standard_normal((2, *leading, d, d)) / 5 - np.eye(d)
    initial = {"mu": rng.standard_normal((*leading, d)), "Sigma": covariances(rng, leading, d)}
    return initial, {"B": B, "V": matrices[0], "A": matrices[1], "b": rng.standard_normal((*leading, d))}


def tokens(rng, leading, on_sphere=False):
    X = rng.standard_normal((*leading, 5, 3))
    return X / np.linalg.norm(X, axis=-1, keepdims=True) if on_sphere else X


def token_parameters(kernel, rng, leading):
    """Moderate random matrices and vectors for whatever the kernel takes; scalars are 1."""
    parameters = {}
    for argument in kernel.parameters:
        shape = tuple(3 if isinstance(size, str) else size for size in argument.shape)
        parameters[argument.name] = rng.standard_normal((*leading, *shape)) / 2 if shape else 1.0
    return parameters


def case(name, leading, seed=5):
    kernel, rng = load_kernel(name), np.random.default_rng(seed)
    if name == "ott_antonsen":
        return kernel, {"R": disc(rng, leading)}, circle(rng, leading)
    if name == "kuramoto_daido":
        return kernel, {"Xi": rng.uniform(0, 7, (*leading, 5))}, circle(rng, leading)
    if name == "watanabe_strogatz":
        initial = {"alpha": disc(rng, leading) / 2, "eta": rng.standard_normal(leading)}
        return kernel, initial, circle(rng, leading) | {"psi": rng.uniform(0, 7, (*leading, 5))}
    if name.startswith("gaussian_moments"):
        return kernel, *gaussian(rng, leading, int(name[-1]) if name[-1].isdigit() else 2)
    return kernel, {"X": tokens(rng, leading, "sphere" in name)}, token_parameters(kernel, rng, leading)


def test_closed_forms(kernels):
    x0 = np.linspace(0.05, 0.9, 40)
    logistic = integrate_ensemble(kernels.logistic, {"x": x0}, (0, 5), {})
    np.testing.assert_allclose(logistic.final["x"], 1 / (1 + (1 / x0 - 1) * np.exp(-5)), rtol=CLOSE)
    assert logistic.finished.all() and not logistic.blew_up.any()
    z0 = np.exp(1j * np.arange(7))
    rotation = integrate_ensemble(kernels.rotation, {"z": z0}, (0, 3), {})
    assert rotation.final["z"].dtype == complex
    np.testing.assert_allclose(rotation.final["z"], z0 * np.exp(3j), atol=CLOSE)


def test_times(kernels):
    omega, times = np.array([1.0, 2.0, 30.0])[:, None], np.linspace(0, 2, 23)
    initial = {"q": np.array([1.0, 0.0]), "p": np.array([0.0, 1.0])}
    ensemble = integrate_ensemble(kernels.oscillator, initial, (0, 2), {"omega": omega}, t_eval=times)
    assert ensemble["q"].shape == (3, 2, 23)
    np.testing.assert_array_equal(ensemble.times, times)
    # q = q0 cos + p0 sin; errors grow with the 60 radians passed.
    phase = omega[:, :, None] * times
    expected = initial["q"][:, None] * np.cos(phase) + initial["p"][:, None] * np.sin(phase)
    np.testing.assert_allclose(ensemble["q"], expected, atol=CLOSE)
    np.testing.assert_allclose(ensemble["q"][..., -1], ensemble.final["q"], rtol=0, atol=1e-14)
    without = integrate_ensemble(kernels.oscillator, initial, (0, 2), {"omega": omega})
    assert without["q"].shape == (3, 2, 0)
    np.testing.assert_array_equal(without.final["q"], ensemble.final["q"])


def test_a_single_member_and_its_times(kernels):
    ensemble = integrate_ensemble(kernels.matrix, {"X": np.eye(2)}, (0, 2), {"A": [[0, -1], [1, 0]]}, t_eval=[0, 1])
    rotation = [[np.cos(1), -np.sin(1)], [np.sin(1), np.cos(1)]]
    np.testing.assert_allclose(ensemble["X"], [np.eye(2), rotation], atol=CLOSE)
    assert ensemble.outcome() == Finished(2.0)
    assert ensemble.final["X"].shape == (2, 2)


KERNELS = [
    "ott_antonsen", "gaussian_moments", "kuramoto_daido", "watanabe_strogatz", "softmax_tokens", "l2_tokens",
    "linear_tokens_sphere", "softmax_tokens_sphere", "exponential_tokens_sphere",
]  # fmt: skip


@pytest.mark.parametrize("name", KERNELS)
def test_members_are_as_if_integrated_alone(name):
    kernel, initial, parameters = case(name, (3, 4))
    times = [0.0, 0.3, 1.0]
    ensemble = integrate_ensemble(kernel, initial, (0, 1.5), parameters, t_eval=times)
    for index in ((0, 0), (1, 3), (2, 1)):
        own = [
            {key: value[index] if np.ndim(value) else value for key, value in values.items()}
            for values in (initial, parameters)
        ]
        alone = integrate(kernel, own[0], (0, 1.5), own[1], t_eval=times, exact=False)
        assert ensemble.outcome(index) == alone.outcome == Finished(1.5)
        for key, final in alone.final.items():
            scale = np.abs(final).max()
            np.testing.assert_allclose(ensemble.final[key][index], final, rtol=0, atol=ROUNDING * scale)
            np.testing.assert_allclose(ensemble[key][index], alone[key], rtol=0, atol=ROUNDING * scale)


def test_three_dimensional_moments():
    rng = np.random.default_rng(3)
    initial, parameters = gaussian(rng, (4,), 3)
    kernel = load_kernel("gaussian_moments")
    ensemble = integrate_ensemble(kernel, initial, (0, 2), parameters)
    for k in range(4):
        own = [{key: value[k] for key, value in values.items()} for values in (initial, parameters)]
        alone = integrate(kernel, own[0], (0, 2), own[1])
        np.testing.assert_allclose(ensemble.final["Sigma"][k], alone.final["Sigma"], rtol=0, atol=ROUNDING)


def test_leading_axes_broadcast():
    kernel, initial, parameters = case("ott_antonsen", (5, 1))
    single = {"A": parameters["A"][0, 0], "V": parameters["V"][0, 0]}
    beta = np.linspace(0.5, 1.5, 7)
    ensemble = integrate_ensemble(kernel, initial, (0, 2), single | {"beta": beta}, t_eval=[1])
    assert ensemble.final["R"].shape == ensemble.reached.shape == ensemble.finished.shape == (5, 7)
    assert ensemble["R"].shape == (5, 7, 1) and ensemble.bracket.shape == (5, 7, 2)
    full = {key: np.broadcast_to(value, (5, 7, 2, 2)) for key, value in single.items()}
    repeated = integrate_ensemble(
        kernel, {"R": np.repeat(initial["R"], 7, axis=1)}, (0, 2), full | {"beta": np.tile(beta, (5, 1))}
    )
    np.testing.assert_allclose(ensemble.final["R"], repeated.final["R"], rtol=0, atol=ROUNDING)
    # beta only scales time.
    for k in (0, 6):
        alone = integrate(kernel, {"R": initial["R"][2, 0]}, (0, 2 * beta[k]), single | {"beta": 1})
        assert ensemble.final["R"][2, k] == pytest.approx(alone.final["R"], abs=CLOSE)
    # A shorter list of axes is one that lacks the first.
    assert integrate_ensemble(kernel, {"R": [0.1, 0.2]}, (0, 1), single | {"beta": 1}).final["R"].shape == (2,)


@pytest.mark.parametrize("name", ["ott_antonsen", "gaussian_moments", "softmax_tokens"])
def test_the_order_of_members_does_not_matter(name, monkeypatch):
    """To the last bit: also with a pool that members enter at different times, and without the others."""
    count = 150
    kernel, initial, parameters = case(name, (count,))
    order = np.random.default_rng(1).permutation(count)
    straight = integrate_ensemble(kernel, initial, (0, 1), parameters, t_eval=[0.5])
    monkeypatch.setattr(vectorised, "POOL", 64)
    for which in (order, order[:1]):
        own = [
            {key: value[which] if np.ndim(value) else value for key, value in values.items()}
            for values in (initial, parameters)
        ]
        other = integrate_ensemble(kernel, own[0], (0, 1), own[1], t_eval=[0.5])
        for key in initial:
            np.testing.assert_array_equal(other.final[key], straight.final[key][which])
            np.testing.assert_array_equal(other[key], straight[key][which])


@settings(max_examples=15, deadline=None)
@given(
    rates=st.lists(st.floats(-3, 3), min_size=1, max_size=6),
    starts=st.lists(st.floats(-5, 5), min_size=1, max_size=4),
    middle=st.floats(0.2, 1.8),
)
def test_flows_compose(kernels, rates, starts, middle):
    rate, x0 = np.array(rates)[:, None], np.array(starts)
    first = integrate_ensemble(kernels.exponential, {"x": x0}, (0, middle), {"rate": rate})
    second = integrate_ensemble(kernels.exponential, first.final, (middle, 2), {"rate": rate})
    np.testing.assert_allclose(second.final["x"], x0 * np.exp(2 * rate), rtol=CLOSE, atol=CLOSE)


def test_blow_up_beside_others():
    """d = 1, A = 0: sigma' = 2 v b sigma^2 blows up at 1/(2 v b sigma0) if that is positive."""
    kernel = load_kernel("gaussian_moments")
    sigma = np.array([0.5, 2.0, 1.0, 1.0, 3.0])
    b = np.array([0.2, 1.0, -1.0, 4.0, 0.0])
    t_star = np.array([5.0, 0.25, np.inf, 0.125, np.inf])
    times = np.array([0.0, 0.1, 0.2, 0.4, 1.0])
    ensemble = integrate_ensemble(
        kernel,
        {"mu": np.zeros((5, 1)), "Sigma": sigma[:, None, None]},
        (0, 1),
        {"B": b[:, None, None], "V": [[1.0]], "A": [[0.0]], "b": [0.0]},
        t_eval=times,
    )
    assert ensemble.blew_up.tolist() == (t_star < 1).tolist()
    assert ensemble.finished.tolist() == (t_star > 1).tolist()
    expected = sigma[:, None] / (1 - 2 * (b * sigma)[:, None] * times)
    for k in range(5):
        assert np.isnan(ensemble.bracket[k]).all() == (t_star[k] > 1)
        outcome = ensemble.outcome(k)
        if t_star[k] > 1:
            assert outcome == Finished(1.0)
        else:
            assert isinstance(outcome, BlewUp)
            assert outcome.bracket[0] < t_star[k] < outcome.bracket[1]
            # A hundred times the coarser tolerance.
            assert outcome.bracket[1] - outcome.bracket[0] < 1e-6 * t_star[k]
            assert outcome.state == "Sigma" and outcome.exponent == 1
            # sigma (t* - t) = 1/(2 v b)
            assert outcome.rate == pytest.approx(1 / (2 * b[k]), rel=1e-3)
            assert ensemble.reached[k] == outcome.bracket[0]
        reached = times <= ensemble.reached[k]
        assert reached.tolist() == (times < t_star[k]).tolist()
        np.testing.assert_allclose(ensemble["Sigma"][k, reached, 0, 0], expected[k, reached], rtol=CLOSE)
        assert np.isnan(ensemble["Sigma"][k, ~reached]).all()
    assert np.isfinite(ensemble.final["Sigma"]).all()
    assert "of 5 members 3 finished, 2 blew up, 0 were given up" in repr(ensemble)


def test_outcomes_are_those_of_single_members(kernels):
    x0 = np.array([0.3, -1.0, 5.0])
    ensemble = integrate_ensemble(kernels.cube, {"x": x0}, (0, 10), {})
    for k, x in enumerate(x0):
        ours, alone = ensemble.outcome(k), integrate(kernels.cube, {"x": x}, (0, 10), {}).outcome
        assert (ours.state, ours.exponent) == (alone.state, alone.exponent)
        np.testing.assert_allclose(ours.bracket, alone.bracket, rtol=CLOSE)
        assert ours.rate == pytest.approx(alone.rate, rel=1e-6)
    steep = integrate_ensemble(kernels.steep, {"x": [0.0, 1.0]}, (0, 10), {}).outcome(0)
    assert steep.bracket[0] < 1 < steep.bracket[1]
    assert "not recognised as a power" in str(steep)


def test_members_that_are_given_up(kernels, monkeypatch):
    # x = sqrt(x0^2 - 2 t)
    ensemble = integrate_ensemble(kernels.root, {"x": [1.0, 0.0, 3.0]}, (0, 1), {})
    assert ensemble.finished.tolist() == [False, False, True] and not ensemble.blew_up.any()
    assert "the right-hand side is singular there" in str(ensemble.outcome(0))
    # There the step control loses digits as the state vanishes.
    assert ensemble.reached[0] == pytest.approx(0.5, abs=1e-6)
    assert ensemble.outcome(1) == StepLimit(0.0, "the right-hand side is not finite at the initial state")
    assert ensemble.final["x"][1] == 0.0
    assert ensemble.final["x"][2] == pytest.approx(np.sqrt(7), rel=CLOSE)
    overflow = integrate_ensemble(kernels.exponential, {"x": 1.0}, (0, 2000), {"rate": [1.0, -1.0]})
    assert "too large for doubles" in str(overflow.outcome(0)) and overflow.finished[1]
    assert np.isfinite(overflow.final["x"]).all()
    monkeypatch.setattr(vectorised, "MAX_STEPS", 10)
    limited = integrate_ensemble(kernels.oscillator, {"q": 1, "p": 0}, (0, 10), {"omega": [0.0, 9.0]})
    assert limited.finished.tolist() == [True, False]
    assert isinstance(limited.outcome(1), StepLimit) and 0 < limited.reached[1] < 10


def test_stiffness_is_told_from_accuracy(kernels, monkeypatch):
    """X' = A X with eigenvalues -1 and -rate; a rotation, whose steps accuracy bounds, is not called stiff."""
    monkeypatch.setattr(vectorised, "MAX_STEPS", 2500)
    monkeypatch.setattr(vectorised, "STIFFNESS_EVERY", 100)
    rates = [[[-1, 0], [0, -1e6]], [[-1, 0], [0, -10]], [[0, 3e3], [-3e3, 0]]]
    ensemble = integrate_ensemble(kernels.matrix, {"X": np.ones((2, 2))}, (0, 20), {"A": rates})
    assert ensemble.finished.tolist() == [False, True, False]
    assert "stiff" in str(ensemble.outcome(0)) and ensemble.reached[0] < 0.1
    assert isinstance(ensemble.outcome(2), StepLimit) and "stiff" not in str(ensemble.outcome(2))


def inverse_of_sum(M):
    """x' = tr (M + x)^-1, and (x + m)' = 2/(x + m) where M = m I."""
    return lambda x: (np.linalg.inv(M + x[..., None, None] * np.eye(2)).trace(axis1=-2, axis2=-1),)


def inverse_of_parameter(M):
    """x' = x tr M^-1, whose inverse is taken before there is a state."""
    trace = np.linalg.inv(M).trace(axis1=-2, axis2=-1)
    return lambda x: (x * trace,)


@pytest.mark.parametrize(
    ("field", "start", "ends"),
    [
        (inverse_of_sum, 0.0, [np.sqrt(5) - 1, np.sqrt(8) - 2]),
        (inverse_of_parameter, 1.0, [np.exp(2), np.exp(1)]),
    ],
)
def test_a_singular_matrix_disturbs_nobody(field, start, ends):
    """NumPy's inv refuses a whole stack for one singular matrix in it."""
    x, matrix = Argument("x", (), "real"), Argument("M", (2, 2), "matrix")
    kernel = Kernel("inverse", "numpy", "", (x,), (matrix,), field, None)
    M = np.stack([np.eye(2), np.zeros((2, 2)), 2 * np.eye(2)])
    ensemble = integrate_ensemble(kernel, {"x": start}, (0, 1), {"M": M})
    assert ensemble.finished.tolist() == [True, False, True]
    np.testing.assert_allclose(ensemble.final["x"][[0, 2]], ends, rtol=CLOSE)
    assert "not finite at the initial state" in str(ensemble.outcome(1))
    assert "not finite at the initial state" in str(integrate(kernel, {"x": start}, (0, 1), {"M": M[1]}).outcome)


def test_a_pool_makes_its_field_once():
    """Twelve stages of a step and more share it; with parameters of their own it is made again when members change."""
    calls = {"field": 0, "rhs": 0}

    def field(rate):
        calls["field"] += 1

        def rhs(x):
            calls["rhs"] += 1
            return (rate * x,)

        return rhs

    x, rate = Argument("x", (), "real"), Argument("rate", (), "real")
    rates = np.linspace(-2, 2, 50)
    ensemble = integrate_ensemble(Kernel("counted", "numpy", "", (x,), (rate,), field, None),
                                  {"x": 1.0}, (0, 1), {"rate": rates})  # fmt: skip
    np.testing.assert_allclose(ensemble.final["x"], np.exp(rates), rtol=CLOSE)
    assert 10 * calls["field"] <= calls["rhs"]


def test_inputs_are_not_mutated_and_nothing_leaks(kernels):
    initial, parameters, times = {"x": np.array([1.0, 4.0])}, {}, np.array([0.0, 0.5])
    before = copy.deepcopy((initial, times))
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        expected = np.geterr()
        ensemble = integrate_ensemble(kernels.square, initial, (0, 0.5), parameters, t_eval=times)
        ensemble.outcome(1)
        assert np.geterr() == expected
    ensemble.final["x"][:] = 7
    ensemble["x"][:] = 7
    np.testing.assert_array_equal(initial["x"], before[0]["x"])
    np.testing.assert_array_equal(times, before[1])


def test_memory(kernels, monkeypatch):
    monkeypatch.setattr(
        ensemble_module.psutil, "virtual_memory", lambda: SimpleNamespace(available=21_000_000_000), raising=True
    )
    initial, parameters = {"x": np.ones((100_000, 1))}, {"rate": np.ones(10_000)}
    with pytest.raises(ValueError, match=(
        r"^initial, parameters: 1e\+09 members with 200 output times need about 3.32 TB, 21 GB are available; "
        r"integrate at most 6e\+06 members at a time or ask for fewer times$"
    )):  # fmt: skip
        integrate_ensemble(kernels.exponential, initial, (0, 1), parameters, t_eval=np.linspace(0, 1, 200))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"initial": {"R": np.zeros(3)}, "parameters": {"beta": np.ones(4)}}, r"^R \(3,\), beta \(4,\): these batch"),
        ({"initial": {"R": [[0, 0.5], [2, 0]]}}, r"^R: has modulus 2 at index \(1, 0\); expected a complex"),
        ({"initial": {"R": [0, np.nan]}}, r"^R: has entries that are infinite or not a number at index \(1,\)"),
        ({"initial": {"R": np.zeros((2, 0))}}, r"^R: has shape \(2, 0\); expected"),
        ({"parameters": {"beta": "quick"}}, "^beta: entry 'quick' is not a real number"),
        ({"t_span": (1, 0)}, "^t_span: .*not increasing"),
        ({"rtol": 0}, "^rtol: 0 is no usable tolerance"),
        ({"t_eval": [0, 2]}, "^t_eval: some times lie outside"),
        ({"kernel": load_kernel("ott_antonsen", "gmpy2")}, "^kernel: its backend is 'gmpy2'; expected 'numpy'"),
    ],
)  # fmt: skip
def test_bad_inputs(change, message):
    arguments = {"kernel": load_kernel("ott_antonsen"), "initial": {"R": [0.1, 0.2]}, "t_span": (0, 1)}
    parameters = {"A": np.eye(2), "V": np.eye(2), "beta": 1} | change.pop("parameters", {})
    with pytest.raises(ValueError, match=message):
        integrate_ensemble(**arguments | change, parameters=parameters)


def test_members_outside_their_domain_are_named():
    kernel = load_kernel("gaussian_moments")
    initial, parameters = gaussian(np.random.default_rng(0), (2, 3), 2)
    for spoil, message in (
        (
            lambda S: S.__setitem__((1, 2), -S[1, 2]),
            r"^Sigma: has the negative eigenvalue .* at index \(1, 2\); expected",
        ),
        # Small against other members, but not against its own entries.
        (lambda S: S.__setitem__((0, 1), [[1e-9, 1e-10], [0, 1e-9]]), r"^Sigma: is not symmetric .* at index \(0, 1\)"),
    ):
        bad = copy.deepcopy(initial)
        spoil(bad["Sigma"])
        with pytest.raises(ValueError, match=message):
            integrate_ensemble(kernel, bad, (0, 1), parameters)
    sphere, bad, more = case("linear_tokens_sphere", (4,))
    bad["X"][2, 1] *= 2
    with pytest.raises(ValueError, match=r"^X: has a token of length 2 at index \(2,\); expected"):
        integrate_ensemble(sphere, bad, (0, 1), more)


@pytest.mark.parametrize("index", [(), 0, (1, 2, 3)])
def test_an_index_that_names_no_member(kernels, index):
    ensemble = integrate_ensemble(kernels.logistic, {"x": np.full((2, 3), 0.5)}, (0, 1), {})
    with pytest.raises(ValueError, match="does not name a member; expected 2 integers"):
        ensemble.outcome(index)


@pytest.fixture(scope="module")
def batches():
    pytest.importorskip("heyoka")
    from numeric.integrators import heyoka_batch

    return heyoka_batch


@pytest.mark.parametrize("name", ["ott_antonsen", "gaussian_moments", "watanabe_strogatz", "linear_tokens_sphere"])
def test_heyoka_agrees(batches, name):
    # One more than whole batches, and parameters of their own.
    kernel, initial, parameters = case(name, (3 * batches.LANES + 1,))
    times = [0.0, 0.3, 1.0]
    expected = integrate_ensemble(kernel, initial, (0, 1.5), parameters, t_eval=times)
    ensemble = integrate_ensemble(load_kernel(name, "heyoka"), initial, (0, 1.5), parameters, t_eval=times)
    assert ensemble.finished.all() and ensemble.outcome(3) == Finished(1.5)
    for key in initial:
        np.testing.assert_allclose(ensemble.final[key], expected.final[key], rtol=0, atol=CLOSE)
        np.testing.assert_allclose(ensemble[key], expected[key], rtol=0, atol=CLOSE)
    without = integrate_ensemble(load_kernel(name, "heyoka"), initial, (0, 1.5), parameters)
    for key in initial:
        np.testing.assert_allclose(without.final[key], expected.final[key], rtol=0, atol=CLOSE)


@pytest.mark.parametrize("t_eval", [[], [0.05, 0.2, 0.9]])
def test_blow_up_with_heyoka(batches, t_eval):
    """sigma' = 2 b sigma^2 from 1, in the same batches as members that finish, one task after another."""
    kernel = load_kernel("gaussian_moments", "heyoka")
    b = np.linspace(-2, 4, 4 * batches.LANES)
    initial = {"mu": [0.0], "Sigma": [[1.0]]}
    parameters = {"B": b[:, None, None], "V": [[1.0]], "A": [[0.0]], "b": [0.0]}
    ensemble = integrate_ensemble(kernel, initial, (0, 1), parameters, t_eval=t_eval)
    assert ensemble.blew_up.tolist() == (b > 0.5).tolist()
    assert ensemble.finished.tolist() == (b < 0.5).tolist()
    np.testing.assert_allclose(ensemble.final["Sigma"][b < 0.5, 0, 0], 1 / (1 - 2 * b[b < 0.5]), rtol=CLOSE)
    t_star = 1 / (2 * b[b > 0.5])
    low, high = ensemble.bracket[b > 0.5].T
    assert (low < t_star).all() and (t_star < high).all()
    assert np.isfinite(ensemble.final["Sigma"]).all()
    for k, time in enumerate(t_eval):
        exists = 2 * b * time < 1
        np.testing.assert_allclose(ensemble["Sigma"][exists, k, 0, 0], 1 / (1 - 2 * b[exists] * time), rtol=CLOSE)
        assert np.isnan(ensemble["Sigma"][~exists, k]).all()
    assert ensemble.outcome(len(b) - 1).exponent == 1


def test_heyoka_beyond_its_steps(batches, monkeypatch):
    monkeypatch.setattr(batches, "MAX_STEPS", 3)
    monkeypatch.setattr(batches, "POOL", 1)
    kernel, initial, parameters = case("ott_antonsen", (30,))
    ensemble = integrate_ensemble(load_kernel("ott_antonsen", "heyoka"), initial, (0, 2), parameters)
    expected = integrate_ensemble(kernel, initial, (0, 2), parameters)
    np.testing.assert_allclose(ensemble.final["R"], expected.final["R"], rtol=0, atol=CLOSE)


@pytest.mark.parametrize("name", ["ott_antonsen", "gaussian_moments"])
def test_heyoka_against_twenty_digits(batches, name):
    kernel, initial, parameters = case(name, (3, 7))
    times = [0.0, 0.7, 1.5]
    ensemble = integrate_ensemble(load_kernel(name, "heyoka"), initial, (0, 1.5), parameters, t_eval=times)
    for index in ((0, 0), (1, 3), (2, 6)):
        own = [
            {key: value[index] if np.ndim(value) else value for key, value in values.items()}
            for values in (initial, parameters)
        ]
        exact = integrate(kernel, own[0], (0, 1.5), own[1], digits=20, t_eval=times)
        assert ensemble.outcome(index) == Finished(1.5)
        for key, final in exact.final.items():
            np.testing.assert_allclose(ensemble.final[key][index], np.array(final, dtype=complex), rtol=0, atol=CLOSE)
            np.testing.assert_allclose(ensemble[key][index], np.array(exact[key], dtype=complex), rtol=0, atol=CLOSE)


@pytest.mark.parametrize("name", ["ott_antonsen", "watanabe_strogatz"])  # straight-line code, and compact
def test_the_order_of_members_does_not_matter_to_heyoka(batches, name, monkeypatch):
    """To the last bit: also when few are under way at a time, and without the others."""
    count, times = 5 * batches.LANES + 3, np.linspace(0, 1.5, 100)
    _, initial, parameters = case(name, (count,))
    kernel, order = load_kernel(name, "heyoka"), np.random.default_rng(1).permutation(count)

    def run(which):
        own = [
            {key: value[which] if np.ndim(value) else value for key, value in values.items()}
            for values in (initial, parameters)
        ]
        ensemble = integrate_ensemble(kernel, own[0], (0, 1.5), own[1], t_eval=times)
        assert ensemble.finished.all()
        return [array for values in (ensemble.final, ensemble.states) for array in values.values()]

    together = run(np.arange(count))
    variants = [order, np.arange(7), [count - 1]]
    for found, which in zip(map(run, variants), variants, strict=True):
        for one, all_of_them in zip(found, together, strict=True):
            np.testing.assert_array_equal(one, all_of_them[which])
    monkeypatch.setattr(batches, "POOL", 1)
    for one, all_of_them in zip(run(order), together, strict=True):
        np.testing.assert_array_equal(one, all_of_them[order])


def test_leading_axes_broadcast_with_heyoka(batches):
    _, initial, parameters = case("ott_antonsen", (5, 1))
    parameters["beta"] = np.linspace(0.5, 1.5, 7)
    numpy, heyoka = (
        integrate_ensemble(load_kernel("ott_antonsen", backend), initial, (-1, 1), parameters, t_eval=[-1, 0, 1])
        for backend in ("numpy", "heyoka")
    )
    assert heyoka["R"].shape == (5, 7, 3) and heyoka.finished.shape == (5, 7)
    np.testing.assert_allclose(heyoka["R"], numpy["R"], rtol=0, atol=CLOSE)
    np.testing.assert_allclose(heyoka.final["R"], numpy.final["R"], rtol=0, atol=CLOSE)
    np.testing.assert_allclose(heyoka["R"][..., -1], heyoka.final["R"], rtol=0, atol=1e-14)  # rounding of one step
    np.testing.assert_array_equal(heyoka["R"][..., 0], np.broadcast_to(initial["R"], (5, 7)))


def test_one_compilation_serves_a_sweep(batches, monkeypatch):
    compiled, compile_step = [], batches._compile

    def count(*arguments):
        compiled.append(arguments)
        return compile_step(*arguments)

    monkeypatch.setattr(batches, "_compile", count)
    monkeypatch.setattr(batches, "idle", Idle(kept=16))
    for seed, size in enumerate((5, 40, 1)):
        _, initial, parameters = case("ott_antonsen", (size,), seed)
        for end in (0.5, 1.0):
            integrate_ensemble(load_kernel("ott_antonsen", "heyoka"), initial, (0, end), parameters)
    assert len(compiled) == 1
    # Times within steps need other code, and so does another tolerance.
    integrate_ensemble(load_kernel("ott_antonsen", "heyoka"), initial, (0, 1), parameters, t_eval=[0.5])
    integrate_ensemble(load_kernel("ott_antonsen", "heyoka"), initial, (0, 1), parameters, rtol=1e-9, atol=1e-9)
    assert len(compiled) == 3


def test_equilibria_and_undefined_starts_with_heyoka(batches):
    """x' = x log x stays at 1, where all Taylor coefficients vanish, and is undefined below 0."""

    def series(order, x, arithmetic):
        x, log, product = [x], [arithmetic.log(x)], []
        for k in range(order + 1):
            if k:
                x.append(product[k - 1] / k)
                inner = sum((j * log[j] * x[k - j] for j in range(1, k)), start=0 * x[0]) / k
                log.append((x[k] - inner) / x[0])
            product.append(arithmetic.convolve(x, log, k))
        return (x,)

    x = Argument("x", (), "real")
    kernel = Kernel("x log x", "heyoka", "", (x,), (), lambda: lambda x: (x * np.log(x),), series)
    ensemble = integrate_ensemble(kernel, {"x": [1.0, -1.0, 0.5, 2.0]}, (0, 1), {}, t_eval=[0.5])
    assert ensemble.finished.tolist() == [True, False, True, True]
    x = np.array([1.0, 0.5, 2.0])
    np.testing.assert_allclose(ensemble.final["x"][[0, 2, 3]], x**np.e, rtol=CLOSE)  # log x grows like e^t
    np.testing.assert_allclose(ensemble["x"][[0, 2, 3], 0], x ** np.exp(0.5), rtol=CLOSE)
    assert "not finite at the initial state" in str(ensemble.outcome(1))
