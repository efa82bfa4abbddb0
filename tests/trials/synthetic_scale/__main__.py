"""Mine synthetic instances by the thousand; writes ``tests/trials/synthetic_scale/RESULTS.md`` and issues to read.

Mines the packages of ``params.yaml`` and of ``packages.txt``. A killed run continues in its ``--work`` folder.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import time
from collections import Counter
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from tasks.core.config import Mine, load_params
from tasks.core.schema import Instance
from tasks.core.storage import write_instances, write_json, write_text
from tasks.data.sources.synthetic import Synthetic

RESULTS = Path(__file__).parent / "RESULTS.md"
MORE = Path(__file__).with_name("packages.txt").read_text(encoding="utf-8").split()


def settings(options: argparse.Namespace) -> Mine:
    """The params of mine with more packages and larger limits."""
    given = load_params().mine
    change = {
        "packages": [*given.packages, *(name for name in MORE if name not in given.packages)],
        "per_repository": options.per_repository,
        "attempts_per_repository": 12 * options.per_repository,
        "seconds_per_repository": options.seconds,
        "workers": options.workers,
    }
    return given.model_copy(update=change)


def main() -> None:
    """Mine, count, write the page and the sample."""
    parser = argparse.ArgumentParser(prog="python -m tests.trials.synthetic_scale", description=__doc__)
    parser.add_argument("--work", type=Path, default=Path(".fusesearch/synthetic-scale"), help="repositories, journal, instances")
    parser.add_argument("--per-repository", type=int, default=150, help="most instances kept per repository")
    parser.add_argument("--seconds", type=float, default=600, help="most processor seconds per repository")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes")
    options = parser.parse_args()
    config, started = settings(options), time.perf_counter()
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn()
    with Bar(*columns) as bar:
        task = bar.add_task("instances", total=None)
        mined = Synthetic(config, 0, options.work).mine(
            options.work / "repos", lambda kept, total: bar.update(task, completed=kept, total=total)
        )
    instances, table = list(mined.instances), mined.table
    seconds = time.perf_counter() - started
    write_instances(options.work / "pairs.parquet", instances)
    write_json(options.work / "table.json", table)
    write_text(options.work / "sample.md", sample(instances, 30))
    write_text(RESULTS, page(options, instances, table, seconds))
    print(RESULTS.read_text(encoding="utf-8"))


def sample(instances: Sequence[Instance], count: int) -> str:
    """Issues to read, each with its patch, drawn with seed 0."""
    drawn = random.Random(0).sample(list(instances), min(count, len(instances)))
    parts = [
        f"## {row.instance_id}\n\n{row.provenance}\n\n{row.problem_statement}\n\n~~~diff\n{row.patch}\n~~~\n" for row in drawn
    ]
    return "\n".join(parts)


def page(options: argparse.Namespace, instances: Sequence[Instance], table: dict[str, Any], seconds: float) -> str:
    """The results as Markdown."""
    processor = sum(repository["cpu_seconds_until"]["write"] for repository in table["repositories"])
    owners = Counter(row.repo.split("/")[0] for row in instances)
    listed = ", ".join(f"{name} {number:,}" for name, number in owners.most_common())
    kinds = sorted(table["kinds"].items(), key=lambda row: -row[1]["kept"])
    tried = sum(counts["attempts"] for counts in table["kinds"].values())
    hops = sorted(((int(count), number) for count, number in table["hops"].items()))
    head = [
        "# Synthetic instances by the thousand", "",
        f"{len(instances):,} instances of {len(table['repositories'])} repositories ({listed}) from {tried:,} "
        f"mutants; {seconds / 60:,.0f} minutes of wall time in the last run, {processor / 60:,.0f} minutes of processor time in "
        f"all: {processor / max(len(instances), 1):.2f} s per instance. {date.today()}, {options.workers} processes, "
        f"{os.cpu_count()} cores, Python {platform.python_version()}.", "",
        f"Made by `python -m tests.trials.synthetic_scale --per-repository {options.per_repository}`.", "",
    ]  # fmt: skip
    by_kind = [f"| {kind} | {row['attempts']:,} | {row['kept']:,} | {_share(row)} |" for kind, row in kinds]
    by_hops = [f"| {count} | {number:,} | {number / len(instances):.1%} |" for count, number in hops]
    dropped = [f"| {reason} | {number:,} |" for reason, number in table["dropped"].items()]
    skipped = [f"- {repo}: {reason}" for repo, reason in table["skipped"].items()] or ["none"]
    return "\n".join(
        [
            *head, "| mutation | tried | kept | yield |", "|---|---|---|---|", *by_kind, "",
            "Calls between the example and the mutated function:", "",
            "| hops | instances | share |", "|---|---|---|", *by_hops, "",
            "| not kept | mutants |", "|---|---|", *dropped, "", "Unusable packages:", "", *skipped, "",
        ]
    )  # fmt: skip


def _share(row: dict[str, int]) -> str:
    return f"{row['kept'] / row['attempts']:.0%}" if row["attempts"] else "-"


if __name__ == "__main__":
    main()
