"""Kernels from reductions: compiled in memory, loaded from numeric/generated, or written there.

SymPy is imported only where a reduction is turned into code; loading a generated kernel does without.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import linecache
import pkgutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numeric import backends, generated
from numeric.inputs import nearest
from numeric.kernel import Argument, Kernel

if TYPE_CHECKING:
    from symbolic.reduction import Reduction

GENERATED = Path(generated.__file__).parent

#: The size that counts tokens, in the shapes of all kernels.
TOKENS = "n"


def compile_kernel(reduction: Reduction, backend: str = "numpy") -> Kernel:
    """Array code for a reduction, generated and compiled in memory.

    Parameters
    ----------
    reduction
        z' = F(z; parameters), with definitions; which operations have array code is documented in
        `symbolic.printing.translate`.
    backend
        "numpy" for double precision; "heyoka" likewise, but `integrate` compiles small systems, which is far faster
        (extra `fast`); "jax" likewise, on arrays of JAX, which compiles, maps and differentiates them (extra `jax`,
        `numeric.backends.jax`); "mpmath" for object arrays of its numbers at its current precision, and "gmpy2"
        likewise, which is faster; "flint" for balls, which enclose the rates. `integrate(..., digits=)` takes the fast
        one for kernels of every backend. "auto" is "heyoka", where that is installed, for kernels that have a Taylor
        recurrence and no tokens (no array has n rows), "numpy" for others; `Kernel.backend` says which. Systems too
        large for heyoka, with more than 400 entries, are then integrated with NumPy all the same.

    Returns
    -------
    Kernel
        Its functions have the text that `regenerate_kernels` would write, which tracebacks and
        `inspect.getsource` show.

    Raises
    ------
    ValueError
        For an unknown backend, one that is not installed, or an expression without array code.

    >>> import sympy as sp
    >>> from symbolic.derivation import Derivation
    >>> from symbolic.reduction import Reduction, Variable
    >>> x = sp.Symbol("x", real=True)
    >>> growth = Reduction("growth", "Quadratic growth", None, None, (Variable(x, "real", "size"),), (), (),
    ...     {x: x**2}, (), (), Derivation("growth"))
    >>> print(*compile_kernel(growth).rhs(3.0))
    9.0
    """
    from symbolic.printing.array_code import digest, module_text

    text = module_text(reduction)
    filename = f"<attnflow kernel {reduction.name} {digest(reduction)[:12]}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    namespace: dict[str, Any] = {"__name__": filename}
    exec(compile(text, filename, "exec"), namespace)
    return _kernel(namespace, backend)


def load_kernel(name: str, backend: str = "numpy") -> Kernel:
    """A kernel from numeric/generated, for a backend as in `compile_kernel`. SymPy is not imported.

    Raises
    ------
    ValueError
        For an unknown name or backend, where the message suggests the nearest, and for a backend that is not installed.
    """
    known = sorted(module.name for module in pkgutil.iter_modules(generated.__path__))
    if name not in known:
        suggestion = nearest(str(name), known)
        raise ValueError(f"name: there is no kernel '{name}'{suggestion}; expected one of {', '.join(known)}")
    return _kernel(vars(importlib.import_module(f"{generated.__name__}.{name}")), backend)


@dataclass(frozen=True)
class Regeneration:
    """How generated kernels compare with their derivations: `changed` maps names to unified diffs."""

    unchanged: tuple[str, ...]
    changed: Mapping[str, str]

    @property
    def matches(self) -> bool:
        """Whether every file is what its derivation gives."""
        return not self.changed

    def __str__(self) -> str:
        lines = [f"{name}: as derived" for name in self.unchanged]
        for name, diff in self.changed.items():
            lines += [f"{name}: differs from its derivation", diff]
        return "\n".join(lines)


def regenerate_kernels(check: bool = False, directory: Path = GENERATED) -> Regeneration:
    """Derive every canonical reduction and write its kernel, or only compare.

    Parameters
    ----------
    check
        Write nothing. Without it, files that differ are replaced, and files without a reduction removed.
    directory
        Where the kernels are.

    Returns
    -------
    Regeneration
        The names of the files that are what their derivation gives, and diffs for the others, from the file
        to the derived text. Digest, equations and code are all compared.
    """
    from symbolic import canonical_reductions
    from symbolic.printing.array_code import module_text

    derived = {name: module_text(reduction()) for name, reduction in canonical_reductions().items()}
    found = {path.stem: path.read_text("utf-8") for path in directory.glob("*.py") if path.stem != "__init__"}
    unchanged, changed = [], {}
    for name in sorted({*derived, *found}):
        old, new = found.get(name, ""), derived.get(name, "")
        if old == new:
            unchanged.append(name)
            continue
        changed[name] = _unified_diff(name, old, new)
        if not check:
            path = directory / f"{name}.py"
            if new:
                path.write_text(new, "utf-8")
            else:
                path.unlink()
            # The next load_kernel reads the new file.
            sys.modules.pop(f"{generated.__name__}.{name}", None)
    importlib.invalidate_caches()
    return Regeneration(tuple(unchanged), changed)


def _unified_diff(name: str, old: str, new: str) -> str:
    lines = difflib.unified_diff(
        old.splitlines(), new.splitlines(), f"generated/{name}.py", f"derivation of {name}", lineterm=""
    )
    return "\n".join(lines)


def _kernel(namespace: Mapping[str, Any], backend: str) -> Kernel:
    state, parameters = (tuple(Argument(*entry) for entry in namespace[key]) for key in ("STATE", "PARAMETERS"))
    automatic = backend == "auto"
    if automatic:
        backend = _fastest(state + parameters, namespace["series"] is not None)
    field = _bound(namespace["field"], backends.load(backend))
    return Kernel(
        namespace["NAME"], backend, namespace["DIGEST"], state, parameters, field, namespace["series"], automatic
    )


def _fastest(arguments: Sequence[Argument], has_series: bool) -> str:
    """heyoka unrolls arrays, which pays for the few numbers of a reduction but not for n tokens.

    The equations that it compiles come from the Taylor recurrence, which not every kernel has.
    """
    if not has_series or any(TOKENS in argument.shape for argument in arguments):
        return "numpy"
    try:
        backends.load("heyoka")
    except backends.NotInstalled:
        return "numpy"
    return "heyoka"


def _bound(field: Callable[..., Any], arithmetic: Any) -> Callable[..., Callable[..., tuple[Any, ...]]]:
    """`field` with the functions of a backend, on arrays of its numbers."""
    asarray = arithmetic.asarray

    @functools.wraps(field)
    def bound(*parameters: Any) -> Callable[..., tuple[Any, ...]]:
        rhs = field(*map(asarray, parameters), xp=arithmetic)
        return lambda *states: rhs(*map(asarray, states))

    return bound
