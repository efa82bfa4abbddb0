"""Search tasks as any trainer takes them: instances and their repositories in, episodes as tokens with a reward out.

GRPO's stage, :mod:`fusesearch.training.engines` and a script of your own (docs/environment.md) make their rollouts here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from fusesearch.agents.loop import Episode, in_order, run_episode
from fusesearch.agents.models.base import Model, Sampling, TokenModel
from fusesearch.code.kinds import is_code
from fusesearch.core.config import Agent, Tools
from fusesearch.core.errors import DataError
from fusesearch.core.schema import Instance, Score, Trajectory
from fusesearch.core.storage import read_instances
from fusesearch.evaluation.environments import environment_named
from fusesearch.evaluation.judges import Judge
from fusesearch.evaluation.rewards import Reward, make_reward
from fusesearch.localizers.episodes import make_episode
from fusesearch.localizers.presearch import pre_searched
from fusesearch.localizers.searcher import settings_of
from fusesearch.search.repository import Repository
from fusesearch.search.snapshots import SnapshotStore, instance_snapshot


@dataclass(frozen=True)
class Rollout:
    """An episode as it was generated, for training.

    ``prompt_ids`` is the first request and ``completion_ids`` everything after it. ``mask`` and ``logprobs`` have its length:
    1 and the natural log-probability under the sampling temperature for a token that the policy wrote, 0 and 0 for the others.
    ``score.reward`` is None after an infrastructure failure: such an episode trains nothing.
    """

    prompt_ids: list[int]
    completion_ids: list[int]
    mask: list[int]
    logprobs: list[float]
    score: Score
    trajectory: Trajectory

    @classmethod
    def of(cls, trajectory: Trajectory, score: Score, eos: int) -> Rollout:
        """The rollout of a scored trajectory. One without a turn has ``eos`` alone, which the policy did not write."""
        turns = [turn.tokens for turn in trajectory.turns if turn.tokens is not None]
        if not turns:
            return cls([eos], [eos], [0], [0.0], score, trajectory)
        prompt, completion, mask, logprobs = turns[0].prompt_ids, [], [], []  # type: ignore[var-annotated]
        for tokens in turns:
            observed = tokens.prompt_ids[len(prompt) + len(completion) :]
            completion += observed + tokens.completion_ids
            mask += [0] * len(observed) + [1] * len(tokens.completion_ids)
            logprobs += [0.0] * len(observed) + tokens.logprobs
        return cls(prompt, completion, mask, logprobs, score, trajectory)


@dataclass(frozen=True)
class SearchTasks:
    """Tasks of one environment, ``agent.toolset``, by instance id, and the reward of their episodes.

    ``snapshot`` opens the repository of an instance; ``agent`` and ``tools`` are the limits of an episode.
    """

    instances: dict[str, Instance]
    snapshot: Callable[[Instance], Repository]
    agent: Agent
    tools: Tools
    reward: Reward

    def of(self, instances: Iterable[Instance]) -> SearchTasks:
        """The same with those ``instances`` that have an exact truth. Raises :class:`DataError` if none has."""
        environment = environment_named(self.agent.toolset)
        own = environment.trainable(instances)
        if not own:
            kinds = " and ".join(kind for kind in ("issues", "questions") if getattr(environment, kind))
            raise DataError(
                f"none of the instances is for agent.toolset {self.agent.toolset}: it takes {kinds} with an exact truth"
            )
        return replace(self, instances={row.instance_id: row for row in pre_searched(own, self.snapshot, self.agent)})

    def prompts(self, ids: Iterable[str] | None = None) -> list[dict[str, Any]]:
        """One row per instance id, by default each once: ``prompt`` has the opening messages, each with its ``instance_id``."""
        spec = environment_named(self.agent.toolset).spec
        rows = []
        for name in self.instances if ids is None else ids:
            instance = self.instances[name]
            instructions = spec.of(instance.question).instruct(self.agent, instance.problem_statement, None)
            opening = {"system": instructions.system, "user": instructions.issue}
            rows.append({"prompt": [{"role": role, "content": text, "instance_id": name} for role, text in opening.items()]})
        return rows

    def episode(self, instance_id: str, policy: Model, sampling: Sampling) -> Episode:
        """An episode for :func:`fusesearch.agents.loop.run_episode`. Raises :class:`RepositoryError` without its repository."""
        instance = self.instances[instance_id]
        return make_episode(
            instance, self.snapshot(instance), policy, self.agent, self.tools, sampling, localizer="fusesearch"
        )  # fmt: skip

    async def score(self, trajectory: Trajectory, judge: Judge | None = None) -> Score:
        """The score of an episode with its reward, which is absent after an infrastructure failure, the judge's included."""
        truth = self.instances[trajectory.instance_id].truth
        if truth is None:
            raise DataError(f"instance {trajectory.instance_id} has no truth: run the filter stage")
        environment = environment_named(self.agent.toolset)
        return await environment.judged(trajectory, truth, judge, reward=self.reward, scope=self.agent.history_scope)

    async def rollout(self, instance_id: str, policy: TokenModel, sampling: Sampling) -> Rollout:
        """One episode of ``policy``, run and scored."""
        trajectory = await run_episode(self.episode(instance_id, policy, sampling))
        return Rollout.of(trajectory, await self.score(trajectory), policy.tokenizer.eos_token_id)

    def rollouts(
        self, ids: Sequence[str], policy: TokenModel, temperature: float = 1.0, seed: int | None = None
    ) -> list[Rollout]:
        """One episode for each instance id, in this order, all at once; closes ``policy``. Number n has the seed ``seed + n``."""
        sampling = Sampling(temperature=temperature, max_new_tokens=self.agent.max_new_tokens)

        async def run() -> list[Rollout]:
            seeds = [None if seed is None else seed + number for number in range(len(ids))]
            jobs = [partial(self.rollout, name, policy, sampling.seeded(own)) for name, own in zip(ids, seeds, strict=True)]
            try:
                # in lockstep, so that the batches of a local model do not depend on how long tools take
                return await in_order(jobs, len(jobs))
            finally:
                await policy.close()

        return asyncio.run(run())


def columns_of(rollouts: Sequence[Rollout]) -> dict[str, list[Any]]:
    """What TRL's ``rollout_func`` returns: the columns that it names, and ``score``, the reward, for its reward functions."""
    return {
        "prompt_ids": [row.prompt_ids for row in rollouts],
        "completion_ids": [row.completion_ids for row in rollouts],
        "logprobs": [row.logprobs for row in rollouts],
        "env_mask": [row.mask for row in rollouts],
        "score": [row.score.reward for row in rollouts],
    }


def load_tasks(
    instances: Path | str, repos: Path | str, cache: Path | str, settings: Path | str | None = None, reward: str = "fusesearch"
) -> SearchTasks:
    """The tasks of a Parquet file of instances, those with an exact truth; the other arguments are :func:`open_tasks`'.

    Raises besides :class:`ArtifactError` for a file that cannot be read, and :class:`DataError` without any task.
    """
    return open_tasks(repos, cache, settings, reward).of(read_instances(Path(instances)))


def open_tasks(
    repos: Path | str, cache: Path | str, settings: Path | str | None = None, reward: str = "fusesearch", **weights: float
) -> SearchTasks:
    """Tasks without instances yet: :meth:`~fusesearch.training.environment.SearchTasks.of` adds them.

    ``repos`` has a bare repository ``OWNER__NAME.git`` for each, and ``cache`` is where snapshots of their commits are kept.
    ``settings`` is the folder of a checkpoint whose ``fusesearch.json`` has the limits of an episode; without it, the usual ones
    apply. ``weights`` are those of the reward: ``alpha``, ``beta``, ``gamma``. Raises :class:`ConfigError` for an unknown reward
    and :class:`ArtifactError` for malformed settings.
    """
    tools, agent = settings_of(Path(settings)) if settings is not None else (Tools(), Agent())
    snapshot = partial(instance_snapshot, SnapshotStore(Path(cache)), Path(repos), needed=is_code)
    return SearchTasks({}, snapshot, agent, tools, make_reward(reward, **weights))


@lru_cache(maxsize=1024)
def task_of(instance: str, **where: Any) -> SearchTasks:
    """The task of one instance in JSON, for engines that hand over a row at a time; ``where`` are the arguments of
    :func:`open_tasks`. Raises :class:`DataError` if its truth is not exact.
    """
    return _opened(**where).of([Instance.model_validate_json(instance)])


_opened = lru_cache(open_tasks)
