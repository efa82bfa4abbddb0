"""Scripted episodes over a tree: what every harness is given to run, call for call."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from tasks.agents.models.base import Message
from tasks.agents.models.scripted import ScriptedModel
from tasks.agents.parsing import format_calls
from tasks.core.schema import Instance
from tasks.search.repository import Repository

Call = tuple[str, dict[str, Any]]

ISSUE = "Issue {}: a function returns the wrong value."
_DEFINITION = re.compile(r"def (\w+)")
_LINES_READ = 80


@dataclass(frozen=True)
class Episode:
    """Turns of calls, and the answer that follows them."""

    number: int
    turns: tuple[tuple[Call, ...], ...]
    answer: str

    @property
    def issue(self) -> str:
        """The text that tells this episode from the others."""
        return ISSUE.format(self.number)

    @property
    def instance(self) -> Instance:
        """The episode as a task."""
        return Instance(instance_id=str(self.number), repo="bench/tree", base_commit="0", problem_statement=self.issue)

    @property
    def replies(self) -> list[str]:
        """What the model says, turn by turn."""
        return [*(format_calls(turn) for turn in self.turns), self.answer]


def make_episodes(repository: Repository, count: int, seed: int = 0) -> list[Episode]:
    """``count`` episodes of two turns of three calls each; no two searches are equal, so none can be answered by another."""
    rng = random.Random(seed)
    files = [path for path in repository.files() if path.endswith(".py")]
    return [_episode(number, rng, repository, files) for number in range(count)]


def scripted(episodes: list[Episode]) -> ScriptedModel:
    """A model that answers at once, whichever of the episodes it is asked about."""
    replies = {episode.issue: episode.replies for episode in episodes}
    return ScriptedModel(lambda messages: replies[messages[1].content][_turn(messages)])


def _turn(messages: list[Message]) -> int:
    return sum(message.role == "assistant" for message in messages)


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
