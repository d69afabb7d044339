"""The example in CONTRIBUTING.md: a new attention variant is one new file."""

import re
from pathlib import Path

import numpy as np
import pytest

import symbolic.reductions
from numeric import compile_kernel, integrate, load_kernel
from symbolic import canonical_reductions

ROOT = Path(__file__).parents[2]
NAME = "gaussian_moments_temperature"


@pytest.fixture
def variant(tmp_path, monkeypatch):
    """The example as a module of the registry, in a folder of its own."""
    (source,) = re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), flags=re.DOTALL)
    (tmp_path / "temperature.py").write_text(source)
    monkeypatch.setattr(symbolic.reductions, "__path__", [*symbolic.reductions.__path__, str(tmp_path)])
    symbolic.reductions.modules.cache_clear()
    yield canonical_reductions()[NAME]
    symbolic.reductions.modules.cache_clear()


def test_the_new_file_is_found_derived_and_verified(variant):
    reduction = variant()
    assert reduction.name == NAME
    assert len(reduction.derivation.verify()) == 7
    assert "tau" in [parameter.name for parameter in reduction.parameters]


def test_its_kernel_is_softmax_attention_with_a_scaled_score(variant):
    kernel = compile_kernel(variant())
    start = {"mu": [0.5, -0.2], "Sigma": [[1.0, 0.3], [0.3, 0.5]]}
    score, value = np.array([[0.4, 0.1], [-0.3, 0.8]]), -np.eye(2)
    ours = integrate(kernel, start, (0, 1), {"B": score, "V": value, "tau": 2.0})
    softmax = {"B": score / 2, "V": value, "A": np.zeros((2, 2)), "b": np.zeros(2)}
    theirs = integrate(load_kernel("gaussian_moments"), start, (0, 1), softmax)
    for name in start:
        # Both are integrated to 1e-10.
        np.testing.assert_allclose(ours.final[name], theirs.final[name], atol=1e-9)
