"""Supervised fine-tuning on selected trajectories: TRL's SFTTrainer, loss on assistant tokens only (FuseSearch B.2)."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from fusesearch.agents.conversation import as_text, messages_of, reads_back
from fusesearch.agents.models.chat import training_ids
from fusesearch.core.config import Params, Sft
from fusesearch.core.errors import DataError
from fusesearch.core.schema import Trajectory
from fusesearch.core.storage import read_trajectories, write_json
from fusesearch.evaluation.environments import environment_named
from fusesearch.training.nano.drills import drill_rows
from fusesearch.training.nano.renaming import Names, kept_words, renamed
from fusesearch.training.ranks import Log, rank, train_in_ranks, world_size
from fusesearch.training.trainer import (
    adapters,
    is_sharded,
    load_student,
    log_callback,
    quiet,
    recomputes,
    run_training,
    save_checkpoint,
    settle,
    student_dtype,
    throughput,
    trainer_arguments,
)

ALIKE = 0.01
"""Distance to another token's row, as a share of a row's length, below which nothing tells the two apart."""


def train_sft(params: Params, trajectories: Path, out: Path, *, on_log: Log) -> dict[str, float]:
    """Fine-tune the base model. Resumes from the last saved step in ``out``, if any.

    Writes ``out/checkpoint`` (safetensors and tokenizer) and ``out/log.jsonl``. Returns the summary figures.

    Raises:
        ArtifactError: the base checkpoint or the trajectories cannot be read.
        ConfigError: the machine has fewer GPUs than ``compute.ranks``.
        DataError: no trajectory fits into ``sft.max_length``.
        InfrastructureError: a rank died.
    """
    if world_size() < params.compute.ranks:
        return train_in_ranks(params.compute, train_sft, params, trajectories, out, on_log=on_log)
    quiet()
    model, tokenizer = load_student(params.model.base, student_dtype(params.sft.lora, params), params.model.matmul)
    rows, dropped = tokenize(read_trajectories(trajectories), tokenizer, params)
    tell_apart(model, tokenizer, {label for row in rows for label in row["labels"]})
    figures = fit(model, tokenizer, rows, params.sft, params, out, on_log)
    if not rank():
        describe_checkpoint(out / "checkpoint", params)
    return {"sequences": len(rows), "dropped_too_long": dropped, **figures}


def fit(
    model: Any,
    tokenizer: Any,
    rows: list[dict[str, list[int]]],
    section: Sft,
    params: Params,
    out: Path,
    on_log: Log,
    bfloat16: bool | None = None,
) -> dict[str, float]:
    """Train ``model`` on rows of ``input_ids`` and ``labels``; writes ``out/checkpoint`` and ``out/log.jsonl``.

    ``bfloat16`` is as in :func:`~fusesearch.training.trainer.trainer_arguments`.
    """
    import torch
    from datasets import Dataset
    from trl import SFTConfig

    from fusesearch.training.nano.muon import MuonAdamW
    from fusesearch.training.trl_trimmed import TrimmedSFTTrainer

    per_rank = section.batch_size // world_size()
    arguments = SFTConfig(
        **trainer_arguments(out, section, params, bfloat16),
        gradient_checkpointing=recomputes(model),
        num_train_epochs=section.epochs,
        per_device_train_batch_size=min(section.micro_batch, per_rank),
        gradient_accumulation_steps=max(1, per_rank // section.micro_batch),
        train_sampling_strategy="group_by_length",
        lr_scheduler_type="cosine",
        warmup_steps=section.warmup_ratio,
        max_length=None,  # of rows that TRL prepares, and these are
        dataset_kwargs={"skip_prepare_dataset": True},
        logging_steps=10,
    )
    trainer = TrimmedSFTTrainer(
        model=model,
        args=settle(arguments),
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
        callbacks=[log_callback(out / "log.jsonl", on_log, _speed([len(row["input_ids"]) for row in rows], model.config))],
        peft_config=adapters(section.lora, params.seed),
        optimizers=(MuonAdamW(model, section.learning_rate) if section.optimizer == "muon" else None, None),
    )
    result = run_training(trainer, out)
    save_checkpoint(trainer, out)
    losses = trainer.accelerator.gather(torch.tensor([result.training_loss], dtype=torch.float64, device=arguments.device))
    return {
        "tokens": sum(len(row["input_ids"]) for row in rows),
        "trained_tokens": sum(label != -100 for row in rows for label in row["labels"]),
        "steps": trainer.state.global_step,
        "loss": float(losses.mean()),
    }


def _speed(lengths: list[int], config: Any) -> Callable[[dict[str, float]], dict[str, float]]:
    """What :func:`throughput` says of the steps between two logged rows, of trajectories of ``lengths``."""
    last: list[tuple[float, float]] = []

    def figures(logged: dict[str, float]) -> dict[str, float]:
        if "num_tokens" not in logged:
            return {}
        last.append((time.perf_counter(), logged["num_tokens"]))
        if len(last) == 1:
            return {}
        (before, had), (now, has) = last[-2:]
        return throughput(lengths, now - before, config, tokens=has - had)

    return figures


def tokenize(trajectories: list[Trajectory], tokenizer: Any, params: Params) -> tuple[list[dict[str, list[int]]], int]:
    """Rows of ``input_ids`` and ``labels`` (-100 outside assistant tokens), and how many were too long.

    The system prompt lacks the teacher's guidance, because the student should choose its breadth itself. ``sft.drills`` rows
    are drills, so that a small model does not forget how to copy names while it learns to search. Native calls are trained as
    text. Raises :class:`DataError` for a text that does not read as the calls and the answer of its turns.
    """
    trajectories = [as_text(trajectory) for trajectory in trajectories]
    if lost := [trajectory.instance_id for trajectory in trajectories if not reads_back(trajectory)]:
        raise DataError(f"the text of {len(lost)} trajectories does not read as their calls and answer, first {lost[0]}")
    environment = environment_named(params.agent.toolset)
    questions = [trajectory.answer is not None and bool(trajectory.answer.text) for trajectory in trajectories]
    students = [environment.spec.of(question).instruct(params.agent, "", None) for question in questions]
    tools = environment.spec.instruct(params.agent, "", None).tools
    conversations = [messages_of(trajectory, student.system) for trajectory, student in zip(trajectories, students, strict=True)]
    texts = (message.content for messages in conversations for message in messages)
    pool = Names.of(texts, tokenizer, kept_words(environment))
    draw = random.Random(params.seed)
    copies = [renamed(messages, draw, pool) for _ in range(params.sft.renamed_copies) for messages in conversations]
    rows = []
    for messages in conversations + copies:
        ids, mask = training_ids(tokenizer, messages, tools)
        if len(ids) <= params.sft.max_length:
            rows.append({"input_ids": ids, "labels": [i if m else -100 for i, m in zip(ids, mask, strict=True)]})
    if not rows:
        raise DataError(f"no trajectory fits into sft.max_length={params.sft.max_length}: raise it, or shorten observations")
    drills = [
        row
        for row in drill_rows(params.sft.drills, pool, tokenizer, params.seed)
        if len(row["input_ids"]) <= params.sft.max_length
    ]
    return rows + drills, len(conversations + copies) - len(rows)


def tell_apart(model: Any, tokenizer: Any, tokens: Collection[int]) -> None:
    """Give each of ``tokens`` that pretraining never reached a row of its own, random and as long as rows are on average.

    The rows of such tokens are all alike, and adapters cannot tell them apart: Qwen2.5-Coder has ``<tool_call>`` among hundreds,
    and after SFT writes others in its place. A mean of other rows would not do: one of those always has the larger logit.
    """
    import torch

    if rank() and is_sharded():
        return  # this rank gets its share of the first one's weights
    tables = {id(part.weight): part.weight.data for part in (model.get_input_embeddings(), model.get_output_embeddings())}
    for token in sorted({*tokenizer.get_added_vocab().values()} & {*tokens}):
        for rows in tables.values():
            apart = torch.linalg.vector_norm(rows - rows[token], dim=1, dtype=torch.float32)
            if apart.kthvalue(2).values < ALIKE * rows[token].norm():
                direction = torch.randn(rows.shape[1], generator=torch.Generator().manual_seed(token))
                rows[token] = direction / direction.norm() * rows.norm(dim=1, dtype=torch.float32).mean()


def describe_checkpoint(checkpoint: Path, params: Params) -> None:
    """Write ``fusesearch.json``: the tool limits and loop settings this checkpoint was trained with."""
    write_json(
        checkpoint / "fusesearch.json", {name: getattr(params, name).model_dump(mode="json") for name in ("tools", "agent")}
    )
