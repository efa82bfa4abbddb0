"""``python -m experiments.benchmarks.bench``: measure every subject, print the page, write ``RESULTS.md``."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Annotated

import psutil
import typer
from rich.console import Console

from experiments.benchmarks.bench.rows import as_markdown
from fusesearch.search import ripgrep
from fusesearch.search.git import git_environment

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
    where, date = describe(), datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    if os.getloadavg()[0] > len(os.sched_getaffinity(0)) / 4:
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


def describe() -> dict[str, str]:
    """Processor, memory, load and versions by printed name."""
    rg = subprocess.run([ripgrep.binary(), "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    revision = subprocess.run(command, env=git_environment(), capture_output=True, text=True, check=False)
    memory, system = psutil.virtual_memory().total / 2**30, f"{platform.system()} {platform.release()}"
    return {
        "machine": f"{_processor()}, {len(os.sched_getaffinity(0))} cores, {memory:.0f} GiB, {system}",
        "load before": f"{os.getloadavg()[0]:.2f}",
        "revision": revision.stdout.strip() or "unknown",
        "versions": f"Python {platform.python_version()}, ripgrep {rg}",
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


if __name__ == "__main__":
    typer.run(bench)
