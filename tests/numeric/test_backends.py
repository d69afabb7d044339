"""Which backend runs a kernel, and what is said when one is missing."""

import sys

import pytest

from numeric import backends, compile_kernel, load_kernel
from symbolic import canonical_reductions

TOKENS = "softmax_tokens"


def test_names_are_those_of_the_files():
    assert {"gmpy2", "heyoka", "mpmath", "numpy"} <= set(backends.names())


@pytest.fixture
def without_heyoka(monkeypatch):
    monkeypatch.setitem(sys.modules, "heyoka", None)  # importing it then fails as if it were missing
    monkeypatch.delitem(sys.modules, "numeric.backends.heyoka", raising=False)
    yield
    # What the attempt to import it may have left behind.
    sys.modules.pop("numeric.backends.heyoka", None)


@pytest.mark.parametrize("kind", [ValueError, ImportError])
def test_a_backend_that_is_not_installed(without_heyoka, kind):
    message = r"^backend: 'heyoka' is not installed; pip install 'attnflow\[fast\]'$"
    with pytest.raises(kind, match=message):
        load_kernel("ott_antonsen", "heyoka")
    with pytest.raises(kind, match=message):
        compile_kernel(canonical_reductions()["ott_antonsen"](), backend="heyoka")
    assert "heyoka" in backends.names()


def test_auto_without_heyoka(without_heyoka):
    assert load_kernel("ott_antonsen", "auto").backend == "numpy"


def test_auto():
    pytest.importorskip("heyoka")
    assert load_kernel("ott_antonsen", "auto").backend == "heyoka"
    assert compile_kernel(canonical_reductions()["gaussian_moments"](), "auto").backend == "heyoka"
    # n tokens in the state, or in the parameters.
    assert load_kernel(TOKENS, "auto").backend == "numpy"
    assert load_kernel("watanabe_strogatz", "auto").backend == "numpy"


def test_the_default_is_numpy():
    assert load_kernel("ott_antonsen").backend == "numpy"
