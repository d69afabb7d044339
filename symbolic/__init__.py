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
from symbolic.laws import Gaussian, Tokens, WrappedCauchy
from symbolic.reduction import Invariant, NotClosed, Reduction, Variable
from symbolic.reductions import canonical_reductions, reduce
from symbolic.spaces import Euclidean, Sphere
from symbolic.specialise import specialise

__all__ = [
    "AttentionField",
    "Derivation",
    "Equilibrium",
    "Euclidean",
    "ExponentialAttention",
    "FirstIntegral",
    "Gaussian",
    "Invariant",
    "L2Attention",
    "LinearAttention",
    "NotClosed",
    "Reduction",
    "Reversibility",
    "SaddleNode",
    "SoftmaxAttention",
    "Sphere",
    "StepFailed",
    "Tokens",
    "Variable",
    "WrappedCauchy",
    "canonical_reductions",
    "equilibria",
    "find_invariants",
    "find_reversibility",
    "reduce",
    "saddle_nodes",
    "specialise",
]
