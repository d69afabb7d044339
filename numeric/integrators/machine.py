"""Run the program of a recurrence (`numeric.integrators.program`) for all orders, compiled by numba.

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

from numeric.integrators import program
from numeric.integrators.program import CONVOLVE, PLAIN, SCALE, TABLE

#: Bits of a digit.
BITS = 56
HALF, MASK = 1 << (BITS - 1), (1 << BITS) - 1

#: Bits at the upper end of a number for its sign, and for what double precision misjudged.
HEADROOM = 4

#: Digits that sums carry below their last place, and columns of products left out lie at least this many bits below.
GUARD_DIGITS, GUARD_BITS = 2, 16


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


exponents = njit(cache=True)(program.exponents)


@njit(cache=True)
def run_doubles(outs, bounds, terms, scales, constants, values, order):  # type: ignore[no-untyped-def]
    """Fill values[x, 1..order]; `scales` are the powers of the unit of time for each term."""
    for k in range(1, order + 1):
        for instruction in range(len(outs)):
            total = 0.0
            for t in range(bounds[instruction], bounds[instruction + 1]):
                kind, sign, b, j, a, i, d = terms[t]
                if kind == CONVOLVE:
                    value = 0.0
                    left, right = values[a, i : i + k - d + 1], values[b, j : j + k - d + 1]
                    length = np.uint64(len(left))
                    for m in range(length):
                        value += left[m] * right[length - np.uint64(1) - m]
                else:
                    value = values[b, k - j]
                    if kind == SCALE:
                        value *= constants[a]
                    elif kind == TABLE:
                        value = value * k if a == 0 else value / k
                total += sign * scales[t] * value
            values[outs[instruction], k] = total


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
def _add_columns(columns, others, sign, shift):  # type: ignore[no-untyped-def]
    """Add other columns times sign 2^shift; whether there was room."""
    begin, r = shift // BITS, shift % BITS
    factor = sign * (1 << r)
    for p in range(len(others)):
        low, high = others[p, 0], others[p, 1]
        if low == 0 and high == 0:
            continue
        # As three digits, of which the last has the sign and what is left of 128 bits.
        digits = (low & MASK, ((low >> BITS) & 0xFF) | ((high << 64 - BITS) & MASK), high >> 2 * BITS - 64)
        for c, digit in enumerate(digits, begin + p):
            if digit and c >= 0:
                if c >= len(columns) - 1:
                    return False
                columns[c, 0], columns[c, 1] = _multiply_add(digit, factor, columns[c, 0], columns[c, 1])
    return True


@njit(cache=True)
def _add_multiple(columns, a, i, b, j, least):  # type: ignore[no-untyped-def]
    """Add a[i] b[j] to the columns from `least` on."""
    places = len(a)
    for p in range(places):
        factor = a[p, i]
        if factor:
            for q in range(max(0, least - p), places):
                c = p + q
                columns[c, 0], columns[c, 1] = _multiply_add(factor, b[q, j], columns[c, 0], columns[c, 1])


@njit(cache=True)
def _add_product(columns, a, a_ends, i, b, b_ends, j, last, least):  # type: ignore[no-untyped-def]
    """Add the sum of a[i + m] b[j + last - m] over m = 0..last to the columns from `least` on."""
    places = len(a)
    one = np.uint64(1)
    for p in range(places):
        end = min(last, a_ends[p] - 1 - i)
        for q in range(max(0, least - p), places):
            begin = max(0, j + last - b_ends[q] + 1)
            if begin > end:
                continue
            # Slices and unsigned indices, which cannot be negative: no index is tested in the loop.
            left, right = a[p, i + begin : i + end + 1], b[q, j + last - end : j + last - begin + 1]
            length = np.uint64(len(left))
            low, high = columns[p + q, 0], columns[p + q, 1]
            for m in range(length):
                low, high = _multiply_add(left[m], right[length - one - m], low, high)
            columns[p + q, 0], columns[p + q, 1] = low, high


@njit(cache=True)
def run_integers(outs, bounds, terms, shifts, constants, table, digits, ends, order):  # type: ignore[no-untyped-def]
    """Fill digits[x, :, 1..order] and `ends`; whether all numbers had room.

    `shifts` are the bits by which each term is shifted left, as `exponents` finds them, a product of two numbers less
    the bits of one.
    """
    places = digits.shape[1]
    columns = np.zeros((2 * places + GUARD_DIGITS + 3, 2), np.int64)
    product = np.zeros((2 * places, 2), np.int64)
    for k in range(1, order + 1):
        for instruction in range(len(outs)):
            columns[:] = 0
            for t in range(bounds[instruction], bounds[instruction + 1]):
                kind, sign, b, j, a, i, d = terms[t]
                shift = shifts[t] + GUARD_DIGITS * BITS
                least = max(0, min(2 * places, (-shifts[t] - GUARD_BITS) // BITS - 1))
                if kind == PLAIN:
                    if not _add_shifted(columns, digits[b], k - j, sign, shift):
                        return False
                    continue
                product[:] = 0
                if kind == SCALE:
                    _add_multiple(product, constants[a], 0, digits[b], k - j, least)
                elif kind == TABLE:
                    _add_multiple(product, table[a], k, digits[b], k - j, least)
                elif k >= d:
                    _add_product(product, digits[a], ends[a], i, digits[b], ends[b], j, k - d, least)
                if not _add_columns(columns, product, sign, shift):
                    return False
            if not _finish(columns, GUARD_DIGITS * BITS, digits, ends, outs[instruction], k):
                return False
    return True


@njit(cache=True)
def evaluate(digits, ends, tau):  # type: ignore[no-untyped-def]
    """The sums of digits[x, :, k] tau^k over k as digits, and whether they had room; `tau` are those of a number."""
    count, places, length = digits.shape
    point = places * BITS - HEADROOM - 1
    columns = np.zeros((2 * places + GUARD_DIGITS + 3, 2), np.int64)
    least = (point - GUARD_BITS) // BITS - 1
    # tau^k at place length - 1 - k, as products are sums of a[m] b[last - m].
    powers = np.zeros((1, places, length), np.int64)
    powers_ends = np.full((1, places), length)
    powers[0, places - 1, length - 1] = 1 << point - (places - 1) * BITS
    fits = True
    for k in range(length - 2, -1, -1):
        columns[:] = 0
        _add_multiple(columns, powers[0], k + 1, tau, 0, least)
        fits = _finish(columns, point, powers, powers_ends, 0, k) and fits
    powers_ends[:] = length
    sums = np.zeros((count, places, 1), np.int64)
    sums_ends = np.zeros((count, places), np.int64)
    for x in range(count):
        columns[:] = 0
        _add_product(columns, digits[x], ends[x], 0, powers[0], powers_ends[0], 0, length - 1, least)
        fits = _finish(columns, point, sums, sums_ends, x, 0) and fits
    return sums[:, :, 0], fits
