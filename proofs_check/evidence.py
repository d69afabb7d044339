"""Evidence: what a check returns. Its type says how much it proves; its text begins with that word."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import InitVar, dataclass, field
from decimal import ROUND_CEILING, Context, Decimal, InvalidOperation
from typing import Any

from flint import acb, arb


@dataclass(frozen=True)
class Evidence:
    """What a check found: one of `Exact`, `Certified`, `Numerical` and `Refuted`.

    `detail` says in a few words what was compared or sampled.
    """

    detail: str = field(default="", kw_only=True)

    @property
    def holds(self) -> bool:
        """Whether the statement stands after this check."""
        return not isinstance(self, Refuted)


@dataclass(frozen=True)
class Exact(Evidence):
    """Symbolic identities reduced to zero for free parameters.

    Parameters
    ----------
    identities
        How many; at least 1, because a check that compared nothing proves nothing.

    >>> print(Exact(12))
    exact: 12 identities reduce to zero
    """

    identities: int

    def __post_init__(self) -> None:
        if self.identities < 1:
            raise ValueError(f"identities: {self.identities} identities prove nothing; at least 1 is needed")

    def __str__(self) -> str:
        return f"exact: {self.identities} {'identity reduces' if self.identities == 1 else 'identities reduce'} to zero"


@dataclass(frozen=True)
class Certified(Evidence):
    """A result enclosed by ball arithmetic.

    Only balls of python-flint are accepted. Their inputs must be exact: integers, fractions, or decimals given
    as text. A ball made from a float is a valid enclosure of the wrong number, and nothing shows that afterwards.

    Parameters
    ----------
    enclosures
        The ball (`flint.arb` or `flint.acb`) that encloses the result, or several of them.

    Attributes
    ----------
    radius
        The largest radius among the enclosures, rounded up.

    Raises
    ------
    ValueError
        For anything that is not a finite ball: a float, an mpmath number or a fraction that stands for the
        result proves nothing about its error.

    >>> print(Certified(arb(1) / 3))
    certified: radius 5.6e-17
    >>> Certified(0.25)
    Traceback (most recent call last):
        ...
    ValueError: enclosures: 0.25 is a float; only balls (flint.arb or flint.acb) certify a result
    """

    enclosures: InitVar[arb | acb | Iterable[arb | acb]]
    # Kept instead of the balls, which can't be sent between processes.
    radius: Decimal = field(init=False)

    def __post_init__(self, enclosures: arb | acb | Iterable[arb | acb]) -> None:
        balls = tuple(enclosures) if isinstance(enclosures, Iterable) else (enclosures,)
        if not balls:
            raise ValueError("enclosures: none was given; at least one ball is needed")
        for ball in balls:
            # The exact type, so that no subclass can pass as a ball.
            if type(ball) not in (arb, acb):
                raise ValueError(
                    f"enclosures: {ball!r} is a {type(ball).__name__}; "
                    "only balls (flint.arb or flint.acb) certify a result"
                )
            if not ball.is_finite():
                raise ValueError(
                    f"enclosures: {ball} encloses nothing finite; more precision or smaller steps are needed"
                )
        # Set this way because the dataclass is frozen.
        object.__setattr__(self, "radius", max(_radius(ball) for ball in balls))

    def __str__(self) -> str:
        return f"certified: radius {self.radius:.2g}"


@dataclass(frozen=True)
class Numerical(Evidence):
    """Two independent computations agree, or a condition held on a sample, to a tolerance.

    Parameters
    ----------
    tolerance
        The largest deviation that was allowed: a number of any kind, or a decimal as text.
    worst
        The largest deviation that was seen, likewise; the distance between the two is the margin.

    Raises
    ------
    ValueError
        When `worst` is not within `tolerance`: that is a refutation (see `proofs_check.verdicts.agreement`).

    >>> print(Numerical("1e-45", "3.2e-49"))
    numerical: within 1e-45, worst 3.2e-49
    """

    tolerance: Any
    worst: Any

    def __post_init__(self) -> None:
        # Decimals, because a float knows nothing below 1e-324 and mpmath numbers need their context.
        tolerance, worst = magnitude("tolerance", self.tolerance), magnitude("worst", self.worst)
        if worst > tolerance:
            raise ValueError(f"worst: a deviation of {worst:.2g} is not within the tolerance {tolerance:.2g}")
        object.__setattr__(self, "tolerance", tolerance)
        object.__setattr__(self, "worst", worst)

    def __str__(self) -> str:
        return f"numerical: within {self.tolerance:.2g}, worst {self.worst:.2g}"


@dataclass(frozen=True)
class Refuted(Evidence):
    """A counterexample.

    Parameters
    ----------
    witness
        Where the statement fails and by how much, in words: small and rational where possible.

    >>> print(Refuted("rank 3 instead of 2 at t = 1"))
    refuted: rank 3 instead of 2 at t = 1
    """

    witness: str

    def __post_init__(self) -> None:
        if not self.witness:
            raise ValueError("witness: it is empty; say where the statement fails and by how much")

    def __str__(self) -> str:
        return f"refuted: {self.witness}"


def magnitude(name: str, value: Any) -> Decimal:
    """`value` as a decimal, or a ValueError that names it when it is not a finite number >= 0.

    >>> magnitude("worst", 1e-3)
    Decimal('0.001')
    """
    try:
        result = Decimal(str(value))
    except InvalidOperation:
        raise ValueError(f"{name}: {value!r} is not a number; a finite number >= 0 is needed") from None
    if not result.is_finite() or result < 0:
        raise ValueError(f"{name}: {value!r} is not a finite number >= 0")
    return result


def _radius(ball: arb | acb) -> Decimal:
    """An upper bound of the radius of a ball, to 2 digits."""
    middle, error, exponent = ball.rad().mid_rad_10exp(4)
    return Decimal(f"{middle + error}e{exponent}").normalize(Context(prec=2, rounding=ROUND_CEILING))
