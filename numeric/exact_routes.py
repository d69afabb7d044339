"""Exact routes: where one element of a group moves all tokens, that element is integrated in place of the tokens.

    linear_tokens_sphere, n > d        projective: G' = W G, d × d, and x_k(t) = G x_k(0)/|G x_k(0)|
    the same with d = 2, many tokens   watanabe_strogatz_moments: a Möbius map of the disc, and moments of the tokens

At d = 2 both are the same motion, G being that map in other coordinates. What is exact is that one element moves every
token; each kernel is generated from the derivation that proves it. The element itself is integrated by the adaptive
method and with the tolerances that `integrate` uses otherwise, and applied to the tokens only at times that are asked
for: they are unit vectors up to the rounding of that one division.

An element far from the identity would magnify its own errors: G by |G|/|G x_k(0)| at token k, the Möbius map by
(1 + |α|)/(1 − |α|). So the route starts again from the tokens of the moment, with the identity, whenever that factor
exceeds about 10. Once tokens have clustered G comes to rest, far from being invertible but at a good distance from
sending any of them to 0, so that it takes the long steps that the tokens themselves would.

By moments: R = α + (1 − |α|²) e^{iη} Σ_{k=1..K} ⟨w^k⟩ (−ᾱe^{iη})^{k−1} up to (1 + |α|)|α|^K, where K keeps that below a
tenth of `rtol` for |α| ≤ 0.85. Beyond 0.8 the next start is due, and steps that reach beyond 0.85 are refused. A start
costs O(nK) by matrix products, a step O(K), where a mean over the tokens would cost O(n) for each value of the field.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from numeric.integrators.scipy_solver import MAX_STEPS, Rhs, flat_rhs, scipy_steps
from numeric.kernel import Kernel
from numeric.kernels import load_kernel
from numeric.layout import Layout
from numeric.outcome import Outcome, StepLimit
from numeric.trajectory import Piece

#: The factor by which G may magnify its errors, and the |α|, beyond which the route starts again.
MAGNIFICATION, FAR = 10.0, 0.8

#: Up to this |α| the series of the order parameter has as many terms as it needs.
SERIES_LIMIT = 0.85

#: From this number of tokens on, moments are cheaper than means over all tokens at each step.
MANY = 1000

#: What the series leaves out, over the relative tolerance.
NEGLIGIBLE = 0.1

#: Tokens that are worked on at once: their powers fit in the cache.
CHUNK = 2048


@dataclass(frozen=True)
class Route:
    """What is integrated instead of tokens.

    Attributes
    ----------
    kernel
        Its name.
    identity
        Tokens -> the state that moves none of them.
    constants
        (tokens, relative tolerance) -> the parameters that the kernel has beyond those of the tokens' kernel.
    matrix
        State -> a matrix whose rows' images X Gᵀ have the directions of the moved tokens.
    is_far
        Whether a state, which moves these tokens, is so far from the identity that the route should start again.
    is_admissible
        Whether the right-hand side may be evaluated at a flat state.
    """

    kernel: str
    identity: Callable[[np.ndarray], dict[str, Any]]
    constants: Callable[[np.ndarray, float], dict[str, Any]]
    matrix: Callable[[Mapping[str, Any]], np.ndarray]
    is_far: Callable[[Mapping[str, Any], np.ndarray], bool]
    is_admissible: Callable[[np.ndarray], bool] = lambda flat: True


def find(kernel: Kernel, state: Mapping[str, Any]) -> Route | None:
    """The route for a kernel at a state; None where the kernel is best integrated itself.

    >>> find(load_kernel("linear_tokens_sphere"), {"X": np.eye(3)[[0, 1, 2, 0]]}).kernel
    'projective'
    """
    if kernel.name not in ROUTES or kernel.backend != "numpy" or kernel.digest != load_kernel(kernel.name).digest:
        return None
    return ROUTES[kernel.name](state)


def steps(
    route: Route,
    state: Mapping[str, Any],
    parameters: Mapping[str, Any],
    start: float,
    end: float,
    rtol: float,
    atol: float,
) -> Iterator[Piece | Outcome]:
    """The steps in terms of the tokens, then the outcome."""
    kernel = load_kernel(route.kernel)
    (tokens,) = state.values()
    count, first = 0, None
    while True:
        element = route.identity(tokens)
        layout = Layout(kernel.state, element)
        given = {**parameters, **route.constants(tokens, rtol)}
        rhs = _guarded(flat_rhs(kernel, layout, {a.name: given[a.name] for a in kernel.parameters}), route)
        for step in scipy_steps(rhs, layout, start, end, layout.flatten(element), rtol, atol, first):
            if not isinstance(step, Piece):
                yield step
                return
            piece = MovedTokens(step, tokens, layout, route)
            yield piece
            count += 1
            if step.end < end and route.is_far(layout.unflatten(step.final), tokens):
                break
        if count > MAX_STEPS:
            yield StepLimit(piece.end, f"the end of the time span was not reached in {MAX_STEPS} steps")
            return
        first = min(piece.end - piece.start, end - piece.end)
        start, tokens = piece.end, piece.final.reshape(tokens.shape)


def _guarded(rhs: Rhs, route: Route) -> Rhs:
    """NaN, for which the integrator refuses a step, where the right-hand side is not valid."""
    return lambda t, flat: rhs(t, flat) if route.is_admissible(flat) else np.full_like(flat, np.nan)


class MovedTokens(Piece):
    """A step of the group element, as the tokens that it moves; they are computed when they are asked for."""

    def __init__(self, step: Piece, tokens: np.ndarray, layout: Layout, route: Route):
        self.start, self.end = step.start, step.end
        self._step, self._tokens, self._layout, self._route = step, tokens, layout, route

    def _moved(self, flat: np.ndarray) -> np.ndarray:
        return act(self._route.matrix(self._layout.unflatten(flat)), self._tokens).ravel()

    def evaluate(self, time: float) -> np.ndarray:
        return self._moved(self._step.evaluate(time))

    @cached_property
    def final(self) -> np.ndarray:  # type: ignore[override]
        return self._moved(self._step.final)


def act(matrix: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    """The directions of G x_k, tokens one a row: unit vectors, up to the rounding of a norm and a division.

    >>> act(np.array([[2.0, 0.0], [0.0, 1.0]]), np.array([[0.6, 0.8]])).round(3).tolist()
    [[0.832, 0.555]]
    """
    moved = tokens @ matrix.T
    moved /= np.sqrt(np.einsum("ij,ij->i", moved, moved))[:, None]
    return moved


def moments(w: np.ndarray, count: int) -> np.ndarray:
    """The means of w, w², …, w^count over complex numbers of modulus 1.

    With k = i + jm, 0 < i ≤ m, the sums of w^i w^{jm} are a product of two matrices of 2 √count powers in all.

    >>> moments(np.array([1.0, 1j]), 4).round(15).tolist()
    [(0.5+0.5j), 0j, (0.5-0.5j), (1+0j)]
    """
    m = math.ceil(math.sqrt(count))
    sums = np.zeros((m, m), dtype=complex)
    for begin in range(0, len(w), CHUNK):
        chunk = w[begin : begin + CHUNK]
        fine, coarse = np.empty((2, m, len(chunk)), dtype=complex)
        _fill_powers(fine, chunk)
        coarse[0] = 1
        _fill_powers(coarse[1:], fine[-1])
        sums += coarse @ fine.T
    return sums.ravel()[:count] / len(w)


def _fill_powers(rows: np.ndarray, w: np.ndarray) -> None:
    """w, w², …, by doubling: w^{k+j} = w^k w^j for all j ≤ k at once."""
    rows[:1] = w
    k = 1
    while k < len(rows):
        np.multiply(rows[k - 1], rows[: len(rows) - k][:k], out=rows[k : 2 * k])
        k *= 2


# The sphere: G' = W G.


def _is_far_in_group(state: Mapping[str, Any], tokens: np.ndarray) -> bool:
    moved = tokens @ state["G"].T
    shortest = math.sqrt(np.einsum("ij,ij->i", moved, moved).min())
    # Errors have the size of an entry of G, which is 1/√d of its norm.
    return bool(np.linalg.norm(state["G"]) > MAGNIFICATION * math.sqrt(len(state["G"])) * shortest)


PROJECTIVE = Route(
    kernel="projective",
    identity=lambda tokens: {"G": np.eye(tokens.shape[1])},
    constants=lambda tokens, _: {"X0": tokens},
    matrix=lambda state: state["G"],
    is_far=_is_far_in_group,
)


# The circle: e^{2iθ} ↦ (α + e^{iη}w)/(1 + ᾱe^{iη}w).


def _doubled(tokens: np.ndarray) -> np.ndarray:
    """w = e^{2iθ} of tokens (cos θ, sin θ)."""
    return np.square(np.ascontiguousarray(tokens).view(complex)[:, 0])


def _moebius_matrix(state: Mapping[str, Any]) -> np.ndarray:
    """G z = γ₀z + γ₁z̄ with γ₀ = e^{iη/2}, γ₁ = αγ̄₀: the map on the tokens themselves, η being continuous."""
    gamma0 = np.exp(0.5j * state["eta"])
    gamma1 = state["alpha"] * gamma0.conj()
    columns = np.array([gamma0 + gamma1, 1j * (gamma0 - gamma1)])
    return np.array([columns.real, columns.imag])


def _series_moments(tokens: np.ndarray, rtol: float) -> dict[str, np.ndarray]:
    """The real and imaginary parts of as many moments as |α| ≤ SERIES_LIMIT needs."""
    count = math.ceil(math.log(NEGLIGIBLE * rtol / (1 + SERIES_LIMIT)) / math.log(SERIES_LIMIT))
    mean = moments(_doubled(tokens), count)
    return {"c": mean.real, "s": mean.imag}


WATANABE_STROGATZ_MOMENTS = Route(
    kernel="watanabe_strogatz_moments",
    identity=lambda _: {"alpha": np.complex128(0), "eta": np.float64(0)},
    constants=_series_moments,
    matrix=_moebius_matrix,
    is_far=lambda state, _: abs(state["alpha"]) > FAR,
    is_admissible=lambda flat: math.hypot(flat[0], flat[1]) <= SERIES_LIMIT,
)


def _linear_tokens_sphere(state: Mapping[str, Any]) -> Route | None:
    n, d = state["X"].shape
    if n <= d:
        return None
    return WATANABE_STROGATZ_MOMENTS if d == 2 and n >= MANY else PROJECTIVE


#: The kernels that have a route, and which one at a given state.
ROUTES: dict[str, Callable[[Mapping[str, Any]], Route | None]] = {"linear_tokens_sphere": _linear_tokens_sphere}
