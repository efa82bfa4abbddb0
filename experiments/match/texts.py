"""Texts that stand for an issue, a function and a file: the same in training and in scoring."""

from __future__ import annotations

import re

BODY_CHARS, COMMENT_CHARS, NAMES_CHARS, ISSUE_CHARS = 1000, 160, 600, 1600
_COMMENT = re.compile(r"\s*(?:#![^\n]*\n\s*)?(?:'''|\"\"\"|/\*\*?|#|//)(.{0,240})", re.DOTALL)
_FENCED = re.compile(r"```.*?```", re.DOTALL)
_LICENCE = re.compile(r"copyright|licen[cs]e|spdx|all rights", re.IGNORECASE)
_HIDDEN = re.compile(r"<!--.*?-->", re.DOTALL)


def function_text(path: str, name: str, source_lines: list[str], start: int, end: int) -> str:
    """``path::name`` and the first characters of lines ``start`` to ``end`` (from 1) without their common indentation."""
    lines = source_lines[start - 1 : end]
    indent = min((len(line) - len(line.lstrip()) for line in lines[:1] if line.strip()), default=0)
    body = "\n".join(line[indent:].rstrip() if line[:indent].isspace() or not indent else line.rstrip() for line in lines if line.strip())
    return f"{path}::{name}\n{body[:BODY_CHARS]}"


def file_text(path: str, source: str, names: list[str]) -> str:
    """Path, first comment unless it is a licence, and the names of the file's functions."""
    comment = _COMMENT.match(source)
    said = " ".join((comment[1] if comment else "").split())[:COMMENT_CHARS]
    said = "" if _LICENCE.search(said) else said
    return f"{path}\n{said}\n{' '.join(dict.fromkeys(names))[:NAMES_CHARS]}"


def issue_text(text: str) -> str:
    """Title and prose first, then the first lines of fenced blocks, within ``ISSUE_CHARS``."""
    title, _, rest = text.replace("\r\n", "\n").partition("\n")
    rest = _HIDDEN.sub("", rest[: 40 * ISSUE_CHARS])
    prose = re.sub(r"\n\s*\n+", "\n", _FENCED.sub("\n", rest)).strip()
    blocks = "\n".join(block.strip("`\n ") for block in _FENCED.findall(rest))
    prose = prose[:900] if blocks else prose
    return f"{title.strip()[:300]}\n{prose}\n{blocks}".strip()[:ISSUE_CHARS]
