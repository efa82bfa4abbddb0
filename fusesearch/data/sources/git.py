"""The source ``git``: pairs from local clones, for teams whose code must not leave the machine.

With a JSONL dump of issues, a pair is a commit on the first-parent history of a branch that closes one of them: a squash, a
rebased commit or a merge, whose message, or that of a merged commit, names the issue. Of a repository without a dump, a pair is
a commit of the whole history, no merge and not a robot's, whose message tells of a fault (:mod:`.messages`); it is the text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from fusesearch.core.config import GitSource
from fusesearch.core.errors import ConfigError, DataError, RepositoryError
from fusesearch.core.schema import Instance
from fusesearch.core.storage import Progress
from fusesearch.core.text import flat_name
from fusesearch.data.provenance import read_provenance
from fusesearch.data.sources import history
from fusesearch.data.sources.base import REPOSITORY, Mined, moment
from fusesearch.data.sources.history import Commit
from fusesearch.data.sources.links import closing_links, pull_number
from fusesearch.data.sources.messages import said, tells_of_a_fault
from fusesearch.data.swe_bench import read_rows
from fusesearch.search.clones import clone_bare
from fusesearch.search.git import Git

DROPS = {
    "no_fault": "the message does not say what was wrong",
    "bot": "a robot wrote it",
    "no_issue": "its message closes no issue",
    "issue_unknown": "the issue it closes is in no dump",
    "issue_younger": "the issue was opened after the commit",
    "no_change": "it changes no file",
    "unreadable": "the clone lacks one of its files",
    "large_patch": f"its diff is longer than {history.MAX_PATCH_BYTES:,} bytes",
}
"""Why a commit does not become a raw pair."""

AT_ONCE = 200


@dataclass(frozen=True)
class LocalIssue:
    """An issue from a dump."""

    title: str
    body: str
    created: datetime | None = None

    @property
    def text(self) -> str:
        """Title and body."""
        return f"{self.title}\n\n{self.body}".replace("\r\n", "\n").strip()


@dataclass
class _Found:
    """A commit that may become a pair; ``texts`` are its issues."""

    commit: Commit
    numbers: list[int]
    texts: list[LocalIssue]
    message: str = ""

    @property
    def text(self) -> str:
        """The issues, or without any the commit's message."""
        return "\n\n".join(issue.text for issue in self.texts) or self.message


@dataclass
class LocalGit:
    """Mines local clones. Sends and fetches nothing, and only reads the clones."""

    config: GitSource
    since: date | None = None
    _drops: Counter[str] = field(default_factory=Counter)

    def mine(self, repos_dir: Path, progress: Progress) -> Mined:
        """See :class:`~fusesearch.data.sources.base.Source`.

        Raises :class:`ConfigError` if the params name no clone, :class:`DataError` for a clone that gives no pair.
        """
        clones = [named_clone(text) for text in self.config.repositories]
        if not clones:
            raise ConfigError("mine.git: name clones under mine.git.repositories")
        if len({repo.casefold() for repo, _ in clones}) < len(clones):
            raise ConfigError("mine.git: two clones have the same owner/name: write owner/name=folder")
        dumps = read_dumps(self.config.issues, {repo for repo, _ in clones})
        repos_dir.mkdir(parents=True, exist_ok=True)
        rows: list[Instance] = []
        table = []
        for number, (repo, folder) in enumerate(clones, 1):
            drops = Counter(self._drops)
            try:
                found = self._repository(repo, Git(folder).git_dir, dumps.get(repo, {}))
                if found:
                    clone_bare(Git(folder).git_dir, repos_dir / f"{flat_name(repo)}.git")
            except RepositoryError as error:
                raise DataError(f"mine: not one pair from {repo}: {error}") from None
            if not found:
                reasons = ", ".join(f"{count} commits: {DROPS[reason]}" for reason, count in (self._drops - drops).most_common(3))
                raise DataError(f"mine: not one pair from {repo}: {reasons or 'no commits'}")
            rows += found
            table.append({"repo": repo, "pairs": len(found), "new": len(found)})
            progress(number, len(clones))
        return Mined(rows, {"repositories": table, "dropped": {reason: self._drops[reason] for reason in DROPS}, "skipped": {}})

    def _repository(self, repo: str, git_dir: Path, issues: dict[int, LocalIssue]) -> list[Instance]:
        tip = history.resolve(git_dir, ["HEAD"]).get("HEAD")
        if tip is None:
            raise RepositoryError(f"{git_dir} has no commit checked out")
        since = [f"--since={self.since.isoformat()}T00:00:00Z"] if self.since else []
        which = "--first-parent" if issues else "--no-merges"
        line = [commit for commit in history.log(git_dir, which, *since, tip, "--") if commit.parents]
        looked = (self._look(repo, git_dir, commit, issues) if issues else self._read(repo, commit) for commit in line)
        wanted = [*islice(filter(None, looked), self.config.newest)]
        rows: list[Instance] = []
        for start in range(0, len(wanted), AT_ONCE):
            rows += self._pairs(repo, git_dir, wanted[start : start + AT_ONCE])
        return rows

    def _read(self, repo: str, commit: Commit) -> _Found | None:
        """A commit whose message stands for an issue."""
        robot = read_provenance(repo, {"author": commit.author.rpartition(" <")[0]}).bot
        if robot or not tells_of_a_fault(commit):
            self._drops["bot" if robot else "no_fault"] += 1
            return None
        return _Found(commit, [], [], said(commit))

    def _look(self, repo: str, git_dir: Path, commit: Commit, issues: dict[int, LocalIssue]) -> _Found | None:
        merged = history.log(git_dir, *commit.parents[1:], f"^{commit.parents[0]}", "--") if len(commit.parents) > 1 else []
        messages = [commit.message, *(inner.message for inner in merged)]
        own = pull_number(commit.message.partition("\n")[0])
        numbers = list(dict.fromkeys(n for text in messages for n in closing_links(text, repo) if n != own))
        known = [issues[number] for number in numbers if number in issues]
        texts = [text for text in known if text.created is None or text.created <= commit.committed]
        if not texts:
            self._drops["issue_younger" if known else "issue_unknown" if numbers else "no_issue"] += 1
            return None
        return _Found(commit, numbers, texts)

    def _pairs(self, repo: str, git_dir: Path, wanted: list[_Found]) -> Iterator[Instance]:
        pairs = [(found.commit.parents[0], found.commit.id) for found in wanted]
        try:
            changed, patches = history.changes(git_dir, pairs), history.patches(git_dir, pairs)
        except RepositoryError:  # a copy can lack a file; git names no commit, so half of them are tried alone
            middle = len(wanted) // 2
            self._drops["unreadable"] += not middle
            for part in (wanted[:middle], wanted[middle:]) if middle else ():
                yield from self._pairs(repo, git_dir, part)
            return
        for found, pair in zip(wanted, pairs, strict=True):
            if not changed.get(pair):
                self._drops["no_change"] += 1
            elif pair not in patches:
                self._drops["large_patch"] += 1
            else:
                yield _instance(repo, found, patches[pair])


def named_clone(text: str) -> tuple[str, Path]:
    """Name and folder of a clone: ``owner/name=folder``, or a folder whose last two parts are the name."""
    name, separator, folder = text.rpartition("=")
    path = Path(folder).expanduser()
    if not separator:
        parts = path.resolve().parts
        owner, last = (parts[-2] if len(parts) > 2 else "local"), path.resolve().name.removesuffix(".git")
        name = f"{re.sub(r'[^A-Za-z0-9-]+', '-', owner).strip('-') or 'local'}/{last}"
    if not REPOSITORY.fullmatch(name):
        raise ConfigError(f"mine.git.repositories: {name!r} is not a repository name: write owner/name=folder")
    return name, path


def read_dumps(paths: Iterable[Path], repos: set[str]) -> dict[str, dict[int, LocalIssue]]:
    """Issues by repository and number. A dump without ``repo`` belongs to the only repository.

    Rows are issues as GitHub's and GitLab's REST give them: ``number`` (or ``iid``), ``title``, ``body`` (or
    ``description``) and ``created_at``. Raises :class:`DataError` with file and row for anything else.
    """
    known = {repo.casefold(): repo for repo in repos}
    found: dict[str, dict[int, LocalIssue]] = {}
    for path in paths:
        for row_number, row in enumerate(read_rows(path), 1):
            repo = row.get("repo") or (next(iter(repos)) if len(repos) == 1 else None)
            number = row.get("number", row.get("iid"))
            if not isinstance(repo, str) or not isinstance(number, int):
                lacks = "" if repo else ", and repo where there are several clones"
                raise DataError(f"{path}: row {row_number}: an issue needs a number{lacks}")
            if repo.casefold() in known and not row.get("pull_request"):
                found.setdefault(known[repo.casefold()], {})[number] = _issue(row)
    return found


def _issue(row: dict[str, Any]) -> LocalIssue:
    body = str(row.get("body") or row.get("description") or "")
    return LocalIssue(str(row.get("title") or ""), body, moment(row.get("created_at")))


def _instance(repo: str, found: _Found, patches: tuple[str, str]) -> Instance:
    commit = found.commit
    number = pull_number(commit.message.partition("\n")[0])
    provenance = {
        "source": "git", "issues": found.numbers, "text": "issue" if found.texts else "commit message", "pull": number,
        "merge_commit": commit.id, "merged_at": commit.committed.isoformat(), "author": commit.author,
        "bot": "[bot]" in commit.author,
    }  # fmt: skip
    return Instance(
        instance_id=f"{flat_name(repo)}-{commit.id[:12]}",
        repo=repo,
        base_commit=commit.parents[0],
        problem_statement=found.text,
        patch=patches[0],
        provenance=provenance,
        test_patch=patches[1],
        created_at=commit.authored.isoformat(),
    )
