"""Claims, one module for each group. A module assigns a tuple of `proofs_check.claim.Claim` to `CLAIMS`.

Modules here are found by `proofs_check.registry`: a new one needs no other change.
"""
