"""``python -m flows train``: from one's own histories to a checkpoint and a table beside what needs no training."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from flows.cli.profile import switch
from fusesearch.cli.output import usage_error
from fusesearch.core.config import load_params
from fusesearch.core.errors import DataError
from fusesearch.core.storage import read_json, read_text
from tasks.running.places import MAIN

PROFILE = "own"
LEAST = 40
"""Fewer fixes than this train nothing, and a quarter of them tells nothing apart."""
SHOWN = ("f1_macro", "file_macro_f1", "function_macro_f1", "efficiency", "calls_per_turn")
BACK = "python -m flows profile use nano && git checkout dvc.lock artifacts"


def train(
    repo: Annotated[
        list[str] | None,
        typer.Option(help="A clone with its history, or owner/name=folder; may be repeated. None: those of the last call."),
    ] = None,
    student: Annotated[
        str | None, typer.Option(help="The profile whose student is trained, with its lengths and steps, if not nano's.")
    ] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Stop after the fixes are counted, in minutes.")] = False,
) -> None:
    """Train a localizer on the fixes of your own histories, and compare it with the ranker and BM25 on the newest ones.

    Writes the profile `own` to `params.yaml` and runs `dvc repro`: called again, it goes on where it was stopped.
    No code leaves this machine. `python -m flows profile use nano && git checkout dvc.lock artifacts` leads back.

    ```
    python -m flows train --repo ~/src/tool --repo ~/src/service --plan
    python -m flows train
    ```
    """
    _use(repo or [], student)
    _reproduce("filter")
    typer.echo(f"\n{_plan()}\n")
    missing = _missing()
    if not plan:
        if missing:
            raise DataError(f"for training, this machine lacks {', '.join(missing)}: what to do stands above")
        _reproduce("report")
        typer.echo(f"\n{_outcome()}")
        typer.echo(f"Report: {MAIN['report.html']}. Checkpoint: {MAIN['grpo.checkpoint']}. Back to nano: {BACK}")


def _use(repos: list[str], student: str | None) -> None:
    """Make the profile current with these repositories; without news it stays, with what its user changed in it."""
    from fusesearch.data.sources.git import named_clone

    named = [f"{name}={folder.resolve()}" for name, folder in map(named_clone, repos)]
    now = load_params(Path("params.yaml"))
    known = now.mine.git.repositories if now.profile == PROFILE else []
    if not named and not known:
        raise usage_error("name a clone to learn from", "--repo")
    if student or (named and named != known):
        switch(PROFILE, Path.cwd(), over=student or "nano", changes={"mine": {"git": {"repositories": named or known}}})


def _reproduce(stage: str) -> None:
    """Run the stages up to one as DVC finds them due, with what they print. Raises :class:`DataError` with a stage's own line."""
    from tasks.running.dvc_command import reason

    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
    command = [sys.executable, "-m", "dvc", "--wait-for-lock", "repro", stage]
    printed = []
    with subprocess.Popen(
        command, env=os.environ | {"PATH": path}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as running:
        for line in running.stdout or ():
            printed.append(line)
            typer.echo(line, nl=False)
    if running.returncode:
        raise DataError(reason("".join(printed), running.returncode))


def _plan() -> str:
    """How many fixes are left, and what they are enough for. Raises :class:`DataError` if there are too few."""
    split, left = load_params(Path("params.yaml")).split, read_json(MAIN["filter.metrics"])["instances"]
    if left < LEAST:
        raise DataError(
            f"{left} fixes are left, too few: below {LEAST} nothing is learned and no difference is seen. Name further histories "
            "by --repo, or use the ranker, which needs no training: fusesearch localize"
        )
    mined = read_json(MAIN["mine.table"])["repositories"]
    found = "\n".join(f"{row['repo']}: {row['pairs']} commits tell of a fault" for row in mined)
    drops = sorted(((count, rule) for rule, count in read_json(MAIN["filter.drops"]).items() if count), reverse=True)
    most = ", ".join(f"{rule} {count}" for count, rule in drops[:3]) or "none"
    held = round(left * split.validation / (split.sft + split.rl + split.validation))
    return (
        f"{found}\n{left} fixes are left (dropped most: {most}): about {left - held} train, the newest {held} are held out.\n"
        f"{held} tell localizers apart whose F1 differs by about {100 / math.sqrt(held):.0f} points or more."
    )


def _missing() -> list[str]:
    """Prints what the profile needs here, and the hours of training; returns the names of what is not here."""
    from fusesearch.cli.doctor import print_checks
    from fusesearch.cli.needs import Machine, Place, checked

    checks = checked(Place(load_params(Path("params.yaml")), Path.cwd(), Machine.here()))
    print_checks(checks, missing := [check for check in checks if not check.ok])
    return [check.name for check in missing]


def _outcome() -> str:
    """Prints the report's figures of each arm; returns its first line, which says whether the student is worth serving."""
    from types import SimpleNamespace

    from fusesearch.evaluation.metrics import METRICS
    from fusesearch.reporting.page import Section, show
    from fusesearch.reporting.table import Row, Table, cell

    figures, columns = read_json(MAIN["report.metrics"]), [METRICS[key] for key in SHOWN]

    def shown(name: str) -> SimpleNamespace | None:
        estimate, low, high = (figures.get(f"{name}{end}") for end in ("", ".low", ".high"))
        return None if estimate is None else SimpleNamespace(estimate=estimate, low=low, high=high)

    arms = [key.removesuffix(".errored") for key in figures if key.endswith(".errored")]
    rows = [Row([arm, *(cell(shown(f"{arm}.{of.key}"), of) for of in columns)]) for arm in arms]
    show([Section("", tables=[Table("The newest fixes", ["Arm", *(of.heading for of in columns)], rows)])])
    return next((line.strip("*") for line in read_text(MAIN["report.markdown"]).splitlines() if line.startswith("**")), "")
