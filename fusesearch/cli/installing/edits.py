"""Three edits of a user's file: a server in JSON or in TOML, and a marked block in a text.

``put`` adds ours and ``take`` removes it. All other bytes stay as they are, and ``take`` after ``put`` gives the first text
again; None stands for a file that does not exist. Both raise :class:`DataError` for a file that they cannot read or change.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Protocol

from fusesearch.cli.installing import jsonc
from fusesearch.core.errors import DataError

NAME = "fusesearch"
BEGIN, END = "<!-- fusesearch: begin -->", "<!-- fusesearch: end -->"


class OtherEntry(Exception):
    """The file already has an entry of our name with other content; the text says whose."""

    def __init__(self, found: Any) -> None:
        super().__init__("it has other options; --undo takes it out" if _ours(found) else "it starts another program")


class Edit(Protocol):
    """A change of one file that can be taken back."""

    @property
    def shown(self) -> str:
        """What the edit adds, for people."""
        ...

    def put(self, text: str | None) -> str:
        """The text with our part; the same text if it is there. Raises :class:`OtherEntry`."""
        ...

    def take(self, text: str) -> str | None:
        """The text without our part; None if nothing else was ever in it."""
        ...


@dataclass(frozen=True)
class JsonServer:
    """``entry`` as the member ``fusesearch`` of the object ``section``, in JSON with comments and trailing commas."""

    section: str
    entry: Mapping[str, Any]

    @property
    def shown(self) -> str:
        """The member on one line."""
        return f'"{NAME}": {json.dumps(self.entry, ensure_ascii=False)}'

    def put(self, text: str | None) -> str:
        """Insert the member first in the section, and the section first in the file."""
        if text is None or not text.strip("\ufeff \t\r\n"):
            return f"{text or ''}{json.dumps({self.section: {NAME: self.entry}}, indent=2, ensure_ascii=False)}\n"
        document = jsonc.Document(text)
        section = document.root.get(self.section)
        if section is None:
            return document.inserted(document.root, self.section, {NAME: self.entry})
        if not isinstance(section, jsonc.Object):
            raise DataError(f"`{self.section}` is not an object")
        if NAME not in section:
            return document.inserted(section, NAME, self.entry)
        if not _has(found := document.value(section[NAME]), self.entry):
            raise OtherEntry(found)
        return text

    def take(self, text: str) -> str | None:
        """Remove the member, and the section if ``put`` made it."""
        if text == self.put(None):
            return None
        document = jsonc.Document(text)
        section = document.root.get(self.section)
        if not isinstance(section, jsonc.Object) or NAME not in section or not _ours(document.value(section[NAME])):
            return text
        rest = document.without(section, NAME)
        whole = document.without(document.root, self.section)
        return whole if len(section) == 1 and self.put(whole) == text else rest


@dataclass(frozen=True)
class TomlServer:
    """``entry`` as the table ``[SECTION.fusesearch]`` at the end of a TOML file."""

    section: str
    entry: Mapping[str, Any]

    @property
    def shown(self) -> str:
        """The table."""
        rows = (f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in self.entry.items())
        return "\n".join([f"[{self.section}.{NAME}]", *rows])

    def put(self, text: str | None) -> str:
        """Append the table."""
        known = _toml(text or "").get(self.section, {})
        if isinstance(known, dict) and NAME in known:
            if not _has(known[NAME], self.entry):
                raise OtherEntry(known[NAME])
            return text or ""
        new = _appended(text, self.shown)
        try:
            tomllib.loads(new.removeprefix("\ufeff"))
        except tomllib.TOMLDecodeError:
            raise DataError(f"`{self.section}` is written in a way that no table can be added to") from None
        return new

    def take(self, text: str) -> str | None:
        """Remove the table and its sub-tables, with the blank line before each."""
        if text == self.put(None):
            return None
        data = _toml(text)
        known = data.get(self.section)
        if not isinstance(known, dict) or not _ours(known.get(NAME)):
            return text
        rest = "".join(self._lines_without(text))
        others = {key: value for key, value in known.items() if key != NAME}
        try:
            left = {self.section: {}} | _toml(rest)
        except DataError:
            left = {}
        if left != data | {self.section: others}:
            raise DataError(f"the table [{self.section}.{NAME}] cannot be told from its neighbours, so remove it by hand")
        short = rest.removesuffix("\n").removesuffix("\r")
        return short if self.put(short) == text else rest

    def _lines_without(self, text: str) -> Iterator[str]:
        """Lines outside the table. Comments and blank lines after its last key belong to what follows."""
        kept: list[str] = []
        loose: list[str] = []
        inside = False
        for line in text.splitlines(keepends=True):
            if (header := _header(line)) is not None:
                kept += loose
                loose, inside = [], header[:2] == [self.section, NAME]
                if inside and kept and not kept[-1].strip():
                    kept.pop()
            if not inside:
                kept.append(line)
            elif not line.strip() or line.lstrip().startswith("#"):
                loose.append(line)
            else:
                loose = []
        return iter(kept + loose)


@dataclass(frozen=True)
class Block:
    """``text`` between two marks at the end of a file, after ``header`` if the file is new."""

    text: str
    header: str = ""

    @property
    def shown(self) -> str:
        """The text."""
        return self.text

    @property
    def _marked(self) -> str:
        return f"{BEGIN}\n{self.text}\n{END}"

    def put(self, text: str | None) -> str:
        """Append the block, or renew it in its place."""
        if text is None:
            return f"{self.header}{self._marked}\n"
        start, end = _span(text)
        if start < 0:
            return _appended(text, self._marked)
        return text[:start] + self._marked.replace("\n", _newline(text)) + text[end:]

    def take(self, text: str) -> str | None:
        """Remove the block with the blank line before it."""
        start, end = _span(text)
        if text == self.put(None) or start < 0:
            return None if start >= 0 else text
        newline = _newline(text)
        before, after = text[:start].removesuffix(newline), text[end:]
        return before + after.removeprefix(newline) if after else before.removesuffix(newline)


def _appended(text: str | None, part: str) -> str:
    """``part`` after a blank line. A text without an end of its last line gets none, so that it can be restored."""
    if text is None:
        return f"{part}\n"
    newline = _newline(text)
    part = part.replace("\n", newline)
    if text.endswith("\n"):
        return f"{text}{newline}{part}{newline}"
    return f"{text}{newline * 2}{part}" if text else part


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _span(text: str) -> tuple[int, int]:
    """Where the marked block begins and ends; -1 if there is none."""
    start, end = text.find(BEGIN), text.find(END)
    if (start < 0) != (end < 0) or end < start or text.count(BEGIN) > 1:
        raise DataError(f"the marks `{BEGIN}` and `{END}` do not belong together: remove them by hand")
    return start, end + len(END)


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise DataError(f"not valid TOML ({error})") from None


def _header(line: str) -> list[str] | None:
    """Keys of a table's header."""
    if not re.match(r"\s*\[", line):
        return None
    try:
        value: Any = tomllib.loads(line)
    except (tomllib.TOMLDecodeError, RecursionError):
        return None
    keys = []
    while isinstance(value, dict) and value:
        key, value = next(iter(value.items()))
        keys.append(key)
    return keys


def _has(found: Any, entry: Mapping[str, Any]) -> bool:
    """Whether an entry is ours, with what the agent itself may have added."""
    return isinstance(found, dict) and all(found.get(key) == value for key, value in entry.items())


def _ours(found: Any) -> bool:
    """Whether an entry starts this program."""
    command = found.get("command") if isinstance(found, dict) else None
    arguments = found.get("args") if isinstance(found, dict) else None
    return isinstance(command, str) and (
        PurePath(command).name == NAME or (isinstance(arguments, list) and arguments[:3] == ["-P", "-m", NAME])
    )
