"""Derive, from an attention vector field, the finite systems that its tokens obey.

>>> reduction = reduce(LinearAttention(space=Sphere(2)), WrappedCauchy())
>>> reduction.equations
{R: I*R*beta*im(P) + beta*(Q - R**2*conjugate(Q))/2}
>>> len(reduction.derivation.verify())
7
"""

from symbolic.derivation import Derivation, StepFailed
from symbolic.equilibria import Equilibrium, SaddleNode, equilibria, saddle_nodes
from symbolic.fields import AttentionField, ExponentialAttention, L2Attention, LinearAttention, SoftmaxAttention
from symbolic.invariants import FirstIntegral, Reversibility, find_invariants, find_reversibility
from symbolic.laws import (
    AngularCentralGaussian,
    Equiangular,
    Gaussian,
    GaussianMixture,
    GaussianOrbit,
    MoebiusOrbit,
    SecondMoment,
    Tokens,
    WrappedCauchy,
)
from symbolic.normal_forms import bernoulli_solution, congruence_normal_form
from symbolic.reduction import ClosureUndecided, Invariant, NotClosed, Reduction, Variable
from symbolic.reductions import canonical_reductions, reduce
from symbolic.spaces import Euclidean, Sphere
from symbolic.specialise import specialise

__all__ = [
    "AngularCentralGaussian",
    "AttentionField",
    "ClosureUndecided",
    "Derivation",
    "Equiangular",
    "Equilibrium",
    "Euclidean",
    "ExponentialAttention",
    "FirstIntegral",
    "Gaussian",
    "GaussianMixture",
    "GaussianOrbit",
    "Invariant",
    "L2Attention",
    "LinearAttention",
    "MoebiusOrbit",
    "NotClosed",
    "Reduction",
    "SecondMoment",
    "Reversibility",
    "SaddleNode",
    "SoftmaxAttention",
    "Sphere",
    "StepFailed",
    "Tokens",
    "Variable",
    "WrappedCauchy",
    "bernoulli_solution",
    "canonical_reductions",
    "congruence_normal_form",
    "equilibria",
    "find_invariants",
    "find_reversibility",
    "reduce",
    "saddle_nodes",
    "specialise",
]
