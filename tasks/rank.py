"""Rank: the features of candidates for the issues of the splits, the trees that rank them, and their figures."""

from __future__ import annotations

from functools import partial
from typing import Any

from fusesearch.core.storage import read_instances, replacing, write_csv, write_json
from tasks.running.node import Job
from tasks.running.places import SNAPSHOTS
from tasks.running.resume import publish


def rank_candidates(job: Job) -> dict[str, Any]:
    """Write the tables of features, and the rankers learned on sft and rl with their curve and calibration.

    Whatever is measured is measured on the validation split.
    """
    import polars as pl

    from fusesearch.localizers.ranker.encoder import load
    from fusesearch.search.snapshots import SnapshotStore, instance_snapshot
    from fusesearch.training.ranking import collect, described, figures, round_robin, train

    rank, seed = job.params.rank, job.params.seed
    splits = {
        name: [row for row in read_instances(job.places[f"split.{name}"]) if row.truth and not row.question]
        for name in ("sft", "rl", "validation")
    }
    learned = round_robin([*splits["sft"], *splits["rl"]], rank.max_instances)
    held_out = round_robin(splits["validation"], rank.max_held_out)
    snapshots = partial(instance_snapshot, SnapshotStore(SNAPSHOTS), job.places["mine.repos"])
    encoder = load(rank.encoder) if rank.encoder else None
    tables = collect([*learned, *held_out], snapshots, job.scratch / "features", job.progress, encoder)
    inside = pl.col("instance_id").is_in([row.instance_id for row in learned])
    ours = {level: table.filter(inside) for level, table in tables.items()}
    theirs = {level: table.filter(~inside) for level, table in tables.items()}

    rankers = train(ours, rank, seed, described(learned), encoder.identity if encoder else None)
    for output, level in (("files", "file"), ("functions", "function")):
        with replacing(job.output(output)) as temporary:
            tables[level].write_parquet(temporary)
    write_json(job.scratch / "checkpoint/weights.json", rankers.document)
    publish(job.scratch / "checkpoint", job.output("checkpoint"))
    curve = rankers.curve({"learned": ours, "held_out": theirs})
    write_csv(job.output("curve"), curve)
    for row in curve:
        job.curve(row)
    found = figures(rankers, theirs, held_out)
    write_json(job.output("calibration"), found.pop("calibration"))
    return found
