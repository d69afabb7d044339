"""Derive, from an attention vector field, the finite systems that its tokens obey.

>>> reduction = reduce(LinearAttention(space=Sphere(2)), WrappedCauchy())
>>> reduction.equations
{R: I*R*beta*im(P) + beta*(Q - R**2*conjugate(Q))/2}
>>> len(reduction.derivation.verify())
7
"""

from symbolic.derivation import Derivation, StepFailed
from symbolic.fields import AttentionField, ExponentialAttention, L2Attention, LinearAttention, SoftmaxAttention
from symbolic.invariants import FirstIntegral, find_invariants
from symbolic.laws import AngularCentralGaussian, Gaussian, GaussianMixture, SecondMoment, Tokens, WrappedCauchy
from symbolic.reduction import ClosureUndecided, Invariant, NotClosed, Reduction, Variable
from symbolic.reductions import canonical_reductions, reduce
from symbolic.spaces import Euclidean, Sphere
from symbolic.specialise import specialise

__all__ = [
    "AngularCentralGaussian",
    "AttentionField",
    "ClosureUndecided",
    "Derivation",
    "Euclidean",
    "ExponentialAttention",
    "FirstIntegral",
    "Gaussian",
    "GaussianMixture",
    "Invariant",
    "L2Attention",
    "LinearAttention",
    "NotClosed",
    "Reduction",
    "SecondMoment",
    "SoftmaxAttention",
    "Sphere",
    "StepFailed",
    "Tokens",
    "Variable",
    "WrappedCauchy",
    "canonical_reductions",
    "find_invariants",
    "reduce",
    "specialise",
]
