"""What an encoder retrieves for real issues, beside the ranker and BM25 on the same issues, under SweRank's rule and ours."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl

from experiments.evidence.cases import Cases, in_order, read_cases
from experiments.evidence.measures import interval
from experiments.evidence.run import RANKER, of_other_owners, rankings_of, systems_of
from experiments.evidence.systems import System, free, scored
from fusesearch.agents.models.base import Model
from fusesearch.core.caches import Caches
from fusesearch.core.config import Agent, Rank
from fusesearch.core.schema import Instance
from fusesearch.core.storage import Journal
from fusesearch.evaluation.harness import Repositories
from fusesearch.evaluation.quality import accuracy_at, recall_at
from fusesearch.evaluation.statistics import averaged, compare, measure
from fusesearch.localizers.base import Setup
from fusesearch.localizers.ranker.trees import COLUMNS
from fusesearch.localizers.ranker.trees import Model as Trees
from fusesearch.localizers.swerank import UNREADABLE, Settings, SweRankEmbedLocalizer, SweRankLocalizer
from fusesearch.search.snapshots import SnapshotStore, instance_snapshot
from fusesearch.training.ranking import collect, train

EMBED = "swerank-embed, MiniLM"
STATISTICS = {
    f"{level}_{name}@{k}": averaged(f"{level}_{name}@{k}", level, partial(of, k=k))
    for name, of, cuts in (
        ("acc", accuracy_at, (("file", 1), ("file", 3), ("file", 5), ("function", 5), ("function", 10))),
        ("recall", recall_at, (("file", 1), ("file", 5), ("function", 1), ("function", 5))),
    )
    for level, k in cuts
}
"""SweRank's Acc@k, the whole truth among the first k, and the recall of the other pages."""

SMALL = ("pallets/flask", "psf/requests", "mwaskom/seaborn", "pytest-dev/pytest", "pylint-dev/pylint", "pydata/xarray")
"""The repositories of SWE-bench Lite with fewer than 2,500 functions outside tests, the smallest first."""


def chosen(cases: Cases, most: int | None = None) -> list[Instance]:
    """The issues of :data:`SMALL` that modify a function, repository by repository, in each by the SHA-256 of their names."""
    rows = [row for row in cases.of("lite") if row.repo in SMALL and row.truth and row.truth.functions]
    return sorted(rows, key=lambda row: (SMALL.index(row.repo), sha256(row.instance_id.encode()).hexdigest()))[:most]


def retrieved(rows: Sequence[Instance], repos: Path, encoder: str, out: Path) -> dict[str, dict[str, Any]]:
    """The first 100 functions of each instance, the number of texts embedded and seconds. Goes on from what is in ``out``."""
    embedded = [0]

    def on_event(kind: str, payload: dict[str, Any]) -> None:
        embedded[0] = payload["total"]

    localizer = SweRankEmbedLocalizer(Setup(agent=Agent(encoder=encoder), caches=Caches(out), on_event=on_event))
    snapshots = partial(instance_snapshot, SnapshotStore(out / "snapshots"), repos)
    with Journal(out / "retrieved.jsonl", key="instance_id") as journal:
        for row in rows:
            if row.instance_id not in journal:
                started, embedded[0] = time.perf_counter(), 0
                entities = [one.entity for one in localizer.retrieve(row.problem_statement, snapshots(row))]
                seconds = time.perf_counter() - started
                journal.append(
                    {"instance_id": row.instance_id, "entities": entities, "embedded": embedded[0], "seconds": seconds}
                )
        return dict(journal.rows)


def study(sets: dict[str, Path], repos: Path, encoder: str, most: int | None, out: Path) -> dict[str, Any]:
    """The figures of the page. The ranker learns from all issues of other owners."""
    cases = read_cases(sets, repos, out)
    rows = chosen(cases, most)
    found = retrieved(rows, repos, encoder, out)
    found = {row.instance_id: found[row.instance_id] for row in rows}
    snapshots = partial(instance_snapshot, SnapshotStore(out / "snapshots"), repos)
    ranker = ranked(cases, snapshots, out)
    systems = {
        EMBED: System(EMBED, {row.instance_id: _listed(row, found[row.instance_id]["entities"]) for row in rows}),
        RANKER: System(RANKER, {row.instance_id: scored(row, *ranker[row.instance_id]) for row in rows}),
        "bm25": free("bm25", rows, snapshots, out),
    }
    arms = {name: {0: list(system.scores.values())} for name, system in systems.items()}
    seconds, embedded = (sum(row[key] for row in found.values()) for key in ("seconds", "embedded"))
    return {
        "instances": len(rows),
        "repositories": dict(Counter(row.repo for row in rows)),
        "embedded": embedded,
        "seconds": seconds,
        "table": [
            {"system": name} | {key: interval(measure(arm, statistic)) for key, statistic in STATISTICS.items()}
            for name, arm in arms.items()
        ],
        "differences": [
            row.model_dump(mode="json") for row in compare(arms, [(EMBED, name) for name in arms if name != EMBED], STATISTICS)
        ],
    }


def ranked(cases: Cases, snapshots: Repositories, out: Path) -> dict[str, tuple[list[str], list[str]]]:
    """Files and functions by one ranker that learned from the issues of no owner of :data:`SMALL`; kept in ``out``."""
    with Journal(out / "ranked.jsonl", key="instance_id") as journal:
        if not journal.rows:
            real = collect(list(in_order(cases.rows.values())), snapshots, out / "features")
            rankers = train({level: of_other_owners(table, SMALL) for level, table in real.items()}, Rank(), 0, {})
            models = {level: Trees.of(rankers.document[level], columns) for level, columns in COLUMNS.items()}
            inside = {level: table.filter(pl.col("repo").is_in(SMALL)) for level, table in real.items()}
            found = systems_of(chosen(cases), rankings_of(inside, rankers.scores(inside), models))[RANKER]
            for name, score in found.scores.items():
                journal.append({"instance_id": name, "files": score.predicted_files, "functions": score.predicted_functions})
        return {name: (row["files"], row["functions"]) for name, row in journal.rows.items()}


def _listed(row: Instance, entities: Sequence[str]) -> Any:
    return scored(row, list(dict.fromkeys(entity.partition("::")[0] for entity in entities)), entities)


async def reranked(rows: Sequence[Instance], repos: Path, encoder: str, model: Model, out: Path) -> dict[str, Any]:
    """How many replies of a model could be read, over the first 20 functions of each instance."""
    agent = Agent(encoder=encoder, max_new_tokens=64, max_context_tokens=8192)
    localizer = SweRankLocalizer(Setup(model, agent, caches=Caches(out)))
    localizer.settings = Settings(top=20)
    snapshots = partial(instance_snapshot, SnapshotStore(out / "snapshots"), repos)
    done = [await localizer.localize(row, snapshots(row)) for row in rows]
    turns = [turn for trajectory in done for turn in trajectory.turns]
    return {
        "model": model.name,
        "instances": [row.instance_id for row in rows],
        "requests": len(turns),
        "unreadable": sum(UNREADABLE in turn.extra for turn in turns),
        "errors": [trajectory.error for trajectory in done if trajectory.error],
        "seconds": sum(trajectory.seconds for trajectory in done),
    }
