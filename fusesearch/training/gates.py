"""Two gates before RL: it ends where the student is worth less than what needs no training, or where RL has little to gain."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from fusesearch.core.caches import Caches
from fusesearch.core.config import Grpo, Params
from fusesearch.core.errors import DataError
from fusesearch.core.schema import Instance, Score
from fusesearch.core.storage import read_json, write_json
from fusesearch.evaluation.environments import environment_named
from fusesearch.evaluation.harness import evaluate
from fusesearch.evaluation.metrics import METRICS, mean_of
from fusesearch.evaluation.statistics import difference
from fusesearch.localizers.base import Setup
from fusesearch.localizers.registry import make_localizer
from fusesearch.search.repository import Repository
from fusesearch.training.ranks import from_first_rank
from fusesearch.training.rollouts import Batch, headroom

SAMPLED = 100
"""Most prompts of which the headroom is measured."""


def check_headroom(
    section: Grpo, ids: Sequence[str], seed: int, out: Path, batch_of: Callable[[list[str]], Batch] | None
) -> dict[str, float]:
    """The :func:`~fusesearch.training.rollouts.headroom` of the policy, by up to :data:`SAMPLED` of the training prompts ``ids``.

    ``batch_of`` runs an episode for each id; ranks but the first have none. The figures stay in ``out`` for a run that
    resumes. Raises :class:`DataError` where the headroom is below ``min_headroom``: RL would make many steps of noise.
    """
    path = out / "headroom.json"

    def measured(batch_of: Callable[[list[str]], Batch]) -> dict[str, float]:
        if path.is_file():
            return read_json(path)
        names = random.Random(f"headroom-{seed}").sample([*ids], min(SAMPLED, len(ids)))
        scores: list[Score] = []
        for at in range(0, len(names), section.prompts_per_step):
            prompts = names[at : at + section.prompts_per_step]
            scores += batch_of([name for name in prompts for _ in range(section.group)]).scores
        write_json(path, figures := headroom(scores, section.group))
        return figures

    found = from_first_rank(partial(measured, batch_of) if batch_of else None)
    if (points := 100 * found["headroom"]) < section.min_headroom:
        raise DataError(
            f"RL headroom is {points:.1f} points of F1 (best of {section.group} samples minus their mean), below "
            f"grpo.min_headroom, {section.min_headroom:g}: use the checkpoint as it is, give SFT fewer or RL harder prompts, or "
            "lower it"
        )
    return found


def check_floor(
    params: Params,
    held_out: Sequence[Instance],
    own: Sequence[Score],
    snapshot: Callable[[Instance], Repository],
    caches: Caches,
    journal: Path,
) -> None:
    """Compare ``own``, the student's scores on ``held_out``, with those of the localizer ``grpo.validation.floor``.

    Raises :class:`DataError` where the student's F1 is below by more than the interval of the difference.
    """
    floor = params.grpo.validation.floor
    localizer = make_localizer(floor, Setup(agent=params.agent, tools=params.tools, caches=caches))
    scorer = environment_named(params.agent.toolset).score
    its = asyncio.run(evaluate(localizer, held_out, snapshot, journal=journal, scorer=scorer)).scores
    found = difference({0: own}, {0: its}, METRICS["f1_macro"].statistic)
    if found and found.low is not None and found.high is not None and found.high < 0:
        first, second = (100 * (mean_of(scores, "f1") or 0.0) for scores in (own, its))
        raise DataError(
            f"before RL the student has F1 {first:.1f} on {len(held_out)} held-out fixes, {floor} has {second:.1f} (difference "
            f"{100 * found.estimate:.1f} [{100 * found.low:.1f}, {100 * found.high:.1f}]). RL adds a few points, so give SFT "
            f"more or better trajectories (teacher, synthesize, select, sft in params.yaml), or use {floor} as it is; "
            "grpo.validation.floor: '' trains all the same"
        )
