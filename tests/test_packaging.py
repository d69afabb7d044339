"""What is shipped, what is required, and how it is installed."""

import os
import subprocess
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder
from packaging.requirements import Requirement

from proofs_check.sources import PAPERS

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PACKAGES = ("symbolic", "numeric", "proofs_check")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> list[str]:
    """The names of the files in the wheel."""
    (path,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path_factory.mktemp("wheel")), versions=["standard"])
    return zipfile.ZipFile(path).namelist()


def test_the_wheel_has_the_packages_their_types_and_nothing_else(wheel):
    assert {name.split("/")[0] for name in wheel} == {*PACKAGES, f"attnflow-{PROJECT['version']}.dist-info"}
    for package in PACKAGES:
        assert f"{package}/py.typed" in wheel


def test_the_wheel_has_every_module(wheel):
    for package in PACKAGES:
        modules = {path.relative_to(ROOT).as_posix() for path in (ROOT / package).rglob("*.py")}
        assert modules <= set(wheel)


def test_extras():
    assert set(PROJECT["optional-dependencies"]) == {
        "fast",
        "jax",
        "bench",
        "sweep",
        "models",
        "notebooks",
        "dev",
    }


def test_mpmath_is_left_to_sympy():
    requirements = {Requirement(text).name: Requirement(text) for text in PROJECT["dependencies"]}
    # An upper bound on mpmath makes pip fall back to an old SymPy without one.
    assert not requirements["mpmath"].specifier
    assert "1.13" not in requirements["sympy"].specifier


@pytest.mark.parametrize(
    ("platform", "machine", "python", "expected"),
    [
        ("linux", "x86_64", "3.11", {"heyoka", "numba"}),
        ("linux", "aarch64", "3.14", {"heyoka", "numba"}),
        ("darwin", "arm64", "3.12", {"numba"}),
        ("win32", "AMD64", "3.13", {"numba"}),
        ("linux", "riscv64", "3.12", set()),
        ("linux", "x86_64", "3.15", set()),
    ],
)
def test_the_fast_extra_asks_only_for_what_has_wheels(platform, machine, python, expected):
    environment = {
        "sys_platform": platform,
        "platform_machine": machine,
        "python_version": python,
        "platform_python_implementation": "CPython",
    }
    requirements = map(Requirement, PROJECT["optional-dependencies"]["fast"])
    assert {requirement.name for requirement in requirements if requirement.marker.evaluate(environment)} == expected


def test_there_is_one_version():
    assert metadata.version("attnflow") == PROJECT["version"]
    assert f"\nversion: {PROJECT['version']}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"\n## {PROJECT['version']}" in (ROOT / "CHANGELOG.md").read_text()


def test_the_citation_file_names_the_papers():
    citation = (ROOT / "CITATION.cff").read_text()
    for paper in PAPERS:
        assert f"title: {paper.title}\n" in citation
        assert f"arXiv:{paper.arxiv}\n" in citation
        assert all(f"family-names: {author}\n" in citation for author in paper.authors)


class Checkout:
    """A copy of the Makefile, with a `python3` that records what it is told to install."""

    def __init__(self, folder: Path, version: tuple[int, int]):
        self.folder, self.log = folder, folder / "log"
        for name in ("Makefile", "pyproject.toml"):
            (folder / name).write_bytes((ROOT / name).read_bytes())
        self.script("attnflow", 'echo "attnflow $*"')
        # Refuses to install while the file `broken` exists; `-c` is how the Makefile asks for the version.
        self.script(
            "python",
            f"""
            case "$1" in
              --version) echo Python {version[0]}.{version[1]} ;;
              -c) exit {int(version < (3, 11))} ;;
              -m) echo "$*" >> log
                  case "$2" in
                    venv) mkdir -p .venv/bin && cp python attnflow .venv/bin ;;
                    pip) ! test -e broken ;;
                  esac ;;
            esac""",
        )

    def script(self, name: str, body: str) -> None:
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)

    def make(self, target: str) -> subprocess.CompletedProcess[str]:
        # Without what a surrounding make tells its children.
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
        command = ["make", target, "PYTHON=./python"]
        return subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True)

    def done(self) -> list[str]:
        """What was created and installed since the last time."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return [line.split()[-1] for line in lines]


def test_make_run_installs_once(tmp_path):
    checkout = Checkout(tmp_path, (3, 11))
    first = checkout.make("run")
    assert first.returncode == 0, first.stderr
    assert first.stdout.splitlines()[-2:] == ["attnflow derive", "attnflow check"]
    assert len(checkout.done()) == 2
    assert checkout.make("run").stdout.splitlines() == ["attnflow derive", "attnflow check"]
    assert checkout.done() == []


def test_an_install_that_fails_is_done_again(tmp_path):
    checkout = Checkout(tmp_path, (3, 13))
    (tmp_path / "broken").touch()
    for _ in range(2):
        assert checkout.make("run").returncode != 0
        assert "." in checkout.done()
    (tmp_path / "broken").unlink()
    assert checkout.make("run").returncode == 0
    assert checkout.done() == ["."]


def test_a_changed_pyproject_is_installed(tmp_path):
    checkout = Checkout(tmp_path, (3, 12))
    checkout.make("run")
    checkout.done()
    later = (tmp_path / ".venv" / "run.stamp").stat().st_mtime + 1
    os.utime(tmp_path / "pyproject.toml", (later, later))
    assert checkout.make("run").returncode == 0
    assert checkout.done() == ["."]


def test_what_make_test_installs_is_enough_for_make_run(tmp_path):
    checkout = Checkout(tmp_path, (3, 11))
    checkout.make("test")  # fails after the install: there is no ruff here
    assert checkout.done() == [".venv", ".[dev,fast,jax]"]
    assert checkout.make("run").returncode == 0
    assert checkout.done() == []


def test_an_old_python_is_refused_with_a_way_out(tmp_path):
    checkout = Checkout(tmp_path, (3, 9))
    result = checkout.make("run")
    assert result.returncode != 0
    assert "needs Python 3.11 or newer, but './python' is Python 3.9" in result.stderr
    assert not (tmp_path / ".venv").exists()
