"""Answerers of questions: ``closed-book`` asks a model alone, the scripted teacher has a program per family and no model.

A program is a generator: it yields the calls of a turn and gets their outputs. Each message is a function of the messages before
it, as the program is run again from its start, so one object serves any number of episodes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from fusesearch.agents.answers import format_values, parse_values
from fusesearch.agents.loop import run_episode
from fusesearch.agents.models.base import Message
from fusesearch.agents.models.scripted import ScriptedModel
from fusesearch.agents.parsing import format_calls
from fusesearch.agents.prompts import render_issue, render_system
from fusesearch.agents.questions import default_pattern, read_back
from fusesearch.agents.recording import Instructions
from fusesearch.core.config import Agent, Tools
from fusesearch.core.errors import ConfigError
from fusesearch.core.schema import Instance, Trajectory
from fusesearch.localizers.base import BaseLocalizer, Setup
from fusesearch.localizers.episodes import make_episode
from fusesearch.localizers.fusesearch import FuseSearchLocalizer
from fusesearch.localizers.lexical.localizer import calls_of
from fusesearch.search.repository import Repository

Call = tuple[str, dict[str, Any]]
Program = Generator[list[Call], list[str], list[str]]
BODY = 80
"""Lines of a definition that are read at most."""

_ROW = re.compile(r"^(?P<path>/repo/.+?):(?P<line>\d+):(?P<text>.*)$")
_LINE = re.compile(r"^(?P<line>\d+)\t(?P<text>.*)$")


class ClosedBookLocalizer(BaseLocalizer):
    """One request, without tools and without the repository."""

    name = "closed-book"

    async def localize(self, instance: Instance, repository: Repository, seed: int | None = None) -> Trajectory:
        """The model's answer; a message with calls ends the episode without one."""
        agent = self.agent.model_copy(update={"max_turns": 1})
        episode = make_episode(
            instance, repository, self.model, agent, self.tools, self.sampling.seeded(seed),
            localizer=self.name, on_event=self.on_event,
        )  # fmt: skip
        system = render_system(agent, task="closed")
        instructions = Instructions(system, render_issue(agent, instance.problem_statement), [], parse_values)
        return await run_episode(replace(episode, agent=agent, instructions=instructions))


class LexicalAnswerer(FuseSearchLocalizer):
    """The scripted teacher in the same loop as every model."""

    name = "lexical-answers"

    def __init__(self, setup: Setup) -> None:
        agent = setup.agent.model_copy(update={"toolset": "questions"})
        super().__init__(replace(setup, agent=agent, model=LexicalAnswers(agent, setup.tools)))


@dataclass(frozen=True)
class Hit:
    """A line that a search showed."""

    path: str
    line: int
    text: str

    @property
    def indent(self) -> int:
        """Blanks before the text."""
        return len(self.text) - len(self.text.lstrip())

    @property
    def name(self) -> str:
        """What the line defines; empty if nothing."""
        match = re.match(r"\s*(?:async def|def|class) (\w+)", self.text)
        return match[1] if match else ""


class LexicalAnswers(ScriptedModel):
    """The programs as a model. Raises :class:`ConfigError` for an ``agent.toolset`` other than ``questions`` or ``both``."""

    def __init__(self, agent: Agent, tools: Tools) -> None:
        if agent.toolset not in ("questions", "both"):
            raise ConfigError(f"the scripted answerer uses the tools of agent.toolset questions, not {agent.toolset}")
        super().__init__(self.next_text, "lexical")
        self.turns = agent.max_turns
        self.calls = 1 if agent.mode == "sequential" else agent.max_calls_per_turn
        self.window = tools.read_lines

    def next_text(self, messages: list[Message]) -> str:
        """The next assistant message as text."""
        read = read_back(next((message.content for message in messages if message.role == "user"), ""))
        if read is None:
            return format_values([])
        outputs: dict[int, list[str]] = {}
        for call in calls_of(messages):
            outputs.setdefault(call.turn, []).append(call.output)
        kind, names = read
        programs: dict[str, Callable[..., Program]] = {"default": self._default, "exported": self._exported}
        program = programs[kind](**names)
        try:
            calls = next(program)
            for turn in sorted(outputs):
                calls = program.send(outputs[turn])
            if len(outputs) < self.turns - 1:
                return format_calls(calls)
            while True:  # out of turns: nothing more will be found
                program.send([""] * len(calls))
        except StopIteration as done:
            return format_values(done.value)

    def _default(self, name: str, parameter: str) -> Program:
        found = yield from self._defined(name)
        pattern = default_pattern(parameter)
        if found and not (match := pattern.search(found.text)):
            body = yield from self._body(found)
            match = next((match for hit in body if (match := pattern.search(hit.text))), None)
        return [match["value"]] if found and match else []

    def _exported(self, name: str) -> Program:
        found = yield from self._defined(name)
        return [f"{found.path}::{found.name}"] if found else []

    def _defined(self, name: str) -> Generator[list[Call], list[str], Hit | None]:
        """The definition of a public name: the only one, or that its imports lead to, else the one nearest to its module."""
        last = name.rpartition(".")[2]
        (output,) = yield [_definitions(last)]
        hits = _hits(output)
        if [hit.indent for hit in hits] == [0]:
            return hits[0]
        (output,) = yield [_grep(rf"^\s*from \S+ import (.*\b{re.escape(last)}\b|\*)")]
        imports = _hits(output)
        pending, passed = [(tuple(name.split(".")[:-1]), last)], set()
        while pending:
            module, wanted = here = pending.pop()
            if here in passed:
                continue
            passed.add(here)
            if wanted not in {hit.name for hit in hits}:
                (output,) = yield [_definitions(wanted)]
                hits += _hits(output)
            if found := next((hit for hit in hits if hit.indent == 0 and hit.name == wanted and _is(hit.path, module)), None):
                return found
            pending += [step for hit in imports if _is(hit.path, module) and (step := _imported(hit, wanted))]

        def near(hit: Hit) -> tuple[bool, int]:
            return hit.indent == 0, len(set(_module(hit.path)).intersection(name.split(".")))

        return max(hits, key=near, default=None)

    def _body(self, found: Hit) -> Generator[list[Call], list[str], list[Hit]]:
        """The lines of a definition, up to the next one that is not indented more."""
        starts = range(found.line, found.line + BODY, self.window)
        outputs = yield [_read(found.path, start, start + self.window - 1) for start in islice(starts, self.calls)]
        body: list[Hit] = []
        for line, text in (row for output in outputs for row in _lines(output)):
            hit = Hit(found.path, line, text)
            ended = text.strip() and hit.indent <= found.indent and not text.lstrip().startswith((")", "]", "}"))
            if line > found.line and ended:
                return body
            body.append(hit)
        return body


def _definitions(name: str) -> Call:
    return _grep(rf"^\s*(?:async def|def|class) {re.escape(name)}\b")


def _module(path: str) -> tuple[str, ...]:
    """The parts of a module's name, as far as its path shows them."""
    return tuple(path.removeprefix("/repo/").removesuffix(".py").removesuffix("/__init__").split("/"))


def _is(path: str, module: tuple[str, ...]) -> bool:
    """Whether a file may be a module; the repository may begin below the outermost packages."""
    parts = _module(path)
    return parts == module[-len(parts) :]


def _imported(hit: Hit, name: str) -> tuple[tuple[str, ...], str] | None:
    """The module that an import line takes the name from, and what it is called there."""
    match = re.match(r"\s*from (\.*)(\S*) import (.*)", hit.text)
    if match is None or not ("*" in match[3] or re.search(rf"\b{re.escape(name)}\b", match[3])):
        return None
    renamed = re.search(rf"\b(\w+) as {re.escape(name)}\b", match[3])
    parts = tuple(filter(None, match[2].split(".")))
    if match[1]:
        package = _module(hit.path) if hit.path.endswith("__init__.py") else _module(hit.path)[:-1]
        parts = (*package[: len(package) - len(match[1]) + 1], *parts)
    return parts, renamed[1] if renamed else name


def _grep(pattern: str) -> Call:
    return "grep", {"pattern": pattern, "glob": "*.py", "output_mode": "content"}


def _read(path: str, start: int, end: int) -> Call:
    return "read_file", {"path": path, "start_line": start, "end_line": end}


def _hits(output: str) -> list[Hit]:
    return [Hit(row["path"], int(row["line"]), row["text"]) for line in output.split("\n") if (row := _ROW.match(line))]


def _lines(output: str) -> list[tuple[int, str]]:
    return [(int(row["line"]), row["text"]) for line in output.split("\n") if (row := _LINE.match(line))]
