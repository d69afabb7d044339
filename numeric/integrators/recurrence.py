"""Read the program of a kernel's Taylor recurrence: every loop of `series` performs the same operations on numbers.

`series` is run once on entries that record what is done to them. What happens between the coefficients of order k - 1
and those of order k is the same for every k, up to the index k itself: the program. It consists of sums, products with
constants, with k and with 1/k, and convolutions of two sequences of coefficients. Functions such as exp and inverse
matrices occur at order 0 only, and are constants to the program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from operator import add, mul, neg, sub, truediv
from types import SimpleNamespace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from numeric.backends.gmpy2 import arithmetic, dot, from_mpmath
from numeric.integrators.program import CONVOLVE, PLAIN, SCALE, TABLE, Program, Term

#: The orders that are recorded: the program is read off the last two, which must agree, and their predecessor gives
#: the coefficients of order 0.
RECORDED = 3

_FUNCTIONS: dict[str, Callable[..., Any]] = {"+": add, "-": sub, "*": mul, "/": truediv, "neg": neg}


#: No more entries of states and parameters than this: a program has an instruction for each of their products.
LARGEST = 2000


class NotRecurrent(Exception):
    """The operations are not the same for every order, or not of the kinds above."""


class Entry:
    """A number whose arithmetic is recorded."""

    __slots__ = ("index", "trace", "value")

    def __init__(self, trace: Trace, operation: str, operands: Any, value: Any):
        self.trace, self.value, self.index = trace, value, len(trace.values)
        trace.values.append(value)
        trace.operations.append((operation, operands))

    def _record(self, operation: str, *operands: Any) -> Any:
        if any(isinstance(x, np.ndarray) for x in operands):
            return NotImplemented  # the array applies the operation to its entries
        trace = self.trace
        values = [x.value if type(x) is Entry else x for x in operands]
        places = [
            (True, x.index) if type(x) is Entry else (False, int(x) if isinstance(x, np.integer) else x)
            for x in operands
        ]
        return Entry(trace, operation, places, _FUNCTIONS[operation](*values))

    def __add__(self, other: Any) -> Entry:
        return self._record("+", self, other)

    def __radd__(self, other: Any) -> Entry:
        return self._record("+", other, self)

    def __sub__(self, other: Any) -> Entry:
        return self._record("-", self, other)

    def __rsub__(self, other: Any) -> Entry:
        return self._record("-", other, self)

    def __mul__(self, other: Any) -> Entry:
        return self._record("*", self, other)

    def __rmul__(self, other: Any) -> Entry:
        return self._record("*", other, self)

    def __truediv__(self, other: Any) -> Entry:
        return self._record("/", self, other)

    def __rtruediv__(self, other: Any) -> Entry:
        return self._record("/", other, self)

    def __neg__(self) -> Entry:
        return self._record("neg", self)

    # np.max compares; which entry is the largest may change from state to state, and with it the operations.
    def __ge__(self, other: Entry) -> bool:
        self.trace.is_arithmetic = False
        return self.value >= other.value

    def __pow__(self, exponent: Any) -> Entry:
        self.trace.is_arithmetic = False
        return Entry(self.trace, "function", (), self.value**exponent)


class Trace:
    """One run of `series` on entries: their values, and how each came about."""

    def __init__(self, series: Callable[..., Any], order: int, arrays: Sequence[Any]):
        self.values: list[Any] = []
        self.operations: list[tuple[str, Any]] = []
        #: Whether these operations are all there is to know: no functions, no comparisons.
        self.is_arithmetic = True
        enter = np.frompyfunc(lambda x: Entry(self, "given", (), x), 1, 1)
        leave = np.frompyfunc(lambda x: x.value if isinstance(x, Entry) else x, 1, 1)

        def applied(function: Callable[..., Any]) -> Callable[..., Any]:
            def wrapped(*values: Any) -> Any:
                self.is_arithmetic = False
                return enter(from_mpmath(function(*[leave(x) for x in values])))

            return wrapped

        def convolve_pair(a: Sequence[Any], b: Sequence[Any]) -> Entry:
            """The sum of a[m] b[-1 - m]."""
            value = dot([x.value for x in a], [x.value for x in reversed(b)])
            return Entry(self, "convolve", ([x.index for x in a], [x.index for x in b]), value)

        def convolve(a: Sequence[Any], b: Sequence[Any], k: int) -> Any:
            shape = np.broadcast_shapes(np.shape(a[0]), np.shape(b[0]))
            left, right = ([np.broadcast_to(x, shape) for x in terms[: k + 1]] for terms in (a, b))
            result = np.empty(shape, dtype=object)
            for place in np.ndindex(shape):
                result[place] = convolve_pair([x[place] for x in left], [x[place] for x in right])
            return result[()]

        def matmul(a: Sequence[Any], b: Sequence[Any], k: int) -> Any:
            result = np.empty((a[0].shape[0], b[0].shape[1]), dtype=object)
            for row, column in np.ndindex(result.shape):
                result[row, column] = sum(
                    convolve_pair([x[row, m] for x in a[: k + 1]], [x[m, column] for x in b[: k + 1]])
                    for m in range(a[0].shape[1])
                )
            return result

        names = ("exp", "log", "sqrt", "cos", "sin", "abs")
        recorder = SimpleNamespace(
            **{name: applied(getattr(arithmetic, name)) for name in names},
            broadcast_to=np.broadcast_to,
            eye=applied(arithmetic.eye),
            linalg=SimpleNamespace(inv=applied(arithmetic.linalg.inv), trace=np.linalg.trace),
            convolve=convolve,
            matmul=matmul,
        )
        result = series(order, *map(enter, arrays), recorder)
        #: The entries of the flat state, for each order.
        self.coefficients = [
            [entry for sequence in result for entry in np.ravel(np.array(sequence[k], dtype=object))]
            for k in range(order + 1)
        ]


@dataclass(frozen=True)
class Recurrence:
    """A program, and what it needs to know of the state and the parameters.

    `initial` and `constants` are the entries of a trace of order 1 that it reads, for the coefficients of order 0 and
    for the numbers that do not depend on the order. A trace with other `operations` has another program.
    """

    program: Program
    initial: list[int]
    constants: list[int]
    operations: list[tuple[str, Any]]
    #: The values of the two groups from the entries of all arrays, if that takes arithmetic alone.
    evaluate: Callable[..., tuple[list[Any], list[Any]]] | None

    def values(self, series: Callable[..., Any], arrays: Sequence[Any]) -> tuple[list[Any], list[Any]] | None:
        """What the program reads, for other arrays of the same shapes; None when they have another program."""
        if self.evaluate is not None:
            return self.evaluate(*(x for array in arrays for x in np.ravel(np.array(array, dtype=object))))
        trace = Trace(series, 1, arrays)
        return self.selected(trace) if trace.operations == self.operations else None

    def selected(self, trace: Trace) -> tuple[list[Any], list[Any]]:
        initial, constants = ([trace.values[index] for index in group] for group in (self.initial, self.constants))
        return initial, constants


#: The recurrences recorded so far, or why there is none: series -> shapes -> recurrence.
_recorded: WeakKeyDictionary[Any, dict[Any, Recurrence | NotRecurrent]] = WeakKeyDictionary()


def recorded(series: Callable[..., Any], arrays: Sequence[Any]) -> tuple[Program, list[Any], list[Any]]:
    """The program of a kernel's `series` at these states and parameters, and the values of the entries that it reads.

    Programs are kept. One with functions or comparisons is recorded anew where the operations have changed, as they do
    when another entry is the largest; all others depend on nothing but the shapes.
    """
    recurrences = _recorded.setdefault(series, {})
    shapes = tuple(map(np.shape, arrays))
    known = recurrences.get(shapes)
    if isinstance(known, NotRecurrent):
        raise known
    values = known.values(series, arrays) if known else None
    if known is None or values is None:
        try:
            if sum(map(prod, shapes)) > LARGEST:
                raise NotRecurrent("more numbers than can be treated one by one")
            traces = [Trace(series, order, arrays) for order in range(RECORDED + 1)]
            recurrences[shapes] = known = _recurrence(traces)
        except (TypeError, AttributeError, NotRecurrent) as error:
            # The first two for an operation that entries do not have, or no entry at all.
            recurrences[shapes] = reason = NotRecurrent(str(error))
            raise reason from error
        values = known.selected(traces[1])
    return known.program, *values


def _recurrence(traces: Sequence[Trace]) -> Recurrence:
    program = _Reader(traces).program().fused()
    initial, constants = list(program.initial.values()), program.constants.entries
    first = traces[1]
    evaluate = _straight_line(first.operations, initial, constants) if first.is_arithmetic else None
    return Recurrence(program, initial, constants, first.operations, evaluate)


def _straight_line(
    operations: Sequence[tuple[str, Any]], initial: Sequence[int], constants: Sequence[int]
) -> Callable[..., tuple[list[Any], list[Any]]]:
    """The values of entries from those given: the recorded operations as Python code, which runs five times as fast."""
    names: dict[str, Any] = {"dot": dot}
    lines, given = [], []

    def text(is_entry: bool, operand: Any) -> str:
        name = f"v{operand}" if is_entry else f"number{len(names)}"
        if not is_entry:
            names[name] = operand
        return name

    # Most programs read nothing of order 1.
    for index, (operation, operands) in enumerate(operations[: 1 + max([*initial, *constants])]):
        if operation == "given":
            given.append(f"v{index}")
            continue
        if operation == "convolve":
            a, b = (", ".join(f"v{x}" for x in factor) for factor in (operands[0], operands[1][::-1]))
            right = f"dot(({a},), ({b},))"
        else:
            left, *others = (text(*operand) for operand in operands)
            right = f"{left} {operation} {others[0]}" if others else f"-{left}"
        lines.append(f"    v{index} = {right}")
    groups = ("[" + ", ".join(f"v{index}" for index in group) + "]" for group in (initial, constants))
    source = "\n".join([f"def evaluate({', '.join(given)}):", *lines, f"    return {', '.join(groups)}"])
    exec(source, names)
    evaluate: Callable[..., tuple[list[Any], list[Any]]] = names["evaluate"]
    return evaluate


class _Reader:
    """Reads the program off traces of orders 0..RECORDED, each of which begins like the one before."""

    def __init__(self, traces: Sequence[Trace]):
        ends = [len(trace.values) for trace in traces]
        self.begin, self.length = ends[0], ends[1] - ends[0]
        if any(b - a != self.length for a, b in zip(ends, ends[1:], strict=False)):
            raise NotRecurrent("the number of operations depends on the order")
        self.operations = traces[-1].operations
        self.outputs = [[entry.index for entry in entries] for entries in traces[-1].coefficients]
        self.result = Program()
        #: What each place of the loop holds: a sequence, or a constant times a power of k.
        self.sequence: dict[int, int] = {}
        self.constant: dict[int, tuple[Any, bool, int]] = {}

    def program(self) -> Program:
        for place in range(self.length):
            operation, operands = self._operation(place, RECORDED)
            if any(self._operation(place, order)[0] != operation for order in (1, 2)):
                raise NotRecurrent("the operations depend on the order")
            if operation == "convolve":
                self._convolve(place)
            elif operation in _FUNCTIONS:
                self._arithmetic(place, operation, len(operands))
            else:
                raise NotRecurrent(f"a {operation} beyond order 0")
        for last in self.outputs[RECORDED]:
            if last < self.begin:
                raise NotRecurrent("a constant state")
            self.result.states.append(self._sequence_at((last - self.begin) % self.length))
        for sequence, first in zip(self.result.states, self.outputs[0], strict=True):
            self._starts_with(sequence, first)
        if not self.result.initial.keys() <= set(self.sequence.values()):
            raise NotRecurrent("a sequence that is read but not computed")
        return self.result

    def _operation(self, place: int, order: int) -> tuple[str, Any]:
        return self.operations[self.begin + (order - 1) * self.length + place]

    def _sequence_at(self, place: int) -> int:
        if place in self.constant:
            raise NotRecurrent("a constant that is used as a sequence")
        if place not in self.sequence:
            self.sequence[place] = self._new()
        return self.sequence[place]

    def _new(self) -> int:
        self.result.sequences += 1
        return self.result.sequences - 1

    def _starts_with(self, sequence: int, entry: int) -> None:
        if entry >= self.begin or self.result.initial.setdefault(sequence, entry) != entry:
            raise NotRecurrent("a sequence with several coefficients of order 0")

    def _order_and_place(self, index: int) -> tuple[int, int]:
        order, place = divmod(index - self.begin, self.length)
        return order + 1, place

    def _operand(self, place: int, number: int) -> tuple[Any, ...]:
        """("constant", value or index, whether it is a value, power of k), or ("sequence", which, lag)."""
        first, second, third = (self._operation(place, order)[1][number] for order in (1, 2, 3))
        if not third[0]:
            if first[1] == second[1] == third[1]:
                return "constant", third[1], True, 0
            if (first[1], second[1], third[1]) == (first[1], 2 * first[1], 3 * first[1]):
                return "constant", first[1], True, 1
            raise NotRecurrent("a number that depends on the order in another way than k")
        if second[1] == third[1] < self.begin:
            return "constant", third[1], False, 0
        order, origin = self._order_and_place(third[1])
        if third[1] - second[1] != self.length or order < RECORDED - 1:
            raise NotRecurrent("a reference to an order other than k and k - 1")
        if origin in self.constant:
            if order != RECORDED:
                raise NotRecurrent("an earlier constant")
            return "constant", *self.constant[origin]
        sequence = self._sequence_at(origin)
        if order == RECORDED - 1:
            self._starts_with(sequence, first[1])
        return "sequence", sequence, RECORDED - order

    def _arithmetic(self, place: int, operation: str, count: int) -> None:
        operands = [self._operand(place, number) for number in range(count)]
        varying = [operand for operand in operands if operand[0] == "sequence"]
        if not varying:
            self._combine_constants(place, operation, operands)
        elif operation == "neg":
            ((_, a, lag),) = operands
            self._emit(place, Term(PLAIN, -1, a, lag))
        elif operation in "+-":
            sign = 1 if operation == "+" else -1
            if len(varying) == 2:
                (_, a, i), (_, b, j) = operands
                self._emit(place, Term(PLAIN, 1, a, i), Term(PLAIN, sign, b, j))
            else:
                self._add_nothing(place, operands, sign)
        else:
            if len(varying) == 2 or (operation == "/" and operands[1][0] == "sequence"):
                raise NotRecurrent("a product or quotient of two quantities that vary")
            (_, b, j) = varying[0]
            (constant,) = (operand for operand in operands if operand[0] == "constant")
            self._scale(place, constant[1:], operation == "/", b, j)

    def _combine_constants(self, place: int, operation: str, operands: Sequence[tuple[Any, ...]]) -> None:
        powers = [operand[3] for operand in operands]
        if operation in "+-" and len(set(powers)) > 1:
            raise NotRecurrent("a sum of constants with different powers of k")
        power = powers[0]
        if operation in "*/":
            power = powers[0] + (powers[1] if operation == "*" else -powers[1])
        # Its value in the loop of order 1, where k = 1.
        self.constant[place] = self.begin + place, False, power

    def _add_nothing(self, place: int, operands: Sequence[tuple[Any, ...]], sign: int) -> None:
        """`sum` begins with the number 0."""
        (kind, value, *rest), (_, b, j) = operands if operands[0][0] == "constant" else operands[::-1]
        if not rest[0] or value != 0 or kind != "constant":
            raise NotRecurrent("a constant added to a quantity that varies")
        self._emit(place, Term(PLAIN, sign if operands[0][0] == "constant" else 1, b, j))

    def _scale(self, place: int, constant: tuple[Any, bool, int], divide: bool, b: int, j: int) -> None:
        value, is_value, power = constant
        power = -power if divide else power
        if power not in (-1, 0, 1):
            raise NotRecurrent("a power of k")
        if not (is_value and value == 1):
            constants = self.result.constants
            factor = constants.number(value) if is_value else constants.entry(value)
            if divide:
                factor = constants.combined(truediv, constants.number(1), factor)
            term = Term(SCALE, 1, b, j, factor)
            if power == 0:
                self._emit(place, term)
                return
            b, j = self._new(), 0
            self.result.instructions.append((b, [term]))
        self._emit(place, Term(TABLE, 1, b, j, 0 if power > 0 else 1) if power else Term(PLAIN, 1, b, j))

    def _convolve(self, place: int) -> None:
        (a, i, last), (b, j, other) = (self._factor(place, side) for side in (0, 1))
        # m runs to last - i at order 3, which is 3 - d.
        if last - i != other - j:
            raise NotRecurrent("a convolution of sequences of different lengths")
        self._emit(place, Term(CONVOLVE, 1, b, j, a, i, RECORDED - (last - i)))

    def _factor(self, place: int, side: int) -> tuple[int, int, int]:
        """A factor of a convolution: its sequence, and the orders of its first and last coefficient at order 3."""
        entries = self._operation(place, RECORDED)[1][side]
        last, origin = self._order_and_place(entries[-1])
        sequence = self._sequence_at(origin)
        first = last - len(entries) + 1
        for order, entry in enumerate(entries, first):
            if order == 0:
                self._starts_with(sequence, entry)
            elif self._order_and_place(entry) != (order, origin):
                raise NotRecurrent("a convolution of what is no sequence")
        if first not in (0, 1) or len(self._operation(place, 2)[1][side]) != len(entries) - 1:
            raise NotRecurrent("a convolution of what is no sequence")
        return sequence, first, last

    def _emit(self, place: int, *terms: Term) -> None:
        self.result.instructions.append((self._sequence_at(place), list(terms)))
