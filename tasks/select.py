"""Select: the candidates worth learning from, why the others were dropped, and where all lie in the plane of F1 and e."""

from __future__ import annotations

from statistics import fmean
from typing import Any

from fusesearch.core.errors import DataError
from fusesearch.core.storage import read_instances, read_trajectories, write_csv, write_json, write_jsonl
from fusesearch.evaluation.environments import environment_named
from fusesearch.evaluation.metrics import quality_of
from tasks.running.node import Job


def select_candidates(job: Job) -> dict[str, Any]:
    """Write the kept trajectories, the drop table and the plane."""
    from fusesearch.training.selection import drop_table, kept, plane, select

    params, places = job.params, job.places
    truths = {row.instance_id: row.truth for row in read_instances(places["split.sft"]) if row.truth is not None}
    candidates = read_trajectories(places["synthesize.candidates"])
    judged = select(candidates, truths, params.select, params.agent.history_scope, environment_named("both").score)
    chosen, drops = kept(judged), drop_table(judged)
    if not chosen:
        raise DataError(f"select kept none of {len(candidates)} candidates ({drops}): lower select.min_f1 or min_efficiency")
    write_jsonl(places["select.trajectories"], (trajectory.untimed() for trajectory in chosen))
    write_json(places["select.drops"], drops)
    write_csv(places["select.plane"], plane(judged))
    job.progress(len(candidates), len(candidates))
    scores = [row.score for row in judged if row.reason is None]
    return {
        "candidates": len(candidates),
        "selected": len(chosen),
        "instances": len({trajectory.instance_id for trajectory in chosen}),
        "f1": fmean(quality_of(score) or 0.0 for score in scores),
        "efficiency": fmean(score.efficiency or 0.0 for score in scores),
        "calls_per_turn": fmean(score.calls_per_turn or 0.0 for score in scores),
    }
