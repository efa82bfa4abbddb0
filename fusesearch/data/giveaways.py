"""What an issue gives away about its fix: a link to it, its lines, or the names of what it modifies."""

from __future__ import annotations

import re

from fusesearch.core.schema import Truth
from fusesearch.data.provenance import Provenance
from fusesearch.data.similarity import changed_lines

MIN_LINE_CHARS = 12
SHARE_OF_LINES = 0.5
_SHA = re.compile(r"\b[0-9a-f]{7,64}\b")
_NAME = r"([\w.-]{1,100}/[\w.-]{1,100})"
_PULL = re.compile(
    rf"(?:{_NAME}/(?:pull|issues|merge_requests)/|{_NAME}#|(?<![\w/&])(?:#|gh-|pr\s{{1,3}}#?|pull request\s{{1,3}}#?))"
    r"(\d{1,9})\b"
)
_MARKS = " \t>+-|"


def links_fix(issue: str, repo: str, known: Provenance) -> bool:
    """Whether the issue names the pull request or the commit of its fix, as far as these are known."""
    text, repo, commit = issue.casefold(), repo.casefold(), known.merge_commit
    if known.pull is not None and str(known.pull) in text:
        for one, other, number in _PULL.findall(text):
            if int(number) == known.pull and (one or other or repo) == repo:
                return True
    return bool(commit) and commit[:7] in issue and any(commit.startswith(sha) for sha in _SHA.findall(issue))


def shows_fix(issue: str, patch: str) -> bool:
    """Whether the issue contains at least half of the lines that the patch adds, not counting very short ones."""
    added = {line[1:] for line in changed_lines(patch) if line[0] == "+" and len(line) > MIN_LINE_CHARS}
    if not added:
        return False
    lines = {" ".join(line.strip(_MARKS).split()) for line in issue.splitlines()}
    return sum(line in lines for line in added) >= SHARE_OF_LINES * len(added)


def leaks(issue: str, truth: Truth) -> list[str]:
    """Whether the issue names a modified ``file`` or ``function``."""
    words = set(re.findall(r"\w+", issue))
    functions = {entity.partition("::")[2].rpartition(".")[2] for entity in truth.functions}
    marked = (name for name in functions if not re.fullmatch(r"\w+", name) and re.search(r"\w", name))
    found = any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", issue) for name in marked)
    named = {"file": any(path in issue for path in truth.files), "function": bool(functions & words) or found}
    return [kind for kind, found in named.items() if found]
