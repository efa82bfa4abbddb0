"""The scripted teacher of questions: a program per family over the three tools, and no model.

A program is a generator: it yields the calls of a turn and gets their outputs. Each message is a function of the messages before
it, as the program is run again from its start, so one object serves any number of episodes.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from fusesearch.agents.answers import format_values
from fusesearch.agents.models.base import Message
from fusesearch.agents.models.scripted import ScriptedModel
from fusesearch.agents.parsing import format_calls
from fusesearch.core.config import Agent, Tools
from fusesearch.core.errors import ConfigError
from fusesearch.localizers.answerers.grep_once import LITERAL
from fusesearch.localizers.answerers.wording import read_back
from fusesearch.localizers.base import Setup
from fusesearch.localizers.fusesearch import FuseSearchLocalizer
from fusesearch.localizers.lexical.localizer import calls_of

Call = tuple[str, dict[str, Any]]
Program = Generator[list[Call], list[str], list[str]]
BODY = 80
"""Lines of a definition that are read at most."""

_ROW = re.compile(r"^(?P<path>/repo/.+?):(?P<line>\d+):(?P<text>.*)$")
_LINE = re.compile(r"^(?P<line>\d+)\t(?P<text>.*)$")
_DEFINITION = r"^\s*(?:async def|def|class) "


class LexicalAnswerer(FuseSearchLocalizer):
    """The scripted teacher in the same loop as every model."""

    name = "lexical-answers"

    def __init__(self, setup: Setup) -> None:
        agent = setup.agent.model_copy(update={"toolset": "questions"})
        super().__init__(replace(setup, agent=agent, model=LexicalAnswers(agent, setup.tools)))


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
        program = _Programs(self.window, self.calls).program(*read)
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


@dataclass(frozen=True)
class _Programs:
    """The programs, with ``window`` lines per read and ``calls`` per turn."""

    window: int
    calls: int

    def program(self, kind: str, names: dict[str, str]) -> Program:
        """The program of a kind of question."""
        return getattr(self, f"_{kind}")(**names)

    def _default(self, name: str, parameter: str, code: str) -> Program:
        found = yield from self._defined(name)
        pattern = re.compile(rf"\b{re.escape(parameter)}\b\s*(?::[^=]*)?=\s*{LITERAL}")
        if found and not (match := pattern.search(found.text)):
            body = yield from self._body(found)
            match = next((match for hit in body if (match := pattern.search(hit.text))), None)
        return [match["value"]] if found and match else []

    def _constant(self, name: str, code: str) -> Program:
        found = yield from self._defined(name)
        body = (yield from self._body(found)) if found else []
        words = dict.fromkeys(re.findall(r"(?<![\w.'\"])[A-Z][A-Z0-9_]+\b(?![\"'])", "\n".join(hit.text for hit in body)))
        if not found or not words:
            return []
        names = list(words)[: self.calls]
        outputs = yield [_grep(rf"^\s*{word}\b[^=]*=[^=]") for word in names]
        folders = set(found.path.split("/"))
        for output in outputs:
            hits = sorted(_hits(output), key=lambda hit: (hit.path != found.path, -len(folders & set(hit.path.split("/")))))
            for hit in hits:
                if match := re.match(rf"\s*\w+[^=]*=\s*{LITERAL}", hit.text):
                    return [match["value"]]
        return []

    def _exported(self, name: str, code: str) -> Program:
        found = yield from self._defined(name)
        return [f"{found.path}::{found.name}"] if found else []

    def _callers(self, name: str, code: str) -> Program:
        (output,) = yield [_grep(rf"\b{re.escape(name)}\(")]
        hits = [hit for hit in _hits(output) if hit.name != name and not hit.text.lstrip().startswith("#")]
        holders = yield from self._holders(hits)
        return list(dict.fromkeys(holder for holder in holders if holder and holder.rpartition("::")[2] != name))

    def _overrides(self, name: str, method: str, code: str) -> Program:
        below: dict[str, Hit] = {}
        pending = [_last(name)]
        while pending:
            outputs = yield [_grep(rf"^\s*class \w+\(.*\b{base}\b") for base in pending[: self.calls]]
            pending = pending[self.calls :]
            for hit in (hit for output in outputs for hit in _hits(output)):
                if hit.name not in below:
                    below[hit.name] = hit
                    pending.append(hit.name)
        rows = yield from self._in_files(below.values(), rf"^\s*(class |(async )?def {re.escape(method)}\b)")
        owners = (f"{hit.path}::{_owner(rows, hit)}" for hit in rows if hit.name == method)
        return [owner for owner in dict.fromkeys(owners) if owner.rpartition("::")[2] in below]

    def _inherited(self, name: str, method: str, code: str) -> Program:
        known = _last(name)
        for _ in range(4):
            (output,) = yield [_grep(rf"^\s*class {known}\b")]
            found = next(iter(_hits(output)), None)
            if found is None:
                return []
            (output,) = yield [_grep(rf"^\s*(class |(async )?def {re.escape(method)}\b)", found.path)]
            rows = _hits(output)
            if any(hit.name == method and _owner(rows, hit) == known for hit in rows):
                return [f"{found.path}::{known}.{method}"]
            bases = re.search(r"\(\s*(?:\w+\.)*(\w+)", found.text)
            if bases is None:
                return []
            known = bases[1]
        return []

    def _raises(self, code: str) -> Program:
        statement = code.strip().split("\n")[-1]
        called = re.findall(r"(\w+)\(", statement)
        found = (yield from self._defined(called[0])) if called else None
        body = (yield from self._body(found)) if found else []
        match = next(((hit, match) for hit in body if (match := re.search(r"\braise (?:\w+\.)*(\w+)", hit.text))), None)
        if not found or not match:
            return []
        (holder,) = yield from self._holders([match[0]])
        return [match[1][1], holder or f"{found.path}::{found.name}"]

    def _defined(self, name: str) -> Generator[list[Call], list[str], Hit | None]:
        """The definition of a public name: the only one, or that its imports lead to, else the one nearest to its module."""
        last = _last(name)
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

    def _all(self, calls: list[Call]) -> Generator[list[Call], list[str], list[str]]:
        """The outputs of calls, over as many turns as they take."""
        outputs: list[str] = []
        for start in range(0, len(calls), self.calls):
            outputs += yield calls[start : start + self.calls]
        return outputs

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

    def _in_files(self, hits: Iterable[Hit], pattern: str) -> Generator[list[Call], list[str], list[Hit]]:
        """Matches in each of the files, over as many turns as that takes."""
        files = list(dict.fromkeys(hit.path for hit in hits))
        outputs = yield from self._all([_grep(pattern, path) for path in files])
        return [row for output in outputs for row in _hits(output)]

    def _holders(self, hits: Sequence[Hit]) -> Generator[list[Call], list[str], list[str]]:
        """The function around each line, as an entity; empty if there is none."""
        rows = yield from self._in_files(hits, _DEFINITION)
        found = []
        for hit in hits:
            name = _owner(rows, hit, functions=True)
            found.append(f"{hit.path}::{name}" if name else "")
        return found


def _owner(rows: Sequence[Hit], hit: Hit, functions: bool = False) -> str:
    """The class around a line with its outer classes, or the outermost function."""
    one_line = functions and re.match(r"\s*(?:async )?def .*:\s*\S", hit.text)
    above = [row for row in rows if row.path == hit.path and row.line < hit.line + bool(one_line)]
    chain: list[Hit] = []
    indent = hit.indent + 1 if one_line else hit.indent or 1
    for row in reversed(above):
        if row.indent < indent:
            chain.insert(0, row)
            indent = row.indent
    parts: list[str] = []
    for row in chain:
        if row.text.lstrip().startswith("class"):
            parts.append(row.name)
        elif functions:
            return ".".join([*parts, row.name])
    return "" if functions else ".".join(parts)


def _definitions(name: str) -> Call:
    return _grep(rf"{_DEFINITION}{re.escape(name)}\b")


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


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _grep(pattern: str, path: str = "") -> Call:
    where = {"path": path} if path else {"glob": "*.py"}
    return "grep", {"pattern": pattern, **where, "output_mode": "content"}


def _read(path: str, start: int, end: int) -> Call:
    return "read_file", {"path": path, "start_line": start, "end_line": end}


def _hits(output: str) -> list[Hit]:
    return [Hit(row["path"], int(row["line"]), row["text"]) for line in output.split("\n") if (row := _ROW.match(line))]


def _lines(output: str) -> list[tuple[int, str]]:
    return [(int(row["line"]), row["text"]) for line in output.split("\n") if (row := _LINE.match(line))]
