"""The public door: every state, parameter, time span and precision is checked here, once, and copied."""

from __future__ import annotations

import cmath
import difflib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import mpmath
import numpy as np

from numeric.exact import as_nested, to_complex, to_real
from numeric.kernel import Argument

#: The values an argument may take (the same names as in `symbolic.reduction.DOMAINS`).
DOMAINS = {
    "real": "a real number",
    "positive": "a positive real number",
    "complex": "a complex number",
    "disc": "a complex number of modulus at most 1",
    "vector": "a real vector",
    "matrix": "a real matrix",
    "covariance": "a symmetric positive semidefinite matrix",
    "tokens": "n tokens, one a row",
    "unit tokens": "n tokens of unit length, one a row",
    "phases": "n angles",
}

#: The domains whose arrays are complex.
COMPLEX = ("complex", "disc")

#: Relative slack of symmetry, semidefiniteness, |R| <= 1 and unit length. States often come out of an earlier
#: integration, which keeps these only up to its own error (1e-10 by default, times the growth along the flow);
#: whatever is off by more was not meant to be admissible.
SLACK = 1e-8

MIN_DIGITS, MAX_DIGITS = 15, 10_000

#: Below this, DOP853 works against the rounding of doubles.
MIN_RTOL = 1e-13

#: What NumPy converts as it is meant: numbers, and nested sequences if they turn out to hold nothing else.
_PLAIN = (np.ndarray, int, float, complex, list, tuple)

Group = tuple[str, Sequence[Argument], Mapping[str, Any]]


def check_values(
    *groups: Group, exact: bool = False, batch: bool = False, normalize: bool = False
) -> list[dict[str, Any]]:
    """Copies of the given values as arrays, checked against the arguments they are meant for.

    Parameters
    ----------
    groups
        Triples (role, arguments, values): the role ("initial", "parameters") names the mapping in messages.
        Equal size names mean equal sizes across all groups.
    exact
        False: float64 and complex128 arrays. True: mpf and mpc at the current mpmath precision, converted from the
        exact values given; scalars are bare numbers, everything else is an object array.
    batch
        Whether arrays may have leading axes, which must broadcast among all arguments.
    normalize
        Scale unit tokens to unit length, instead of refusing others.

    Returns
    -------
    list of dict
        For each group its arrays by name, in the order of its arguments. The inputs are never changed or kept.

    Raises
    ------
    ValueError
        For missing or unknown names, entries that are no numbers or not finite, wrong shapes, and values outside
        their domain.

    >>> check_values(("initial", [Argument("x", ("d",), "vector")], {"x": [1, 2]}))
    [{'x': array([1., 2.])}]
    """
    sizes: dict[str, tuple[int, str]] = {}
    checked = []
    for role, arguments, values in groups:
        _check_names(role, arguments, values)
        arrays = {}
        for argument in arguments:
            array = _convert(argument, values[argument.name], exact)
            _check_shape(argument, array.shape, sizes, batch)
            if normalize and argument.domain == "unit tokens":
                array = _normalized(argument, array)
            if argument.domain in _CHECKS:
                _CHECKS[argument.domain](argument, array)
            arrays[argument.name] = array
        checked.append(arrays)
    if batch:
        _check_batch(
            [
                (argument, arrays[argument.name].shape)
                for (_, arguments, _), arrays in zip(groups, checked, strict=True)
                for argument in arguments
            ]
        )
    return [{name: array[()] for name, array in arrays.items()} for arrays in checked]


def check_time_span(t_span: Any, *, exact: bool = False) -> tuple[Any, Any]:
    """The two ends of a finite, increasing time span, as floats or (exact) at the current mpmath precision.

    >>> check_time_span((0, "1/4"))
    (0.0, 0.25)
    """
    try:
        start, end = t_span
        if exact or not (type(start) in (int, float) and type(end) in (int, float)):
            start, end = (to_real(t) for t in as_nested(t_span))
    except (TypeError, ValueError, ArithmeticError):
        raise ValueError(f"t_span: {t_span!r} is not a pair of numbers; expected (start, end)") from None
    if not exact:
        start, end = float(start), float(end)
    finite = mpmath.isfinite if exact else math.isfinite
    if not (finite(start) and finite(end)):
        raise ValueError(f"t_span: {t_span!r} is not finite; expected two finite times")
    if not start < end:
        raise ValueError(f"t_span: {t_span!r} is not increasing; expected start < end")
    return start, end


def check_times(t_eval: Any, span: tuple[Any, Any], *, exact: bool = False) -> list[Any]:
    """The times at which states are wanted: increasing and inside the span."""
    try:
        times = [to_real(t) if exact else float(to_real(t)) for t in as_nested(t_eval)]
    except (TypeError, ValueError, ArithmeticError):
        raise ValueError(f"t_eval: {t_eval!r} is not a sequence of numbers; expected times") from None
    if any(not a < b for a, b in zip(times, times[1:], strict=False)):
        raise ValueError("t_eval: the times are not increasing; expected each later than the one before")
    if not all(span[0] <= t <= span[1] for t in times):
        raise ValueError(f"t_eval: some times lie outside t_span; expected times from {span[0]} to {span[1]}")
    return times


def check_digits(digits: Any) -> int:
    """The number of decimal digits asked for.

    >>> check_digits(50)
    50
    """
    if not isinstance(digits, int | np.integer) or isinstance(digits, bool):
        raise ValueError(f"digits: {digits!r} is not an integer; expected {MIN_DIGITS} to {MAX_DIGITS}")
    if not MIN_DIGITS <= digits <= MAX_DIGITS:
        raise ValueError(f"digits: {digits} is out of range; expected {MIN_DIGITS} to {MAX_DIGITS}")
    return int(digits)


def check_tolerances(rtol: Any, atol: Any) -> tuple[float, float]:
    """The tolerances of the double precision solver: MIN_RTOL <= rtol < 1 and atol >= 0."""
    if type(rtol) is type(atol) is float and MIN_RTOL <= rtol < 1 and 0 <= atol < math.inf:
        return rtol, atol
    for name, value, low, high in (("rtol", rtol, MIN_RTOL, 1.0), ("atol", atol, 0.0, math.inf)):
        if not isinstance(value, int | float | np.number) or not low <= value < high:
            hint = "; for more accuracy give digits" if name == "rtol" else ""
            raise ValueError(f"{name}: {value!r} is no usable tolerance; expected {low:g} <= {name} < {high:g}{hint}")
    return float(rtol), float(atol)


def check_events(events: Any) -> tuple[Callable[..., Any], ...]:
    """Event functions: one, or a sequence of them."""
    if type(events) is tuple and not events:
        return ()
    functions = tuple(events) if isinstance(events, Sequence) else (events,)
    for function in functions:
        if not callable(function):
            raise ValueError(f"events: {function!r} is not callable; expected functions event(t, state)")
    return functions


def nearest(name: str, known: Sequence[str]) -> str:
    """A suggestion for a mistyped name: "; did you mean 'x'?", or nothing when none is close."""
    close = difflib.get_close_matches(name, known, n=1) or [k for k in known if k.lower() == name.lower()]
    return f"; did you mean '{close[0]}'?" if close else ""


def _check_names(role: str, arguments: Sequence[Argument], values: Mapping[str, Any]) -> None:
    names = [argument.name for argument in arguments]
    if isinstance(values, dict) and [*values] == names:
        return
    expected = ", ".join(names) or "none"
    if not isinstance(values, Mapping):
        raise ValueError(f"{role}: {type(values).__name__} is not a mapping; expected values for {expected} by name")
    for name in values:
        if name not in names:
            raise ValueError(f"{role}: unknown name '{name}'{nearest(str(name), names)}; expected {expected}")
    missing = [name for name in names if name not in values]
    if missing:
        raise ValueError(f"{role}: missing {', '.join(missing)}; expected {expected}")


def _convert(argument: Argument, value: Any, exact: bool) -> np.ndarray:
    """The value as a new array of the right type, every entry finite."""
    is_complex = argument.domain in COMPLEX
    if not exact and (type(value) is float or is_complex and type(value) is complex):
        _check_finite(argument, cmath.isfinite(value))
        return np.array(value, dtype=complex if is_complex else float)
    if not exact and isinstance(value, _PLAIN):
        try:
            array = np.array(value)
        except ValueError:  # rows of different lengths, which are reported below
            array = np.empty(0, dtype=object)
        # Text and exact numbers have another kind.
        if array.dtype.kind in ("biufc" if is_complex else "biuf"):
            array = array.astype(complex if is_complex else float, copy=False)
            # One product sees all that is not finite; it may overflow, so it does not decide alone.
            if not math.isfinite(np.vdot(array, array).real):
                _check_finite(argument, np.isfinite(array))
            return array
    wanted = DOMAINS[argument.domain]
    entries = np.array(as_nested(value), dtype=object)
    convert = to_complex if is_complex else to_real
    array = np.empty(entries.shape, dtype=object)
    with mpmath.extradps(0 if exact else 30):
        for index, entry in np.ndenumerate(entries):
            try:
                array[index] = convert(entry)
            except (TypeError, ValueError, ArithmeticError):
                raise ValueError(
                    f"{argument.name}: entry {entry!r} is not a "
                    f"{'complex' if is_complex else 'real'} number; expected {wanted}"
                ) from None
        if not exact:  # finite numbers may be infinite as doubles
            array = array.astype(complex if is_complex else float)
        _check_finite(argument, np.frompyfunc(mpmath.isfinite, 1, 1)(array))
        return array


def _check_finite(argument: Argument, finite: Any) -> None:
    if not np.all(finite):
        member = _member(argument, np.argmin(np.asarray(finite, dtype=bool)), np.shape(finite))
        raise ValueError(
            f"{argument.name}: has entries that are infinite or not a number{member}; "
            f"expected {DOMAINS[argument.domain]} with finite entries"
        )


def _check_shape(argument: Argument, shape: tuple[int, ...], sizes: dict[str, tuple[int, str]], batch: bool) -> None:
    """Match the trailing axes with the declared sizes, which a first occurrence fixes."""
    if shape == argument.shape:  # only numbers are equal to numbers
        return
    known = dict(sizes)
    rank = len(argument.shape)
    fits = len(shape) == rank or (batch and len(shape) > rank and 0 not in shape)
    for size, length in zip(argument.shape, shape[len(shape) - rank :], strict=False):
        if isinstance(size, str):
            fits = fits and length > 0 and sizes.setdefault(size, (length, argument.name))[0] == length
        else:
            fits = fits and size == length
    if not fits:
        expected = tuple(str(known[size][0]) if size in known else str(size) for size in argument.shape)
        reasons = {size: sizes[size] for size in argument.shape if size in sizes and sizes[size][1] != argument.name}
        because = "".join(f", as {size} = {length} in '{source}'" for size, (length, source) in reasons.items())
        axes = ", ".join(expected) + ("," if rank == 1 else "")
        leading = " after any leading batch axes" if batch else ""
        raise ValueError(f"{argument.name}: has shape {shape}; expected ({axes}){leading}{because}")


def _check_batch(shapes: Sequence[tuple[Argument, tuple[int, ...]]]) -> None:
    leading = {argument.name: shape[: len(shape) - len(argument.shape)] for argument, shape in shapes}
    try:
        np.broadcast_shapes(*leading.values())
    except ValueError:
        listed = ", ".join(f"{name} {axes}" for name, axes in leading.items() if axes)
        raise ValueError(f"{listed}: these batch axes do not broadcast; expected equal sizes or 1") from None


def _member(argument: Argument, entry: Any, shape: tuple[int, ...]) -> str:
    """Where an entry, given by its flat index, lies along the batch axes."""
    index = tuple(map(int, np.unravel_index(int(entry), shape)))[: len(shape) - len(argument.shape)]
    return f" at index {index}" if index else ""


def _check_positive(argument: Argument, array: np.ndarray) -> None:
    if not (array > 0).all():
        member = _member(argument, np.argmin(array), array.shape)
        raise ValueError(f"{argument.name}: is {array.min()}{member}; expected {DOMAINS['positive']}")


def _check_disc(argument: Argument, array: np.ndarray) -> None:
    moduli = abs(array)
    largest = float(np.max(moduli))
    if largest > 1 + SLACK:
        member = _member(argument, np.argmax(moduli), array.shape)
        raise ValueError(f"{argument.name}: has modulus {largest:.10g}{member}; expected {DOMAINS['disc']}")


def _check_unit_tokens(argument: Argument, array: np.ndarray) -> None:
    rows = array.astype(float)
    with np.errstate(over="ignore"):
        # Six times as fast as norm when rows are short.
        lengths = np.sqrt(np.einsum("...i,...i->...", rows, rows))[..., None]
    entry = np.argmax(np.abs(lengths - 1))
    worst = float(lengths.flat[entry])
    if abs(worst - 1) > SLACK:
        raise ValueError(
            f"{argument.name}: has a token of length {worst:.10g}{_member(argument, entry, lengths.shape)}; "
            f"expected {DOMAINS['unit tokens']}, or normalize=True"
        )


def _normalized(argument: Argument, array: np.ndarray) -> np.ndarray:
    # Divided by their largest entry first: squares could leave the range of doubles.
    largest = np.abs(array).max(axis=-1, keepdims=True)
    if not (largest > 0).all():
        raise ValueError(f"{argument.name}: has a token of length 0, which cannot be scaled to unit length")
    array = array / largest
    squares = np.asarray((array * array).sum(axis=-1, keepdims=True))
    root = np.frompyfunc(mpmath.sqrt, 1, 1) if array.dtype == object else np.sqrt
    return array / root(squares)


def _check_covariance(argument: Argument, array: np.ndarray) -> None:
    scale = np.max(np.abs(array), axis=(-2, -1), keepdims=True)
    scale = np.where(scale == 0, 1, scale)
    # Divided by its size first: entries may lie outside the range of doubles.
    matrix = (array / scale).astype(float)
    differences = np.abs(matrix - np.swapaxes(matrix, -1, -2))
    asymmetry = float(np.max(differences))
    if asymmetry > SLACK:
        member = _member(argument, np.argmax(differences), array.shape)
        raise ValueError(
            f"{argument.name}: is not symmetric (entries differ by {asymmetry:.3g} of the largest){member}; "
            f"expected {DOMAINS['covariance']}"
        )
    lowest = np.linalg.eigvalsh(matrix)[..., :1, None]
    if np.min(lowest) < -SLACK:
        entry = np.argmin(lowest)
        raise ValueError(
            f"{argument.name}: has the negative eigenvalue {float((lowest * scale).flat[entry]):.6g}"
            f"{_member(argument, entry, lowest.shape)}; expected {DOMAINS['covariance']}"
        )


_CHECKS: dict[str, Callable[[Argument, np.ndarray], None]] = {
    "positive": _check_positive,
    "disc": _check_disc,
    "unit tokens": _check_unit_tokens,
    "covariance": _check_covariance,
}
