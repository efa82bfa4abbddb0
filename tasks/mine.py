"""Mine: raw pairs of issue and patch, and the repositories they are about."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from fusesearch.core.config import Params
from fusesearch.core.errors import DataError
from fusesearch.core.schema import Instance
from fusesearch.core.storage import silent, write_instances, write_json
from fusesearch.data.sources.base import Source
from tasks.running.node import Job
from tasks.running.parts import Part
from tasks.running.places import STATE
from tasks.running.resume import publish

REPOS = "repos"
"""Where unfinished work has the repositories."""

KEPT = STATE / "mining"
"""What sources keep from run to run, so that the next one only reads what is new."""


def mine(job: Job) -> dict[str, Any]:
    """Write the pairs, the table of what was tried, and a bare git repository per repository."""
    repos = job.scratch / REPOS
    mined = source_of(job.params, job.scratch).mine(repos, job.progress)
    figures: Counter[str] = Counter(pairs=0, repositories=0, multi_hop=0)
    repositories: set[str] = set()

    def counted(instances: Iterable[Instance]) -> Iterator[Instance]:
        for instance in instances:
            repositories.add(instance.repo)
            figures.update(pairs=1, multi_hop=int(instance.provenance.get("hops", 0)) > 0)
            yield instance

    keep_empty_folders(repos)
    write_json(job.output("table"), mined.table)
    write_instances(job.output("pairs"), counted(mined.instances))
    publish(repos, job.output("repos"))
    if skipped := mined.table["skipped"]:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in [*skipped.items()][:5])
        print(f"warning: {len(skipped)} repositories or packages gave nothing: {reasons}", file=sys.stderr)
    return {**figures, "repositories": len(repositories), **_table_figures(mined.table), **mined.figures}


def source_of(params: Params, scratch: Path) -> Source:
    """The source that the params name."""
    match params.mine.source:
        case "github":
            from fusesearch.data.contamination import barred_instances
            from fusesearch.data.sources.github import GitHub

            barred = {row.repo for path in params.split.benchmarks for row in barred_instances(path)}
            return GitHub(params.mine.github, KEPT / "github", params.mine.workers, barred, since=params.mine.since)
        case "git":
            from fusesearch.data.sources.git import LocalGit

            return LocalGit(params.mine.git, params.mine.since)
        case "benchmark":
            from fusesearch.data.sources.benchmark import Benchmark

            return Benchmark(params.mine.benchmark, KEPT / "benchmark", params.mine.workers)
        case _:
            from fusesearch.data.sources.synthetic import Synthetic

            return Synthetic(params.mine, params.data_seed, scratch)


def lacking(job: Job) -> Iterator[Part]:
    """Packages that are not mined, a part each, because they differ widely in size. Other sources wait for a server or a disk."""
    from fusesearch.data.sources.synthetic.mining import JOURNAL, Synthetic

    source = source_of(job.params, job.scratch)
    if isinstance(source, Synthetic):
        for repo in source.lacking(job.scratch / REPOS):
            yield Part(JOURNAL, (repo,))


def do_part(job: Job, part: Part) -> str:
    """Mine packages; returns where their repositories are."""
    from fusesearch.data.sources.synthetic import Synthetic

    one = job.params.mine.model_copy(update={"workers": 1})  # a part has one processor
    with suppress(DataError):  # nothing to mine: the stage itself says why
        Synthetic(one, job.params.data_seed, job.scratch).mine(job.scratch / REPOS, silent, only=part.keys)
    return REPOS


def _table_figures(table: dict[str, Any]) -> dict[str, Any]:
    """Figures of the sources that count more than pairs; ``skipped_packages`` is what the synthetic source calls them."""
    skipped = "skipped_packages" if "kinds" in table else "skipped_repositories"
    figures: dict[str, Any] = {skipped: len(table["skipped"])}
    if "spent" in table:
        figures |= {"points": table["spent"]["points"], "requests": table["spent"]["requests"]}
        figures |= {"new_pairs": sum(row["new"] for row in table["repositories"]), "complete": int(table["complete"])}
    return figures


def keep_empty_folders(root: Path) -> None:
    """Put a hidden file into empty folders of bare repositories.

    DVC stores files only; git accepts no repository without its ``refs`` folder. Git ignores names that begin with a dot.
    """
    for folder in [path for path in root.rglob("*") if path.is_dir()]:
        if not any(folder.iterdir()):
            (folder / ".keep").touch()
