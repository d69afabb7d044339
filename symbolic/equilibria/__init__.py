"""Equilibria of reductions, with the conditions on the parameters under which they exist and attract."""

from __future__ import annotations

from symbolic.equilibria.bernoulli import bernoulli_equilibrium
from symbolic.equilibria.circle import SaddleNode, saddle_nodes
from symbolic.equilibria.planar import Equilibrium, planar_equilibria
from symbolic.invariants.planar import require_planar
from symbolic.reduction import Reduction

__all__ = ["Equilibrium", "SaddleNode", "equilibria", "saddle_nodes"]


def equilibria(reduction: Reduction) -> tuple[Equilibrium, ...]:
    """The equilibria of a reduction in the inside of its domain, with existence, linearisation and stability.

    For a planar reduction, those with |R| < 1 at generic parameters: the field, without factors common to its
    components, vanishes where its radial and angular parts do, which are split into factors and solved for x and y
    (Cases 1, 2 and 4 of linear attention on the circle can be). For the moment equations of Gaussian laws, the positive
    definite covariance at V = cI, by the linear equation of its inverse.

    Parameters
    ----------
    reduction : one with a single complex state (see `specialise`), or the Gaussian moment equations.

    Raises
    ------
    ValueError
        When the reduction is neither.
    symbolic.invariants.families.Unsolved
        When the equilibria are not found in closed form, or fill a curve.

    >>> import sympy as sp
    >>> from symbolic import LinearAttention, Sphere, WrappedCauchy, reduce, specialise
    >>> v, w = sp.symbols("v w", positive=True)
    >>> general = reduce(LinearAttention(space=Sphere(2)), WrappedCauchy())
    >>> A, V, _ = (parameter.symbol for parameter in general.parameters)
    >>> centre, = equilibria(specialise(general, {A: sp.eye(2), V: sp.Matrix([[v, w], [-w, -v]])}))
    >>> centre.state
    -I*tanh(atanh(v/w)/3)
    >>> centre.exists_if, centre.stable_if, centre.centre_if
    (-v + w > 0, False, True)
    """
    if reduction.name == "gaussian_moments":
        return (bernoulli_equilibrium(reduction),)
    require_planar(reduction)
    return planar_equilibria(reduction)
