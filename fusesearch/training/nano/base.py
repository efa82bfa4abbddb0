"""The nano base checkpoint: a model that knows the format and uses one tool at a time, aimlessly.

It corresponds to the paper's base models, which call tools correctly but rarely in parallel. It is trained from random weights
on every token of episodes of :class:`AimlessModel` over training repositories (never evaluation repositories), so that it has
also read some code, and on drills in looking things up (:mod:`fusesearch.training.nano.drills`).
"""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from fusesearch.agents.conversation import messages_of
from fusesearch.agents.loop import run_episode, run_episodes
from fusesearch.agents.models.base import Completion, Message, Sampling
from fusesearch.agents.models.chat import training_ids
from fusesearch.agents.parsing import format_answer, format_calls
from fusesearch.core.config import Base, Params
from fusesearch.core.schema import Answer, Instance, Location, Trajectory
from fusesearch.localizers.episodes import make_episode
from fusesearch.search.repository import Repository
from fusesearch.training.nano.drills import drill_rows
from fusesearch.training.nano.renaming import Names, renamed
from fusesearch.training.nano.student import new_model, train_tokenizer
from fusesearch.training.sft import describe_checkpoint, fit
from fusesearch.training.trainer import quiet

Snapshot = Callable[[Instance], Repository]

VOCABULARY = 2048
RENAMED_OF = (4, 5)  # in 4 of 5 episodes, names are exchanged
SHAPE = {"hidden": 192, "layers": 4, "heads": 6, "feed_forward": 576}

WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{2,}")
NAME = re.compile(r"[A-Za-z_]\w{2,}(?=\()|(?<=, in )[A-Za-z_]\w{2,}|(?<=import )[A-Za-z_]\w{2,}|[A-Za-z]+_\w+")  # of code
NAMES_OF_WORDS = 0.9  # share of calls that search for a name from code, if there is one
FRAME = re.compile(r'File "([^"\n]+\.py)"')
PLACE = re.compile(r"/repo/(\S+?\.py)(?::(\d+))?")
DEFINITION = re.compile(r"/repo/(\S+?\.py):\d+:\s*def (\w+)")


class AimlessModel:
    """A scripted model without a plan: one random call per turn, then a random answer from what it saw.

    Its next message is a function of the conversation and the seed.
    """

    name = "aimless"

    def __init__(self, seed: int) -> None:
        self.seed = seed

    async def complete(self, messages: list[Message], tools: list[dict[str, Any]], sampling: Sampling) -> Completion:
        """The next random message."""
        turn = sum(message.role == "assistant" for message in messages)
        draw = random.Random(f"{self.seed}-{turn}-{len(messages[1].content)}")
        seen = "\n".join(message.content for message in messages if message.role == "tool")
        if turn >= draw.choice((2, 3, 3, 4)):
            return Completion(text=self._answer(draw, seen))
        return Completion(text=format_calls([self._call(draw, messages[1].content, seen)]))

    async def close(self) -> None:
        """Nothing to close."""

    def _call(self, draw: random.Random, issue: str, seen: str) -> tuple[str, dict[str, Any]]:
        places, kind = PLACE.findall(seen), draw.random()
        if places and kind < 0.4:
            path, line = draw.choice(places)
            start = int(line) if line else draw.randint(1, 200)
            arguments: dict[str, Any] = {"path": f"/repo/{path}", "start_line": start}
            if draw.random() < 0.2:
                arguments["end_line"] = start + draw.choice((5, 10, 20))
            return "read_file", arguments
        word = self._word(draw, issue, seen)
        if kind > 0.95:
            return "glob", {"pattern": f"**/*{word}*.py"}
        pattern = draw.choice(("def {}\\b", "(def|class) {}\\b", "\\b{}\\(", "^class ", "{}")).format(word)
        arguments = {"pattern": pattern}
        paths = [path for path, _ in PLACE.findall(seen)] + FRAME.findall(issue)
        if paths and draw.random() < 0.4:
            arguments["path"] = f"/repo/{draw.choice(paths)}"
        return "grep", {**arguments, "output_mode": "content"}

    def _word(self, draw: random.Random, issue: str, seen: str) -> str:
        source = seen if seen and draw.random() < 0.4 else issue
        names = NAME.findall(source) if draw.random() < NAMES_OF_WORDS else []
        return draw.choice(names or WORD.findall(source) or ["value"])

    def _answer(self, draw: random.Random, seen: str) -> str:
        functions, places = DEFINITION.findall(seen), PLACE.findall(seen)
        if functions:
            path, name = draw.choice(functions)
            return format_answer(Answer(modify=[Location(path=path, function=name)]))
        path = draw.choice(places)[0] if places else "__init__.py"
        return format_answer(Answer(modify=[Location(path=path)]))


async def aimless_episodes(params: Params, instances: list[Instance], snapshot: Snapshot, per_instance: int) -> list[Trajectory]:
    """``per_instance`` aimless episodes on each instance, with the real tools and limits of ``params``."""

    async def episode(instance: Instance, repository: Repository, number: int) -> Trajectory:
        model = AimlessModel(params.seed * 1000 + number)
        made = make_episode(instance, repository, model, params.agent, params.tools, Sampling(), localizer="aimless")
        return await run_episode(made)

    def jobs() -> Iterator[Callable[[], Awaitable[Trajectory]]]:
        for instance in instances:
            repository = snapshot(instance)
            yield from (partial(episode, instance, repository, number) for number in range(per_instance))

    return [trajectory async for trajectory in run_episodes(jobs(), concurrency=32)]


def train_base(
    params: Params, recipe: Base, instances: list[Instance], snapshot: Snapshot, out: Path, on_log: Callable[..., None]
) -> dict[str, float]:
    """Train a tokenizer and the base checkpoint from scratch in ``out/checkpoint``."""
    quiet()
    trajectories = asyncio.run(aimless_episodes(params, instances, snapshot, recipe.episodes_per_instance))
    conversations = [messages_of(trajectory) for trajectory in trajectories]
    sources = list(_sources(instances, snapshot))
    texts = dict.fromkeys(message.content for messages in conversations for message in messages)
    tokenizer = train_tokenizer([*texts, *sources], VOCABULARY)
    sequences = _sequences(tokenizer, conversations, recipe.train.drills, Names.of(sources, tokenizer), params.seed)
    rows = [row for row in sequences if len(row["input_ids"]) <= recipe.train.max_length]
    model = new_model(tokenizer, **SHAPE, seed=params.seed)
    figures = fit(model, tokenizer, rows, recipe.train, params, out, on_log, bfloat16=True)
    describe_checkpoint(out / "checkpoint", params)
    return {"sequences": len(rows), **figures}


def _sources(instances: list[Instance], snapshot: Snapshot) -> Iterator[str]:
    """The Python files of each repository, at the commit of its first instance."""
    first = {instance.repo: instance for instance in reversed(instances)}
    for _, instance in sorted(first.items()):
        repository = snapshot(instance)
        yield from (repository.read_text(path) for path in repository.files() if path.endswith(".py"))


def _sequences(
    tokenizer: Any, conversations: list[list[Message]], drills: int, pool: Names, seed: int
) -> Iterator[dict[str, list[int]]]:
    """Rows of the episodes, most of them with names from ``pool``, then of ``drills`` drills."""
    for number, messages in enumerate(conversations):
        exchange = number % RENAMED_OF[1] < RENAMED_OF[0]
        content = renamed(messages, random.Random(f"{seed}-{number}"), pool) if exchange else messages
        ids = training_ids(tokenizer, content, [])[0]
        yield {"input_ids": ids, "labels": ids}
    yield from drill_rows(drills, pool, tokenizer, seed)
