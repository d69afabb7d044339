"""Check what is claimed about attention flows, to a stated standard of evidence."""

from proofs_check.checking import check
from proofs_check.claim import Claim
from proofs_check.evidence import Certified, Evidence, Exact, Numerical, Refuted
from proofs_check.ledger import Entry, Ledger
from proofs_check.registry import claims
from proofs_check.sources import citation

__all__ = [
    "Certified",
    "Claim",
    "Entry",
    "Evidence",
    "Exact",
    "Ledger",
    "Numerical",
    "Refuted",
    "check",
    "citation",
    "claims",
]
