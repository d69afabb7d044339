# make run    derive the equations and check every claim
# make test   lint, type-check and test
# make bench  compare with what else could be used, and write benchmarks/RESULTS.md
# make clean  remove the environment and everything built
# Each needs only make and Python >= 3.11, and installs what it uses into .venv once.

PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# Matrices here are small: a second BLAS thread only competes with the second process.
export OPENBLAS_NUM_THREADS := 1
export OMP_NUM_THREADS := 1

.PHONY: run test bench clean
.DELETE_ON_ERROR:

run: .venv/run.stamp
	@$(BIN)/attnflow derive
	@$(BIN)/attnflow check

test: .venv/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -n 2

bench: .venv/bench.stamp
	$(BIN)/python benchmarks/run.py

clean:
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .benchmarks
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp is written last, so what was interrupted is done again; it depends on pyproject.toml, so a changed
# dependency is installed.
.venv/made.stamp:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "attnflow needs Python 3.11 or newer, but '$(PYTHON)' is $$($(PYTHON) --version 2>&1 || true)." >&2; \
	  echo "Name another one: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 1; }
	@echo "Creating .venv"
	@$(PYTHON) -m venv --clear .venv
	@touch $@

.venv/run.stamp: pyproject.toml .venv/made.stamp
	@echo "Installing attnflow into .venv (about a minute, once)"
	@$(INSTALL) --editable .
	@touch $@

.venv/test.stamp: pyproject.toml .venv/made.stamp
	@echo "Installing attnflow and its development tools into .venv (about two minutes, once)"
	@$(INSTALL) --editable ".[dev,fast,jax]"
	@touch .venv/run.stamp $@

.venv/bench.stamp: pyproject.toml .venv/made.stamp
	@echo "Installing attnflow and what it is compared with into .venv (about two minutes, once)"
	@$(INSTALL) --editable ".[fast,jax,bench]"
	@touch .venv/run.stamp $@
