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
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import Any

import yaml

from fusesearch.core import child
from fusesearch.core.config import Grpo, Params
from fusesearch.core.errors import AGAIN, DataError, InfrastructureError
from fusesearch.core.storage import read_jsonl, write_jsonl, write_text
from fusesearch.evaluation.validation import PREFIX, validation_figures
from fusesearch.training.architectures import is_folder
from fusesearch.training.engines.verl_files import CONFIGS, F1, configured, noted, verl_python, whole_lines, write_rows
from fusesearch.training.environment import open_tasks
from fusesearch.training.ranks import Log
from fusesearch.training.rollouts import reward_deviation, rollout_figures
from fusesearch.training.serving import ALLOCATOR
from fusesearch.training.sft import describe_checkpoint
from fusesearch.training.trainer import IMPORTANCE_MAX, log_row
from fusesearch.training.validation import FILE, Validated, divided

AGGREGATION = {"grpo": "seq-mean-token-mean", "dr_grpo": "seq-mean-token-sum-norm", "dapo": "token-mean"}
"""``loss_type``, as TRL calls it, by veRL's names."""
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
    "completions/mean_length": "response_length/mean",
    "completions/clipped_ratio": "response_length/clip_ratio",
    "step_time": "timing_s/step",
    "mfu": "perf/mfu/actor",
    f"{PREFIX}seconds": "timing_s/testing",
}
"""Columns of the training curve, by our own trainer's names, and what veRL calls them."""


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


def configuration(params: Params, section: Grpo, places: Places, prompts: int) -> dict[str, Any]:
    """veRL's configuration: that of ``grpo.verl_config`` with what the params say, of ``prompts`` for training.

    Raises:
        ConfigError: there is no such configuration.
        DataError: there are fewer prompts than a step takes.
    """
    configured(section.verl_config, params.compute.verl_options)
    if prompts < section.prompts_per_step:
        raise DataError(f"{prompts} prompts are fewer than grpo.prompts_per_step: lower it to {prompts} or less")
    rows = places.home / "rows"
    variables = {
        "VERL_FILE_LOGGER_PATH": str(places.home / "metrics.jsonl"),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(Path(__file__).parents[3]), os.environ.get("PYTHONPATH")])),
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
            "alpha": section.alpha, "beta": section.beta, "gamma": section.gamma, "scores": str(places.home / "scores"),
        },
        "data": {
            "train_files": str(rows / "training.parquet"),
            "val_files": str(rows / ("validation.parquet" if section.validation.every else "training.parquet")),
            "train_batch_size": section.prompts_per_step,
            "seed": params.seed,
        },
        **_learning(params, section, places.checkpoint),
        "trainer": _course(section, places, prompts),
        "ray_kwargs": {"ray_init": {"runtime_env": {"env_vars": variables}}},
    }  # fmt: skip


def _learning(params: Params, section: Grpo, checkpoint: Path) -> dict[str, Any]:
    """What is learned from: advantages, loss, optimizer and rollouts."""
    return {
        "algorithm": {
            "norm_adv_by_std_in_grpo": section.scale_rewards != "none",
            "filter_groups": {"enable": section.scale_rewards == "f1_first", "metric": F1},
            "rollout_correction": {"rollout_is": "token", "rollout_is_threshold": IMPORTANCE_MAX},
        },
        "actor_rollout_ref": {
            "model": {"path": str(checkpoint)},
            "actor": {
                "loss_agg_mode": AGGREGATION[section.loss_type],
                "loss_scale_factor": params.agent.max_context_tokens,  # of dr_grpo, as TRL's max_completion_length
                "entropy_coeff": section.entropy_coef,
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
    }


def _course(section: Grpo, places: Places, prompts: int) -> dict[str, Any]:
    """How far the training goes, what it saves and when it validates."""
    return {
        "logger": ["console", "file"],
        "default_local_dir": str(places.saved),
        "resume_mode": "auto",
        "total_training_steps": section.steps,
        "total_epochs": ceil(section.steps / (prompts // section.prompts_per_step)),
        "save_freq": section.save_steps,
        "max_actor_ckpt_to_keep": 1,
        "test_freq": section.validation.every or -1,
        "val_before_train": bool(section.validation.every) and not places.last_step,
    }


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
    # what veRL reads: rows, an episode's limits and the configuration
    places.home.mkdir(parents=True, exist_ok=True)
    describe_checkpoint(places.home, params)
    trained, held_out = divided(params, section, instances)
    tasks = open_tasks(places.repos, places.cache, places.home)
    for name, rows in (("training", trained), ("validation", held_out)):
        if rows:
            write_rows(rows, tasks, places.home / "rows" / f"{name}.parquet", held_out=name == "validation")
    written = configuration(params, section, places, len(trained))
    write_text(places.home / "grpo.yaml", yaml.safe_dump(written, sort_keys=False))
    curve = Curve(section, places, on_log)
    if places.last_step < section.steps:
        where = ["--config-dir", str(places.home), "--config-name", "grpo", *params.compute.verl_options]
        _run([str(python), "-m", "verl.trainer.main_ppo", *where], written, curve, places)
    merge(python, places)
    if held_out:
        shutil.copyfile(out / FILE, out / "checkpoint" / FILE)
    describe_checkpoint(out / "checkpoint", params)
    known = {"validation_instances": len(held_out)} if held_out else {}
    return {"instances": len(trained), "steps": places.last_step, **known, **curve.last}


def _run(line: list[str], written: Mapping[str, Any], curve: Curve, places: Places) -> None:
    """Run veRL to its end, and read what it writes as it comes."""
    log = places.out / "verl.log"
    variables = {**os.environ, **written["ray_kwargs"]["ray_init"]["runtime_env"]["env_vars"], "HYDRA_FULL_ERROR": "1"}
    variables.pop(ALLOCATOR, None)
    with log.open("ab") as file:
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


def last_error(log: Path) -> str:
    """The last exception that a log tells of, else its last line, without colours and what Ray writes before it."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", log.read_text(encoding="utf-8", errors="replace"))
    lines = [said for line in text.splitlines() if (said := re.sub(r"^\s*\([^()]* pid=\d+[^()]*\)", "", line).strip())]
    raised = (line for line in reversed(lines) if re.match(r"[\w.]*(?:Error|Exception)\b", line))
    return next(raised, lines[-1] if lines else "it wrote nothing")[:300]


@dataclass
class Curve:
    """The training curve, from the metrics and scores that veRL and its workers write; it goes on after the last saved step."""

    section: Grpo
    places: Places
    on_log: Log
    last: dict[str, float] = field(default_factory=dict)
    """Figures of the rollouts of the last step."""

    def __post_init__(self) -> None:
        """Forget what is known of later steps: they come again."""
        step, log, path = self.places.last_step, self.places.out / "log.jsonl", self.places.out / FILE
        rows = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if step and log.is_file() else []
        write_text(log, "".join(json.dumps(row) + "\n" for row in rows if row["step"] <= step))
        self._validated = [row for row in read_jsonl(path, Validated) if step and row.step <= step] if path.is_file() else []
        shutil.rmtree(self.places.home / "scores", ignore_errors=True)
        (self.places.home / "metrics.jsonl").unlink(missing_ok=True)
        self._read = 0

    def read(self) -> None:
        """Log the steps that veRL has written since the last call."""
        rows = figures_in(self.places.home / "metrics.jsonl")
        for step, figures in rows[self._read :]:
            scores = noted(self.places.home / "scores", step)
            trained = [row.score for row in scores if not row.held_out]
            if trained:
                self.last = {**rollout_figures(trained), "reward_deviation": reward_deviation(trained, self.section.group)}
            known = {**figures, **(self.last if trained else {})}
            if checked := [row.score for row in scores if row.held_out]:
                self._validated.append(Validated(step=step, scores=checked))
                write_jsonl(self.places.out / FILE, self._validated)
                known |= validation_figures(self._validated[0].scores, checked)
            log_row(self.places.out / "log.jsonl", self.on_log, {"step": step, "steps": self.section.steps, **known})
        self._read = len(rows)


def figures_in(path: Path) -> list[tuple[int, dict[str, float]]]:
    """Step and columns of the curve from each whole line of veRL's file logger; what it did not measure is absent."""
    found = []
    for row in map(json.loads, whole_lines(path)):
        known = ((name, row["data"].get(key)) for name, key in FIGURES.items())
        found.append((int(row["step"]), {name: float(value) for name, value in known if isinstance(value, int | float)}))
    return found


def merge(python: Path, places: Places) -> None:
    """Write ``out/checkpoint``: the weights that veRL saved last, whole, and the rest of the checkpoint it began with.

    veRL's merger rounds them to bfloat16. Raises :class:`InfrastructureError` if they are not all here.
    """
    target, step = places.out / "checkpoint", places.last_step
    shutil.rmtree(target, ignore_errors=True)
    saved = places.saved / f"global_step_{step}" / "actor"
    line = [str(python), "-m", "verl.model_merger", "merge", "--backend", "fsdp", "--local_dir", str(saved)]
    log = places.out / "merge.log"
    with log.open("wb") as file:
        status = child.start([*line, "--target_dir", str(target)], stdout=file, stderr=file).wait()
    if status or not list(target.glob("*.safetensors")):
        raise InfrastructureError(
            f"veRL's step {step} cannot be merged ({last_error(log)}): its folder {saved} needs the files of all machines, so "
            f"{places.out} has to lie on a file system that they share; see {log}"
        )
    for path in places.checkpoint.iterdir() if places.checkpoint.is_dir() else ():
        if path.suffix != ".safetensors" and path.name not in ("config.json", "model.safetensors.index.json"):
            shutil.copy2(path, target)
