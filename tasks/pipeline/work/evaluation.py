"""Evaluate: every arm on the same held-out instances."""

from __future__ import annotations

import asyncio
import random
from functools import partial
from pathlib import Path
from typing import Any

from tasks.core.config import Params
from tasks.core.errors import DataError, InfrastructureError
from tasks.core.schema import Instance, Score
from tasks.core.storage import Progress, read_instances, write_jsonl
from tasks.core.text import safe_name
from tasks.pipeline.node import Job
from tasks.pipeline.places import SNAPSHOTS, Places
from tasks.pipeline.stages import TRAINED_BY

LEXICAL = "lexical"


def checkpoint_of(arm: str, params: Params, places: Places) -> Path:
    """Where the model of an arm lies."""
    return places[f"{TRAINED_BY[arm]}.checkpoint"] if arm in TRAINED_BY else Path(params.model.base)


def evaluate_arms(job: Job) -> dict[str, Any]:
    """Write the scores of all arms and the trajectories of each; goes on from the journals in the job's scratch.

    Raises:
        DataError: nothing is held out.
        InfrastructureError: an arm has no score at all.
    """
    from tasks.evaluation.metrics import aggregate

    params, places = job.params, job.places
    instances = held_out(params, places)
    arms = params.evaluate.arms
    scores: list[Score] = []
    figures: dict[str, Any] = {}
    for place, arm in enumerate(arms):
        found = evaluate_arm(arm, params, places, instances, job.scratch, _share(job.progress, place, len(arms)))
        aggregated = aggregate(found.scores)
        if not aggregated["scores"]:
            raise InfrastructureError(f"evaluate: every episode of {arm} errored: {found.scores[0].error}")
        write_jsonl(job.output("trajectories") / f"{arm}.jsonl", found.trajectories)
        scores += found.scores
        figures[safe_name(arm)] = aggregated
    write_jsonl(job.output("scores"), scores)
    return {"held_out_instances": len(instances), "held_out_repositories": len({row.repo for row in instances}), **figures}


def held_out(params: Params, places: Places) -> list[Instance]:
    """The validation split, or as many of it as ``evaluate.max_instances`` says, drawn by ``data_seed``."""
    instances = read_instances(places["split.validation"])
    if not instances:
        raise DataError("the validation split is empty: name owners in split.validation_owners that were mined")
    most = params.evaluate.max_instances
    if most is None or most >= len(instances):
        return instances
    drawn = random.Random(params.data_seed).sample(range(len(instances)), most)
    return [instances[index] for index in sorted(drawn)]


def journal_of(arm: str) -> str:
    """The name of an arm's journal among the unfinished work."""
    return f"{safe_name(arm)}.jsonl"


def runs_of(arm: str, params: Params) -> int:
    """Episodes per instance."""
    return 1 if arm == LEXICAL else params.evaluate.runs


def evaluate_arm(arm: str, params: Params, places: Places, instances: list[Instance], scratch: Path, progress: Progress) -> Any:
    """The arm's :class:`~tasks.evaluation.harness.Evaluation` on ``instances``; its journal stays in ``scratch``."""
    from tasks.agents.toolsets import toolset_named
    from tasks.evaluation.harness import evaluate
    from tasks.search.snapshots import SnapshotStore, instance_snapshot
    from tasks.training.rewards import make_reward

    section = params.grpo

    async def run() -> Any:
        subject = _subject(arm, params, places)
        try:
            return await evaluate(
                subject,
                instances,
                partial(instance_snapshot, SnapshotStore(SNAPSHOTS), places["mine.repos"]),
                journal=scratch / journal_of(arm),
                runs=runs_of(arm, params),
                concurrency=params.evaluate.concurrency,
                seed=params.seed,
                arm=arm,
                reward=make_reward(section.reward, alpha=section.alpha, beta=section.beta, gamma=section.gamma),
                scope=params.agent.history_scope,
                scorer=toolset_named(params.agent.toolset).score,
                progress=progress,
            )
        finally:
            await subject.model.close()

    return asyncio.run(run())


def _subject(arm: str, params: Params, places: Places) -> Any:
    """The lexical localizer, or the arm's model in the loop. Both have a ``model``."""
    from tasks.localizers.base import Setup
    from tasks.localizers.lexical import LexicalLocalizer

    if arm == LEXICAL:
        return LexicalLocalizer(Setup(None, params.agent, params.tools))
    from tasks.agents.models.base import Sampling
    from tasks.agents.models.loading import load_model
    from tasks.localizers.fusesearch import FuseSearchLocalizer

    model = load_model(checkpoint=checkpoint_of(arm, params, places), dtype=params.model.dtype)
    sampling = Sampling(temperature=params.evaluate.temperature, max_new_tokens=params.agent.max_new_tokens)
    return FuseSearchLocalizer(Setup(model, params.agent, params.tools, sampling))


def _share(progress: Progress, place: int, arms: int) -> Progress:
    """Progress of one arm as a part of the whole."""
    return lambda done, total: progress(place * total + done, arms * total)
