"""``experiments/dvc.yaml`` and ``experiments/nodes.yaml``: the nodes of all experiments as stages of DVC.

A stage of ``dvc.yaml`` that has nodes stands in the first file once, as a template (``foreach``); a node is a line of the second.
Both are written from ``dvc.yaml``, ``params.yaml`` and the experiments' files, and committed: DVC reads no file that git ignores,
and one file has to hold all nodes because two stages of DVC cannot have the same output.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from tasks.core.config import Params, load_params
from tasks.core.storage import write_text
from tasks.pipeline.deps import code_of
from tasks.pipeline.experiments.plan import nodes_of, plan
from tasks.pipeline.experiments.spec import experiment_names, load_experiment
from tasks.pipeline.node import Node
from tasks.pipeline.places import EXPERIMENTS
from tasks.pipeline.stages import STAGES

TARGET = EXPERIMENTS / "dvc.yaml"
NODES_FILE = EXPERIMENTS / "nodes.yaml"
HEADER = "# Written by `python -m tasks.pipeline.experiments.dvc_file` and by `fusesearch experiment run`. Do not edit.\n"


def target(node: Node) -> str:
    """The name that DVC knows the run by."""
    return f"{TARGET}:{node.stage}@{node.id}" if node.id else node.stage


def write_dvc_files() -> None:
    """Write both files where they are not up to date. Raises :class:`ConfigError` for a faulty experiment or params."""
    for path, text in render().items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            write_text(path, text)


def render() -> dict[Path, str]:
    """What the two files should say, by path."""
    params = load_params()
    rows = (row for name in experiment_names() for row in plan(load_experiment(name), params))
    nodes = sorted((node for node in nodes_of(rows) if node.id), key=lambda node: node.id)
    stages = {stage: [node for node in nodes if node.stage == stage] for stage in STAGES}
    templates = {stage: _template(stage, group, params) for stage, group in stages.items() if group}
    lines = [HEADER]
    for stage in templates:
        lines.append(f"{stage}:\n")
        lines.extend(f"  {node.id}: {_flow_style(_item(node, params))}\n" for node in stages[stage])
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
    """What is the node's own in its template."""
    arguments = [argument for argument in node.arguments() if not argument.startswith("--node=")]
    return {"arguments": " ".join(map(shlex.quote, arguments)), "reads": [path.as_posix() for path in _reads(node, params)]}


def _reads(node: Node, params: Params) -> list[Path]:
    """The data that a node depends on.

    Not the folder of repositories: instances name commits, which are digests of what repositories hold, and looking through
    thousands of files for each of a hundred nodes would be most of what a ``dvc repro`` with nothing to do does.
    """
    return [path for path in node.inputs(node.params(params)) if path != node.places["mine.repos"]]


def _flow_style(value: dict[str, Any]) -> str:
    return yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=100_000).strip()


if __name__ == "__main__":
    write_dvc_files()
