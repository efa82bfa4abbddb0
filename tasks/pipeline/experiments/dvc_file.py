"""``experiments/dvc.yaml``: all runs of all experiments as stages of DVC, written from ``dvc.yaml``, ``params.yaml`` and the
experiments' files.

A run is the stage of ``dvc.yaml`` again, with its command line, and its files where the run has them. One file holds the runs
of all experiments because DVC lets no two stages have the same output. The folder of repositories is no dependency of theirs:
instances name commits, which are digests of what repositories hold, and looking through thousands of files for each of a
hundred runs is most of what a ``dvc repro`` with nothing to do would do.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import yaml

from tasks.core.config import Params, load_params
from tasks.core.storage import write_text
from tasks.pipeline.experiments.locks import alone
from tasks.pipeline.experiments.paper import REFERENCE
from tasks.pipeline.experiments.plan import PIPELINE, ArmPlan, nodes_of, plan
from tasks.pipeline.experiments.spec import FILE, Experiment, experiment_names, load_experiment
from tasks.pipeline.layout import EXPERIMENTS, RESULT_FILES
from tasks.pipeline.node import Node
from tasks.pipeline.pipeline import stage_entry

TARGET = EXPERIMENTS / "dvc.yaml"
CODE = (
    *(f"tasks/evaluation/{name}.py" for name in ("metrics", "power", "seeds", "statistics")),
    *(f"tasks/reporting/{name}.py" for name in ("columns", "inputs", "pages", "plots", "tables")),
    "tasks/reporting/templates",
    "tasks/pipeline/experiments",
)
HEADER = "# Written by `fusesearch experiment plan`: runs of experiments that are not the main pipeline's. Not to be edited.\n"


def results_stage(name: str) -> str:
    """The stage of ``experiments/dvc.yaml`` that writes an experiment's results."""
    return f"results-{name}"


def write_dvc_file(path: Path = TARGET) -> bool:
    """Write ``experiments/dvc.yaml`` if it is not as it should be. Whether it was written.

    Raises :class:`ConfigError` when it is not while experiments run, which need it as it is.
    """
    text = render()
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return False
    with alone():
        write_text(path, text)
    return True


def render() -> str:
    """What ``experiments/dvc.yaml`` should be. Raises :class:`ConfigError` for an experiment that is none."""
    params = load_params()
    plans = {name: plan(load_experiment(name), params) for name in experiment_names()}
    nodes = nodes_of(row for rows in plans.values() for row in rows)
    stages = {node.id: _run(node, params) for node in sorted(nodes, key=lambda node: node.name) if node.id}
    stages |= {results_stage(name): _results(load_experiment(name), rows) for name, rows in plans.items()}
    return HEADER + yaml.dump({"stages": stages}, Dumper=_Plain, sort_keys=False, width=1000)


def _run(node: Node, params: Params) -> dict[str, Any]:
    entry = stage_entry(node.stage, PIPELINE)
    spec = node.spec(node.params(params), PIPELINE)
    deps = set(spec.deps) - {node.places.repos}
    outs = [*map(Path, entry["outs"]), *(Path(next(iter(row))) for row in entry.get("metrics", []))]
    return {
        "wdir": "..",
        "cmd": " ".join([entry["cmd"], *map(shlex.quote, node.arguments())]),
        "deps": sorted(path.as_posix() for path in deps),
        "params": list(spec.params),
        "outs": [node.places.of(node.stage, path).as_posix() for path in outs],
    }


def _results(experiment: Experiment, plans: Sequence[ArmPlan]) -> dict[str, Any]:
    deps = {experiment.folder / FILE, *map(Path, CODE), *_read(plans)}
    if experiment.paper:
        deps.add(REFERENCE / experiment.paper.table)
    return {
        "wdir": "..",
        "cmd": f"python -m flows.results {experiment.name}",
        "deps": sorted(path.as_posix() for path in deps),
        # persist: or DVC removes the committed results before the stage begins, and one that is cut off leaves none
        "outs": [{(experiment.folder / name).as_posix(): {"cache": False, "persist": True}} for name in RESULT_FILES],
    }


def _read(plans: Iterable[ArmPlan]) -> set[Path]:
    """What the results are made of."""
    return {path for row in plans for path in (row.scores, row.trajectories.parent, *row.curves.values())}


class _Plain(yaml.SafeDumper):
    """YAML without anchors, which a long list of stages would be full of."""

    def ignore_aliases(self, data: Any) -> bool:
        return True
