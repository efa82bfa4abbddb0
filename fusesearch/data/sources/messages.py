"""Commit messages in the place of issues: which of them tell of something that was wrong, and what they say."""

from __future__ import annotations

import re

from fusesearch.data.sources.history import Commit

LEAST_CHARS = 40
"""A shorter message says too little."""
_FAULT = re.compile(
    r"\b(?:fix(?:e[sd])?|bugs?|crash\w*|regress\w*|incorrect\w*|wrong\w*|rais\w+|broken|fail\w*)\b", re.IGNORECASE
)
_NOISE = re.compile(
    r"\b(?:typos?|docs?|documentation|tests?|lint|mypy|flake8|spelling|changelog|CI|release|merge|revert\w*)\b", re.IGNORECASE
)
_TRAILER = re.compile(r"^[A-Z][\w-]*-by: .*$|^Change-Id: .*$|^\(cherry picked .*$|^Backport of .*$", re.MULTILINE)
_PULL = re.compile(r"\A(.*\S)[ \t]*\((?:#|GH-)\d+\)[ \t]*$", re.MULTILINE)


def tells_of_a_fault(commit: Commit) -> bool:
    """Whether it has one parent, names a fault, says enough, and has a title about code."""
    text = said(commit)
    about_code = not _NOISE.search(text.partition("\n")[0])
    return len(commit.parents) == 1 and len(text) >= LEAST_CHARS and about_code and bool(_FAULT.search(text))


def said(commit: Commit) -> str:
    """The message without trailers, and without the pull request's number that GitHub puts behind a title."""
    return _PULL.sub(r"\1", _TRAILER.sub("", commit.message).strip(), count=1)
