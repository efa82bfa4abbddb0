"""GRPO with TRL's GRPOTrainer and rollouts from the project's own loop (FuseSearch 3.3 and B.3).

TRL 1.16 marks ``rollout_func`` as experimental; only this file uses it.
"""

from __future__ import annotations

import asyncio
import random
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from tasks.agents.loop import new_trajectory, run_episode, run_episodes
from tasks.agents.models.base import Model, Sampling
from tasks.agents.models.transformers import TransformersModel
from tasks.agents.toolsets import make_episode, toolset_named
from tasks.core.config import Grpo, Params
from tasks.core.errors import ConfigError, DataError, InfrastructureError
from tasks.core.schema import Instance, Score, Trajectory
from tasks.core.storage import read_instances, write_json
from tasks.core.text import safe_name
from tasks.evaluation.metrics import mean_of, tool_success
from tasks.search.repository import Repository
from tasks.training.averaging import average_callback
from tasks.training.renaming import Exchange, Names, RenamedModel
from tasks.training.rewards import Reward, make_reward, outcome_of
from tasks.training.search.growing import Tree, Worth, grow, trajectory_of
from tasks.training.search.tree import as_json
from tasks.training.sft import describe_checkpoint
from tasks.training.trainer import load_student, log_callback, quiet, run_training, save_checkpoint, trainer_arguments

LOGGED = (
    "f1", "answer_score", "evidence_seen", "efficiency", "efficiency_call", "redundancy", "redundancy_call",
    "calls_per_turn", "turns", "calls", "failed_calls", "tokens_context", "tokens_completion",
)  # fmt: skip
"""Fields of :class:`Score` whose means are in the training curve, beside TRL's own: reward, entropy, KL, lengths."""


def train_grpo(
    params: Params,
    section: Grpo,
    instances: Path,
    checkpoint: Path,
    snapshot: Callable[[Instance], Repository],
    out: Path,
    *,
    on_log: Callable[[dict[str, float]], None],
) -> dict[str, float]:
    """Optimize ``checkpoint`` for the reward of ``section``. Resumes from the last saved step in ``out``, if any.

    Writes ``out/checkpoint`` and ``out/log.jsonl``. Returns the summary figures.

    Raises:
        ArtifactError: the checkpoint or the instances cannot be read.
        ConfigError: ``rollouts`` is ``vllm``, which this stage does not support yet.
        DataError: ``instances`` is empty.
    """
    if section.rollouts == "vllm":
        raise ConfigError("grpo.rollouts: 'vllm' is not available yet; use 'transformers'")
    quiet()
    model, tokenizer = load_student(checkpoint, params.model)
    own = toolset_named(params.agent.toolset).own(read_instances(instances))
    tasks = {instance.instance_id: instance for instance in own}
    if not tasks:
        raise DataError(f"{instances} holds no instance: lower the filters or mine more")
    rollouts = Rollouts(params, section, tasks, snapshot, tokenizer, out / "trees")
    trainer = _trainer(params, section, model, tokenizer, rollouts, out, on_log)
    run_training(trainer, out)
    save_checkpoint(trainer, out)
    if rollouts.trees and rollouts.trees.is_dir():
        shutil.copytree(rollouts.trees, out / "checkpoint" / "trees", dirs_exist_ok=True)
    describe_checkpoint(out / "checkpoint", params)
    return {"instances": len(tasks), "steps": trainer.state.global_step, **rollouts.figures()}


class Rollouts:
    """Runs and scores the rollouts of a step with the project's loop and tools.

    After an infrastructure error a rollout has reward ``None``, and TRL gives it no advantage.
    """

    def __init__(
        self,
        params: Params,
        section: Grpo,
        tasks: dict[str, Instance],
        snapshot: Callable[[Instance], Repository],
        tokenizer: Any,
        trees: Path | None = None,
    ) -> None:
        self.trees = trees
        self.params = params
        self.section = section
        self.tasks = tasks
        self.snapshot = snapshot
        self.tokenizer = tokenizer
        self.reward: Reward = make_reward(section.reward, alpha=section.alpha, beta=section.beta, gamma=section.gamma)
        self._names = Names.of((task.problem_statement for task in tasks.values()), tokenizer) if section.renamed else None
        self._scores: list[Score] = []
        self._trees_figures: list[dict[str, float]] = []

    def __call__(self, prompts: list[list[dict[str, Any]]], trainer: Any) -> dict[str, list[Any]]:
        """TRL's ``rollout_func``: prompts, repeated per generation, in; token ids, log-probabilities and mask out."""
        ids = [prompt[-1]["instance_id"] for prompt in prompts]
        model = trainer.accelerator.unwrap_model(trainer.model)
        training = model.training
        model.eval()
        try:
            trajectories = asyncio.run(self._run(ids, model, trainer.state.global_step))
        finally:
            model.train(training)
        self._scores = [self._score(trajectory, self.reward) for trajectory in trajectories]
        sequences = [sequence_of(trajectory, self.tokenizer.eos_token_id) for trajectory in trajectories]
        columns = {name: [sequence[name] for sequence in sequences] for name in sequences[0]}
        return {**columns, "score": [score.reward for score in self._scores]}

    async def _run(self, ids: list[str], model: Any, step: int) -> list[Trajectory]:
        policy = TransformersModel(model, self.tokenizer, max_batch=len(ids))
        repositories = {i: self.snapshot(self.tasks[i]) for i in set(ids)}
        sampling = Sampling(temperature=self.section.temperature, max_new_tokens=self.params.agent.max_new_tokens)
        first = (self.params.seed * 1_000_003 + step) * len(ids)

        if self.section.search.kind != "independent":
            return await self._trees(ids, policy, repositories, sampling.model_copy(update={"seed": first}), step)

        async def rollout(number: int, instance_id: str) -> tuple[int, Trajectory]:
            seeded = sampling.model_copy(update={"seed": first + number})
            actor = self._renamed(policy, f"{self.params.seed}-{step}-{instance_id}")
            episode = make_episode(
                self.tasks[instance_id], repositories[instance_id], actor, self.params.agent, self.params.tools, seeded,
                localizer="fusesearch",
            )  # fmt: skip
            return number, await run_episode(episode)

        jobs = [partial(rollout, number, instance_id) for number, instance_id in enumerate(ids)]
        done = dict([pair async for pair in run_episodes(jobs, concurrency=len(ids))])
        await policy.close()
        return [done[number] for number in range(len(ids))]

    async def _trees(
        self, ids: list[str], policy: TransformersModel, repositories: dict[str, Repository], sampling: Sampling, step: int
    ) -> list[Trajectory]:
        """The chosen episodes of one tree per prompt. Where a tree gives too few, rows without a reward fill its group."""

        async def grown(instance_id: str) -> tuple[str, Tree | None, list[Trajectory]]:
            actor = self._renamed(policy, f"{self.params.seed}-{step}-{instance_id}")
            episode = make_episode(
                self.tasks[instance_id], repositories[instance_id], actor, self.params.agent, self.params.tools, sampling,
                localizer="fusesearch",
            )  # fmt: skip
            empty = new_trajectory(episode.instance, episode.agent, episode.instructions, localizer="fusesearch")
            size = ids.count(instance_id)
            try:
                tree = await grow(self.section.search, episode, size, *map(self._worth, (self.reward, outcome_of(self.reward))))
            except InfrastructureError as error:
                return instance_id, None, [empty.model_copy(update={"error": str(error)})] * size
            found = [trajectory_of(node, episode) for node in tree.chosen]
            padding = empty.model_copy(update={"error": "the tree has no further episode"})
            return instance_id, tree, [*found, *[padding] * (size - len(found))]

        jobs = [partial(grown, instance_id) for instance_id in dict.fromkeys(ids)]
        done = [row async for row in run_episodes(jobs, concurrency=len(jobs))]
        await policy.close()
        self._trees_figures = [tree.figures() for _, tree, _ in done if tree]
        if self.trees is not None:
            for name, tree, _ in done:
                if tree:
                    write_json(self.trees / f"{step:04}-{safe_name(name)}.json", as_json(tree.root, tree.chosen))
        left = {name: list(found) for name, _, found in done}
        return [left[instance_id].pop(0) for instance_id in ids]

    def _renamed(self, policy: Model, seed: str) -> Model:
        """The policy, or for a share of the prompts a policy that sees exchanged names, the same ones in the whole group."""
        draw = random.Random(seed)
        if self._names is None or draw.random() >= self.section.renamed:
            return policy
        return RenamedModel(policy, Exchange(draw, self._names))

    def _worth(self, reward: Reward) -> Worth:
        return lambda trajectory: self._score(trajectory, reward).reward

    def _score(self, trajectory: Trajectory, reward: Reward) -> Score:
        truth = self.tasks[trajectory.instance_id].truth
        if truth is None:
            raise DataError(f"instance {trajectory.instance_id} has no truth: run the filter stage")
        score = toolset_named(self.params.agent.toolset).score
        return score(trajectory, truth, reward=reward, scope=self.params.agent.history_scope)

    def figures(self) -> dict[str, float]:
        """:func:`rollout_figures` of the last step, and the means of its trees' figures."""
        names = self._trees_figures[0] if self._trees_figures else ()
        trees = {name: fmean(row[name] for row in self._trees_figures) for name in names}
        return rollout_figures(self._scores) | trees


def rollout_figures(scores: list[Score]) -> dict[str, float]:
    """Means of :data:`LOGGED` over rollouts, and tool success over all their calls.

    Errored rollouts are counted but not part of any mean. A figure that no rollout has is left out.
    """
    scored = [score for score in scores if score.error is None]
    figures = {**{name: mean_of(scored, name) for name in LOGGED}, "tool_success": tool_success(scored)}
    known = {name: value for name, value in figures.items() if value is not None}
    return {**known, "errored": float(len(scores) - len(scored))}


def sequence_of(trajectory: Trajectory, eos: int) -> dict[str, list[Any]]:
    """Token columns of one episode as they were generated.

    ``prompt_ids`` is the first request and ``completion_ids`` everything after it. ``env_mask`` is 1 for sampled and 0 for
    observed tokens; ``logprobs`` is 0 for observed ones.
    """
    turns = [turn.tokens for turn in trajectory.turns if turn.tokens is not None]
    if not turns:
        return {"prompt_ids": [eos], "completion_ids": [eos], "logprobs": [0.0], "env_mask": [0]}
    prompt, completion, logprobs, mask = turns[0].prompt_ids, [], [], []  # type: ignore[var-annotated]
    for tokens in turns:
        observed = tokens.prompt_ids[len(prompt) + len(completion) :]
        completion += observed + tokens.completion_ids
        logprobs += [0.0] * len(observed) + tokens.logprobs
        mask += [0] * len(observed) + [1] * len(tokens.completion_ids)
    return {"prompt_ids": prompt, "completion_ids": completion, "logprobs": logprobs, "env_mask": mask}


def rollout_reward(score: list[float | None], **_: Any) -> list[float | None]:
    """The reward that :class:`Rollouts` computed, for TRL; ``None`` stays absent."""
    return score


def _trainer(
    params: Params, section: Grpo, model: Any, tokenizer: Any, rollouts: Rollouts, out: Path, on_log: Callable[..., None]
) -> Any:
    from trl import GRPOConfig

    from tasks.training.optimizer import make_optimizer
    from tasks.training.trl_trimmed import TrimmedGRPOTrainer

    size = section.prompts_per_step * section.group
    micro = min(section.micro_batch, size)
    arguments = GRPOConfig(
        **trainer_arguments(out, section, params),
        max_steps=section.steps,
        per_device_train_batch_size=micro,
        gradient_accumulation_steps=size // micro,
        num_generations=section.group,
        temperature=section.temperature,
        beta=section.kl,
        scale_rewards=section.scale_rewards,
        loss_type="grpo",  # equal weight per rollout: weighted by token, a few that repeat themselves to the limit dominate
        lr_scheduler_type="constant_with_warmup",
        warmup_steps=5,
        max_completion_length=params.agent.max_context_tokens,
        logging_steps=1,
        remove_unused_columns=False,
    )
    callbacks = [log_callback(out / "log.jsonl", on_log, rollouts.figures)]
    if section.averaged:
        last = max(1, round(section.averaged * section.steps))
        callbacks.append(average_callback(model, section.steps - last, out / "trainer"))
    return TrimmedGRPOTrainer(
        model=model,
        args=arguments,
        reward_funcs=[rollout_reward],
        rollout_func=rollouts,  # type: ignore[arg-type]  # annotated for text prompts; message lists work too
        train_dataset=_prompts(params, rollouts.tasks),
        processing_class=tokenizer,
        callbacks=callbacks,
        optimizers=(make_optimizer(section.optimizer, model, section.learning_rate, 0.0), None),
    )


def _prompts(params: Params, tasks: dict[str, Instance]) -> Any:
    from datasets import Dataset

    toolset = toolset_named(params.agent.toolset)
    rows = []
    for name, instance in tasks.items():
        instructions = toolset.instruct(params.agent, instance.problem_statement, None)
        opening = {"system": instructions.system, "user": instructions.issue}
        rows.append({"prompt": [{"role": role, "content": text, "instance_id": name} for role, text in opening.items()]})
    return Dataset.from_list(rows)
