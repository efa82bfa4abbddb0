"""Rollouts by the model that trains: in this process, and on a CPU in a process per core."""

from __future__ import annotations

import io
import json
import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from dataclasses import replace
from functools import lru_cache
from statistics import fmean
from typing import Any

from fusesearch.agents.models.transformers import TransformersModel
from fusesearch.core.child import end_with_parent
from fusesearch.core.cores import cores
from fusesearch.core.errors import AGAIN, InfrastructureError
from fusesearch.training.ranks import world_size
from fusesearch.training.rollouts import Batch, Episodes

LEAST = 16
"""Rollouts of a process; below twice as many, none is started: that takes as long as some hundred rollouts of nano."""


class Local(ExitStack):
    """Makes the rollouts of a step by the weights of that step. A context manager.

    Processes get the weights with each step. Adapters, ranks, and a judge, whose verdicts go into one file, stay in
    this process.
    """

    def __init__(self, tokenizer: Any) -> None:
        super().__init__()
        self._tokenizer = tokenizer
        self._pool: ProcessPoolExecutor | None = None

    def __call__(self, episodes: Episodes, ids: list[str], trainer: Any) -> Batch:
        """One rollout of ``episodes`` for each instance id. Raises :class:`InfrastructureError` when a process died."""
        model, step = trainer.accelerator.unwrap_model(trainer.model), trainer.state.global_step
        training = model.training
        model.eval()
        try:
            section = episodes.section
            alone = section.lora.rank or section.judge.model or world_size() > 1 or model.device.type != "cpu"
            processes = min(cores(), len(ids) // LEAST, len(set(ids)))
            if alone or processes < 2:
                return episodes.make(ids, step, TransformersModel(model, self._tokenizer, max_batch=len(ids)))
            return self._by_processes(episodes, ids, step, model, processes)
        finally:
            model.train(training)

    def _by_processes(self, episodes: Episodes, ids: list[str], step: int, model: Any, processes: int) -> Batch:
        """The rollouts of each process are those of every ``processes``-th prompt."""
        import torch

        if self._pool is None:
            self._pool = ProcessPoolExecutor(cores(), multiprocessing.get_context("spawn"), initializer=end_with_parent)
            self.callback(self._pool.shutdown, cancel_futures=True)
        weights = io.BytesIO()
        torch.save(model.state_dict(), weights)
        prompts = list(dict.fromkeys(ids))
        sent = replace(episodes, tasks={name: episodes.tasks[name] for name in prompts})
        parts = [[i for i, name in enumerate(ids) if name in prompts[part::processes]] for part in range(processes)]
        asked = [
            self._pool.submit(
                _made,
                sent,
                ids,
                step,
                positions,
                self._tokenizer,
                model.config.to_json_string(),
                weights.getvalue(),
            )
            for positions in parts
        ]
        try:
            return _joined([answer.result() for answer in asked], parts)
        except BrokenProcessPool:
            raise InfrastructureError(f"a process that makes rollouts died, of memory perhaps: {AGAIN}") from None


def _made(
    episodes: Episodes, ids: list[str], step: int, positions: Sequence[int], tokenizer: Any, config: str, weights: bytes
) -> Batch:
    import torch

    torch.set_float32_matmul_precision(episodes.params.model.matmul)
    model = _empty(config)
    model.load_state_dict(torch.load(io.BytesIO(weights), weights_only=True))
    return episodes.make(ids, step, TransformersModel(model, tokenizer, max_batch=len(positions)), positions)


@lru_cache(maxsize=1)
def _empty(config: str) -> Any:
    from transformers import AutoConfig, AutoModelForCausalLM

    return AutoModelForCausalLM.from_config(AutoConfig.for_model(**json.loads(config))).eval()


def _joined(batches: Sequence[Batch], parts: Sequence[Sequence[int]]) -> Batch:
    """All rollouts in the order of their positions; figures are means over rollouts."""
    order = sorted((at, part, row) for part, positions in enumerate(parts) for row, at in enumerate(positions))
    return Batch(
        columns={name: [batches[part].columns[name][row] for _, part, row in order] for name in batches[0].columns},
        scores=[batches[part].scores[row] for _, part, row in order],
        figures={
            name: fmean([batch.figures[name] for batch in batches], [len(batch.scores) for batch in batches])
            for name in batches[0].figures
        },
    )
