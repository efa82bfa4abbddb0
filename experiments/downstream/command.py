"""``python -m experiments.downstream``: a main agent repairs issues alone, with a localizer's answer or with one to ask."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from experiments.downstream import Configuration
from fusesearch.cli.output import usage_error

if TYPE_CHECKING:
    from experiments.downstream.attempts import Attempt
    from fusesearch.reporting.table import Table


def downstream(
    configuration: Annotated[
        Configuration | None, typer.Option(help="How the main agent uses the localizer; without it, only show the table.")
    ] = None,
    instances: Annotated[
        Path | None, typer.Option(help="Issues in the SWE-bench schema: .json, .jsonl or .parquet.", metavar="FILE")
    ] = None,
    repos: Annotated[Path | None, typer.Option(help="Folder of clones named OWNER__NAME.git.", metavar="DIR")] = None,
    model: Annotated[
        str | None, typer.Option(help="Main agent's model at an OpenAI-compatible endpoint; its key: OPENAI_API_KEY.")
    ] = None,
    base_url: Annotated[str | None, typer.Option(help="Address of the endpoint, ending in /v1.", metavar="URL")] = None,
    out: Annotated[Path, typer.Option(help="Folder of the attempts; use the same one to resume.", metavar="DIR")] = Path(
        "downstream"
    ),
    agent: Annotated[Path, typer.Option(help="mini-swe-agent's program; `make main-agent` makes it.", metavar="FILE")] = Path(
        ".venv-mini/bin/mini"
    ),
    localizer: Annotated[str | None, typer.Option(help="Localizer; default: the ranker.", metavar="NAME")] = None,
    localizer_checkpoint: Annotated[Path | None, typer.Option(help="Checkpoint of the localizer.", metavar="DIR")] = None,
    localizer_model: Annotated[str | None, typer.Option(help="Model of the localizer.", metavar="NAME")] = None,
    localizer_base_url: Annotated[str | None, typer.Option(help="Address of its endpoint.", metavar="URL")] = None,
    max_instances: Annotated[int | None, typer.Option(help="Use only the first N issues.", min=1)] = None,
    max_turns: Annotated[int, typer.Option(help="Most requests of the main agent per issue.", min=1)] = 250,
    max_seconds: Annotated[int, typer.Option(help="Most seconds of the main agent per issue.", min=1)] = 3600,
    command_seconds: Annotated[int, typer.Option(help="Most seconds of one of its commands.", min=1)] = 60,
    concurrency: Annotated[int, typer.Option(help="Issues at once.", min=1)] = 1,
    config: Annotated[
        list[str] | None,
        typer.Option(help="Further configuration of mini-swe-agent, a file or KEY=VALUE; repeat it.", metavar="SPEC"),
    ] = None,
    report: Annotated[
        list[str] | None,
        typer.Option(help="Report of SWE-bench's harness for a configuration; repeat it.", metavar="CONFIGURATION=FILE"),
    ] = None,
    snapshots: Annotated[
        Path | None, typer.Option(help="Folder for snapshots of repositories; default .fusesearch/snapshots.", metavar="DIR")
    ] = None,
) -> None:
    """Repair issues by a main agent, with or without a localizer.

    mini-swe-agent works on each issue in a copy of the snapshot: alone (`none`), with the localizer's answer below the issue
    (`pre-search`), or with a shell command `localize` (`sub-agent`). Writes `DIR/CONFIGURATION/predictions.jsonl` for
    SWE-bench's harness, and prints what each configuration cost, the main agent's tokens and the localizer's apart. With
    the harness's reports, also what was resolved.

    **The model's commands run on this machine with your rights**, unless `--config` puts them into a container.

    To resume after a kill, or when the endpoint is back, run it again with the same folder.

    ```
    python -m experiments.downstream --configuration pre-search --instances verified.jsonl --repos clones \\
        --model qwen3 --base-url http://localhost:8000/v1
    python -m experiments.downstream --report none=qwen3+none.run.json --report pre-search=qwen3+pre-search.run.json
    ```
    """
    from experiments.downstream.attempts import read_attempts
    from experiments.downstream.running import Settings
    from fusesearch.core.errors import AGAIN, InfrastructureError
    from fusesearch.reporting.page import Section, show

    resolved = _resolved(report or [])
    failures: dict[str, str] = {}
    if configuration:
        if not (instances and repos and model and base_url):
            raise usage_error("needs --instances, --repos, --model and --base-url", "--configuration")
        given = {
            "--localizer": localizer, "--checkpoint": localizer_checkpoint and localizer_checkpoint.absolute(),
            "--model": localizer_model, "--base-url": localizer_base_url,
        }  # fmt: skip
        words = [str(word) for name, value in given.items() if value for word in (name, value)]
        settings = Settings(agent, model, base_url, configuration, words, max_turns, max_seconds, command_seconds, config or [])
        failures = _run(settings, instances, repos, out, max_instances, concurrency, snapshots)
    show([Section("Downstream", tables=_tables(read_attempts(out), resolved))])
    if failures:
        name, reason = next(iter(failures.items()))
        raise InfrastructureError(f"{len(failures)} issues failed, the first {name}: {reason}; {AGAIN}")


def _run(
    settings: Any, instances: Path, repos: Path, out: Path, most: int | None, concurrency: int, snapshots: Path | None
) -> dict[str, str]:
    from functools import partial

    from experiments.downstream.running import run
    from fusesearch.cli.evaluate import progress_bar
    from fusesearch.core.errors import ConfigError
    from fusesearch.data.repositories import Repositories
    from fusesearch.evaluation.benchmarks import read_benchmark
    from fusesearch.search.snapshots import SnapshotStore, instance_snapshot
    from tasks.running.places import SNAPSHOTS

    if not settings.agent.is_file():
        raise ConfigError(f"{settings.agent} is missing: `make main-agent` installs mini-swe-agent, or name it with --agent")
    issues = read_benchmark(instances)[:most]
    snapshot = partial(instance_snapshot, SnapshotStore(snapshots or SNAPSHOTS), repos)
    with Repositories(repos) as repositories, progress_bar() as bar:
        progress = bar.of(settings.configuration, 0, len(issues))
        return run(issues, snapshot, repositories.reader, settings, out, concurrency, progress)[1]


def _resolved(reports: Sequence[str]) -> dict[str, set[str]]:
    from fusesearch.evaluation.published.patches import read_resolved

    found = {}
    for text in reports:
        name, separator, path = text.partition("=")
        if not separator or name not in [*Configuration]:
            raise usage_error(f"{text}: not one of {', '.join(Configuration)}, = and a file", "--report")
        found[name] = read_resolved(Path(path))
    return found


def _tables(attempts: Mapping[str, Sequence[Attempt]], resolved: Mapping[str, set[str]]) -> list[Table]:
    """The columns of FuseSearch's table 6, and what became of the patches."""
    from collections import Counter
    from functools import partial

    from fusesearch.reporting.table import ABSENT, Row, Table

    columns: dict[str, Callable[[Attempt], float]] = {
        "turns": lambda row: row.main.requests,
        "seconds": lambda row: row.main.seconds,
        "main agent's tokens (k)": lambda row: row.main.tokens / 1000,
        "localizer's tokens (k)": lambda row: row.localizer.tokens / 1000,
        "localizer's answers": lambda row: row.questions,
        "localizer's seconds": lambda row: row.localizer.seconds,
    }
    costs = []
    for name, rows in attempts.items():
        known = resolved.get(name, set())
        share = _mean(rows, partial(_percent, known)) if name in resolved else ABSENT
        costs.append(Row([name, str(len(rows)), share, *(_mean(rows, value) for value in columns.values())]))
    header = ["configuration", "issues", "resolved %", *columns]
    return [
        Table("Means over issues, with 95% intervals", header, costs),
        _counts("Patches", {name: Counter(str(row.fault or "usable") for row in rows) for name, rows in attempts.items()}),
        _counts("How the main agent ended", {name: Counter(row.end for row in rows) for name, rows in attempts.items()}),
    ]


def _percent(resolved: set[str], row: Attempt) -> float:
    return 100.0 * (row.instance_id in resolved)


def _counts(caption: str, counted: Mapping[str, Mapping[str, int]]) -> Table:
    from fusesearch.reporting.table import Row, Table

    columns = sorted({key for counts in counted.values() for key in counts})
    rows = [Row([name, *(str(counts.get(key, 0)) for key in columns)]) for name, counts in counted.items()]
    return Table(caption, ["configuration", *columns], rows)


def _mean(rows: Sequence[Attempt], value: Callable[[Attempt], float]) -> str:
    from fusesearch.evaluation.statistics import Statistic, measure, share
    from fusesearch.reporting.table import ABSENT

    arm: Any = {0: rows}  # of its rows the method needs the instance and the error alone
    of_row: Any = lambda row: (float(value(row)), 1.0)  # noqa: E731
    found = measure(arm, Statistic("mean", of_row, share))
    if found is None:
        return ABSENT
    return f"{found.estimate:.1f}" if found.low is None else f"{found.estimate:.1f} [{found.low:.1f}, {found.high:.1f}]"
