"""Double precision on JAX arrays: kernels that can be compiled, differentiated and mapped by JAX.

`rhs` is a function of JAX arrays like any other, and so is `field(*parameters)`: `jax.jit`, `jax.grad`, `jax.jacfwd`,
`jax.vmap` and solvers written in JAX take them as they are, and they are differentiable in the states and in the
parameters.

JAX computes in single precision unless told otherwise, for the whole process or in a scope. Nothing here changes that:
called without 64 bits, `rhs` raises an error. The scope must be around the outermost transformation, as the arguments
become numbers of JAX there:

>>> import jax
>>> from numeric import load_kernel
>>> rhs = load_kernel("equiangular_linear", "jax").rhs
>>> with jax.enable_x64(True):
...     print(jax.grad(lambda rho: rhs(rho, 2, 8)[0])(0.25))
1.34375

`integrate` takes such a kernel too, through SciPy; it opens the scope and compiles, and is about as fast as with NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from numeric.backends import Arithmetic, from_extra
from numeric.backends.numpy import arithmetic as _numpy
from numeric.kernel import Kernel

with from_extra("jax"):
    import jax
    import jax.numpy as jnp


def _asarray(values: Any) -> Any:
    """An array in double precision; an error where digits are lost already, or would be."""
    array = jnp.asarray(values)
    if not jax.config.jax_enable_x64 or array.dtype in ("float32", "complex64"):
        raise ValueError(
            "backend: jax computes in single precision here; expected the call, and jit, grad or vmap around it, "
            "inside `with jax.enable_x64(True):`, and values in double precision"
        )
    return array.astype(complex if jnp.iscomplexobj(array) else float)


def _polynomial(column: Any, x: Any) -> Any:
    value = jnp.zeros_like(x)
    for k in reversed(range(column.shape[-2])):
        value = value * x + column[..., k, 0]
    return value


arithmetic = Arithmetic(
    asarray=_asarray,
    broadcast_to=jnp.broadcast_to,
    eye=jnp.eye,
    abs=jnp.abs,
    real=jnp.real,
    imag=jnp.imag,
    conj=jnp.conj,
    exp=jnp.exp,
    log=jnp.log,
    sqrt=jnp.sqrt,
    cos=jnp.cos,
    sin=jnp.sin,
    linalg=jnp.linalg,
    polynomial=_polynomial,
    convolve=_numpy.convolve,
    matmul=_numpy.matmul,
)


def compiled(kernel: Kernel) -> Kernel:
    """The kernel with its right-hand side compiled, in a scope with 64 bits, from and to NumPy's arrays."""
    rhs = jax.jit(kernel.rhs)  # which JAX compiles once for all calls, as the function stays the same

    def field(*parameters: Any) -> Callable[..., tuple[Any, ...]]:
        def scoped(*states: Any) -> tuple[Any, ...]:
            with jax.enable_x64(True):
                return tuple(map(np.asarray, rhs(*states, *parameters)))

        return scoped

    return replace(kernel, field=field)
