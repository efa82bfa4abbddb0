"""The same episodes through mini-swe-agent, in its own environment.

``uv venv .fusesearch/bench-peer && uv pip install --python .fusesearch/bench-peer mini-swe-agent==2.4.6`` makes it.

It runs ``DefaultAgent``, ``DeterministicModel`` and ``LocalEnvironment``, one thread per worker as in its batch runs. It
searches with ``rg`` in its shell, reads with ``sed`` and answers with a command. It gets its commands parsed.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from experiments.benchmarks.bench.episodes import Call, Episode
from tasks.search import ripgrep

NAME = "mini-swe-agent"
INSTALL = "uv venv .fusesearch/bench-peer && uv pip install --python .fusesearch/bench-peer mini-swe-agent==2.4.6"
PYTHON = Path(".fusesearch/bench-peer/bin/python")
WORKERS = (8, 256)
_SCRIPT = Path(__file__).with_name("peer_mini_swe_agent.py")
_ANSWER = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; echo {}"


class Peer:
    """A process in the peer's environment that runs all episodes on request."""

    def __init__(self, root: Path, episodes: Sequence[Episode], python: Path = PYTHON) -> None:
        self.workers = WORKERS[0]
        self.tried = " and ".join(map(str, WORKERS))
        self._home = tempfile.TemporaryDirectory(prefix="fusesearch-bench-")
        task = {"root": str(root), "episodes": [_commands(episode) for episode in episodes]}
        Path(self._home.name, "task.json").write_text(json.dumps(task), encoding="utf-8")
        environment = {**os.environ, "MSWEA_SILENT_STARTUP": "1", "MSWEA_GLOBAL_CONFIG_DIR": self._home.name, "PYTHONPATH": ""}
        self._process = subprocess.Popen(
            [python.absolute(), _SCRIPT, Path(self._home.name, "task.json")],
            env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.name = f"{NAME} {self._read()['version']}"

    @staticmethod
    def is_installed() -> bool:
        """Whether its environment exists."""
        return PYTHON.exists()

    def choose_workers(self) -> None:
        """Use the number of workers with which it is fastest."""
        self.workers = min(WORKERS, key=self._seconds)

    def run(self) -> float:
        """Seconds for all episodes."""
        return self._seconds(self.workers)

    def _seconds(self, workers: int) -> float:
        assert self._process.stdin is not None  # noqa: S101
        self._process.stdin.write(f"{workers}\n")
        self._process.stdin.flush()
        return float(self._read()["seconds"])

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None  # noqa: S101
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{NAME} ended with code {self._process.wait()}: its message is above")
        return dict(json.loads(line))

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()
        self._home.cleanup()


def _commands(episode: Episode) -> list[list[str]]:
    """The commands of each turn; the last one answers."""
    turns = [[_command(call) for call in turn] for turn in episode.turns]
    return [*turns, [_ANSWER.format(shlex.quote(episode.answer))]]


def _command(call: Call) -> str:
    name, arguments = call
    place = "." + str(arguments.get("path", "")).removeprefix("/repo")
    if name == "read_file":
        words = ["sed", "-n", f"{arguments['start_line']},{arguments['end_line']}p", place]
    elif name == "glob":
        words = [ripgrep.binary(), "--files", f"--glob={arguments['pattern']}"]
    else:
        mode = "--line-number" if arguments.get("output_mode") == "content" else "--files-with-matches"
        words = [ripgrep.binary(), mode, f"--regexp={arguments['pattern']}", place]
    return shlex.join(words)
