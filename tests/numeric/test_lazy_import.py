"""`import numeric` loads nothing heavy, and what it offers can be reached by name."""

import subprocess
import sys

import pytest

import numeric


def test_import_loads_neither_sympy_nor_scipy_nor_matplotlib():
    code = (
        "import sys, numeric; "
        "print([name for name in ('sympy', 'scipy', 'matplotlib', 'numpy', 'mpmath') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_integrating_needs_no_sympy():
    code = "import sys; from numeric import integrate; print('sympy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("name", numeric.__all__)
def test_every_name_is_reachable(name):
    assert getattr(numeric, name).__name__ in (name, f"numeric.{name}")
    assert name in dir(numeric)


def test_unknown_name():
    with pytest.raises(AttributeError, match="'numeric' has no attribute 'integrator'"):
        _ = numeric.integrator
