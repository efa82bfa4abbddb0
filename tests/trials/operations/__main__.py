"""``python -m tests.trials.operations``: a trial of operations; it needs the pipeline's splits.

Runs synthesize, and evaluate of the base model and the lexical localizer, each in one process and over two Ray nodes on this
machine. Then runs synthesize and kills the Prefect server. All output goes to ``artifacts/nodes``; the pipeline's artifacts
stay as they are. Writes ``tests/trials/operations/RESULTS.md``.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from filelock import FileLock

from fusesearch.core.config import load_params
from fusesearch.core.overrides import override
from fusesearch.core.storage import count_rows, read_json, write_text
from tasks.experiments.plan import ids
from tasks.running.node import Node, node_file
from tasks.running.places import MAIN, NODES, STATE
from tests.fakes.ray_cluster import ray_cluster

RESULTS = Path(__file__).parent / "RESULTS.md"

CELLS = {"base": {"checkpoint": "base"}, "lexical": {"localizer": "lexical"}}
CHANGES = {
    "synthesize": {"synthesize.per_instance": 2},
    "evaluate": {"evaluate.cells": CELLS, "evaluate.max_instances": 48},
}
FILES = {
    "synthesize": ["trajectories.jsonl"],
    "evaluate": ["scores.jsonl", "cells/base/trajectories.jsonl", "cells/lexical/trajectories.jsonl"],
}


@dataclass
class Made:
    """One run of a node: its files by name, and wall seconds."""

    lines: dict[str, list[str]]
    seconds: float


def main() -> None:
    """Run all trials and write the page."""
    alone = {stage: run(stage) for stage in CHANGES}
    again = run("evaluate")
    with ray_cluster() as cluster:
        spread = {stage: run(stage, FUSESEARCH_RAY=cluster.address) for stage in CHANGES}
    killed = run("synthesize", kill=True)
    rows = [row(f"{stage} over two Ray nodes", alone[stage], spread[stage]) for stage in CHANGES]
    rows.append(row("evaluate once more in one process", alone["evaluate"], again))
    rows.append(row("synthesize, Prefect's server killed meanwhile", alone["synthesize"], killed))
    write_text(RESULTS, page([line for part in rows for line in part]))
    print(RESULTS.read_text(encoding="utf-8"))


def run(stage: str, kill: bool = False, **environment: str) -> Made:
    """Run a node of ``stage`` as a command, without the output of earlier runs."""
    params = override(load_params(), CHANGES[stage], stage)
    node = Node(stage=stage, id=ids(stage, params)[stage], params=params)
    folder = NODES / node.id
    shutil.rmtree(folder, ignore_errors=True)
    write_text(node_file(node.id), node.text())
    started = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "flows.run", stage, f"--node={node.id}"],
        env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    if kill:
        kill_server(node, process)
    output, _ = process.communicate()
    if process.returncode:
        raise SystemExit(f"{stage} ended with code {process.returncode}:\n{output[-3000:]}")
    return Made({name: untimed(folder / name) for name in FILES[stage]}, time.monotonic() - started)


def kill_server(node: Node, process: subprocess.Popen[str]) -> None:
    """SIGKILL the project's Prefect server once a tenth of the candidates exists."""
    wanted = 1 + 2 * count_rows(MAIN["split.sft"]) // 10
    while (
        sum(len(path.read_bytes().splitlines()) for path in (STATE / "progress").glob(f"{node.id}-*/candidates.jsonl")) < wanted
    ):
        if process.poll() is not None:
            raise SystemExit(f"{node.id} ended before the server was killed:\n{process.communicate()[0][-3000:]}")
        time.sleep(0.1)
    with FileLock(STATE / "prefect.lock"):
        os.kill(read_json(STATE / "prefect.json")["pid"], signal.SIGKILL)


def untimed(path: Path) -> list[str]:
    """Lines of a file without wall times, which differ from run to run."""
    return [json.dumps(_untimed(json.loads(line))) for line in path.read_text(encoding="utf-8").splitlines()]


def _untimed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _untimed(item) for key, item in value.items() if not key.startswith("seconds")}
    return [_untimed(item) for item in value] if isinstance(value, list) else value


def row(words: str, one: Made, other: Made) -> list[str]:
    """Rows of the table, one per file."""
    return [
        f"| {words} | {name} | {len(lines)} | {sum(a != b for a, b in zip_longest(lines, other.lines[name]))} "
        f"| {one.seconds:.0f} | {other.seconds:.0f} |"
        for name, lines in one.lines.items()
    ]


def page(rows: list[str]) -> str:
    """The results as Markdown."""
    params = load_params()
    head = "| trial | file | lines | different lines | seconds, one process | seconds |\n|---|---|---|---|---|---|"
    return "\n".join(
        [
            "# Trial of operations",
            "",
            f"`python -m tests.trials.operations`, profile {params.profile}, seed {params.seed}, "
            f"Python {platform.python_version()}, "
            f"{os.cpu_count()} cores. Lines are compared without their wall times, byte for byte and in order.",
            "",
            head,
            *rows,
            "",
        ]
    )


if __name__ == "__main__":
    main()
