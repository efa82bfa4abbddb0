"""The functions and code lines of a file before and after a patch."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from fusesearch.code.functions import code_lines, function_spans, parse, spans_in_tree, unclosed_lines
from fusesearch.code.reader import reader_of
from fusesearch.code.spans import FunctionSpan, is_python

KEPT_FILES = 32
"""Most outlines to cache."""
KEPT_CHARS = 300_000
"""Longest file to cache."""


@dataclass(frozen=True)
class Side:
    """Functions in order of their first line, all lines without comments and trailing blanks, and the first and last line of each
    part that could not be parsed."""

    spans: list[FunctionSpan]
    code: list[str]
    unread: list[tuple[int, int]] = field(default_factory=list)

    def text(self, span: FunctionSpan) -> str:
        """The code of a function without blank lines."""
        return "\n".join(filter(None, self.code[span.start - 1 : span.end]))


def both_sides(old_path: str, new_path: str, old: list[str], new: list[str]) -> tuple[Side, Side]:
    """Both sides of a file, read in the same way so that their texts can be compared. Lines come without line endings."""
    sources = ["\n".join(lines) for lines in (old, new)]
    if is_python(old_path) and is_python(new_path):
        return _of_python(*sources)
    text = sources[0] or sources[1]  # one side decides between C and C++ for both
    return _side(old_path, sources[0], text), _side(new_path, sources[1], text)


def _of_python(*sources: str) -> tuple[Side, Side]:
    before, after = (_parsed(source) if len(source) <= KEPT_CHARS else _parsed.__wrapped__(source) for source in sources)
    if before is None or after is None:
        before, after = (
            Side(function_spans(source, by_indentation=True), code_lines(source), unclosed_lines(source)) for source in sources
        )
    return before, after


@lru_cache(KEPT_FILES)
def _parsed(source: str) -> Side | None:
    """The side of a file that parses. Cached, because many patches may touch one file."""
    tree = parse(source)
    return Side(spans_in_tree(tree, source), code_lines(source)) if tree else None


def _side(path: str, source: str, text: str) -> Side:
    if is_python(path):
        return Side(function_spans(source), code_lines(source))
    reader = reader_of(path, text) if source else None
    syntax = reader.syntax(source) if reader else None
    lines = source.split("\n")
    if syntax is None:
        return Side([], lines, [(1, len(lines))] if reader else [])
    return Side(syntax.spans, syntax.code, syntax.unread)
