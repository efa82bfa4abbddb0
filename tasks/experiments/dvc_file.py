"""Writes ``experiments/dvc.yaml``, ``experiments/nodes.yaml`` and the params of the nodes: all experiments as DVC stages.

The first file has one ``foreach`` template per stage, the second names the nodes and the data that they read. Both follow from
the stage table, ``params.yaml`` and the experiments' files, and are committed because DVC ignores what git ignores. The params of
each node lie in its folder. All nodes are in one file because two DVC stages cannot have the same output.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from fusesearch.core.config import Params, load_params
from fusesearch.core.storage import write_text
from tasks.code import code_file
from tasks.experiments.plan import nodes_of, plan
from tasks.experiments.spec import experiment_names, load_experiment
from tasks.running.node import Node, node_file
from tasks.running.places import EXPERIMENTS
from tasks.stages import STAGES

TARGET = EXPERIMENTS / "dvc.yaml"
NODES_FILE = EXPERIMENTS / "nodes.yaml"
HEADER = "# Written by `python -m tasks.experiments.dvc_file` and by `python -m flows experiment run`. Do not edit.\n"


def target(node: Node) -> str:
    """The node's name in DVC."""
    return f"{TARGET}:{node.stage}@{node.id}" if node.id else node.stage


def write_dvc_files() -> None:
    """Write all files that are out of date. Raises :class:`ConfigError` for a faulty experiment or params."""
    params = load_params()
    nodes = all_nodes(params)
    for path, text in {**{node_file(node.id): node.text() for node in nodes}, **render(nodes, params)}.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            write_text(path, text)


def all_nodes(params: Params) -> list[Node]:
    """The nodes of all experiments that are not finished, by id, without the main pipeline's."""
    unfinished = (row for row in map(load_experiment, experiment_names()) if not row.finished)
    rows = (row for experiment in unfinished for row in plan(experiment, params))
    return sorted((node for node in nodes_of(rows) if node.id), key=lambda node: node.id)


def render(nodes: Sequence[Node], params: Params) -> dict[Path, str]:
    """The current content of both committed files, by path."""
    templates: dict[str, Any] = {}
    lines = [HEADER]
    for stage in STAGES:
        if reads := {node.id: _reads(node, params) for node in nodes if node.stage == stage}:
            templates[stage] = _template(stage, reads)
            lines += [f"{stage}:\n", *(f"  {name}: [{', '.join(paths)}]\n" for name, paths in reads.items())]
    return {
        TARGET: HEADER + yaml.safe_dump({"vars": [NODES_FILE.name], "stages": templates}, sort_keys=False, width=1000),
        NODES_FILE: "".join(lines),
    }


def _template(stage: str, reads: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    counts = {len(paths) for paths in reads.values()}
    if len(counts) != 1:
        raise AssertionError(f"nodes of {stage} read different numbers of files, which one template cannot say")
    do = {
        "wdir": "..",
        "cmd": f"python -m flows.run {stage} --node=${{key}}",
        "deps": [*(f"${{item[{number}]}}" for number in range(*counts)), code_file(stage).as_posix()],
        "params": [{node_file("${key}").as_posix(): list(STAGES[stage].params)}],
        "outs": [f"artifacts/nodes/${{key}}/{path.name}" for path in Node(stage=stage).outputs],
    }
    return {"foreach": f"${{{stage}}}", "do": do}


def _reads(node: Node, params: Params) -> list[str]:
    """The data that a node depends on, without the folder of repositories.

    Instances name commits, which are digests of the repositories' content. Checking thousands of files for each of a hundred
    nodes would take most of the time of a ``dvc repro`` with nothing to do.
    """
    return [path.as_posix() for path in node.inputs(params) if path != node.places["mine.repos"]]


if __name__ == "__main__":
    ArgumentParser(prog="python -m tasks.experiments.dvc_file", description=__doc__).parse_args()
    write_dvc_files()
