"""What holds for every test: one BLAS thread, and no precision or error state left changed."""

import os

# Before NumPy is loaded: two BLAS threads on a busy two-core machine can be 50 times slower than one.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from collections.abc import Iterator

import mpmath
import numpy as np
import pytest


@pytest.fixture(autouse=True)
def global_state_restored() -> Iterator[None]:
    """Fail a test after which mpmath's precision or NumPy's reaction to floating point errors is another."""
    precision, reactions = mpmath.mp.prec, np.geterr()
    yield
    left = mpmath.mp.prec, np.geterr()
    # Restored here, so that one test that changes it does not fail all that follow.
    mpmath.mp.prec = precision
    np.seterr(**reactions)
    assert left == (precision, reactions), "global precision or error state was not restored"
