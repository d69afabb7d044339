"""The flint backend: balls contain the values that mpmath computes with more digits, and are small."""

import pkgutil
import random
from fractions import Fraction

import flint
import mpmath
import numpy as np
import pytest

from numeric import generated, integrate, load_kernel
from numeric.backends import load
from numeric.inputs import COMPLEX

SIZES = {"n": 3, "d": 2, "r": 1}
#: There is no quadrature in balls for these.
MISSING = {"angular_central_gaussian_factor", "angular_central_gaussian_sphere"}
every_kernel = pytest.mark.parametrize(
    "name", sorted({m.name for m in pkgutil.iter_modules(generated.__path__)} - MISSING)
)


def random_point(name, seed):
    """Rational values for all arguments, complex ones as text."""
    rng = random.Random(seed)

    def number(domain):
        real, imaginary = (Fraction(rng.randint(1, 20), rng.randint(25, 60)) for _ in range(2))
        return f"{real} + {imaginary}j" if domain in COMPLEX else str(real)

    kernel = load_kernel(name)
    values = []
    for argument in kernel.state + kernel.parameters:
        shape = [SIZES.get(size, 2) if isinstance(size, str) else size for size in argument.shape]
        array = np.empty(shape, dtype=object)
        for place in np.ndindex(array.shape):
            array[place] = number(argument.domain)
        values.append(array)
    return values


def in_mpmath(value):
    from numeric.exact import to_complex, to_real

    convert = np.frompyfunc(lambda text: (to_complex if "j" in text else to_real)(text), 1, 1)
    return convert(value)


def contains(ball, number):
    """Whether a ball contains an mpmath number that is right to far more digits than the radius."""
    ball, number = flint.acb(ball), mpmath.mpc(number)
    return all(
        b.contains(load("flint").asarray(x)[()])
        for b, x in zip((ball.real, ball.imag), (number.real, number.imag), strict=True)
    )


@every_kernel
def test_balls_contain_the_rates_and_are_small(name):
    point = random_point(name, 0)
    with flint.ctx.workprec(200):
        rates = load_kernel(name, "flint").rhs(*point)
    with mpmath.workdps(75):
        exact = load_kernel(name, "mpmath").rhs(*map(in_mpmath, point))
        with flint.ctx.workprec(300):
            for balls, values in zip(rates, exact, strict=True):
                for ball, value in zip(np.ravel(balls), np.ravel(values), strict=True):
                    assert contains(ball, value)
                    # 200 bits are 60 digits; a few are lost in sums and quotients.
                    assert float(flint.acb(ball).real.rad()) < 1e-55 * (1 + float(abs(value)))


@every_kernel
def test_wide_balls_contain_the_images_of_their_points(name):
    point = random_point(name, 1)
    radius = Fraction(1, 1000)
    used = load_kernel(name, "flint")
    shift = np.frompyfunc(lambda ball, by: ball + by, 2, 1)
    with flint.ctx.workprec(200):
        centre = [load("flint").asarray(value) for value in point]
        wide = [shift(value, flint.arb(0, float(radius))) for value in centre]
        rates = used.rhs(*wide)
        rng = random.Random(2)
        for _ in range(5):
            moved = [
                np.frompyfunc(lambda ball: ball + flint.arb(rng.randint(-9, 9)) / 10_000, 1, 1)(value)
                for value in centre
            ]
            for balls, values in zip(rates, used.rhs(*moved), strict=True):
                for ball, value in zip(np.ravel(balls), np.ravel(values), strict=True):
                    assert flint.acb(ball).contains(flint.acb(value))


@pytest.mark.parametrize("value", ["0.1", Fraction(1, 10), "1/10"])
def test_what_is_typed_is_enclosed(value):
    with flint.ctx.workprec(100):
        ball = load("flint").asarray(value)[()]
        assert (10 * ball).contains(1) and 0 < float(ball.rad()) < 1e-29


def test_the_precision_is_the_callers():
    with flint.ctx.workprec(123):
        load_kernel("ott_antonsen", "flint").rhs(*random_point("ott_antonsen", 3))
        assert flint.ctx.prec == 123


def test_trajectories_of_flint_kernels_are_numbers_with_an_error_estimate():
    initial, parameters = {"M": [["1/2", 0], [0, "1/3"]]}, {"A": [[1, 0], [0, 1]], "V": [[1, 0], [0, -1]]}
    kernel = load_kernel("second_moment", "flint")
    names = [argument.name for argument in kernel.parameters]
    values = {name: parameters.get(name, 1) for name in names}
    trajectory = integrate(kernel, initial, (0, "1/4"), values)
    assert isinstance(trajectory.final["M"][0, 0], mpmath.mpf)
    assert trajectory.error < mpmath.mpf(10) ** -50


@pytest.mark.parametrize("name", sorted(MISSING))
def test_an_operation_without_balls(name):
    with pytest.raises(ValueError, match="^backend: it has no operation acg_second_moment"):
        load_kernel(name, "flint").rhs(*random_point(name, 0))
