"""Small systems with solutions in closed form, typed by hand: none of them is an equation that `symbolic` derives."""

from types import SimpleNamespace

import numpy as np
import pytest

from numeric.kernel import Argument, Kernel


def scalar(name: str) -> Argument:
    return Argument(name, (), "real")


def square_series(order, x0, *, arithmetic):
    x = [x0]
    for k in range(order):
        x.append(arithmetic.convolve(x, x, k) / (k + 1))
    return (x,)


def cube_series(order, x0, *, arithmetic):
    x, y = [x0], []
    for k in range(order):
        y.append(arithmetic.convolve(x, x, k))
        x.append(arithmetic.convolve(x, y, k) / (k + 1))
    return (x,)


def exponential_series(order, x0, rate, *, arithmetic):
    x = [x0]
    for k in range(order):
        x.append(rate * x[k] / (k + 1))
    return (x,)


def logistic_series(order, x0, *, arithmetic):
    x = [x0]
    for k in range(order):
        x.append((x[k] - arithmetic.convolve(x, x, k)) / (k + 1))
    return (x,)


def riccati_series(order, s0, a, b, *, arithmetic):
    s = [s0]
    for k in range(order):
        s.append((2 * a * s[k] + 2 * b * arithmetic.convolve(s, s, k)) / (k + 1))
    return (s,)


def oscillator_series(order, q0, p0, omega, *, arithmetic):
    q, p = [q0], [p0]
    for k in range(order):
        q.append(omega * p[k] / (k + 1))
        p.append(-omega * q[k] / (k + 1))
    return q, p


def saddle_series(order, q0, p0, *, arithmetic):
    q, p = [q0], [p0]
    for k in range(order):
        q.append(p[k] / (k + 1))
        p.append(q[k] / (k + 1))
    return q, p


def rotation_series(order, z_re0, z_im0, *, arithmetic):
    re, im = [z_re0], [z_im0]
    for k in range(order):
        re.append(-im[k] / (k + 1))
        im.append(re[k] / (k + 1))
    return re, im


def driven_series(order, m0, s0, c, *, arithmetic):
    m, s = [m0], [s0]
    for k in range(order):
        m.append(c * arithmetic.convolve(m, s, k) / (k + 1))
        s.append(arithmetic.convolve(s, s, k) / (k + 1))
    return m, s


def steep_series(order, x0, *, arithmetic):
    x, e = [x0], [arithmetic.exp(x0)]
    for k in range(order):
        x.append(e[k] / (k + 1))
        e.append(arithmetic.convolve(e, e, k) / (k + 1))
    return (x,)


def root_series(order, x0, *, arithmetic):
    x, y = [x0], [1 / x0]
    for k in range(order):
        x.append(-y[k] / (k + 1))
        y.append(-sum(x[j] * y[k + 1 - j] for j in range(1, k + 2)) / x0)
    return (x,)


def matrix_series(order, x0, a, *, arithmetic):
    x = [x0]
    for k in range(order):
        x.append(a @ x[k] / (k + 1))
    return (x,)


def returning_series(order, x0, c0, s0, depth, *, arithmetic):
    x, c, s = [x0], [c0], [s0]
    for k in range(order):
        x.append(-depth * arithmetic.convolve(c, x, k) / (k + 1))
        c.append(-s[k] / (k + 1))
        s.append(c[k] / (k + 1))
    return x, c, s


def by_hand(rhs, series, state, parameters=(), backend="numpy") -> Kernel:
    return Kernel(
        "by hand",
        backend,
        "",
        tuple(state),
        tuple(parameters),
        lambda *parameters: lambda *states: rhs(*states, *parameters),
        lambda order, *arrays: series(order, *arrays[:-1], arithmetic=arrays[-1]),
    )


@pytest.fixture(scope="session")
def kernels() -> SimpleNamespace:
    """The systems by name."""
    x, q, p = scalar("x"), scalar("q"), scalar("p")
    return SimpleNamespace(
        # x' = x^2: x = x0/(1 - x0 t)
        square=by_hand(lambda x: (x * x,), square_series, [x]),
        # x' = x^3: x = x0 (1 - 2 x0^2 t)^(-1/2)
        cube=by_hand(lambda x: (x**3,), cube_series, [x]),
        # x' = rate x
        exponential=by_hand(lambda x, rate: (rate * x,), exponential_series, [x], [scalar("rate")]),
        # x' = x - x^2: x = 1/(1 + (1/x0 - 1) e^-t)
        logistic=by_hand(lambda x: (x - x * x,), logistic_series, [x]),
        # s' = 2 a s + 2 b s^2: s = E s0/(1 - b s0 (E - 1)/a) with E = e^(2 a t)
        riccati=by_hand(
            lambda s, a, b: (2 * a * s + 2 * b * s * s,), riccati_series, [scalar("s")], [scalar("a"), scalar("b")]
        ),
        # q' = omega p, p' = -omega q
        oscillator=by_hand(lambda q, p, omega: (omega * p, -omega * q), oscillator_series, [q, p], [scalar("omega")]),
        # q' = p, p' = q: from (1, -1) the solution e^-t (1, -1) is unstable
        saddle=by_hand(lambda q, p: (p, q), saddle_series, [q, p]),
        # x' = -depth c x, c = cos t, s = sin t: x = exp(-depth sin t), from e^-depth at pi/2 back to 1 at pi
        returning=by_hand(
            lambda x, c, s, depth: (-depth * c * x, -s, c),
            returning_series,
            [x, scalar("c"), scalar("s")],
            [scalar("depth")],
        ),
        # z' = i z
        rotation=by_hand(lambda z: (1j * z,), rotation_series, [Argument("z", (), "complex")]),
        # m' = c m s, s' = s^2: from (1, 1) s = 1/(1 - t), m = (1 - t)^-c
        driven=by_hand(lambda m, s, c: (c * m * s, s * s), driven_series, [scalar("m"), scalar("s")], [scalar("c")]),
        # x' = e^x: x = -log(e^-x0 - t), a blow-up that is no power
        steep=by_hand(lambda x: (np.exp(x),), steep_series, [x]),
        # x' = -1/x: x = sqrt(x0^2 - 2 t), singular where x = 0
        root=by_hand(lambda x: (-1 / x,), root_series, [x]),
        # X' = A X
        matrix=by_hand(
            lambda X, A: (A @ X,),
            matrix_series,
            [Argument("X", ("d", "d"), "matrix")],
            [Argument("A", ("d", "d"), "matrix")],
        ),
    )
