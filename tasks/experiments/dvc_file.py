"""Writes ``experiments/dvc.yaml`` and ``experiments/nodes.yaml``: the nodes of all experiments as DVC stages.

The first file has one ``foreach`` template per stage, the second has one line per node. Both follow from the stage table,
``params.yaml`` and the experiments' files. They are committed because DVC ignores what git ignores. All nodes are in one file
because two DVC stages cannot have the same output.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from fusesearch.core.config import Params, load_params
from fusesearch.core.storage import write_text
from tasks.experiments.plan import nodes_of, plan
from tasks.experiments.spec import experiment_names, load_experiment
from tasks.running.deps import code_of
from tasks.running.node import Node
from tasks.running.places import EXPERIMENTS
from tasks.stages import STAGES

TARGET = EXPERIMENTS / "dvc.yaml"
NODES_FILE = EXPERIMENTS / "nodes.yaml"
HEADER = "# Written by `python -m tasks.experiments.dvc_file` and by `python -m flows experiment run`. Do not edit.\n"


def target(node: Node) -> str:
    """The node's name in DVC."""
    return f"{TARGET}:{node.stage}@{node.id}" if node.id else node.stage


def write_dvc_files() -> None:
    """Write both files if they are out of date. Raises :class:`ConfigError` for a faulty experiment or params."""
    for path, text in render().items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            write_text(path, text)


def render() -> dict[Path, str]:
    """The current content of both files, by path."""
    params = load_params()
    rows = (row for name in experiment_names() for row in plan(load_experiment(name), params))
    nodes = sorted((node for node in nodes_of(rows) if node.id), key=lambda node: node.id)
    stages = {stage: [node for node in nodes if node.stage == stage] for stage in STAGES}
    templates = {stage: _template(stage, group, params) for stage, group in stages.items() if group}
    lines = [HEADER]
    for stage in templates:
        lines.append(f"{stage}:\n")
        for node in stages[stage]:
            item = yaml.safe_dump(_item(node, params), default_flow_style=True, sort_keys=False, width=100_000).strip()
            lines.append(f"  {node.id}: {item}\n")
    return {
        TARGET: HEADER + yaml.safe_dump({"vars": [NODES_FILE.name], "stages": templates}, sort_keys=False, width=1000),
        NODES_FILE: "".join(lines),
    }


def _template(stage: str, nodes: Iterable[Node], params: Params) -> dict[str, Any]:
    first, *others = ([path.as_posix() for path in _reads(node, params)] for node in nodes)
    code = [path.as_posix() for path in code_of(stage)]
    if any(len(reads) != len(first) for reads in others):
        raise AssertionError(f"nodes of {stage} read different numbers of files, which one template cannot say")
    do = {
        "wdir": "..",
        "cmd": f"python -m flows.run {stage} --node=${{key}} ${{item.arguments}}",
        "deps": [*(f"${{item.reads[{number}]}}" for number in range(len(first))), *code],
        "params": list(STAGES[stage].params),
        "outs": [f"artifacts/nodes/${{key}}/{path.name}" for path in Node(stage=stage).outputs],
    }
    return {"foreach": f"${{{stage}}}", "do": do}


def _item(node: Node, params: Params) -> dict[str, Any]:
    """The values that the template of the node's stage takes from the node."""
    arguments = [argument for argument in node.arguments() if not argument.startswith("--node=")]
    return {"arguments": " ".join(map(shlex.quote, arguments)), "reads": [path.as_posix() for path in _reads(node, params)]}


def _reads(node: Node, params: Params) -> list[Path]:
    """The data that a node depends on, without the folder of repositories.

    Instances name commits, which are digests of the repositories' content. Checking thousands of files for each of a hundred
    nodes would take most of the time of a ``dvc repro`` with nothing to do.
    """
    return [path for path in node.inputs(node.params(params)) if path != node.places["mine.repos"]]


if __name__ == "__main__":
    write_dvc_files()
