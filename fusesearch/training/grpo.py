"""GRPO with TRL's GRPOTrainer and rollouts from the project's own loop (FuseSearch 3.3 and B.3).

TRL 1.16 marks ``rollout_func`` as experimental, and what :class:`VllmClient` stands in for is not documented; only this file uses
them.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from fusesearch.core.caches import Caches
from fusesearch.core.config import Grpo, Params, RolloutSearch
from fusesearch.core.errors import AGAIN, ConfigError, InfrastructureError
from fusesearch.core.schema import Instance, Score
from fusesearch.evaluation.environments import environment_named
from fusesearch.evaluation.validation import PREFIX
from fusesearch.localizers.presearch import pre_searched
from fusesearch.search.repository import Repository
from fusesearch.training.gates import check_floor, check_headroom
from fusesearch.training.local import Local
from fusesearch.training.nano.averaging import average_callback
from fusesearch.training.nano.renaming import Names, kept_words
from fusesearch.training.ranks import Log, from_first_rank, rank, train_in_ranks, world_size
from fusesearch.training.rollouts import Batch, Episodes, degenerate, f1_first, reward_deviation, rollout_figures
from fusesearch.training.served import ServedPolicy
from fusesearch.training.serving import Servers
from fusesearch.training.sft import describe_checkpoint
from fusesearch.training.trainer import (
    IMPORTANCE_MAX,
    adapters,
    is_sharded,
    load_student,
    log_callback,
    log_row,
    quiet,
    recomputes,
    run_training,
    save_checkpoint,
    settle,
    student_dtype,
    throughput,
    trainer_arguments,
    whole_weights,
)
from fusesearch.training.validation import Validator, divided

Snapshot = Callable[[Instance], Repository]
Publish = Callable[[Any, int], dict[str, float]]
"""Brings the weights of a model after a step to what samples. Returns figures, in seconds."""
BatchOf = Callable[[Episodes, list[str], Any], Batch]
"""The rollouts of a step: for episodes, instance ids, one per rollout, and TRL's trainer."""


def train_grpo(
    params: Params,
    section: Grpo,
    instances: Path,
    checkpoint: Path,
    snapshot: Snapshot,
    out: Path,
    caches: Caches | None = None,
    *,
    on_log: Log,
) -> dict[str, float]:
    """Optimize ``checkpoint`` for the reward of ``section``. Resumes from the last saved step in ``out``, if any.

    Writes ``out/checkpoint`` and ``out/log.jsonl``; with ``section.validation`` also the scores of each held-out prompt to
    ``checkpoint/validation.jsonl``. ``caches`` are those of ``validation.floor``. Returns the summary figures.

    Raises:
        ArtifactError: the checkpoint or the instances cannot be read.
        ConfigError: ``rollouts`` is ``vllm``, and vLLM is not installed; the machine has fewer GPUs than ``compute`` asks for.
        DataError: ``instances`` is empty, or too few for ``validation``; a gate (:mod:`~fusesearch.training.gates`) is closed.
        InfrastructureError: a vLLM server does not start, dies, or does not sample from the published weights; a rank died;
            all rollouts of a step errored.
    """
    import torch

    if params.compute.ranks > 1 and section.rollouts == "transformers" and torch.cuda.is_available():
        raise ConfigError("on several GPUs no process has all weights to sample from: set grpo.rollouts to vllm")
    if world_size() < params.compute.ranks:
        given = (params, section, instances, checkpoint, snapshot, out, caches)
        return train_in_ranks(params.compute, train_grpo, *given, on_log=on_log)
    quiet()
    model, tokenizer = load_student(checkpoint, student_dtype(section.lora, params), params.model.matmul)
    training, held_out = divided(params, section, instances)
    tasks, asked = ({row.instance_id: row for row in pre_searched(part, snapshot, params.agent)} for part in (training, held_out))
    names = None
    if section.renamed:
        issues = (task.problem_statement for task in tasks.values())
        names = Names.of(issues, tokenizer, kept_words(environment_named(params.agent.toolset)))
    eos = tokenizer.eos_token_id
    episodes = Episodes(params, section, tasks, snapshot, eos, names, out)
    greedy = section.model_copy(update={"temperature": 0.0, "search": RolloutSearch()})
    validated = Episodes(params, greedy, asked, snapshot, eos, out=out)

    def first(scores: Sequence[Score]) -> None:
        if section.validation.floor:
            check_floor(params, held_out, scores, snapshot, caches or Caches(), out / "floor.jsonl")

    with _sampler(params, section, model, tokenizer, out) as (sampled, publish):
        batch_of = partial(some_scored, sampled) if sampled else None
        rollouts = Rollouts(partial(batch_of, episodes) if batch_of else None, section)
        greedy_batch_of = partial(batch_of, validated, list(asked)) if batch_of else None
        validator = Validator(section.validation, greedy_batch_of, out, first) if section.validation.every else None
        run = Run(episodes, model, tokenizer, rollouts, validator, out / "log.jsonl", on_log)
        trainer = _trainer(run)
        if publish:
            trainer.use_vllm, trainer.vllm_generation, trainer._last_loaded_step = True, VllmClient(trainer, publish), -1
        sample = partial(batch_of, episodes, trainer=trainer) if batch_of else None
        known = check_headroom(section, [*tasks], params.seed, out, sample) if section.min_headroom else {}
        run_training(trainer, out)
    save_checkpoint(trainer, out)
    if not rank():
        if validator:
            known |= {"validation_instances": len(held_out), "best_step": validator.best_step}
            validator.finish()
        if (trees := out / "trees").is_dir():
            shutil.copytree(trees, out / "checkpoint" / "trees", dirs_exist_ok=True)
        describe_checkpoint(out / "checkpoint", params)
    return {"instances": len(tasks), "steps": trainer.state.global_step, **known, **rollouts.figures()}


def some_scored(batch_of: BatchOf, episodes: Episodes, ids: list[str], trainer: Any) -> Batch:
    """The rollouts of a step; raises :class:`InfrastructureError` where all errored: training would go on and learn nothing."""
    batch = batch_of(episodes, ids, trainer)
    if all(score.error for score in batch.scores):
        said = f"all {len(batch.scores)} rollouts of a step errored, first: {batch.scores[0].error}"
        raise InfrastructureError(f"{said}; repair that, then {AGAIN}")
    return batch


class Rollouts:
    """TRL's ``rollout_func``: prompts, repeated per generation, in; token ids, log-probabilities, mask and scores out.

    Rank 0 makes the rollouts of all ranks, so they do not depend on how many there are; the others have no ``batch_of``.
    """

    def __init__(self, batch_of: Callable[[list[str], Any], Batch] | None, section: Grpo) -> None:
        self._batch_of = batch_of
        self._section = section
        self._batch = Batch({}, [])
        self._made = 0.0

    def __call__(self, prompts: list[list[dict[str, Any]]], trainer: Any) -> dict[str, list[Any]]:
        """This rank's rollouts of a step."""
        from accelerate.utils import gather_object

        every = gather_object([prompt[-1]["instance_id"] for prompt in prompts])
        self._batch = from_first_rank(partial(self._batch_of, every, trainer) if self._batch_of else None)
        if self._section.scale_rewards == "f1_first":
            self._batch.columns["score"] = f1_first(self._batch.scores, self._section.group)
        own = slice(rank() * len(prompts), (rank() + 1) * len(prompts))
        self._made = time.perf_counter()
        return {name: values[own] for name, values in self._batch.columns.items()}

    def figures(self) -> dict[str, float]:
        """Figures of the last step, for the training curve."""
        deviation = reward_deviation(self._batch.scores, self._section.group)
        return {**rollout_figures(self._batch.scores), "reward_deviation": deviation, **self._batch.figures}

    def speed(self, config: Any, paused: float = 0.0) -> dict[str, float]:
        """Seconds, without ``paused``, and :func:`throughput` of the training of the step that just ended.

        With neither a KL term nor one of entropy, rollouts of degenerate groups are not trained and do not count.
        """
        seconds, columns, section = time.perf_counter() - self._made - paused, self._batch.columns, self._section
        left_out = () if section.kl or section.entropy_coef else degenerate(columns["score"], section.group)
        lengths = [
            len(prompt) + len(completion)
            for row, (prompt, completion) in enumerate(zip(columns["prompt_ids"], columns["completion_ids"], strict=True))
            if row // section.group not in left_out
        ]
        return {"train_seconds": seconds, **throughput(lengths, seconds, config, forwards=int(section.kl > 0))}


class VllmClient:
    """Stands in for TRL's vLLM client: TRL calls :meth:`sync_weights` before the rollouts of each step."""

    def __init__(self, trainer: Any, publish: Publish) -> None:
        self.figures: dict[str, float] = {}
        self._trainer = trainer
        self._publish = publish

    def sync_weights(self) -> None:
        """Publish the trained weights."""
        model = self._trainer.accelerator.unwrap_model(self._trainer.model)
        self.figures = self._publish(model, self._trainer.state.global_step)


@contextmanager
def _sampler(
    params: Params, section: Grpo, model: Any, tokenizer: Any, out: Path
) -> Iterator[tuple[BatchOf | None, Publish | None]]:
    """What makes the rollouts, on rank 0, and how weights reach it; None where it has them."""
    import torch

    def give_share(model: Any, step: int) -> dict[str, float]:
        whole_weights(model, getattr(torch, params.model.dtype))  # rank 0 publishes them
        return {}

    if rank():
        yield None, give_share if section.rollouts == "vllm" else None
    elif section.rollouts == "vllm":
        with _served(params, section, model, tokenizer, out) as found:
            yield found
    else:
        with Local(tokenizer) as batch_of:
            yield batch_of, None


@contextmanager
def _served(params: Params, section: Grpo, model: Any, tokenizer: Any, out: Path) -> Iterator[tuple[BatchOf, Publish]]:
    """Rollouts by vLLM servers, and the way that weights reach them, checked."""
    import torch

    out.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        servers = stack.enter_context(Servers(params.compute, out / "vllm.log", torch.cuda.device_count()))
        folder = out / "weights"
        policy = ServedPolicy(folder, servers, tokenizer, params.model.dtype)
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        servers.start(policy.write(model, 0))
        policy.check(model, section.temperature)

        def batch_of(asked: Episodes, ids: list[str], trainer: Any) -> Batch:
            servers.wake()
            started = time.perf_counter()
            batch = asked.make(ids, trainer.state.global_step, policy.model())
            seconds = time.perf_counter() - started
            servers.sleep()
            figures = {**trainer.vllm_generation.figures, **batch.figures, "rollout_seconds": seconds}
            return replace(batch, figures=figures)

        yield batch_of, policy.publish


def rollout_reward(score: list[float | None], **_: Any) -> list[float | None]:
    """The reward that :class:`Rollouts` computed, for TRL; ``None`` stays absent."""
    return score


@dataclass
class Run:
    """What a training is made of: ``log`` is the file of its rows, ``on_log`` takes each of them."""

    episodes: Episodes
    model: Any
    tokenizer: Any
    rollouts: Rollouts
    validator: Validator | None
    log: Path
    on_log: Log
    applied: Callable[[], AbstractContextManager[None]] = field(default=nullcontext)
    """While a validation runs within it, the model has the weights that a run that ended there would leave."""

    @property
    def trimmed(self) -> bool:
        """Whether :mod:`~fusesearch.training.trl_trimmed` trains it, and not :mod:`~fusesearch.training.passes`."""
        import torch

        one_cpu = world_size() == 1 and not torch.cuda.is_available()
        return one_cpu and self.episodes.section.rollouts == "transformers" and not self.episodes.section.tokens_per_pass


def _trainer(run: Run) -> Any:
    from datasets import Dataset

    from fusesearch.training.passes import PackedGRPOTrainer
    from fusesearch.training.trl_trimmed import TrimmedGRPOTrainer

    section, callbacks = run.episodes.section, _callbacks(run)
    arguments = _arguments(run)
    if section.rollouts == "vllm" and arguments.device.type == "cuda" and arguments.bf16:
        with suppress(ImportError, ValueError):  # without the kernels, rollouts of a pass are padded
            run.model.set_attn_implementation("flash_attention_2")
    sync_once = not is_sharded() or section.lora.rank > 0  # whole gradients of all weights take 4 bytes a parameter on each GPU
    packed = partial(
        PackedGRPOTrainer, tokens_per_pass=section.tokens_per_pass, rows_per_pass=section.micro_batch, sync_once=sync_once
    )
    trainer = (TrimmedGRPOTrainer if run.trimmed else packed)(
        model=run.model,
        args=arguments,
        reward_funcs=[rollout_reward],
        rollout_func=run.rollouts,  # type: ignore[arg-type]  # annotated for text prompts; message lists work too
        train_dataset=Dataset.from_list(run.episodes.search_tasks.prompts()),
        processing_class=run.tokenizer,
        callbacks=callbacks,
        peft_config=adapters(section.lora, run.episodes.params.seed),
    )

    def publish() -> None:
        if trainer.use_vllm:
            trainer.vllm_generation.sync_weights()
            trainer._last_loaded_step = -1 if section.averaged else trainer.state.global_step  # else TRL publishes them again

    if run.validator:
        trainer.add_callback(run.validator.callback(trainer, publish, run.applied, partial(log_row, run.log, run.on_log)))
    return trainer


def _arguments(run: Run) -> Any:
    """TRL's arguments of the section, for this machine."""
    import torch
    from trl import GRPOConfig

    params, section = run.episodes.params, run.episodes.section
    each = section.prompts_per_step * section.group // world_size()
    micro = min(section.micro_batch, each) if run.trimmed else each
    return settle(GRPOConfig(
        **trainer_arguments(run.log.parent, section, params),
        gradient_checkpointing=recomputes(run.model) and not run.trimmed,
        max_steps=section.steps,
        per_device_train_batch_size=micro,
        gradient_accumulation_steps=each // micro,
        num_generations=section.group,
        temperature=section.temperature,
        beta=section.kl,
        scale_rewards="none" if section.scale_rewards == "none" else "group",
        loss_type=section.loss_type,
        entropy_coef=section.entropy_coef,
        lr_scheduler_type="constant_with_warmup",
        warmup_steps=section.warmup_steps,
        max_completion_length=params.agent.max_context_tokens,
        logging_steps=1,
        remove_unused_columns=False,
        use_bias_correction_kl=False,  # B.3 has the plain KL term; TRL's default weights it by the importance ratio
        router_aux_loss_coef=0.0,  # nor has B.3 a loss that balances experts
        vllm_importance_sampling_correction=False,  # TRL's takes a pass of its own over the batch: the passes do it by token
        vllm_importance_sampling_clip_max=IMPORTANCE_MAX,
        # of the reference policy: each rank loads it whole, and one alone does not spread it over all GPUs
        model_init_kwargs={"device_map": None} if section.kl and (torch.cuda.is_available() or world_size() > 1) else None,
    ))  # fmt: skip


def _callbacks(run: Run) -> list[Any]:
    """The log, and the average of the last steps, if the section asks for it."""
    section = run.episodes.section

    def figures(_: dict[str, float]) -> dict[str, float]:
        known = run.validator.figures if run.validator else {}
        speed = run.rollouts.speed(run.model.config, known.get(f"{PREFIX}seconds", 0.0))
        return {**run.rollouts.figures(), **speed, **known}

    callbacks = [log_callback(run.log, run.on_log, figures)]
    if section.averaged:
        last = max(1, round(section.averaged * section.steps))
        callbacks.append(average := average_callback(run.model, section.steps - last, run.log.parent / "trainer"))
        run.applied = average.applied
    return callbacks
