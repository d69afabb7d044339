"""What a kernel is: the array-level vector field of a reduction, and its Taylor recurrence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any


@dataclass(frozen=True)
class Argument:
    """A state or parameter array: its name, its shape (sizes or names of sizes), and its domain.

    Equal size names mean equal sizes: ("d", "d") is a square matrix, () a scalar. The domain is one of the
    names in `numeric.inputs.DOMAINS` and says which values are admissible.
    """

    name: str
    shape: tuple[str | int, ...]
    domain: str


@dataclass(frozen=True)
class Kernel:
    """Array code generated from one reduction for one backend.

    `field(*parameters)` returns the vector field at these parameters: a function of the states that returns their time
    derivatives, in the order of `state`. What depends on parameters alone is computed by then, at the precision that
    the backend has in that moment. `rhs(*states, *parameters)` is both in one call. Every array may have leading batch
    axes that broadcast. `series(order, *states, *parameters, arithmetic)` returns, for each real state array (a complex
    state counts as its real and its imaginary part, in this order), the list of its normalised Taylor coefficients
    0..order at the given state; it is None where the equations have no Taylor recurrence. `digest` identifies the
    equations. `automatic` says that "auto" chose the backend.
    """

    name: str
    backend: str
    digest: str
    state: tuple[Argument, ...]
    parameters: tuple[Argument, ...]
    field: Callable[..., Callable[..., tuple[Any, ...]]]
    series: Callable[..., tuple[list[Any], ...]] | None
    automatic: bool = False

    @cached_property
    def names(self) -> tuple[list[str], list[str]]:
        """Those of the states, and those of the parameters."""
        return [argument.name for argument in self.state], [argument.name for argument in self.parameters]

    @cached_property
    def places(self) -> dict[tuple[tuple[int, ...] | None, ...], Any]:
        """Where states and parameters lie in a vector, for shapes seen so far (`numeric.flat_inputs`)."""
        return {}

    def rhs(self, *arrays: Any) -> tuple[Any, ...]:
        """The time derivatives of states at parameters; for many states at the same parameters use `field`.

        >>> Kernel("decay", "numpy", "", (Argument("x", (), "real"),), (Argument("r", (), "real"),),
        ...     lambda r: lambda x: (-r * x,), None).rhs(2.0, 3.0)
        (-6.0,)
        """
        count = len(self.state)
        return self.field(*arrays[count:])(*arrays[:count])

    def recurrence(self) -> Callable[..., tuple[list[Any], ...]]:
        """`series`, for those who cannot do without it.

        Raises
        ------
        ValueError
            Where there is none.
        """
        if self.series is None:
            raise ValueError(
                f"digits, backend: the kernel '{self.name}' has no Taylor recurrence, which digits and heyoka need; "
                "expected backend='numpy', without digits"
            )
        return self.series
