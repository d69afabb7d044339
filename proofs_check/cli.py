"""The command line: `attnflow derive | kernels | check | simulate`."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import metadata
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from typer.core import TyperGroup

if TYPE_CHECKING:
    from symbolic import Reduction
    from symbolic.derivation import StepResult

# Each command imports what it works with, so that help and complaints come at once.

#: More processes gain little, because each one derives the equations that its claims need anew.
MAX_PROCESSES = 4


class _Group(TyperGroup):
    """Reports a mistyped command or option in one line, like any other bad input."""

    def main(self, *args: Any, **extra: Any) -> Any:
        try:
            status = super().main(*args, **{**extra, "standalone_mode": False})
        except Exception as error:
            if not hasattr(error, "format_message"):  # only usage errors have it; typer does not export their class
                raise
            _complain(error.format_message())
            status = 2
        sys.exit(status)


app = typer.Typer(cls=_Group, add_completion=False, pretty_exceptions_enable=False)


@app.callback(invoke_without_command=True)
def main(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Derive the equations that tokens obey under attention, and check what is claimed about them."""
    if version:
        print(f"attnflow {metadata.version('attnflow')}")
    elif context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
def derive(
    name: Annotated[str | None, typer.Argument(help="A reduction; all of them if omitted.")] = None,
    latex: Annotated[bool, typer.Option("--latex", help="Print LaTeX instead of text.")] = False,
) -> None:
    """Derive the equations from the attention field, and verify every step."""
    from proofs_check.registry import suggestion
    from symbolic import canonical_reductions
    from symbolic.derivation import StepFailed

    reductions = canonical_reductions()
    if name is not None and name not in reductions:
        _refuse(f"name: no reduction is called '{name}'{suggestion(name, list(reductions))}")
    chosen = reductions if name is None else {name: reductions[name]}
    comment = "% " if latex else ""
    begin, verified = time.perf_counter(), []
    for key, make in chosen.items():
        begin_one = time.perf_counter()
        with _stderr().status(f"deriving {key}"):
            reduction = make()
        print("\n".join(_as_latex(reduction) if latex else _as_text(reduction)))
        try:
            with _stderr().status(f"verifying {key}"):
                results = reduction.derivation.verify()
        except StepFailed as failure:
            print(f"{comment}FAILED: {failure}\n", flush=True)
        else:
            verified.append(results)
            print(f"{comment}{_count(results)} verified in {time.perf_counter() - begin_one:.1f} s\n", flush=True)
    print(
        f"{comment}{len(verified)} of {len(chosen)} derivations verified: "
        f"{_count(chain.from_iterable(verified))} in {time.perf_counter() - begin:.1f} s"
    )
    raise typer.Exit(0 if len(verified) == len(chosen) else 1)


def _count(results: Iterable[StepResult]) -> str:
    identities = [result.identities for result in results]
    return f"{_plural(len(identities), 'step')}, {_plural(sum(identities), 'identity')}"


def _plural(number: int, noun: str) -> str:
    plural = noun.removesuffix("y") + "ies" if noun.endswith("y") else noun + "s"
    return f"{number} {noun if number == 1 else plural}"


def _as_text(reduction: Reduction) -> Iterator[str]:
    yield f"━━ {reduction.title} ({reduction.name}) ━━\n"
    yield reduction.text()
    yield ""
    yield from (f"Assumed: {assumption}" for assumption in reduction.assumptions)
    yield from (f"Conserved: {invariant.statement}" for invariant in reduction.invariants)
    yield "\nDerivation\n"
    yield reduction.derivation.text()
    yield ""


def _as_latex(reduction: Reduction) -> Iterator[str]:
    yield f"% {reduction.title} ({reduction.name})"
    yield reduction.latex()
    yield "% Derivation"
    yield reduction.derivation.latex()


@app.command()
def kernels(
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit status 1 if a kernel differs.")] = False,
) -> None:
    """Generate the kernels from the derived equations."""
    from numeric import regenerate_kernels
    from numeric.kernels import GENERATED

    with _stderr().status("deriving kernels"):
        found = regenerate_kernels(check=check)
    for name in sorted((*found.unchanged, *found.changed)):
        news = "as derived" if name in found.unchanged else "differs from its derivation" if check else "rewritten"
        print(f"{_relative(GENERATED / name)}.py: {news}")
    if check:
        print("".join(f"\n{diff}\n" for diff in found.changed.values()), end="")
        raise typer.Exit(0 if found.matches else 1)


@app.command()
def check(
    pattern: Annotated[str, typer.Argument(help="A shell pattern on the ids of claims, such as 'gaussian.*'.")] = "*",
    digits: Annotated[int, typer.Option(help="Decimal digits at which numerical checks work.")] = 50,
    json: Annotated[bool, typer.Option("--json", help="Print a JSON list instead of a table.")] = False,
) -> None:
    """Check every claim, and that its check refutes a broken sibling; exit status 0 only if all do."""
    from numeric.kernels import GENERATED
    from proofs_check import checking, registry
    from proofs_check.sources import papers

    columns = TextColumn("checking claims"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    progress = Progress(*columns, console=_stderr(), transient=True, disable=not sys.stderr.isatty())
    task = progress.add_task("", total=None)
    with _bad_input_in_one_line(), progress:
        ledger = checking.run(
            registry.PACKAGE,
            pattern,
            digits,
            processes=min(os.cpu_count() or 1, MAX_PROCESSES),
            on_start=lambda total: progress.update(task, total=total),
            on_entry=lambda entry: progress.advance(task),
        )
    if json:
        print(ledger.to_json())
    else:
        # Rich takes 80 columns when it writes to a pipe or a file; the ledger reads better in 100.
        console = Console(width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else 100)
        console.print(ledger.table())
        for paper in papers(" ".join(entry.claim.source for entry in ledger.entries)):
            print(paper)
        print(f"Kernels: {_relative(GENERATED)}")
        print(ledger.summary())
    raise typer.Exit(0 if ledger.holds else 1)


@app.command()
def simulate(
    name: Annotated[str, typer.Argument(help="A kernel, by the name of its reduction.")],
    values: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="An initial state or a parameter; once for each of them."),
    ] = None,
    t_end: Annotated[str, typer.Option("--t-end", help="The time to integrate to, from 0.")] = "1",
    points: Annotated[int, typer.Option(help="How many equally spaced times to print.")] = 11,
    digits: Annotated[int | None, typer.Option(help="Correct digits; double precision if omitted.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print a JSON object instead of text.")] = False,
) -> None:
    """Integrate a kernel; exit status 1 if it had to give up, which blowing up is not.

    attnflow simulate ott_antonsen --set R=1/5+1/10j --set 'A=[[1,0],[0,1]]' --set 'V=[[1/2,1],[-1,-1/2]]' --set beta=1
    """
    from numeric import load_kernel
    from numeric.outcome import StepLimit
    from proofs_check import simulation

    with _bad_input_in_one_line(), _stderr().status("integrating"):
        kernel = load_kernel(name)
        trajectory = simulation.simulate(kernel, simulation.parse_values(values or []), t_end, points, digits)
    if json:
        print(simulation.as_json(kernel, trajectory, digits))
    else:
        print("\n".join(simulation.as_text(trajectory, digits)))
    raise typer.Exit(1 if isinstance(trajectory.outcome, StepLimit) else 0)


def _relative(path: Path) -> Path:
    """The path as seen from here, when it lies below."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def _stderr() -> Console:
    return Console(stderr=True)


def _complain(message: str) -> None:
    print(f"attnflow: {' '.join(message.split())}", file=sys.stderr)


def _refuse(message: str) -> None:
    _complain(message)
    raise typer.Exit(2)


@contextmanager
def _bad_input_in_one_line() -> Iterator[None]:
    """Turn the ValueError by which the packages refuse an input into one line and exit status 2."""
    try:
        yield
    except ValueError as error:
        _refuse(str(error))


if __name__ == "__main__":
    app()
