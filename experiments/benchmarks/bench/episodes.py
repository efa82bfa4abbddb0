"""The tree of a benchmark, and the scripted episodes over it that every harness runs, call for call."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Any

from fusesearch.agents.models.base import Message
from fusesearch.agents.models.scripted import ScriptedModel
from fusesearch.agents.parsing import format_calls
from fusesearch.core.schema import Instance
from fusesearch.search.git import git_environment
from fusesearch.search.repository import Repository

Call = tuple[str, dict[str, Any]]

ISSUE = "Issue {}: a function returns the wrong value."
_DEFINITION = re.compile(r"def (\w+)")
_LINES_READ = 80


@dataclass(frozen=True)
class Episode:
    """Turns of calls, and the answer after them."""

    number: int
    turns: tuple[tuple[Call, ...], ...]
    answer: str

    @property
    def issue(self) -> str:
        """The issue, which identifies the episode."""
        return ISSUE.format(self.number)

    @property
    def instance(self) -> Instance:
        """The episode as a task."""
        return Instance(instance_id=str(self.number), repo="bench/tree", base_commit="0", problem_statement=self.issue)

    @property
    def replies(self) -> list[str]:
        """The model's replies, turn by turn."""
        return [*(format_calls(turn) for turn in self.turns), self.answer]


def make_episodes(repository: Repository, count: int, seed: int = 0) -> list[Episode]:
    """``count`` episodes of two turns of three calls each; all searches differ, so that none is answered from memory."""
    rng = random.Random(seed)
    files = [path for path in repository.files() if path.endswith(".py")]
    return [_episode(number, rng, repository, files) for number in range(count)]


def scripted(episodes: list[Episode]) -> ScriptedModel:
    """A model that answers at once with the replies of the episode at hand."""
    replies = {episode.issue: episode.replies for episode in episodes}

    def turn(messages: list[Message]) -> int:
        return sum(message.role == "assistant" for message in messages)

    return ScriptedModel(lambda messages: replies[messages[1].content][turn(messages)])


def _episode(number: int, rng: random.Random, repository: Repository, files: list[str]) -> Episode:
    path, other = rng.choice(files), rng.choice(files)
    names = _DEFINITION.findall(repository.read_text(path)) or [PurePosixPath(path).stem]
    name, only = rng.choice(names), f"episode_{number}"
    folder = f"/repo/{PurePosixPath(path).parent}"
    start = rng.randrange(1, 40)
    look = (
        ("grep", {"pattern": f"{name}|{only}"}),
        ("glob", {"pattern": f"{{{PurePosixPath(path).stem}*,{only}}}.py"}),
        ("grep", {"pattern": f"def {name}|{only}", "path": folder, "output_mode": "content"}),
    )
    read = (
        ("read_file", {"path": f"/repo/{path}", "start_line": 1, "end_line": _LINES_READ}),
        ("read_file", {"path": f"/repo/{other}", "start_line": 1, "end_line": start + _LINES_READ}),
        ("grep", {"pattern": f"return|{only}", "path": f"/repo/{path}", "output_mode": "content"}),
    )
    return Episode(number, (look, read), f"Found.\n\n## Locations to Modify\n- /repo/{path}::{name}\n")


@contextmanager
def copy_of(package: str) -> Iterator[Path]:
    """A folder that holds ``package`` like a repository: without compiled files, with a ``.git``."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise LookupError(f"the package {package} is not installed")
    with tempfile.TemporaryDirectory(prefix="fusesearch-bench-") as folder:
        source = Path(spec.submodule_search_locations[0])
        shutil.copytree(source, Path(folder, package), ignore=shutil.ignore_patterns("__pycache__", "*.so", "*.pyc"))
        subprocess.run(["git", "init", "-q", folder], env=git_environment(), check=True)
        yield Path(folder)


def size_of(root: Path) -> str:
    """Files and megabytes below ``root`` without ``.git``."""
    sizes = [path.stat().st_size for path in root.rglob("*") if path.is_file() and ".git" not in path.parts]
    return f"{len(sizes):,} files, {sum(sizes) / 1e6:.0f} MB"
