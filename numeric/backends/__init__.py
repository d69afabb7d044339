"""Backends: the kinds of numbers that generated kernels run on, one file each, found by their file name.

The file of a backend defines `arithmetic`, an object that offers, with NumPy's names and meanings on arrays of its
numbers,

    asarray  broadcast_to  eye  abs  real  imag  conj  exp  log  sqrt  cos  sin  linalg.inv  linalg.trace

and, for Taylor coefficients a[0], a[1], ... (scalars, or arrays that broadcast),

    convolve(a, b, k) = Σ_{j≤k} a[j] b[k−j] entrywise,    matmul(a, b, k) = Σ_{j≤k} a[j] @ b[k−j].

`rhs` receives it as `xp`, `series` as `arithmetic`.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import Any

from numeric.inputs import nearest


def names() -> tuple[str, ...]:
    """The backends there are.

    >>> names()
    ('flint', 'gmpy2', 'mpmath', 'numpy')
    """
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__)))


def load(name: str) -> Any:
    """The arithmetic of the backend of this name.

    Raises
    ------
    ValueError
        When there is none; the message suggests the nearest.
    """
    known = names()
    if name not in known:
        suggestion = nearest(str(name), known)
        raise ValueError(f"backend: there is no '{name}'{suggestion}; expected one of {', '.join(known)}")
    return import_module(f"{__name__}.{name}").arithmetic
