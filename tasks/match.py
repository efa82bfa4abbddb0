"""Match: a cross-encoder that reads issues and candidates, and rankers whose trees see what it says."""

from __future__ import annotations

import json
import shutil
from functools import partial
from typing import Any

from fusesearch.core.storage import read_instances, read_json, write_csv, write_json
from tasks.checkpoints import TrainingLog, publish_trained
from tasks.running.node import Job
from tasks.running.places import SNAPSHOTS


def match_candidates(job: Job) -> dict[str, Any]:
    """Train the cross-encoder and rankers with it; without ``match.base`` the rankers are those of rank.

    Whatever is measured is measured on the validation split.
    """
    if not job.params.match.base:
        shutil.copytree(job.places["rank.checkpoint"], job.scratch / "checkpoint", dirs_exist_ok=True)
        write_csv(job.output("differences"), [])
        publish_trained(job)
        return {"lists": 0}

    import polars as pl

    from fusesearch.search.snapshots import SnapshotStore, instance_snapshot
    from fusesearch.training.matching import differences, match_issues, readings_of
    from fusesearch.training.ranking import figures, ranked, train

    tables = {level: pl.read_parquet(job.places[f"rank.{level}s"]) for level in ("file", "function")}
    known = set(tables["file"]["instance_id"])
    splits = {
        name: [row for row in read_instances(job.places[f"split.{name}"]) if row.instance_id in known]
        for name in ("sft", "rl", "validation")
    }
    held_out = splits["validation"]
    learned = [row.instance_id for row in [*splits["sft"], *splits["rl"]]]
    snapshots = partial(instance_snapshot, SnapshotStore(SNAPSHOTS), job.places["mine.repos"])
    readings = readings_of([row for rows in splits.values() for row in rows], snapshots, job.scratch / "readings", job.progress)
    with_it, trained = match_issues(
        readings, tables, learned, job.params, job.scratch / "reranker", TrainingLog(job), job.progress
    )

    provenance = read_json(job.places["rank.checkpoint"] / "weights.json")["provenance"] | {"reranker": job.params.match.base}
    inside = pl.col("instance_id").is_in(learned)
    orders, found = {}, {}
    for arm, given in (("rank", tables), ("match", with_it)):
        rankers = train(
            {level: table.filter(inside) for level, table in given.items()}, job.params.rank, job.params.seed, provenance
        )
        theirs = {level: table.filter(~inside) for level, table in given.items()}
        scores = rankers.scores(theirs)
        orders[arm] = {level: ranked(table, scores[level]) for level, table in theirs.items()}
        found = figures(rankers, theirs, held_out)
    write_csv(job.output("differences"), [json.loads(row.model_dump_json()) for row in differences(orders, held_out)])
    shutil.rmtree(job.scratch / "checkpoint", ignore_errors=True)
    shutil.copytree(job.scratch / "reranker/checkpoint", job.scratch / "checkpoint/reranker")
    write_json(job.scratch / "checkpoint/weights.json", {**rankers.document, "reranker": "reranker"})
    shutil.copy(job.scratch / "reranker/log.jsonl", job.scratch / "log.jsonl")
    publish_trained(job)
    found.pop("calibration")
    return {**trained, **found}
