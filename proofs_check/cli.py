"""The command line: `attnflow derive | kernels | check | simulate`."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from typer.core import TyperGroup

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
    everything: Annotated[bool, typer.Option("--all", help="All reductions, as one book.")] = False,
    latex: Annotated[bool, typer.Option("--latex", help="A LaTeX document instead of text.")] = False,
    html: Annotated[bool, typer.Option("--html", help="An HTML page instead of text.")] = False,
    graph: Annotated[bool, typer.Option("--graph", help="The graph of steps alone, as SVG.")] = False,
    output: Annotated[
        Path | None, typer.Option(help="The file to write, instead of printing; a graph in FILE.dot is written as DOT.")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Verify steps again that an earlier run verified.")] = False,
) -> None:
    """Derive the equations from the attention field, and verify every step.

    Steps that an earlier run verified are known by their content and not run again; ATTNFLOW_CACHE names the folder
    where they are kept, and nothing is kept when it is empty.
    """
    from proofs_check import deriving
    from proofs_check.registry import suggestion
    from symbolic import canonical_reductions
    from symbolic.printing.book import Chapter, verified
    from symbolic.step_cache import StepCache

    reductions = canonical_reductions()
    if name is not None and name not in reductions:
        _refuse(f"name: no reduction is called '{name}'{suggestion(name, list(reductions))}")
    if name is not None and everything:
        _refuse(f"--all: it means every reduction; leave it out for '{name}' alone")
    if latex + html + graph > 1:
        _refuse("--latex, --html and --graph: choose one of them")
    if graph and name is None:
        _refuse("--graph: it draws one derivation; name the reduction")
    chosen = reductions if name is None else {name: reductions[name]}
    cache = None if fresh else StepCache.of_user()
    as_text = not (latex or html or graph)
    begin = time.perf_counter()
    chapters: list[Chapter] = []
    texts: list[str] = []
    for key, make in chosen.items():
        begin_one = time.perf_counter()
        with _stderr().status(f"deriving {key}"):
            reduction = make()
        with _stderr().status(f"verifying {key}"):
            chapters.append(verified(reduction, cache))
        if as_text:
            texts.append(deriving.text(chapters[-1], time.perf_counter() - begin_one))
            if output is None:
                print(texts[-1], flush=True)
    summary = deriving.summary(chapters, time.perf_counter() - begin)
    if as_text:
        document = "\n".join([*texts, summary, ""])
    elif latex:
        document = deriving.latex(chapters)
    elif html:
        document = deriving.html(chapters)
    else:
        document = deriving.graph(chapters[0], dot=output is not None and output.suffix == ".dot")
    if output is not None:
        try:
            output.write_text(document, encoding="utf-8")
        except OSError as error:
            _refuse(f"--output: cannot write {output}: {error.strerror}")
        print(f"{summary}\nWritten to {output}")
    elif as_text:
        print(summary)
    else:
        print(document, end="")
        print(summary, file=sys.stderr)
    raise typer.Exit(1 if any(chapter.failures for chapter in chapters) else 0)


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
