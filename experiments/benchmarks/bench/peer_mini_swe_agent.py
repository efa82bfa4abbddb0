"""Runs in mini-swe-agent's environment and imports nothing of this project: see ``loop_peer``.

Reads a number of workers per line, runs all episodes of the task file with that many threads, and writes the seconds.
"""

from __future__ import annotations

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import minisweagent
from minisweagent.agents.default import DefaultAgent
from minisweagent.environments.local import LocalEnvironment
from minisweagent.models.test_models import DeterministicModel, make_output

SYSTEM = "Find the code the issue is about."


def agent_of(turns: list[list[str]], root: str) -> DefaultAgent:
    """An agent with its own script, like one per instance in a batch run."""
    outputs = [make_output("", [{"command": command} for command in commands], cost=0.0) for commands in turns]
    model = DeterministicModel(outputs=outputs, cost_per_call=0.0)
    return DefaultAgent(model, LocalEnvironment(cwd=root), system_template=SYSTEM, instance_template="{{task}}")


def run(turns: list[list[str]], root: str) -> str:
    """Run one episode; return how it ended."""
    return str(agent_of(turns, root).run("A function returns the wrong value.").get("exit_status"))


def run_all(task: dict, workers: int) -> float:
    """Seconds for all episodes. Raises when one did not end with an answer."""
    started = time.perf_counter()
    with ThreadPoolExecutor(max_workers=workers) as pool:
        ends = list(pool.map(lambda turns: run(turns, task["root"]), task["episodes"]))
    seconds = time.perf_counter() - started
    if set(ends) != {"Submitted"}:
        raise RuntimeError(f"episodes ended with {sorted(set(ends))}")
    return seconds


def main() -> None:
    """Serve until stdin ends."""
    task = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    print(json.dumps({"version": minisweagent.__version__}), flush=True)
    for line in sys.stdin:
        print(json.dumps({"seconds": run_all(task, int(line))}), flush=True)


if __name__ == "__main__":
    main()
