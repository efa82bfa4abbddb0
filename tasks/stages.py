"""The stages of the pipeline, each described once.

``dvc.yaml`` (:mod:`tasks.running.deps`), what DVC sees of the code (:mod:`tasks.code`), the flows, their deployments and
limits follow from :data:`STAGES`. A new stage is a row here, a function that takes a
:class:`~tasks.running.node.Job`, and the section of params that it reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from fusesearch.core.config import Params
from fusesearch.core.errors import ConfigError
from fusesearch.core.overrides import flat_params
from fusesearch.training.architectures import is_folder


@dataclass(frozen=True)
class Stage:
    """One stage.

    Attributes:
        name: what DVC, Prefect and MLflow call it.
        description: what it does, in one line.
        run: its function as ``module:function``, imported when the stage runs.
        inputs: what it may read: outputs of stages as ``stage.output``, and paths that no stage makes.
        outputs: what it makes: files or folders of the main pipeline by name. Besides, every stage makes ``metrics``.
        params: the params it reads: sections, or single keys such as ``agent.history_scope``.
        code: files that decide its outputs but that imports do not show.
        models: which of :data:`MODELS` it reads under some params, if those choose; it reads no other model then.
        localizers: names of the localizers it runs under some params, whose code decides its outputs.
        other_languages: whether its data have languages besides Python under some params; else their code decides nothing.
        files: files and folders, made by no stage, that its params name.
        retried: whether it meets the world (endpoints, processes, disks), so that what fails there is tried again.
        divided: whether other processes and machines can do parts of it (:mod:`tasks.running.parts`).
        gpu: whether it uses a GPU if the machine has one.
        shows: outputs that people look at: they are shown in Prefect and kept in MLflow.
        shared: outputs that other projects take from this one with ``dvc get``.
    """

    name: str
    description: str
    run: str
    inputs: tuple[str, ...]
    outputs: Mapping[str, str]
    params: tuple[str, ...]
    code: tuple[str, ...] = ()
    models: Callable[[Params], Iterable[str]] | None = None
    localizers: Callable[[Params], Iterable[str]] = lambda params: ()
    other_languages: Callable[[Params], bool] = lambda params: params.mine.source != "synthetic"
    files: Callable[[Params], Iterable[str | Path]] = lambda params: ()
    retried: bool = False
    divided: bool = False
    gpu: bool = False
    shows: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()

    @property
    def metrics(self) -> str:
        """Its summary figures: JSON, what ``dvc metrics show`` reads."""
        return f"artifacts/{self.name}/metrics.json"

    def function(self) -> Callable[..., dict[str, Any]]:
        """The function that does its work."""
        module, _, name = self.run.partition(":")
        return getattr(import_module(module), name)

    def values(self, params: Params) -> dict[str, Any]:
        """The params it reads, by dotted key, as in :func:`flat_params`."""
        read = flat_params(params).items()
        return {key: value for key, value in read if any(key == name or key.startswith(f"{name}.") for name in self.params)}

    def upstream(self, params: Params) -> list[str]:
        """The stages whose outputs it reads under these params."""
        made = (name.partition(".")[0] for name in self.reads(params))
        return list(dict.fromkeys(name for name in made if name in STAGES))

    def reads(self, params: Params) -> tuple[str, ...]:
        """What these params have it read: :attr:`inputs`, with their base model unless it comes from the hub, and files."""
        base = params.model.base
        models = MODELS if self.models is None else self.models(params)
        unread = {path for name, path in MODELS.items() if name not in models} | ({BASE} if not is_folder(base) else set())
        inputs = (base if name == BASE else name for name in self.inputs if name not in unread)
        return tuple(dict.fromkeys((*inputs, *(Path(file).as_posix() for file in self.files(params)))))


BASE = "experiments/nano/base"
MODELS = {"base": BASE, "sft": "sft.checkpoint", "grpo": "grpo.checkpoint"}
"""The model that training starts from, for which :data:`BASE` stands, and those that stages make, by the name in params."""


def _mined(params: Params) -> list[Path]:
    """Files that a source reads, and those of the benchmarks, whose repositories are not mined."""
    lists = [Path(name) for name in params.mine.packages if name.endswith(".txt")]
    files = {"synthetic": lists, "git": params.mine.git.issues, "benchmark": params.mine.benchmark.files}
    return [*files.get(params.mine.source, []), *params.split.benchmarks]


def _folder(model: str) -> list[str]:
    """A model's folder; none if it has no name or comes from the hub."""
    return [model] if model and is_folder(model) else []


def _evaluated(params: Params) -> list[str]:
    cells = (cell.checkpoint for cell in params.evaluate.cells.values() if cell.checkpoint not in MODELS)
    return [folder for model in (*cells, *params.agent.options.values()) for folder in _folder(model)]


def _ranking(params: Params) -> list[str]:
    return ["ranker"] if params.agent.pre_search == "ranker" else []


def _trained(name: str) -> dict[str, str]:
    return {"checkpoint": f"artifacts/{name}/checkpoint", "curve": f"artifacts/{name}/curve.csv"}


_ROWS = (
    Stage(
        name="mine",
        description="plant faults in installed packages and keep those a doctest observes, or read issues and patches",
        run="tasks.mine:mine",
        inputs=(),
        outputs={"pairs": "data/raw/pairs.parquet", "table": "data/raw/table.json", "repos": "data/repos"},
        params=("mine", "data_seed", "split.benchmarks"),  # repositories of benchmarks are not mined
        code=("requirements.lock",),  # the packages that faults are planted in
        files=_mined,
        retried=True,
        divided=True,
        shows=("table",),
    ),
    Stage(
        name="filter",
        description="keep pairs worth a task, compute their truth",
        run="tasks.filter:filter_pairs",
        inputs=("mine.pairs", "mine.repos"),
        outputs={
            "instances": "data/filtered/instances.parquet",
            "drops": "data/filtered/drops.json",
            "dropped": "data/filtered/dropped.csv",
        },
        params=("filter",),
        code=("fusesearch/core/presets.py",),  # the rules that params.yaml leaves to the preset
        shows=("drops",),
        shared=("instances",),
    ),
    Stage(
        name="split",
        description="divide by repository into sft, rl and validation",
        run="tasks.split:split_instances",
        inputs=("filter.instances", "mine.repos"),
        outputs={
            "sft": "data/splits/sft.parquet",
            "rl": "data/splits/rl.parquet",
            "validation": "data/splits/validation.parquet",
            "dropped": "data/splits/dropped.csv",
        },
        params=("split", "data_seed"),
        files=lambda params: [*params.split.benchmarks, *params.split.without],
    ),
    Stage(
        name="synthesize",
        description="candidate trajectories of the teacher",
        run="tasks.synthesize:synthesize_candidates",
        inputs=("mine.repos", "split.sft"),
        outputs={"candidates": "data/synthesized/trajectories.jsonl"},
        params=("synthesize", "teacher", "agent", "tools", "seed", "model.dtype"),
        localizers=_ranking,
        retried=True,
        divided=True,
    ),
    Stage(
        name="select",
        description="keep candidates with F1 >= rho_F and e >= rho_e",
        run="tasks.select:select_candidates",
        inputs=("split.sft", "synthesize.candidates"),
        outputs={
            "trajectories": "data/selected/trajectories.jsonl",
            "drops": "data/selected/drops.json",
            "plane": "data/selected/plane.csv",
        },
        params=("select", "agent.history_scope"),
        shows=("drops", "plane"),
        shared=("trajectories",),
    ),
    Stage(
        name="sft",
        description="fine-tune the base model on the selected trajectories",
        run="tasks.sft:fine_tune",
        inputs=("select.trajectories", BASE),
        outputs=_trained("sft"),
        params=("sft", "model", "agent", "tools", "seed"),
        retried=True,
        gpu=True,
        shows=("checkpoint", "curve"),
        shared=("checkpoint",),
    ),
    Stage(
        name="grpo",
        description="reinforce the sft checkpoint, or the base model, on the rl split",
        run="tasks.grpo:reinforce",
        inputs=("sft.checkpoint", BASE, "mine.repos", "split.rl"),
        outputs=_trained("grpo"),
        params=("grpo", "model", "agent", "tools", "seed"),
        code=("experiments/profiles/verl", "fusesearch/training/engines/verl.py"),  # what veRL's trainer reads and runs
        models=lambda params: [params.grpo.start],
        localizers=lambda params: [*_ranking(params), *filter(None, [params.grpo.validation.floor])],
        retried=True,
        gpu=True,
        shows=("checkpoint", "curve"),
        shared=("checkpoint",),
    ),
    Stage(
        name="evaluate",
        description="score checkpoints and localizers on held-out repositories",
        run="tasks.evaluate:evaluate_cells",
        inputs=("grpo.checkpoint", "sft.checkpoint", BASE, "mine.repos", "split.validation"),
        outputs={
            "scores": "artifacts/evaluate/scores.jsonl",
            "cells": "artifacts/evaluate/cells",
            "manifest": "artifacts/evaluate/manifest.json",
        },
        params=(
            *("evaluate", "model", "agent", "tools", "seed", "data_seed"),
            *("grpo.reward", "grpo.alpha", "grpo.beta", "grpo.gamma"),
        ),
        models=lambda params: [cell.checkpoint for cell in params.evaluate.cells.values()],
        localizers=lambda params: [*(cell.localizer for cell in params.evaluate.cells.values()), *_ranking(params)],
        files=_evaluated,
        retried=True,
        divided=True,
        gpu=True,
    ),
    Stage(
        name="report",
        description="tables beside the paper's with intervals, plots",
        run="tasks.report:make_pages",
        inputs=("evaluate.scores", "grpo.metrics", "experiments/reference/fusesearch_table2_stages.csv"),
        outputs={
            "markdown": "artifacts/report/report.md",
            "html": "artifacts/report/report.html",
            "plots": "artifacts/report/plots",
            "calls_by_turn": "artifacts/report/calls_by_turn.csv",
        },
        params=tuple(Params.model_fields),  # it shows their digest
        shows=("markdown", "html"),
    ),
)

STAGES: dict[str, Stage] = {row.name: row for row in _ROWS}
"""All stages by name, in order."""

TRAINED = tuple(name for name in STAGES if name in MODELS)
"""Stages that train a language model."""


def stage_named(name: str) -> Stage:
    """The stage. Raises :class:`ConfigError` if there is none of that name."""
    if name not in STAGES:
        raise ConfigError(f"there is no stage {name!r}: the stages are {', '.join(STAGES)}")
    return STAGES[name]
