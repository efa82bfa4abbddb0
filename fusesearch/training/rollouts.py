"""Rollouts of a step: episodes of the project's own loop and tools, scored, as columns of tokens (FuseSearch 3.3 and B.3)."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

from fusesearch.agents.loop import in_order, run_episode
from fusesearch.agents.models.base import Model, Sampling
from fusesearch.agents.models.openai_compatible import OpenAICompatibleModel
from fusesearch.agents.recording import new_trajectory
from fusesearch.core.config import Grpo, Params
from fusesearch.core.errors import InfrastructureError
from fusesearch.core.schema import Instance, Score, Trajectory
from fusesearch.core.storage import Journal, write_json
from fusesearch.core.text import safe_name
from fusesearch.evaluation.judges import Judge, ModelJudge, rubric_named
from fusesearch.evaluation.metrics import METRICS, mean_of, quality_of, tool_success
from fusesearch.evaluation.rewards import make_reward, outcome_of
from fusesearch.evaluation.statistics import measure
from fusesearch.search.repository import Repository
from fusesearch.training.environment import Rollout, SearchTasks, columns_of
from fusesearch.training.nano.renaming import Exchange, Names, RenamedModel
from fusesearch.training.search.growing import Tree, grow, trajectory_of
from fusesearch.training.search.tree import as_json

LOGGED = (
    "f1", "answer_score", "evidence_seen", "efficiency", "efficiency_call", "redundancy", "redundancy_call",
    "calls_per_turn", "turns", "calls", "failed_calls", "tokens_context", "tokens_completion",
)  # fmt: skip
"""Fields of :class:`Score` whose means are in the training curve, beside TRL's own: reward, entropy, KL, lengths."""


@dataclass(frozen=True)
class Batch:
    """The rollouts of a step: columns as :func:`columns_of` makes them, scores, and ``figures`` for the training curve."""

    columns: dict[str, list[Any]]
    scores: list[Score]
    figures: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Episodes:
    """Runs and scores the rollouts of a step.

    ``eos`` ends a message, ``names`` are those that renamed prompts draw from, and ``out`` is the folder for trees and for the
    verdicts of ``grpo.judge``.

    After an infrastructure error, the judge's included, a rollout has reward ``None``, and TRL gives it no advantage.
    """

    params: Params
    section: Grpo
    tasks: dict[str, Instance]
    snapshot: Callable[[Instance], Repository]
    eos: int
    names: Names | None = None
    out: Path | None = None

    @property
    def search_tasks(self) -> SearchTasks:
        """The tasks with the reward function of the section."""
        section = self.section
        reward = make_reward(section.reward, alpha=section.alpha, beta=section.beta, gamma=section.gamma)
        return SearchTasks(self.tasks, self.snapshot, self.params.agent, self.params.tools, reward)

    def make(self, ids: list[str], step: int, policy: Model, positions: Sequence[int] | None = None) -> Batch:
        """One rollout of ``policy`` for each instance id, in this order; closes ``policy``.

        ``positions``: run only the rollouts at these indices; they equal those rows of a full run.
        """

        async def run() -> Batch:
            async with self._judge() as judge:
                asked = range(len(ids)) if positions is None else positions
                trajectories, figures = await self._episodes(ids, step, policy, judge, asked)
                scores = await asyncio.gather(*(self.search_tasks.score(trajectory, judge) for trajectory in trajectories))
            await policy.close()
            made = [Rollout.of(trajectory, score, self.eos) for trajectory, score in zip(trajectories, scores, strict=True)]
            return Batch(columns_of(made), scores, figures)

        return asyncio.run(run())

    @asynccontextmanager
    async def _judge(self) -> AsyncIterator[Judge | None]:
        """The judge of open questions, if there is one."""
        section = self.section.judge
        if not section.model or self.out is None:
            yield None
            return
        model = OpenAICompatibleModel(section.model, section.base_url, os.environ.get("OPENAI_API_KEY"))
        with Journal(self.out / "verdicts.jsonl", key="key") as cache:
            try:
                yield ModelJudge(model, rubric_named("coreqa"), cache)
            finally:
                await model.close()

    async def _episodes(
        self, ids: list[str], step: int, policy: Model, judge: Judge | None, positions: Sequence[int]
    ) -> tuple[list[Trajectory], dict[str, float]]:
        own = [ids[position] for position in positions]
        sampling = Sampling(temperature=self.section.temperature, max_new_tokens=self.params.agent.max_new_tokens)
        first = (self.params.seed * 1_000_003 + step) * len(ids)

        if self.section.search.kind != "independent":
            return await self._trees(own, policy, sampling.model_copy(update={"seed": first}), step, judge)

        async def rollout(number: int, instance_id: str) -> Trajectory:
            seeded = sampling.model_copy(update={"seed": first + number})
            actor = self._renamed(policy, f"{self.params.seed}-{step}-{instance_id}")
            return await run_episode(self.search_tasks.episode(instance_id, actor, seeded))

        jobs = [partial(rollout, position, name) for position, name in zip(positions, own, strict=True)]
        return await in_order(jobs, len(jobs)), {}

    async def _trees(
        self,
        ids: list[str],
        policy: Model,
        sampling: Sampling,
        step: int,
        judge: Judge | None,
    ) -> tuple[list[Trajectory], dict[str, float]]:
        """The chosen episodes of one tree per prompt, and the means of the trees' figures.

        Where a tree gives too few, rows without a reward fill its group.
        """

        async def reward_of(tasks: SearchTasks, trajectory: Trajectory) -> float | None:
            return (await tasks.score(trajectory, judge)).reward

        whole = self.search_tasks

        async def grown(instance_id: str) -> tuple[str, Tree | None, list[Trajectory]]:
            actor = self._renamed(policy, f"{self.params.seed}-{step}-{instance_id}")
            episode = whole.episode(instance_id, actor, sampling)
            empty = new_trajectory(episode.instance, episode.agent, episode.instructions, localizer="fusesearch")
            size = ids.count(instance_id)
            try:
                rewards = (partial(reward_of, tasks) for tasks in (whole, replace(whole, reward=outcome_of(whole.reward))))
                tree = await grow(self.section.search, episode, size, *rewards)
            except InfrastructureError as error:
                return instance_id, None, [empty.model_copy(update={"error": str(error)})] * size
            found = [trajectory_of(node, episode) for node in tree.chosen]
            padding = empty.model_copy(update={"error": "the tree has no further episode"})
            return instance_id, tree, [*found, *[padding] * (size - len(found))]

        jobs = [partial(grown, instance_id) for instance_id in dict.fromkeys(ids)]
        done = await in_order(jobs, len(jobs))
        trees = {name: tree for name, tree, _ in done if tree}
        for name, tree in trees.items():
            if self.out is not None:
                rows = {"issue": self.tasks[name].problem_statement, **as_json(tree.root, tree.chosen)}
                write_json(self.out / "trees" / f"{step:04}-{safe_name(name)}.json", rows)
        counts = [tree.figures() for tree in trees.values()]
        left = {name: list(found) for name, _, found in done}
        figures = {name: fmean(row[name] for row in counts) for name in (counts[0] if counts else ())}
        return [left[instance_id].pop(0) for instance_id in ids], figures

    def _renamed(self, policy: Model, seed: str) -> Model:
        """The policy, or for a share of the prompts a policy that sees exchanged names, the same ones in the whole group."""
        draw = random.Random(seed)
        if self.names is None or draw.random() >= self.section.renamed:
            return policy
        return RenamedModel(policy, Exchange(draw, self.names))


def degenerate(rewards: Sequence[float | None], size: int) -> list[int]:
    """Numbers of the groups of ``size`` rollouts whose known rewards are all equal, so that no rollout has an advantage."""
    groups = (rewards[at : at + size] for at in range(0, len(rewards), size))
    return [number for number, group in enumerate(groups) if len({*group} - {None}) < 2]


def f1_first(scores: Sequence[Score], size: int) -> list[float | None]:
    """Rewards, but in a group of ``size`` rollouts whose answers are all equally good each has the mean: e alone would decide.

    e is a mean over calls, so that one call is its optimum, and division by the group's deviation makes that as loud as F1.
    """
    rewards = [score.reward for score in scores]
    for number in degenerate([None if score.reward is None else quality_of(score) for score in scores], size):
        at = slice(number * size, (number + 1) * size)
        known = [reward for reward in rewards[at] if reward is not None]
        rewards[at] = [None if reward is None else fmean(known) for reward in rewards[at]]
    return rewards


def headroom(scores: Sequence[Score], size: int) -> dict[str, float]:
    """What RL can gain, by ``size`` samples of each prompt of the policy that it starts from. F1 and its differences from 0 to 1.

    ``headroom``: the best F1 of a prompt minus its mean, a mean over prompts; RL adds hardly more. ``flat``: the share of prompts
    whose samples are all equally good. ``f1_per_call``: F1 by a further call within a prompt, by least squares; 0 if calls
    never differ. Errored samples do not count. From two prompts on, ``headroom_low`` and ``headroom_high`` are its 95% interval.
    """
    gaps, common, spread = [], 0.0, 0.0
    for at in range(0, len(scores), size):
        rows = [(score.calls or 0, f1) for score in scores[at : at + size] if (f1 := quality_of(score)) is not None]
        if rows:
            calls, mean = (fmean(values) for values in zip(*rows, strict=True))
            gaps.append(max(f1 for _, f1 in rows) - mean)
            common += sum((count - calls) * (f1 - mean) for count, f1 in rows)
            spread += sum((count - calls) ** 2 for count, _ in rows)
    flat = len(degenerate([quality_of(score) for score in scores], size)) / max(len(gaps), 1)
    figures = {"headroom": fmean(gaps or [0.0]), "flat": flat, "f1_per_call": common / spread if spread else 0.0}
    found = measure(
        {0: [Score(instance_id=str(number), f1=gap) for number, gap in enumerate(gaps)]}, METRICS["f1_macro"].statistic
    )
    if found and found.low is not None and found.high is not None:
        figures |= {"headroom_low": found.low, "headroom_high": found.high}
    return figures


def reward_deviation(scores: Sequence[Score], size: int) -> float:
    """Mean over the groups of the standard deviation of a group's rewards (RepoSearch-R1 figure 6b shows its square)."""
    groups = (scores[at : at + size] for at in range(0, len(scores), size))
    known = ([score.reward for score in group if score.reward is not None] for group in groups)
    return fmean(pstdev(rewards) if rewards else 0.0 for rewards in known)


def rollout_figures(scores: list[Score]) -> dict[str, float]:
    """Means of :data:`LOGGED` over rollouts, and tool success over all their calls.

    Errored rollouts are counted but not part of any mean. A figure that no rollout has is left out.
    """
    scored = [score for score in scores if score.error is None]
    figures = {**{name: mean_of(scored, name) for name in LOGGED}, "tool_success": tool_success(scored)}
    known = {name: value for name, value in figures.items() if value is not None}
    return {**known, "errored": float(len(scores) - len(scored))}
