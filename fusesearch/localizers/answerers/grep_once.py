"""``grep-once``: search for the question's name and answer from the first place that defines or calls it.

A question that this answers needs no agent; mining counts it as one of no hops.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from fusesearch.localizers.answerers.wording import read_back

LINES = 12
"""Lines below a definition that are read with it."""

LITERAL = r"(?P<value>'[^']*'|\"[^\"]*\"|-?(?=\.?\d)(?:[eE][-+]|[\w.])+)"


def grep_once(text: str, files: Mapping[str, str]) -> list[str]:
    """The values of the answer; ``files`` has texts by path."""
    if (read := read_back(text)) is None:
        return []
    kind, names = read
    return _ANSWERS[kind](names, {path: files[path] for path in sorted(files) if path.endswith(".py")})


def _first(pattern: str, files: Mapping[str, str]) -> tuple[str, int, list[str]] | None:
    """Path, line (from 0) and the lines of the first file with a match."""
    compiled = re.compile(pattern, re.MULTILINE)
    for path, text in files.items():
        if match := compiled.search(text):
            return path, text.count("\n", 0, match.end()), text.split("\n")
    return None


def _definition(name: str, files: Mapping[str, str]) -> tuple[str, int, list[str]] | None:
    return _first(rf"^[ \t]*(?:async def|def|class) {re.escape(_last(name))}\b", files)


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _default(names: dict[str, str], files: Mapping[str, str]) -> list[str]:
    found = _definition(names["name"], files)
    below = "\n".join(found[2][found[1] : found[1] + LINES]) if found else ""
    match = re.search(rf"\b{re.escape(names['parameter'])}\b\s*(?::[^=]*)?=\s*{LITERAL}", below)
    return [match["value"]] if match else []


def _constant(names: dict[str, str], files: Mapping[str, str]) -> list[str]:
    found = _definition(names["name"], files)
    if found is None:
        return []
    text = "\n".join(found[2])
    used = re.search(r"\b[A-Z][A-Z0-9_]{2,}\b", "\n".join(found[2][found[1] + 1 : found[1] + 1 + LINES]))
    match = re.search(rf"^{used[0]}\b[^=\n]*=\s*{LITERAL}", text, re.MULTILINE) if used else None
    return [match["value"]] if match else []


def _exported(names: dict[str, str], files: Mapping[str, str]) -> list[str]:
    found = _definition(names["name"], files)
    return [f"/repo/{found[0]}::{_last(names['name'])}"] if found else []


def _callers(names: dict[str, str], files: Mapping[str, str]) -> list[str]:
    found = _first(rf"^(?!\s*(?:async )?def ).*\b{re.escape(_last(names['name']))}\(", files)
    above = re.findall(r"^(?:async )?def (\w+)", "\n".join(found[2][: found[1]]), re.MULTILINE) if found else []
    return [f"/repo/{found[0]}::{above[-1]}"] if found and above else []


def _overrides(names: dict[str, str], files: Mapping[str, str]) -> list[str]:
    pattern = re.compile(rf"^class (\w+)\([^)]*\b{re.escape(_last(names['name']))}\b", re.MULTILINE)
    return [f"/repo/{path}::{name}" for path, text in files.items() for name in pattern.findall(text)]


def _inherited(names: dict[str, str], files: Mapping[str, str]) -> list[str]:
    found = _first(rf"^\s+def {re.escape(names['method'])}\b", files)
    above = re.findall(r"^class (\w+)", "\n".join(found[2][: found[1]]), re.MULTILINE) if found else []
    return [f"/repo/{found[0]}::{above[-1]}.{names['method']}"] if found and above else []


def _raises(names: dict[str, str], files: Mapping[str, str]) -> list[str]:
    called = re.findall(r"(\w+)\(", names["code"].strip().split("\n")[-1])
    found = _definition(called[0], files) if called else None
    if found is None:
        return []
    match = re.search(r"\braise (?:\w+\.)*(\w+)", "\n".join(found[2][found[1] :]))
    return [match[1], f"/repo/{found[0]}::{called[0]}"] if match else []


_ANSWERS: dict[str, Callable[[dict[str, str], Mapping[str, str]], list[str]]] = {
    "default": _default, "constant": _constant, "exported": _exported, "callers": _callers,
    "overrides": _overrides, "inherited": _inherited, "raises": _raises,
}  # fmt: skip
