"""Conversion of what users type into numbers of the working precision, without passing through a float."""

from __future__ import annotations

import numbers
from decimal import Decimal
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np


def to_real(value: Any) -> mpmath.mpf:
    """A real number at the current mpmath precision, correctly rounded from the exact value that was given.

    Accepted are ints, Fractions and other rationals, Decimals, floats (their exact binary value), mpmath and SymPy
    numbers, and text such as "0.1", "1/3" or "2.5e-7".

    Raises
    ------
    ValueError
        When the value is none of these, or not real.

    >>> with mpmath.workdps(30):
    ...     print(to_real("1/3"))
    0.333333333333333333333333333333
    """
    if isinstance(value, mpmath.mpf):
        return +value
    if isinstance(value, str | Decimal):
        value = Fraction(value)
    if isinstance(value, numbers.Rational):
        return mpmath.mpf(int(value.numerator)) / int(value.denominator)
    if isinstance(value, numbers.Complex) and not isinstance(value, numbers.Real):
        raise ValueError(f"{value} is not real")
    if isinstance(value, float | np.floating):
        return mpmath.mpf(float(value))
    if hasattr(value, "evalf"):  # SymPy, which is not imported for this
        return mpmath.mpf(str(value.evalf(mpmath.mp.dps + 5)))
    return mpmath.mpf(value)


def to_complex(value: Any) -> mpmath.mpc:
    """A complex number at the current mpmath precision, from what `to_real` accepts or a complex number.

    Text may be such as "1/5 + 1/10j".

    >>> with mpmath.workdps(20):
    ...     print(to_complex("1/4 - 1/2j"))
    (0.25 - 0.5j)
    """
    if isinstance(value, str):
        return mpmath.mpc(*map(to_real, parts(value)))
    if hasattr(value, "as_real_imag"):  # SymPy
        return mpmath.mpc(*map(to_real, value.as_real_imag()))
    if isinstance(value, mpmath.mpc | numbers.Complex) and not isinstance(value, numbers.Real):
        return mpmath.mpc(to_real(value.real), to_real(value.imag))
    return mpmath.mpc(to_real(value))


def parts(text: str) -> tuple[str, str]:
    """The texts of the real and of the imaginary part."""
    compact = text.replace(" ", "")
    if compact[-1:] not in ("i", "j", "I"):
        return compact, "0"
    body = compact[:-1].removesuffix("*")
    signs = [k for k, c in enumerate(body) if c in "+-" and k > 0 and body[k - 1] not in "eE"]
    split = signs[-1] if signs else 0
    imaginary = body[split:]
    return body[:split] or "0", imaginary + "1" if imaginary in ("", "+", "-") else imaginary


def as_nested(value: Any) -> Any:
    """Arrays and matrices of any library as nested lists; everything else unchanged."""
    return value.tolist() if hasattr(value, "tolist") else value
