"""Tests in the file that they test, Rust's and Zig's, by the form of their lines: as files of tests, they are not searched."""

from __future__ import annotations

import re

_HEADS = {  # how the line of a test begins, after its margin
    ".rs": re.compile(r"([ \t]*)#\[(?:cfg\((?:all\()?test\b|(?:\w+::)*(?:test|rstest|test_case)\b)[^\]]*\]?"),
    ".zig": re.compile(r"()test\b"),
}
_BETWEEN = re.compile(r"[ \t]*(?:#\[|//|$)")


def without_tests(source: str, path: str) -> str:
    """A source with empty lines in the place of its tests: modules, functions and other items with a block."""
    head = _HEADS.get(path[path.rfind(".") :])
    if head is None:
        return source
    kept, end, opened = [], "", False  # how the last line of a test begins, and whether its block has
    for line in source.split("\n"):
        match = None if end else head.match(line)
        kept.append("" if end or match else line)
        if match:
            end, opened, line = f"{match[1]}}}", False, line[match.end() :]
        elif opened and line.startswith(end):
            end = ""
        if end and not opened and not _BETWEEN.match(line):
            opened = "{" in line
            if line.rstrip().endswith("}" if opened else ";"):
                end = ""
    return "\n".join(kept)
