"""GRPO by veRL's own trainer, a program of an environment of its own: rows and settings in, metrics and a checkpoint back.

veRL shares the weights out over the GPUs of all machines of a Ray cluster, as the papers trained. It is alpha, so its version is
fixed. docs/environment.md says how to install it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil
from pathlib import Path
from typing import Any

import yaml

from fusesearch.core import child
from fusesearch.core.config import Grpo, Params
from fusesearch.core.errors import AGAIN, DataError, InfrastructureError
from fusesearch.core.schema import Score
from fusesearch.core.storage import read_instances, read_jsonl, write_jsonl, write_text
from fusesearch.evaluation.environments import environment_named
from fusesearch.evaluation.metrics import mean_of
from fusesearch.evaluation.validation import PREFIX, validation_figures
from fusesearch.training.architectures import is_folder
from fusesearch.training.engines.rows import write_rows
from fusesearch.training.engines.scores import noted
from fusesearch.training.engines.verl_config import CONFIGS, configured, verl_python
from fusesearch.training.environment import open_tasks
from fusesearch.training.ranks import RANK_VARIABLES, Log
from fusesearch.training.rollouts import reward_deviation, rollout_figures
from fusesearch.training.serving import ALLOCATOR
from fusesearch.training.sft import describe_checkpoint
from fusesearch.training.trainer import log_row
from fusesearch.training.validation import FILE, Validated, reserve

POLL_SECONDS = 1.0
STOP_SECONDS = 60.0
"""How long veRL may take to end by itself."""

FIGURES = {
    "loss": "actor/pg_loss",
    "grad_norm": "actor/grad_norm",
    "learning_rate": "actor/lr",
    "kl": "actor/kl_loss",
    "entropy": "actor/entropy",
    "clip_ratio/region_mean": "actor/pg_clipfrac",
    "reward": "critic/score/mean",
    "turns": "num_turns/mean",
    "completions/mean_length": "response_length/mean",
    "completions/min_length": "response_length/min",
    "completions/max_length": "response_length/max",
    "completions/clipped_ratio": "response_length/clip_ratio",
    "step_time": "timing_s/step",
    "mfu": "perf/mfu/actor",
    "epoch": "training/epoch",
}
"""Columns of the training curve, by our own trainer's names, and what veRL calls them."""
TRAINED = ("timing_s/old_log_prob", "timing_s/ref", "timing_s/update_actor")
"""Parts of a step that train, in seconds; the others are rollouts, saving and validation."""


@dataclass(frozen=True)
class Places:
    """Where a run of veRL reads and writes: the same path on all machines. ``checkpoint`` may be one of the hub."""

    out: Path
    checkpoint: Path
    repos: Path
    cache: Path

    @property
    def home(self) -> Path:
        """What is veRL's."""
        return self.out / "verl"

    @property
    def saved(self) -> Path:
        """Its checkpoints: ``global_step_N``, and the number of the last whole one."""
        return self.home / "checkpoints"

    @property
    def last_step(self) -> int:
        """The last step that it saved whole; 0 if none."""
        path = self.saved / "latest_checkpointed_iteration.txt"
        return int(path.read_text(encoding="utf-8")) if path.is_file() else 0

    def attempt(self, number: int) -> Path:
        """Metrics and scores of one start of the program."""
        return self.home / f"attempt-{number}"


def configuration(params: Params, section: Grpo, places: Places, attempt: int, prompts: int) -> dict[str, Any]:
    """veRL's configuration: that of ``grpo.verl_config`` with what the params say, of ``prompts`` for training.

    Raises:
        ConfigError: there is no such configuration.
        DataError: there are fewer prompts than a step takes.
    """
    configured(section.verl_config, params.compute.verl_options)
    if prompts < section.prompts_per_step:
        raise DataError(f"{prompts} prompts are fewer than grpo.prompts_per_step: lower it to {prompts} or less")
    checked, folder = section.validation, places.attempt(attempt)
    rows, weights = places.home / "rows", {name: getattr(section, name) for name in ("alpha", "beta", "gamma")}
    library = str(Path(__file__).parents[3])
    variables = {
        "VERL_FILE_LOGGER_PATH": str(folder / "metrics.jsonl"),
        "PYTHONPATH": os.pathsep.join(filter(None, [library, os.environ.get("PYTHONPATH")])),
    }
    return {
        "defaults": [section.verl_config, "_self_"],
        "hydra": {
            "searchpath": [f"file://{CONFIGS.absolute()}", "pkg://verl.trainer.config"],
            "run": {"dir": str(places.home / "hydra")},
            "output_subdir": None,
        },
        "fusesearch": {
            "repos": str(places.repos), "cache": str(places.cache), "settings": str(places.home), "reward": section.reward,
            **weights, "scores": str(folder / "scores"),
        },
        "data": {
            "train_files": str(rows / "training.parquet"),
            "val_files": str(rows / ("validation.parquet" if checked.every else "training.parquet")),
            "train_batch_size": section.prompts_per_step,
            "seed": params.seed,
        },
        "algorithm": {
            "norm_adv_by_std_in_grpo": section.scale_rewards == "group",
            "rollout_correction": {"rollout_is": "token", "rollout_is_threshold": section.importance_max},
        },
        "actor_rollout_ref": {
            "model": {"path": str(places.checkpoint)},
            "actor": {
                "use_kl_loss": section.kl > 0,
                "kl_loss_coef": section.kl,
                "data_loader_seed": params.seed,
                "optim": {"lr": section.learning_rate, "lr_warmup_steps": section.warmup_steps},
            },
            "rollout": {
                "n": section.group,
                "temperature": section.temperature,
                "seed": params.seed,
                "agent": {"agent_loop_config_path": str((CONFIGS / "loop.yaml").absolute())},
            },
        },
        "trainer": {
            "logger": ["console", "file"],
            "default_local_dir": str(places.saved),
            "resume_mode": "auto",
            "total_training_steps": section.steps,
            "total_epochs": ceil(section.steps / (prompts // section.prompts_per_step)),
            "save_freq": checked.every if checked.keep_best else section.save_steps,
            "max_actor_ckpt_to_keep": None if checked.keep_best else 1,
            "test_freq": checked.every or -1,
            "val_before_train": bool(checked.every) and not places.last_step,
        },
        "ray_kwargs": {"ray_init": {"runtime_env": {"env_vars": variables}}},
    }  # fmt: skip


def command(python: Path, places: Places, options: list[str]) -> list[str]:
    """veRL's trainer on the configuration that lies in ``places``."""
    where = ["--config-dir", str(places.home), "--config-name", "grpo"]
    return [str(python), "-m", "verl.trainer.main_ppo", *where, *options]


def train_verl(
    params: Params, section: Grpo, instances: Path, checkpoint: Path, repos: Path, cache: Path, out: Path, *, on_log: Log
) -> dict[str, float]:
    """:func:`~fusesearch.training.grpo.train_grpo` by veRL: the same files in ``out``, and of the figures those it has.

    ``repos`` and ``cache`` are as in :func:`~fusesearch.training.environment.open_tasks`.

    Raises:
        ConfigError: veRL is not installed, or has another version; there is no configuration ``grpo.verl_config``.
        DataError: ``instances`` is empty, or has too few for a step or for ``validation``.
        InfrastructureError: veRL ended with an error, or without a checkpoint.
    """
    python = verl_python()
    start = checkpoint.absolute() if is_folder(checkpoint) else checkpoint
    places = Places(out.absolute(), start, repos.absolute(), cache.absolute())
    curve = Curve(section, places, on_log)
    trained, held_out, written = prepare(params, section, instances, places, curve.attempt)
    if places.last_step < section.steps:
        _run(command(python, places, params.compute.verl_options), written, curve, places)
    step = curve.best_step if section.validation.keep_best else places.last_step
    merge(python, places, step)
    if held_out:
        shutil.copyfile(out / FILE, out / "checkpoint" / FILE)
    describe_checkpoint(out / "checkpoint", params)
    known = {"validation_instances": held_out, "best_step": curve.best_step} if held_out else {}
    return {"instances": trained, "steps": places.last_step, **known, **curve.last}


def prepare(params: Params, section: Grpo, instances: Path, places: Places, attempt: int = 1) -> tuple[int, int, dict[str, Any]]:
    """Write what veRL reads: rows, an episode's limits and the configuration.

    Returns how many prompts train, how many are held out, and the configuration. Raises as :func:`train_verl`.
    """
    places.home.mkdir(parents=True, exist_ok=True)
    describe_checkpoint(places.home, params)
    own = environment_named(params.agent.toolset).trainable(read_instances(instances))
    if not own:
        raise DataError(f"{instances} holds no instance: lower the filters or mine more")
    parts = reserve(own, section.validation.prompts, params.seed) if section.validation.every else (own, [])
    tasks = open_tasks(places.repos, places.cache, places.home)
    for name, rows in zip(("training", "validation"), parts, strict=True):
        if rows:
            write_rows(rows, tasks, places.home / "rows" / f"{name}.parquet", held_out=name == "validation")
    written = configuration(params, section, places, attempt, len(parts[0]))
    if params.compute.ray_address:
        written["ray_kwargs"]["ray_init"]["address"] = params.compute.ray_address
    write_text(places.home / "grpo.yaml", yaml.safe_dump(written, sort_keys=False))
    return len(parts[0]), len(parts[1]), written


def _run(line: list[str], written: Mapping[str, Any], curve: Curve, places: Places) -> None:
    """Run veRL to its end, and read what it writes as it comes."""
    own = {key: value for key, value in os.environ.items() if key not in (*RANK_VARIABLES, ALLOCATOR)}
    log = places.out / "verl.log"
    with log.open("ab") as file:
        variables = {**own, **written["ray_kwargs"]["ray_init"]["runtime_env"]["env_vars"], "HYDRA_FULL_ERROR": "1"}
        process = child.start(line, stdout=file, stderr=file, env=variables)
        try:
            while process.poll() is None:
                curve.read()
                time.sleep(POLL_SECONDS)
            curve.read()
        finally:
            child.end(process, seconds=STOP_SECONDS)
    if process.returncode:
        raise InfrastructureError(f"veRL ended with status {process.returncode} ({last_error(log)}): see {log}, then {AGAIN}")
    if places.last_step < int(written["trainer"]["total_training_steps"]):
        raise InfrastructureError(f"veRL ended after step {places.last_step} without an error: see {log}, then {AGAIN}")


MARKS = re.compile(r"\x1b\[[0-9;]*m|^\s*\([^()]* pid=\d+[^()]*\)")
"""Colours, and what Ray writes before a line of a process."""
RAISED = re.compile(r"[\w.]*(Error|Exception)\b.*")


def last_error(log: Path) -> str:
    """The last exception in a log, else its last line."""
    text = log.read_text(encoding="utf-8", errors="replace")
    lines = [said for line in text.splitlines() if (said := MARKS.sub("", MARKS.sub("", line)).strip())] or ["it wrote nothing"]
    return next((line for line in reversed(lines) if RAISED.fullmatch(line)), lines[-1])[:300]


@dataclass
class Curve:
    """The training curve of all starts of veRL's program, from the metrics and scores that each writes in a folder of its own."""

    section: Grpo
    places: Places
    on_log: Log
    last: dict[str, float] = field(default_factory=dict)
    """Figures of the rollouts of the last step."""

    def __post_init__(self) -> None:
        """Keep what is known of the steps that veRL saved: it goes on after them."""
        self.attempt = len(list(self.places.home.glob("attempt-*"))) + 1
        self.places.attempt(self.attempt).mkdir(parents=True)
        step, path = self.places.last_step, self.places.out / FILE
        self._validated = [row for row in read_jsonl(path, Validated) if step and row.step <= step] if path.is_file() else []
        rows: dict[int, dict[str, float]] = {}
        for number in range(1, self.attempt) if step else ():
            for at, data in metrics_of(self.places.attempt(number) / "metrics.jsonl"):
                if at <= step:
                    rows[at] = self._row(number, at, data)
        text = "".join(json.dumps(rows[at]) + "\n" for at in sorted(rows))
        write_text(self.places.out / "log.jsonl", text)
        self._read = 0

    @cached_property
    def _metrics(self) -> Path:
        return self.places.attempt(self.attempt) / "metrics.jsonl"

    @property
    def best_step(self) -> int:
        """The step of the validation with the highest mean reward, the first of several."""
        if not self._validated:
            raise InfrastructureError(f"the workers of veRL leave no scores in {self.places.home}: it has to be on a shared disk")
        return max(self._validated, key=lambda row: (mean_of(row.scores, "reward") or 0.0, -row.step)).step

    def read(self) -> None:
        """Log the steps that veRL has written since the last call."""
        rows = list(metrics_of(self._metrics))
        for step, data in rows[self._read :]:
            log_row(self.places.out / "log.jsonl", self.on_log, self._row(self.attempt, step, data))
            if self.section.validation.keep_best:
                self._prune(step)
        self._read = len(rows)

    def _row(self, attempt: int, step: int, data: Mapping[str, Any]) -> dict[str, float]:
        scores = noted(self.places.attempt(attempt) / "scores", step)
        trained = [row.score for row in scores if not row.held_out]
        if trained:
            self.last = {**rollout_figures(trained), "reward_deviation": reward_deviation(trained, self.section.group)}
        validated = self._validation(step, [row.score for row in scores if row.held_out], data)
        return {"step": step, "steps": self.section.steps, **figures_of(data), **(self.last if trained else {}), **validated}

    def _validation(self, step: int, scores: list[Score], data: Mapping[str, Any]) -> dict[str, float]:
        if not scores:
            return {}
        others = [row for row in self._validated if row.step != step]
        self._validated = sorted([*others, Validated(step=step, scores=scores)], key=lambda row: row.step)
        write_jsonl(self.places.out / FILE, self._validated)
        seconds = {f"{PREFIX}seconds": float(data["timing_s/testing"])} if "timing_s/testing" in data else {}
        return {**validation_figures(self._validated[0].scores, scores), **seconds}

    def _prune(self, now: int) -> None:
        """Delete what was saved up to step ``now`` but the best step and the one from which veRL would go on."""
        kept = {self.best_step, self.places.last_step}
        for folder in self.places.saved.glob("global_step_*"):
            step = int(folder.name.rpartition("_")[2])
            if step <= now and step not in kept:
                shutil.rmtree(folder)


def metrics_of(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Step and metrics of each whole line that veRL's file logger wrote; none before it starts."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.is_file() else []
    for line in lines:
        if line.endswith("\n"):
            row = json.loads(line)
            yield int(row["step"]), row["data"]


def figures_of(data: Mapping[str, Any]) -> dict[str, float]:
    """Columns of the curve from veRL's metrics of a step; what it did not measure is absent."""
    known = {name: float(data[key]) for name, key in FIGURES.items() if isinstance(data.get(key), int | float)}
    if seconds := sum(float(data.get(key, 0.0)) for key in TRAINED):
        known["train_seconds"] = seconds
        if tokens := data.get("perf/total_num_tokens"):
            known["tokens_per_second"] = tokens / seconds
    return known


def merge(python: Path, places: Places, step: int) -> None:
    """Write ``out/checkpoint``: the weights that veRL saved after ``step``, whole, and the rest of the checkpoint it began with.

    veRL's merger rounds them to bfloat16. Raises :class:`InfrastructureError` if they are not all here.
    """
    from huggingface_hub import snapshot_download

    target = places.out / "checkpoint"
    shutil.rmtree(target, ignore_errors=True)
    start = places.checkpoint if places.checkpoint.is_dir() else Path(snapshot_download(str(places.checkpoint)))
    if not step:
        shutil.copytree(start, target)
        return
    saved = places.saved / f"global_step_{step}" / "actor"
    line = [str(python), "-m", "verl.model_merger", "merge", "--backend", "fsdp", "--local_dir", str(saved)]
    log = places.out / "merge.log"
    with log.open("wb") as file:
        process = child.start([*line, "--target_dir", str(target)], stdout=file, stderr=file)
        status = process.wait()
    if status or not list(target.glob("*.safetensors")):
        raise InfrastructureError(
            f"veRL's step {step} cannot be merged ({last_error(log)}): its folder {saved} needs the files of all machines, so "
            f"{places.out} has to lie on a file system that they share; see {log}"
        )
    for path in start.iterdir():
        if path.suffix != ".safetensors" and path.name not in ("config.json", "model.safetensors.index.json"):
            shutil.copy2(path, target)
