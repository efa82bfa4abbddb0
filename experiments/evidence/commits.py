"""Fixes in public histories: commits whose message describes a bug, as weak issues written after the fix."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from fusesearch.core.errors import DataError
from fusesearch.core.schema import Instance
from fusesearch.core.text import flat_name
from fusesearch.data.repositories import git_dir_of
from fusesearch.data.sources import history
from fusesearch.data.truth import truth_in_git
from fusesearch.evaluation.protocols import code_of
from fusesearch.search.git import Git

_BUG = re.compile(r"\b(?:fix(?:e[sd])?|bugs?|crash\w*|regress\w*|incorrect\w*|wrong\w*|rais\w+|broken|fail\w*)\b", re.IGNORECASE)
_NOISE = re.compile(
    r"\b(?:typos?|docs?|documentation|tests?|lint|mypy|flake8|spelling|changelog|CI|release|merge)\b", re.IGNORECASE
)
_TRAILER = re.compile(r"^[A-Z][\w-]*-by: .*$|^Change-Id: .*$|^\(cherry picked .*$|^Backport of .*$", re.MULTILINE)
NEWEST = 4000
LEAST_CHARS, MOST_FILES = 40, 3
"""A message of fewer characters says too little; a change of more files of code is rarely one fix."""


def fixes(repo: str, repos: Path, count: int) -> list[Instance]:
    """``count`` fixes of a clone below ``repos``, spread evenly over its newest :data:`NEWEST` commits, with their truth.

    The text is the message without trailers; the base is the commit before. A fix modifies one to three files of code and
    at least one function.
    """
    git_dir = Git(git_dir_of(repo, repos)).git_dir
    newest = history.log(git_dir, "--no-merges", f"--max-count={NEWEST}", "HEAD", "--")
    named = [commit for commit in newest if _describes_a_bug(commit)]
    spread = sorted(range(len(named)), key=lambda place: (place * 0.6180339887498949) % 1.0)
    return list(islice(_instances(repo, git_dir, [named[place] for place in spread]), count))


def _describes_a_bug(commit: history.Commit) -> bool:
    title = commit.message.partition("\n")[0]
    return (
        len(commit.parents) == 1 and bool(_BUG.search(title)) and not _NOISE.search(title) and len(_text(commit)) >= LEAST_CHARS
    )


def _text(commit: history.Commit) -> str:
    return _TRAILER.sub("", commit.message).strip()


def _instances(repo: str, git_dir: Path, commits: list[history.Commit]) -> Iterator[Instance]:
    for start in range(0, len(commits), 50):
        part = commits[start : start + 50]
        patches = history.patches(git_dir, [(commit.parents[0], commit.id) for commit in part])
        for commit in part:
            patch = patches.get((commit.parents[0], commit.id), ("", ""))[0]
            row = Instance(
                instance_id=f"{flat_name(repo)}-{commit.id[:12]}", repo=repo, base_commit=commit.parents[0],
                problem_statement=_text(commit), patch=patch, provenance={"source": "git", "text": "commit message"},
            )  # fmt: skip
            try:
                truth = code_of(truth_in_git(git_dir, row.base_commit, patch))
            except DataError:
                continue
            if 1 <= len(truth.files) <= MOST_FILES and truth.functions:
                yield row.model_copy(update={"truth": truth})
