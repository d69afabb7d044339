"""Claims to try the machinery on, written as a package that is found like the real one."""

import importlib
import sys
import textwrap
from collections.abc import Callable
from types import ModuleType

import pytest

HEADER = """
from proofs_check.claim import Claim
from proofs_check.evidence import Exact, Refuted

def even(number, digits):
    return Exact(1, detail=f"at {digits} digits") if number % 2 == 0 else Refuted(f"{number} is odd")

def claim(id, check=even, subject=lambda: 4, control=lambda: 5):
    statement = f"The number of {id} is even"
    return Claim(id, statement, ("it is whole",), "[G], parity", check, subject, control, "1 is added")
"""


@pytest.fixture
def claim_package(tmp_path, monkeypatch) -> Callable[..., ModuleType]:
    """Make a package of claims from the source of its modules; they may use `claim` and `even`."""
    monkeypatch.syspath_prepend(tmp_path)

    def make(**modules: str) -> ModuleType:
        name = "claims_for_test"
        folder = tmp_path / name
        folder.mkdir()
        (folder / "__init__.py").touch()
        for module, source in modules.items():
            (folder / f"{module}.py").write_text(HEADER + textwrap.dedent(source))
        return importlib.import_module(name)

    yield make
    for module in [module for module in sys.modules if module.split(".")[0] == "claims_for_test"]:
        del sys.modules[module]
