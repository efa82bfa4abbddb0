"""Validation in GRPO: every few steps the same held-out prompts, answered greedily by the weights that the run would leave there.

Each validation takes only what the weights are at its step: no random number of the training is drawn for it, so the weights
that come out are those of a run without it on the same training prompts.
"""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from math import ceil
from pathlib import Path
from typing import Any

from fusesearch.core.config import Grpo, Params, Validation
from fusesearch.core.errors import DataError
from fusesearch.core.schema import Instance, Record, Score
from fusesearch.core.storage import read_instances, read_jsonl, write_jsonl
from fusesearch.evaluation.environments import environment_named
from fusesearch.evaluation.metrics import mean_of
from fusesearch.evaluation.validation import PREFIX, validation_figures
from fusesearch.training.ranks import Log, from_first_rank, rank
from fusesearch.training.rollouts import Batch
from fusesearch.training.trainer import write_weights

FILE = "validation.jsonl"
REPOSITORIES = 4
"""Fewest repositories that the held-out prompts come from, where training can spare them."""


class Validated(Record):
    """The scores of the held-out prompts after a step."""

    step: int
    scores: list[Score]


def reserve(instances: Sequence[Instance], prompts: int, seed: int) -> tuple[list[Instance], list[Instance]]:
    """Instances for training, and ``prompts`` instances, at most half, drawn by ``seed``, that training never sees.

    They come from :data:`REPOSITORIES` or more, which training leaves out whole. Where it would keep less than half of the
    instances, as with one repository, only the drawn instances are left out. Raises :class:`DataError` if none would remain.
    """
    prompts = min(prompts, len(instances) // 2)
    if prompts < 2:
        raise DataError(f"the rl split has {len(instances)} instances, too few for a validation: set grpo.validation.every to 0")
    draw = random.Random(f"validation-{seed}")
    most, drawn, repos = ceil(prompts / REPOSITORIES), set[str](), set[str]()
    for repo in draw.sample(every := sorted({row.repo for row in instances}), len(every)):
        if len(drawn) == prompts:
            break
        names = [row.instance_id for row in instances if row.repo == repo]
        drawn |= {*draw.sample(names, min(most, len(names), prompts - len(drawn)))}
        repos.add(repo)
    training = [row for row in instances if row.repo not in repos]
    if len(drawn) < prompts or 2 * len(training) < len(instances):
        drawn = {*draw.sample([row.instance_id for row in instances], prompts)}
        training = [row for row in instances if row.instance_id not in drawn]
    return training, [row for row in instances if row.instance_id in drawn]


def divided(params: Params, section: Grpo, path: Path) -> tuple[list[Instance], list[Instance]]:
    """The instances of a file that GRPO trains on, and those held out. Raises :class:`DataError` for too few, or none."""
    environment = environment_named(params.agent.toolset)
    own = (environment.own if section.judge.model else environment.trainable)(read_instances(path))
    if not own:
        raise DataError(f"{path} holds no instance: lower the filters or mine more")
    return reserve(own, section.validation.prompts, params.seed) if section.validation.every else (own, [])


class Validator:
    """Validates a policy while it trains; its :meth:`callback` goes to the trainer.

    ``batch_of`` runs the held-out prompts on what the trainer trains; ranks but the first have none. ``out`` gets
    :data:`FILE` and, with ``keep_best``, the weights of the best step in ``best-STEP``. ``on_first`` takes the scores of step 0
    once they are logged.
    """

    def __init__(
        self,
        section: Validation,
        batch_of: Callable[[Any], Batch] | None,
        out: Path,
        on_first: Callable[[Sequence[Score]], None],
    ) -> None:
        self.figures: dict[str, float] = {}
        """Columns of the step that just ended; empty without a validation after it."""
        self._section = section
        self._batch_of = batch_of
        self._out = out
        self._on_first = on_first
        self._done: list[Validated] = []

    @property
    def best_step(self) -> int:
        """The step with the highest mean reward, the first of several."""
        return max(self._done, key=lambda row: (_reward(row), -row.step)).step

    def callback(
        self,
        trainer: Any,
        publish: Callable[[], None],
        applied: Callable[[], AbstractContextManager[None]],
        log: Log,
    ) -> Any:
        """The callback of ``trainer``. ``publish`` brings weights to where episodes are sampled.

        Within ``applied()`` the model has the weights that a run that ended there would leave. ``log`` takes the columns of
        step 0, which trains nothing and has no row of its own.
        """
        from transformers import TrainerCallback

        validator, section, out = self, self._section, self._out

        def validate(step: int) -> None:
            started = time.perf_counter()
            with applied():
                publish()
                is_best = from_first_rank(partial(validator._add, step, trainer) if validator._batch_of else None)
                if is_best and section.keep_best:
                    write_weights(trainer, out / f"best-{step}")
            if not rank():
                figures = validation_figures(validator._done[0].scores, validator._done[-1].scores)
                validator.figures = {**figures, f"{PREFIX}seconds": time.perf_counter() - started}

        class Callback(TrainerCallback):
            def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
                step = state.global_step
                if not step:
                    validate(0)
                    if not rank():
                        log({"step": 0, "steps": state.max_steps, **validator.figures})
                        validator._on_first(validator._done[0].scores)
                elif not rank():
                    validator._done = [row for row in read_jsonl(out / FILE, Validated) if row.step <= step]

            def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
                validator.figures = {}
                if state.global_step % section.every == 0 or state.global_step == state.max_steps:
                    validate(state.global_step)

            def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
                for folder in () if rank() else out.glob("best-*"):  # a run that resumes here needs no other
                    if folder.name != f"best-{validator.best_step}":
                        shutil.rmtree(folder)

        return Callback()

    def finish(self) -> None:
        """Put the scores, and with ``keep_best`` the best step's weights, into ``out/checkpoint``; for rank 0."""
        if self._section.keep_best:
            shutil.copytree(self._out / f"best-{self.best_step}", self._out / "checkpoint", dirs_exist_ok=True)
        shutil.copyfile(self._out / FILE, self._out / "checkpoint" / FILE)

    def _add(self, step: int, trainer: Any) -> bool:
        """Validate, and save the scores. Returns whether no earlier step was as good."""
        assert self._batch_of is not None  # noqa: S101 - rank 0 has one
        self._done.append(Validated(step=step, scores=self._batch_of(trainer).scores))
        write_jsonl(self._out / FILE, self._done)
        return self.best_step == step


def _reward(row: Validated) -> float:
    mean = mean_of(row.scores, "reward")
    return float("-inf") if mean is None else mean
