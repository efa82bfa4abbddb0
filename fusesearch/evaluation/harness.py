"""Runs a localizer on instances: concurrent episodes, saved as they finish and scored at the end.

A killed evaluation can resume: a journal has the finished episodes under ``instance_id#run``. An episode with an infrastructure
error is retried once after all others, then reported as errored; it never becomes a zero.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Condition

from cachetools import LRUCache, cached

from fusesearch.agents.loop import run_episodes
from fusesearch.core.errors import DataError, InfrastructureError, RepositoryError
from fusesearch.core.schema import Instance, Score, Trajectory
from fusesearch.core.storage import Journal, Progress, silent
from fusesearch.evaluation.metrics import Reward, Scope, score_trajectory, truth_of
from fusesearch.localizers.base import Localizer
from fusesearch.search.repository import Repository

Repositories = Callable[[Instance], Repository]
"""Returns the snapshot of an instance. It may take time, so it is called in a thread."""
PASSES = 2
"""Attempts per episode before it is reported as errored."""


@dataclass(frozen=True)
class Evaluation:
    """Trajectories and their scores in the same order, by instance and run."""

    trajectories: list[Trajectory]
    scores: list[Score]


def journal_key(instance_id: str, run: int) -> str:
    """The key of an episode in an evaluation's journal."""
    return f"{instance_id}#{run}"


async def evaluate(
    subject: Localizer,
    instances: Iterable[Instance],
    repositories: Repositories,
    *,
    journal: Path,
    runs: int = 1,
    concurrency: int = 8,
    seed: int = 0,
    arm: str = "",
    reward: Reward | None = None,
    scope: Scope = "turn",
    scorer: Callable[..., Score] = score_trajectory,
    progress: Progress = silent,
) -> Evaluation:
    """Run ``subject`` on every instance ``runs`` times and score the episodes.

    ``journal`` saves finished episodes; the caller removes it after publishing the result. Token ids are not saved. Raises
    :class:`DataError` for an instance that has no truth or is given twice.
    """
    cells = [(instance, run) for instance in _checked(instances) for run in range(runs)]
    keys = [journal_key(instance.instance_id, run) for instance, run in cells]
    bench = _Bench(subject, repositories, seed, concurrency)
    jobs = {key: partial(bench.run, key, instance) for key, (instance, _) in zip(keys, cells, strict=True)}
    with Journal(journal, key="key") as rows:
        for key, trajectory in (await save_episodes(jobs, rows, concurrency, progress)).items():
            rows.append({"key": key, "trajectory": trajectory.model_dump(mode="json")})
            progress(len(rows), len(cells))
        trajectories = [Trajectory.model_validate(rows.rows[key]["trajectory"]) for key in keys]
    episodes = ((*cell, trajectory) for cell, trajectory in zip(cells, trajectories, strict=True))
    return Evaluation(trajectories, scored(episodes, arm=arm, reward=reward, scope=scope, scorer=scorer))


def scored(
    episodes: Iterable[tuple[Instance, int, Trajectory]],
    *,
    arm: str,
    reward: Reward | None,
    scope: Scope,
    scorer: Callable[..., Score],
) -> list[Score]:
    """The scores of episodes, each with its instance and run; options as in :func:`evaluate`."""
    return [
        scorer(
            trajectory, truth_of(instance), issue_chars=len(instance.problem_statement),
            reward=reward, scope=scope, arm=arm, run=run,
        )
        for instance, run, trajectory in episodes
    ]  # fmt: skip


async def save_episodes(
    episodes: Mapping[str, Callable[[], Awaitable[Trajectory]]], rows: Journal, concurrency: int, progress: Progress = silent
) -> dict[str, Trajectory]:
    """Run the episodes whose keys ``rows`` lacks, and save them as they finish; what fails is run once more after all others.

    Returns those that failed again, which are not saved.
    """

    async def run(key: str) -> tuple[str, Trajectory]:
        return key, await episodes[key]()

    failed: dict[str, Trajectory] = {}
    waiting = [key for key in episodes if key not in rows]
    for _ in range(PASSES):
        failed = {}
        async for key, trajectory in run_episodes((partial(run, key) for key in waiting), concurrency):
            if trajectory.error is not None:
                failed[key] = trajectory
                continue
            rows.append({"key": key, "trajectory": trajectory.model_dump(mode="json")})
            progress(len(rows), len(episodes))
        waiting = sorted(failed)
    return failed


class _Bench:
    """Runs single episodes; episodes on one snapshot share its repository."""

    def __init__(self, subject: Localizer, repositories: Repositories, seed: int, concurrency: int) -> None:
        self.subject = subject
        self.seed = seed
        # a snapshot is opened once while it is in use, so that its episodes share the tools' memory; a failure is not kept
        shared: LRUCache[tuple[str, str], Repository] = LRUCache(2 * concurrency)
        self._opened = cached(shared, lambda instance: (instance.repo, instance.base_commit), condition=Condition())(repositories)

    async def run(self, key: str, instance: Instance) -> Trajectory:
        try:
            repository = await asyncio.to_thread(self._opened, instance)
            seed = zlib.crc32(f"{self.seed}/{key}".encode()) >> 1
            task = instance if getattr(self.subject, "sees_truth", False) else instance.task()
            trajectory = await self.subject.localize(task, repository, seed)
        except (InfrastructureError, RepositoryError, OSError) as error:
            trajectory = Trajectory(
                instance_id=instance.instance_id, repo=instance.repo, base_commit=instance.base_commit,
                localizer=self.subject.name, system="", issue=instance.problem_statement, stop="error",
                error=" ".join(str(error).split()) or type(error).__name__,
            )  # fmt: skip
        bare = [turn.model_copy(update={"tokens": None}) for turn in trajectory.turns]
        return trajectory.model_copy(update={"turns": bare})


def _checked(instances: Iterable[Instance]) -> list[Instance]:
    """The instances. Raises :class:`DataError` before any work starts."""
    seen: dict[str, Instance] = {}
    for instance in instances:
        if instance.instance_id in seen:
            raise DataError(f"duplicate instance {instance.instance_id}")
        if not truth_of(instance).files and truth_of(instance).expected is None:
            raise DataError(f"{instance.instance_id}: the truth names no file, so the instance cannot be scored")
        seen[instance.instance_id] = instance
    return list(seen.values())
