"""Numbers from derived equations: generated kernels, and trajectories with an outcome that is a sentence.

Everything here is loaded on first use, so that `import numeric` is immediate and needs no SymPy: generated kernels are
plain array code.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numeric import riccati
    from numeric.ensemble import Ensemble, integrate_ensemble
    from numeric.integration import integrate
    from numeric.kernel import Argument, Kernel
    from numeric.kernels import compile_kernel, load_kernel, regenerate_kernels
    from numeric.trajectory import Trajectory

__all__ = [
    "Argument",
    "Ensemble",
    "Kernel",
    "Trajectory",
    "compile_kernel",
    "integrate",
    "integrate_ensemble",
    "load_kernel",
    "regenerate_kernels",
    "riccati",
]

_HOME = {
    "Argument": "numeric.kernel",
    "Ensemble": "numeric.ensemble",
    "Kernel": "numeric.kernel",
    "Trajectory": "numeric.trajectory",
    "compile_kernel": "numeric.kernels",
    "integrate": "numeric.integration",
    "integrate_ensemble": "numeric.ensemble",
    "load_kernel": "numeric.kernels",
    "regenerate_kernels": "numeric.kernels",
}

_MODULES = ("riccati",)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"numeric.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'numeric' has no attribute '{name}'")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
