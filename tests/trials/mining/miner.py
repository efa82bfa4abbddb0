"""``python -m tests.trials.mining.miner JOB.json``: one run of the source ``github``, in a process that can be killed."""

from __future__ import annotations

import sys
from pathlib import Path

from tasks.core.config import GitHubSource
from tasks.core.storage import read_json, write_json, write_jsonl
from tasks.data.sources.github import GitHub


def run(job: Path) -> None:
    """Run the job; write its rows and its table beside it."""
    settings = read_json(job)
    folder = Path(settings["folder"])
    source = GitHub(GitHubSource(**settings["config"]), folder / "state", settings["workers"], announce=lambda line: None)
    mined = source.mine(folder / "repos", lambda done, total: None)
    write_jsonl(folder / "pairs.jsonl", mined.instances)
    write_json(folder / "table.json", mined.table)


if __name__ == "__main__":
    run(Path(sys.argv[1]))
