"""``python -m tests.trials.operations``: tries what operators rely on, where the pipeline has come to its splits.

Two Ray nodes are started on this machine, and synthesize is run as one process and over the two; then the base model and the
lexical localizer are evaluated in the same way. Last, synthesize is run while the Prefect server is killed. All of it goes to
``artifacts/nodes``: the pipeline's artifacts stay as they are. Writes ``tests/trials/operations/RESULTS.md``.
"""

from __future__ import annotations

import json
import os
import platform
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from filelock import FileLock

from tasks.core.config import load_params
from tasks.core.storage import read_json, write_text
from tasks.pipeline.experiments.plan import ids
from tasks.pipeline.node import Node
from tasks.pipeline.places import NODES, STATE

RESULTS = Path(__file__).parent / "RESULTS.md"
PORT = 6399
START_TRIES = 5
"""Ray gives a node 30 seconds to start its agents, which a busy machine does not keep."""

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
    """One run of a node: its files by name, wall seconds, what it said."""

    lines: dict[str, list[str]]
    seconds: float
    said: str


def main() -> None:
    """Run the tries and write the page."""
    alone = {stage: run(stage) for stage in CHANGES}
    again = run("evaluate")
    with ray_nodes() as address:
        spread = {stage: run(stage, FUSESEARCH_RAY=address) for stage in CHANGES}
    killed = run("synthesize", kill=True)
    rows = [row(f"{stage} over two Ray nodes", alone[stage], spread[stage]) for stage in CHANGES]
    rows.append(row("evaluate once more in one process", alone["evaluate"], again))
    rows.append(row("synthesize, Prefect's server killed on the way", alone["synthesize"], killed))
    write_text(RESULTS, page([line for part in rows for line in part]))
    print(RESULTS.read_text(encoding="utf-8"))


def run(stage: str, kill: bool = False, **environment: str) -> Made:
    """Run a node of ``stage`` as a command, from nothing: what an earlier run of it made is removed."""
    node = Node(stage=stage, set=CHANGES[stage])
    node = node.model_copy(update={"id": ids(stage, node.params(load_params()))[stage]})
    folder = NODES / str(node.id)
    shutil.rmtree(folder, ignore_errors=True)
    started = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "flows.run", stage, *node.arguments()],
        env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    if kill:
        kill_server(node, process)
    said, _ = process.communicate()
    if process.returncode:
        raise SystemExit(f"{stage} ended with code {process.returncode}:\n{said[-3000:]}")
    return Made({name: untimed(folder / name) for name in FILES[stage]}, time.monotonic() - started, said)


def kill_server(node: Node, process: subprocess.Popen[str]) -> None:
    """SIGKILL to the project's Prefect server once a tenth of the candidates is there."""
    wanted = 1 + candidates() // 10
    while (
        sum(len(path.read_bytes().splitlines()) for path in (STATE / "progress").glob(f"{node.id}-*/candidates.jsonl")) < wanted
    ):
        if process.poll() is not None:
            raise SystemExit(f"{node.id} ended before the server was killed:\n{process.communicate()[0][-3000:]}")
        time.sleep(0.1)
    with FileLock(STATE / "prefect.lock"):
        os.kill(read_json(STATE / "prefect.json")["pid"], signal.SIGKILL)


def candidates() -> int:
    """How many candidates the node makes."""
    from tasks.core.storage import count_rows
    from tasks.pipeline.places import MAIN

    return 2 * count_rows(MAIN["split.sft"])


@contextmanager
def ray_nodes() -> Iterator[str]:
    """A Ray cluster of two nodes with one processor each on this machine; its address. Other clusters here are left alone."""
    os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}  # else whoever reaches it runs code here
    nodes: list[subprocess.Popen[str]] = []
    try:
        for place in (["--head", f"--port={PORT}", "--include-dashboard=false"], [f"--address=127.0.0.1:{PORT}"]):
            nodes.append(start_node(place))
        yield f"127.0.0.1:{PORT}"
    finally:
        for node in reversed(nodes):
            node.terminate()
            node.wait()


def start_node(place: list[str]) -> subprocess.Popen[str]:
    """``ray start`` as a process that is the node, once it says that it has started."""
    command = [str(Path(sys.executable).parent / "ray"), "start", *place, "--block", "--num-cpus=1", "--disable-usage-stats"]
    for _ in range(START_TRIES):
        node = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said = []
        for line in node.stdout or ():
            said.append(line)
            if "Ray runtime started" in line:
                return node
        node.wait()
    raise SystemExit(f"Ray did not start:\n{''.join(said)[-2000:]}")


def untimed(path: Path) -> list[str]:
    """Lines of a file without wall times, which no two runs share."""
    return [json.dumps(_untimed(json.loads(line))) for line in path.read_text(encoding="utf-8").splitlines()]


def _untimed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _untimed(item) for key, item in value.items() if not key.startswith("seconds")}
    return [_untimed(item) for item in value] if isinstance(value, list) else value


def row(words: str, one: Made, other: Made) -> list[str]:
    """Rows of the table: a file each."""
    return [
        f"| {words} | {name} | {len(lines)} | {sum(a != b for a, b in zip_longest(lines, other.lines[name]))} "
        f"| {one.seconds:.0f} | {other.seconds:.0f} |"
        for name, lines in one.lines.items()
    ]


def page(rows: list[str]) -> str:
    """The results as Markdown."""
    params = load_params()
    head = "| try | file | lines | that differ | seconds, one process | seconds |\n|---|---|---|---|---|---|"
    return "\n".join(
        [
            "# Operations, tried",
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
