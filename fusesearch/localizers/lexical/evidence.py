"""What an episode has seen so far: lines of files and definitions.

It comes only from what a model would see (tool calls and their outputs), in the formats of the three tools.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

Step = tuple[str, dict[str, Any]]
"""A call to make: the tool and its arguments."""
ROOT = "/repo/"
_CONTENT = re.compile(r"^/repo/(?P<path>.+?):(?P<line>\d+):(?P<text>.*)$")
_NUMBERED = re.compile(r"^\s*(?P<line>\d+)\t(?P<text>.*)$")
_DEFINITION = re.compile(r"^(?P<indent>[ \t]*)(?P<kind>(?:async\s+)?def|class)\s+(?P<name>[A-Za-z_]\w*)\s*[(:\[]")


@dataclass(frozen=True)
class Definition:
    """A ``def`` or ``class`` line."""

    path: str
    line: int
    name: str
    indent: int
    is_class: bool
    turn: int = field(default=0, compare=False)  # that first showed it


@dataclass(frozen=True)
class Call:
    """One tool call and its output."""

    name: str
    arguments: dict[str, Any]
    output: str
    turn: int = 0  # of the conversation, from 0

    @property
    def key(self) -> tuple[str, str]:
        """Name and arguments, comparable."""
        return call_key(self.name, self.arguments)


@dataclass
class Evidence:
    """Everything seen in the calls of earlier turns."""

    calls: list[Call] = field(default_factory=list)
    lines: dict[str, dict[int, str]] = field(default_factory=dict)
    definitions: list[Definition] = field(default_factory=list)

    @classmethod
    def of(cls, calls: Iterable[Call]) -> Evidence:
        """The evidence of ``calls``, which are in order."""
        evidence = cls()
        for call in calls:
            evidence._add(call)
        return evidence

    def unasked(self, steps: Iterable[Step]) -> list[Step]:
        """The steps that were not taken so far, each once."""
        asked = {call.key for call in self.calls}
        return list({call_key(*step): step for step in steps if call_key(*step) not in asked}.values())

    def defined(self, name: str) -> list[Definition]:
        """Definitions of ``name`` in the order they were seen."""
        return [definition for definition in self.definitions if definition.name == name]

    def text_of(self, definition: Definition) -> list[tuple[int, str]]:
        """Seen lines of a definition, numbered, from its first line to the end of its block."""
        seen = self.lines.get(definition.path, {})
        body = [(definition.line, seen[definition.line])]
        for number in range(definition.line + 1, max(seen) + 1):
            text = seen.get(number)
            if text is None:
                continue
            if _ends_block(text, definition.indent) and number > definition.line + 1:
                break
            body.append((number, text))
        return body

    def qualified(self, definition: Definition) -> str:
        """Name with the classes around it, from the class lines seen above it."""
        if definition.indent == 0:
            return definition.name
        above = [d for d in self.definitions if d.path == definition.path and d.line < definition.line]
        around: list[Definition] = []
        indent = definition.indent
        for candidate in sorted(above, key=lambda d: -d.line):
            if candidate.indent < indent:
                around.insert(0, candidate)
                indent = candidate.indent
        for i, outer in enumerate(around):
            if not outer.is_class:
                return ".".join(d.name for d in around[: i + 1])
        return ".".join([*(d.name for d in around), definition.name])

    def _add(self, call: Call) -> None:
        self.calls.append(call)
        content = call.name == "grep" and call.arguments.get("output_mode") == "content"
        if not content and call.name != "read_file":
            return
        read = str(call.arguments.get("path", "")).removeprefix(ROOT)
        for line in call.output.splitlines():
            if match := (_CONTENT if content else _NUMBERED).match(line):
                self._see(call, match["path"] if content else read, int(match["line"]), match["text"])

    def _see(self, call: Call, path: str, number: int, text: str) -> None:
        known = self.lines.setdefault(path, {})
        if number in known:
            return
        known[number] = text
        if match := _DEFINITION.match(text):
            indent = len(match["indent"].expandtabs(8))
            is_class = match["kind"] == "class"
            self.definitions.append(Definition(path, number, match["name"], indent, is_class, call.turn))


def call_key(name: str, arguments: dict[str, Any]) -> tuple[str, str]:
    """A comparable form of a call."""
    return name, repr(sorted(arguments.items()))


def _ends_block(text: str, indent: int) -> bool:
    """Whether a line at ``indent`` or left of it starts something new (a closing bracket does not)."""
    stripped = text.strip()
    return bool(stripped) and len(text) - len(text.lstrip()) <= indent and stripped[0] not in ")]}#\"'"
