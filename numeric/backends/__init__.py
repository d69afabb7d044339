"""Backends: the kinds of numbers that generated kernels run on, one file each, found by their file name.

The file of a backend defines `arithmetic`, an object that offers, with NumPy's names and meanings on arrays of its
numbers,

    asarray  broadcast_to  eye  abs  real  imag  conj  exp  log  sqrt  cos  sin  linalg.inv  linalg.trace

where `asarray` may return numbers in place of arrays without axes; further the functions

    polynomial(c, x) = Σ_k c[..., k, 0] x^k    acg_second_moment(Σ) = E[yyᵀ/|y|²], y ~ N(0, Σ)
    acg_second_moment_of_factor(L) = acg_second_moment(L Lᵀ)

and, for Taylor coefficients a[0], a[1], ... (scalars, or arrays that broadcast),

    convolve(a, b, k) = Σ_{j≤k} a[j] b[k−j] entrywise,    matmul(a, b, k) = Σ_{j≤k} a[j] @ b[k−j].

`field` receives it as `xp`, `series` as `arithmetic`.

What an optional backend runs on comes with an extra of attnflow. Its file imports that as

    with from_extra("fast"):
        import heyoka

so that whoever has not installed it is told how to.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import SimpleNamespace
from typing import Any

from numeric.inputs import nearest


class Arithmetic(SimpleNamespace):
    """The operations of a backend that does not have all of them."""

    def __getattr__(self, operation: str) -> Any:
        if operation.startswith("__"):
            raise AttributeError(operation)
        raise ValueError(f"backend: it has no operation {operation}; expected one that has, as 'numpy' does")


class NotInstalled(ValueError, ImportError):
    """A backend was asked for whose package is not installed; the message is the line that installs it."""


@contextmanager
def from_extra(extra: str) -> Iterator[None]:
    """Imports of what this extra installs.

    Raises
    ------
    NotInstalled
        When a package is missing.

    >>> with from_extra("fast"):
    ...     import no_such_package
    Traceback (most recent call last):
    numeric.backends.NotInstalled: backend: 'no_such_package' is not installed; pip install 'attnflow[fast]'
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise NotInstalled(f"backend: '{error.name}' is not installed; pip install 'attnflow[{extra}]'") from error


def names() -> tuple[str, ...]:
    """The backends there are, whether what they need is installed or not.

    >>> names()
    ('flint', 'gmpy2', 'heyoka', 'jax', 'mpmath', 'numpy')
    """
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__)))


def load(name: str) -> Any:
    """The arithmetic of the backend of this name.

    Raises
    ------
    ValueError
        When there is none; the message suggests the nearest.
    NotInstalled
        When what it runs on is not installed. This is a ValueError too.
    """
    known = names()
    if name not in known:
        suggestion = nearest(str(name), known)
        raise ValueError(f"backend: there is no '{name}'{suggestion}; expected one of {', '.join(known)}")
    return import_module(f"{__name__}.{name}").arithmetic
