"""``python -m experiments.benchmarks.bench``: measure every subject, print the page, write ``RESULTS.md``."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from experiments.benchmarks.bench import machine
from experiments.benchmarks.bench.rows import as_markdown

SUBJECTS = ("grep", "loop", "snapshots")
RESULTS = Path(__file__).with_name("RESULTS.md")


def bench(
    only: Annotated[list[str] | None, typer.Option(help="Measure one subject; may be repeated.", metavar="NAME")] = None,
    quick: Annotated[bool, typer.Option(help="A few small rounds, to see that it runs.")] = False,
    out: Annotated[
        Path,
        typer.Option(help="Page to write after a whole run that is not quick.", show_default="RESULTS.md here"),
    ] = RESULTS,
) -> None:
    """Measure what this project promises. Exit code 1 when a goal is missed."""
    if unknown := [name for name in only or [] if name not in SUBJECTS]:
        raise typer.BadParameter(f"unknown subject {unknown[0]}; the subjects are {', '.join(SUBJECTS)}", param_hint="--only")
    progress = Console(stderr=True)
    where, date = machine.describe(), datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    if machine.is_busy():
        progress.print(f"the load is {where['load before']}: other work distorts the figures", style="yellow")
    results = {}
    for name in only or SUBJECTS:
        with progress.status(name) as status:
            results[name] = import_module(f"experiments.benchmarks.bench.{name}").measure(quick, status.update)
    page = as_markdown(results, where, date, "python -m experiments.benchmarks.bench")
    print(page)
    if not only and not quick:
        out.write_text(page, encoding="utf-8")
    if any(row.met is False for rows in results.values() for row in rows):
        sys.exit(1)


if __name__ == "__main__":
    typer.run(bench)
