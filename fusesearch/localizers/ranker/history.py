"""Earlier commits of a repository: how recently and how often each file changed, and with which words.

Commits never change, so each is read once and kept in the index. Merges and commits of many files say little and do not count.
A work tree of another repository and a clone that shares another's objects have the history of that one. There is none without
git, if git fails, and if ``.git`` leads elsewhere (:func:`_leads_out`); :class:`Progress` of the index says why.
"""

from __future__ import annotations

import json
import math
import os
import re
import stat
import subprocess
import time
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile

from fusesearch.core.errors import OptionError
from fusesearch.core.stopping import check
from fusesearch.localizers.ranker.facts import IDENTIFIER, term, words_of
from fusesearch.localizers.ranker.index import Index
from fusesearch.search.git import ID, git_command, reading_environment
from fusesearch.search.repository import Repository

MAX_COMMITS = 3000
MAX_FILES = 20
"""Commits of more files do not count."""

MAX_MESSAGE_CHARS = 600
SECONDS = 20.0
_MAX_LINE_BYTES = 4096
_PATIENCE = 0.2  # seconds until it is asked again whether anybody waits
_INCLUDE = re.compile(rb"^\s*\[include", re.IGNORECASE | re.MULTILINE)
_DATE = re.compile(r"\d{4}-\d\d-\d\d|\d{1,4} (?:minute|hour|day|week|month|year)s?")
_REVISION = re.compile(r"(?!.*\.\.)[\w@][\w@./{}~^+-]*")
_FORMAT = "--format=%x01%H%x02%B%x03"


@dataclass(frozen=True)
class Commit:
    """A commit: its id, the terms of its message and the files it changed."""

    id: str
    words: array[int]
    files: list[str]


@dataclass
class History:
    """Columns of files by path, and for each file the commit with the most similar message."""

    recent: dict[str, float] = field(default_factory=dict)
    often: dict[str, float] = field(default_factory=dict)
    words: dict[str, float] = field(default_factory=dict)
    similar: dict[str, str] = field(default_factory=dict)


def history_of(index: Index, words: Mapping[str, float]) -> History | None:
    """What the commits before the snapshot say about an issue with these words; None without any."""
    commits = [commit for commit in commits_of(index) if len(commit.files) <= MAX_FILES]
    if not commits:
        return None
    wanted = {term(word): weight for word, weight in words.items()}
    shared_by = [sorted(wanted.keys() & commit.words) for commit in commits]
    having = Counter(word for words in shared_by for word in words)
    idf = {word: weight * math.log(1 + len(commits) / (1 + having[word])) for word, weight in wanted.items()}
    history = History()
    changes = Counter(path for commit in commits for path in commit.files)
    best: dict[str, float] = defaultdict(float)
    for age, (commit, both) in enumerate(zip(commits, shared_by, strict=True)):
        likeness = sum(idf[word] for word in both) / math.sqrt(10 + len(commit.words))
        recent = 1 / (1 + age / 20)
        for path in commit.files:
            history.recent.setdefault(path, recent)
        share = likeness**2 / math.sqrt(len(commit.files) or 1)
        for path in commit.files if likeness else ():
            history.words[path] = history.words.get(path, 0.0) + share
            if likeness > best[path]:
                best[path] = likeness
                history.similar[path] = commit.id[:10]
    top = math.log1p(max(changes.values(), default=1)), max(history.words.values(), default=1.0)
    history.often = {path: math.log1p(count) / top[0] for path, count in changes.items()}
    history.words = {path: value / top[1] for path, value in history.words.items()}
    return history


def commits_of(index: Index) -> list[Commit]:
    """Commits before the snapshot, newest first."""
    index.progress.no_history, ids = _ids(index.repository)
    found = _commits(index.commits(ids))
    missing = [commit for commit in ids if found.get(commit) is None]
    if missing:
        fresh = {commit: json.dumps([words, files]) for commit, words, files in _read(index.repository, missing)}
        index.keep_commits(fresh)
        found |= _commits(fresh)
    return [commit for id in ids if (commit := found.get(id))]


def _commits(rows: Mapping[str, str]) -> dict[str, Commit | None]:
    """Commits as the index keeps them, by their ids; None for those that are damaged."""
    try:
        contents = json.loads(f"[{','.join(rows.values())}]")  # at once, in half the time
        return {id: Commit(id, array("I", words), [*map(str, files)]) for id, (words, files) in zip(rows, contents, strict=True)}
    except (ValueError, TypeError, OverflowError):
        return dict.fromkeys(rows) if len(rows) == 1 else {id: _commits({id: row})[id] for id, row in rows.items()}


def changed_since(repository: Repository, since: str) -> set[str]:
    """The files that are not as they were in a revision, or at a date (``2024-01-31``, ``3 weeks``).

    Raises :class:`OptionError` without a history, or for what is neither. Only what is committed counts: to ask git for the rest
    would run what the tree's own settings name.
    """
    head = repository.history[1]
    if _unreadable(repository) or not _git(repository, "rev-parse", "--verify", f"{head}^{{commit}}"):
        raise OptionError("since", "there is no git history here that can be read")
    if _DATE.fullmatch(since):
        date = f"{since} 00:00" if "-" in since else f"{since} ago"
        then = _git(repository, "rev-list", "--max-count=1", f"--before={date}", head).strip()
        if not then:
            return set(repository.files())
    elif not _REVISION.fullmatch(since) or not (then := _git(repository, "rev-parse", "--verify", f"{since}^{{commit}}").strip()):
        raise OptionError("since", f"{since!r} is no revision here, and no date such as 2024-01-31 or '3 weeks'")
    return set(_git(repository, "diff-tree", "-r", "-z", "--no-renames", "--no-ext-diff", "--name-only", then, head).split("\0"))


def _unreadable(repository: Repository) -> str:
    """Why git does not read the history; empty if it does, or if there is none."""
    folder = repository.history[0]
    if folder.parent != repository.root or not os.path.lexists(folder):
        return ""
    main = _main_folder(folder)
    return "`.git` leads elsewhere, to what does not name this folder" if main is None or _leads_out(main) else ""


def _ids(repository: Repository) -> tuple[str, list[str]]:
    """Why there are no commits, if something is wrong, and their ids, newest first."""
    if (why := _unreadable(repository)) or not os.path.lexists(repository.history[0]):
        return why, []
    output = _git(repository, "rev-list", f"--max-count={MAX_COMMITS}", "--no-merges", repository.history[1])
    ids = [line for line in output.split("\n") if ID.fullmatch(line)]
    return "" if ids else "git has no commit here or cannot read it", ids


def _main_folder(git: Path) -> Path | None:
    """The git directory of a tree with this ``.git``: itself, or that of the repository which names the tree as its own."""
    if stat.S_ISDIR(_mode(git, 0)):
        return git
    try:
        own = git.parent / _line(git).removeprefix("gitdir: ")
        main = Path(os.path.realpath(own / _line(own / "commondir")))
        named = os.path.realpath(own / _line(own / "gitdir")) == os.path.realpath(git)
    except (OSError, ValueError):
        return None
    plain = all(stat.S_ISREG(_mode(own / name, stat.S_IFREG)) for name in ("HEAD", "config.worktree"))
    return main if named and plain and own.resolve().parent == main / "worktrees" else None


def _line(path: Path) -> str:
    """The only line of a small file. Raises :class:`OSError` or :class:`ValueError` for any other."""
    if not stat.S_ISREG(path.lstat().st_mode) or path.stat().st_size > _MAX_LINE_BYTES:
        raise ValueError(path)
    return path.read_text("utf-8").rstrip("\n")


def _leads_out(folder: Path) -> bool:
    """Whether git would follow a link, wait for a pipe, or read another place that a file names, other than shared objects."""
    folders = ("", "objects", "objects/info", "objects/pack", "refs", "refs/heads")
    files = ("HEAD", "config", "config.worktree", "packed-refs", "shallow")
    try:
        return (
            not all(stat.S_ISDIR(_mode(folder / part, stat.S_IFDIR)) for part in folders)
            or not all(stat.S_ISREG(_mode(folder / part, stat.S_IFREG)) for part in files)
            or (folder / "commondir").exists()
            or not _shares_well(folder / "objects")
            or any(_INCLUDE.search((folder / part).read_bytes()) for part in files[1:3] if (folder / part).exists())
        )
    except (OSError, ValueError):
        return True


def _shares_well(objects: Path, depth: int = 3) -> bool:
    """Whether all other places of objects (``git clone --shared``) are such places, of the same user."""
    listed = objects / "info/alternates"
    if not os.path.lexists(listed):
        return True
    places = [objects / line for line in _line(listed).split("\n") if line and line[0] != "#"]
    return depth > 0 and all(
        all(stat.S_ISDIR((place / part).lstat().st_mode) for part in ("", "info", "pack"))
        and place.stat().st_uid == objects.stat().st_uid
        and _shares_well(place, depth - 1)
        for place in places
    )


def _mode(path: Path, default: int) -> int:
    return path.lstat().st_mode if os.path.lexists(path) else default


def _read(repository: Repository, ids: list[str]) -> Iterator[tuple[str, list[int], list[str]]]:
    options = ("--stdin", "-r", "-z", "--root", "--no-renames", "--no-ext-diff", "--name-only", _FORMAT)
    output = _git(repository, "diff-tree", *options, given="".join(f"{id}\n" for id in ids))
    for record in output.split("\x01")[1:]:
        head, _, names = record.partition("\x03")
        commit, _, message = head.partition("\x02")
        text = message[:MAX_MESSAGE_CHARS]
        words = sorted({term(word) for name in IDENTIFIER.findall(text) for word in words_of(name)})
        yield commit, words, [name.strip("\n") for name in names.split("\0") if name.strip("\n")][: MAX_FILES + 1]


def _git(repository: Repository, *arguments: str, given: str = "") -> str:
    """Output of a git command that reads; empty if it fails."""
    command = git_command(repository.history[0], *arguments)
    deadline = time.monotonic() + SECONDS
    with TemporaryFile() as stdin:  # through a pipe, waiting in parts would lose what the first part has not written
        stdin.write(given.encode())
        stdin.seek(0)
        try:
            process = subprocess.Popen(
                command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=reading_environment()
            )
        except OSError:
            return ""
        with process:
            try:
                while time.monotonic() < deadline:
                    check()
                    with suppress(subprocess.TimeoutExpired):
                        output, _ = process.communicate(timeout=_PATIENCE)
                        return output.decode("utf-8", "replace") if process.returncode == 0 else ""
            finally:
                process.kill()
    return ""
