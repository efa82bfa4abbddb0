"""``python -m tests.trials.mining.miner JOB.json``: one run of the source ``github``, in a process that may be killed."""

from __future__ import annotations

import sys
from pathlib import Path

from tasks.core.config import GitHubSource
from tasks.core.storage import read_json, write_json, write_jsonl
from tasks.data.sources.github import GitHub


def run(job: Path) -> None:
    """Mine what the job says; its rows and its table are written beside it."""
    said = read_json(job)
    folder = Path(said["folder"])
    source = GitHub(GitHubSource(**said["config"]), folder / "state", said["workers"], announce=lambda line: None)
    mined = source.mine(folder / "repos", lambda done, total: None)
    write_jsonl(folder / "pairs.jsonl", mined.instances)
    write_json(folder / "table.json", mined.table)


if __name__ == "__main__":
    run(Path(sys.argv[1]))
