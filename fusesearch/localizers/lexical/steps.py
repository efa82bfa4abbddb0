"""Tool calls of the lexical policies, always in the same short form."""

from __future__ import annotations

from typing import Any

from fusesearch.localizers.lexical.evidence import ROOT, Definition

Step = tuple[str, dict[str, Any]]


def find_definitions(names: list[str], group: int) -> list[Step]:
    """Find where names are defined, ``group`` names per call."""
    batches = ["|".join(names[i : i + group]) for i in range(0, len(names), group)]
    return [grep(rf"(def|class) ({batch})\b" if "|" in batch else rf"(def|class) {batch}\b") for batch in batches]


def find_callers(definition: Definition, everywhere: bool = False) -> Step:
    """Find calls of a function in its own file, or in all files."""
    return grep(rf"\b{definition.name}\(", None if everywhere else definition.path)


def find_file(path: str) -> Step:
    """Find a file that the issue names."""
    return "glob", {"pattern": "**/" + "/".join(path.strip("/").split("/")[-2:])}


def count(pattern: str) -> Step:
    """Count the matches of a pattern in each Python file."""
    return "grep", {"pattern": pattern, "glob": "*.py", "output_mode": "count"}


def grep(pattern: str, path: str | None = None) -> Step:
    """Find matching lines, in one file if ``path`` is given."""
    where = {"path": ROOT + path} if path else {}
    return "grep", {"pattern": pattern, **where, "output_mode": "content"}


def read(path: str, start: int, end: int | None = None) -> Step:
    """Read lines from ``start`` to ``end``, or as many as the tool returns by default."""
    last = {} if end is None else {"end_line": end}
    return "read_file", {"path": ROOT + path, "start_line": start, **last}
