"""Run the program of a recurrence (`numeric.integrators.recurrence`) for all orders, compiled by numba.

`run_doubles` works in double precision. `run_integers` works with whole numbers of many digits, a sequence x standing
for the numbers x[k] 2^(places - exponent): digits are signed, in base 2^56, so that a sum of products of digits fits
into 128 bits, and the carries of a convolution are resolved once for all its products. `digits[x, p, k]` is digit p of
coefficient k of sequence x, and `ends[x, p]` the order from which on digit p is zero: on steps shorter than the radius
of convergence the terms fall off, and so does the number of digits that take part.

The first call on a machine compiles, which takes some six seconds; later processes load the compiled code from numba's
cache in less than one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from numeric.integrators.recurrence import SCALE, SUM, TABLE

#: Bits of a digit.
BITS = 56
HALF, MASK = 1 << (BITS - 1), (1 << BITS) - 1

#: Digits that sums carry below their last place, and columns of products left out lie at least this many bits below.
GUARD_DIGITS, GUARD_BITS = 2, 16

#: Bits of a sum that double precision is sure to see.
SEEN = 45


@intrinsic  # type: ignore[untyped-decorator]
def _multiply_add(typing_context: Any, a: Any, b: Any, low: Any, high: Any) -> Any:
    """a b + (low + 2^64 high) as (low, high), with 128 bits."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word, wide = ir.IntType(64), ir.IntType(128)
        shift = ir.Constant(wide, 64)
        a, b, low, high = arguments
        product = builder.mul(builder.sext(a, wide), builder.sext(b, wide))
        before = builder.or_(builder.zext(low, wide), builder.shl(builder.zext(high, wide), shift))
        after = builder.add(before, product)
        parts = [builder.trunc(after, word), builder.trunc(builder.lshr(after, shift), word)]
        return context.make_tuple(builder, signature.return_type, parts)

    return types.UniTuple(types.int64, 2)(*[types.int64] * 4), generate


@njit(cache=True)
def run_doubles(program, scale_a, scale_b, constants, values, order):  # type: ignore[no-untyped-def]
    """Fill values[x, 1..order]; `scale_a` and `scale_b` are the powers of the unit of time for each instruction."""
    for k in range(1, order + 1):
        for row in range(len(program)):
            code, out, a, i, sign_a, b, j, sign_b, d = program[row]
            if code == SUM:
                value = sign_a * scale_a[row] * values[a, k - i] + sign_b * scale_b[row] * values[b, k - j]
            elif code == SCALE:
                value = constants[a] * scale_b[row] * values[b, k - j]
            elif code == TABLE:
                value = scale_b[row] * values[b, k - j]
                value = value * k if a == 0 else value / k
            else:
                value = 0.0
                for m in range(k - d + 1):
                    value += values[a, i + m] * values[b, j + k - d - m]
                value *= scale_b[row]
            values[out, k] = value


@njit(cache=True)
def _finish(columns, shift, digits, ends, out, k):  # type: ignore[no-untyped-def]
    """Store the sum of columns[c] 2^(56 c), divided by 2^shift, as coefficient k of a sequence; whether it fits."""
    count = len(columns)
    # Half of the last place.
    place = (shift - 1) // BITS
    low, high = _multiply_add(1 << ((shift - 1) % BITS), 1, columns[place, 0], columns[place, 1])
    columns[place, 0], columns[place, 1] = low, high
    for c in range(count - 1):
        low, high = columns[c, 0], columns[c, 1]
        carry_low = ((low >> BITS) & ((1 << (64 - BITS)) - 1)) | (high << (64 - BITS))
        carry_high = high >> BITS
        columns[c, 0] = low & MASK
        low, high = _multiply_add(1, 0, columns[c + 1, 0], columns[c + 1, 1])
        total = np.uint64(low) + np.uint64(carry_low)
        columns[c + 1, 0] = np.int64(total)
        columns[c + 1, 1] = high + carry_high + (1 if total < np.uint64(low) else 0)
    last = columns[count - 1, 0]  # the sign: 0 or -1, unless there are more digits than room
    begin, r = shift // BITS, shift % BITS
    carry = 0
    places = digits.shape[1]
    fits = last == 0 or last == -1
    for p in range(places):
        c = begin + p
        lower = columns[c, 0] if c < count - 1 else last & MASK
        upper = columns[c + 1, 0] if c + 1 < count - 1 else last & MASK
        digit = carry + ((lower >> r) | ((upper << (BITS - r)) & MASK) if r else lower)
        carry = 0
        if digit >= HALF:
            digit -= 1 << BITS
            carry = 1
        digits[out, p, k] = digit
        if digit:
            ends[out, p] = k + 1
    # Nothing but the sign may be left above.
    for c in range(begin + places, count - 1):
        rest = columns[c, 0] >> r if c == begin + places else columns[c, 0]
        sign = (last & MASK) >> r if c == begin + places else last & MASK
        fits = fits and rest == sign
    return fits and carry + last == 0


@njit(cache=True)
def _add_shifted(columns, digits, k, sign, shift):  # type: ignore[no-untyped-def]
    """Add a number times sign 2^shift to the columns; whether there was room."""
    begin, r = shift // BITS, shift % BITS
    for p in range(digits.shape[0]):
        digit, c = digits[p, k], begin + p
        if digit and c >= 0:
            if c >= len(columns) - 1:
                return False
            columns[c, 0], columns[c, 1] = _multiply_add(digit, sign * (1 << r), columns[c, 0], columns[c, 1])
    return True


@njit(cache=True)
def _add_product(columns, a, a_ends, i, b, b_ends, j, last, least):  # type: ignore[no-untyped-def]
    """Add the sum of a[i + m] b[j + last - m] over m = 0..last to the columns from `least` on."""
    places = len(a)
    for p in range(places):
        for q in range(max(0, least - p), places):
            low, high = columns[p + q, 0], columns[p + q, 1]
            begin = max(0, j + last - b_ends[q] + 1)
            end = min(last, a_ends[p] - 1 - i)
            for m in range(begin, end + 1):
                low, high = _multiply_add(a[p, i + m], b[q, j + last - m], low, high)
            columns[p + q, 0], columns[p + q, 1] = low, high


@njit(cache=True)
def run_integers(program, shift_a, shift_b, constants, table, digits, ends, order):  # type: ignore[no-untyped-def]
    """Fill digits[x, :, 1..order] and `ends`; whether all numbers had room.

    A sum shifts its terms left by `shift_a` and `shift_b` bits, a product its result right by `shift_b`.
    """
    places = digits.shape[1]
    columns = np.zeros((2 * places + GUARD_DIGITS + 2, 2), np.int64)
    table_ends = np.full(places, order + 1)
    constant_ends = np.full(places, 1)
    for k in range(1, order + 1):
        for row in range(len(program)):
            code, out, a, i, sign_a, b, j, sign_b, d = program[row]
            columns[:] = 0
            shift = shift_b[row]
            if code == SUM:
                room = _add_shifted(columns, digits[a], k - i, sign_a, shift_a[row] + GUARD_DIGITS * BITS)
                if sign_b:
                    room = room and _add_shifted(columns, digits[b], k - j, sign_b, shift + GUARD_DIGITS * BITS)
                if not (room and _finish(columns, GUARD_DIGITS * BITS, digits, ends, out, k)):
                    return False
                continue
            if not 0 < shift < places * BITS + 2 * BITS:
                return False
            least = max(0, (shift - GUARD_BITS) // BITS - 1)
            if code == SCALE:
                _add_product(columns, constants[a], constant_ends, 0, digits[b], ends[b], k - j, 0, least)
            elif code == TABLE:
                _add_product(columns, table[a], table_ends, k, digits[b], ends[b], k - j, 0, least)
            elif k >= d:
                _add_product(columns, digits[a], ends[a], i, digits[b], ends[b], j, k - d, least)
            if not _finish(columns, shift, digits, ends, out, k):
                return False
    return True


@njit(cache=True)
def exponents(program, steps_a, steps_b, constant_exponents, table_exponents, log2_sizes):  # type: ignore[no-untyped-def]
    """Exponents of all sequences with room for their values, and the shifts of all instructions but for `places`.

    `log2_sizes` are those seen in double precision, which sees nothing that is 2^-SEEN of the terms of a sum.
    """
    result = log2_sizes.copy()
    shift_a = np.zeros(len(program), np.int64)
    shift_b = np.zeros(len(program), np.int64)
    for _ in range(2):  # the rates, on which the states depend, come last
        for row in range(len(program)):
            code, out, a, i, sign_a, b, j, sign_b, d = program[row]
            bound = result[b] + steps_b[row]
            if code == SUM:
                bound = max(bound, result[a] + steps_a[row]) if sign_b else result[a] + steps_a[row]
            elif code == SCALE:
                bound += constant_exponents[a]
            elif code == TABLE:
                bound += table_exponents[a]
            else:
                bound += result[a]
            result[out] = max(result[out], bound - SEEN)
    for row in range(len(program)):
        code, out, a, i, sign_a, b, j, sign_b, d = program[row]
        shift_a[row] = result[a] + steps_a[row] - result[out]
        shift_b[row] = result[b] + steps_b[row]
        if code == SUM:
            shift_b[row] -= result[out]
        elif code == SCALE:
            shift_b[row] = result[out] - shift_b[row] - constant_exponents[a]
        elif code == TABLE:
            shift_b[row] = result[out] - shift_b[row] - table_exponents[a]
        else:
            shift_b[row] = result[out] - shift_b[row] - result[a]
    return result, shift_a, shift_b
