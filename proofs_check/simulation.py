"""From values typed on the command line to a trajectory, and from a trajectory to text or JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import mpmath

from numeric import Kernel, Trajectory, integrate
from numeric.exact import as_nested
from numeric.outcome import Finished

#: Significant digits printed of a double precision result: what the default tolerances make good.
DOUBLE_DIGITS = 9


def parse_values(assignments: Sequence[str]) -> dict[str, Any]:
    """Values by name from texts NAME=VALUE, where a value is a number or brackets around values.

    Numbers stay text, so that 1/3 and 0.1 are exact at any number of digits; `integrate` reads them.

    Raises
    ------
    ValueError
        For a text of another form, and a name that is given twice.

    >>> parse_values(["R=0.2+0.1j", "A = [[1, 1/2], [0, -3]]"])
    {'R': '0.2+0.1j', 'A': [['1', '1/2'], ['0', '-3']]}
    """
    values: dict[str, Any] = {}
    for assignment in assignments:
        name, equals, text = (part.strip() for part in assignment.partition("="))
        if not (name and equals and text):
            raise ValueError(f"set: '{assignment}' is not of the form NAME=VALUE, such as beta=1")
        if name in values:
            raise ValueError(f"set: {name} is given twice")
        # Brackets and commas are JSON already, and every number becomes a JSON text.
        quoted = re.sub(r"[^\[\],]*[^\[\],\s][^\[\],]*", lambda number: json.dumps(number[0].strip()), text)
        try:
            values[name] = json.loads(quoted)
        except json.JSONDecodeError:
            raise ValueError(f"{name}: '{text}' is no number and no list such as [[1, 1/2], [0, -3]]") from None
    return values


def simulate(kernel: Kernel, values: dict[str, Any], t_end: str, points: int, digits: int | None) -> Trajectory:
    """Integrate from 0 to `t_end`, with states at `points` equally spaced times.

    `values` holds initial states and parameters alike: no kernel has the same name for both.
    """
    try:
        end = Fraction(t_end)
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"t-end: '{t_end}' is not a number, such as 10, 2.5 or 1/4") from None
    if end <= 0:
        raise ValueError(f"t-end: {t_end} is not after the start, which is 0")
    if points < 2:
        raise ValueError(f"points: {points} is too few; at least 2, for the start and the end")
    states = {argument.name for argument in kernel.state}
    initial = {name: value for name, value in values.items() if name in states}
    parameters = {name: value for name, value in values.items() if name not in states}
    times = [end * k / (points - 1) for k in range(points)]
    return integrate(kernel, initial, (0, end), parameters, digits=digits, t_eval=times)


def as_text(trajectory: Trajectory, digits: int | None) -> Iterator[str]:
    """The states at each time and, unless the end was reached, the last ones; then the outcome; as lines."""
    for k, time in enumerate(trajectory.times):
        yield f"t = {_number_text(time, digits)}"
        for name, states in trajectory.states.items():
            yield f"  {name} = {_text(states[k], digits)}"
    if not isinstance(trajectory.outcome, Finished):
        yield "last state"
        for name, state in trajectory.final.items():
            yield f"  {name} = {_text(state, digits)}"
    yield str(trajectory.outcome)


def as_json(kernel: Kernel, trajectory: Trajectory, digits: int | None) -> str:
    """An object with the keys kernel, outcome, times, states, final; a complex number is a pair.

    Numbers are JSON numbers in double precision and, with `digits`, texts of so many digits.
    """
    return json.dumps(
        {
            "kernel": kernel.name,
            "outcome": str(trajectory.outcome),
            "times": _jsonable(trajectory.times, digits),
            "states": {name: _jsonable(states, digits) for name, states in trajectory.states.items()},
            "final": {name: _jsonable(state, digits) for name, state in trajectory.final.items()},
        },
        indent=2,
    )


def _jsonable(value: Any, digits: int | None) -> Any:
    value = as_nested(value)
    if isinstance(value, list):
        return [_jsonable(entry, digits) for entry in value]
    if isinstance(value, complex | mpmath.mpc):
        return [_jsonable(value.real, digits), _jsonable(value.imag, digits)]
    return float(value) if digits is None else mpmath.nstr(value, digits)


def _text(value: Any, digits: int | None) -> str:
    value = as_nested(value)
    if isinstance(value, list):
        return f"[{', '.join(_text(entry, digits) for entry in value)}]"
    return _number_text(value, digits)


def _number_text(value: Any, digits: int | None) -> str:
    if isinstance(value, complex | mpmath.mpc):
        # Signs as text: even negation would round to mpmath's current precision.
        imaginary = _number_text(value.imag, digits)
        sign = "-" if imaginary.startswith("-") else "+"
        return f"{_number_text(value.real, digits)} {sign} {imaginary.removeprefix('-')}j"
    return str(mpmath.nstr(mpmath.mpf(value) if isinstance(value, float) else value, digits or DOUBLE_DIGITS))
