"""Which raw pairs become instances, and by which rule each other one was dropped (FuseSearch 3.3, ToolTrain 3.1).

Rules are tried in the order of :data:`RULES`, cheap ones first; a pair is counted under the first that drops it. Rows
stream through: memory holds one pair and 16 bytes per kept id and issue.
"""

from __future__ import annotations

import re
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from tasks.core.config import Filter
from tasks.core.errors import ConfigError, DataError, RepositoryError
from tasks.core.schema import Instance, Truth
from tasks.data.blobs import Blobs
from tasks.data.file_kinds import file_kind, is_code
from tasks.data.fingerprints import issue_digest
from tasks.data.patches import FileChange, parse_patch
from tasks.data.truth import Reader, truth_from_changes

RULES = {
    "binary_text": "a NUL or a character that is no text in id, repository, issue or patch",
    "duplicate_id": "an instance of this id was kept already",
    "short_issue": "the issue is empty or shorter than min_issue_chars",
    "long_issue": "the issue is longer than max_issue_chars",
    "large_patch": "the patch is longer than max_patch_chars",
    "malformed_patch": "the patch is empty, cut, damaged, or leads out of the repository",
    "too_many_files": "the patch touches more than max_files files",
    "only_tests": "nothing but tests is changed",
    "only_docs": "nothing but documentation is changed",
    "only_config": "nothing but configuration is changed",
    "no_code_change": "no file of code is changed",
    "duplicate_issue": "the same issue, but for case, punctuation and spacing, was kept already",
    "no_snapshot": "the repository or its base commit cannot be read",
    "does_not_apply": "the patch does not fit the files of the base commit",
    "adds_file": "the patch adds a file of code, which nobody can locate beforehand",
    "adds_function": "the patch adds a function to a file of code",
    "no_existing_function": "no function that exists at the base commit is modified in code",
    "several_files": "more than one file of code is modified (with single_file)",
}
"""Every rule with what it drops, in the order they are tried."""

REQUIRED = {"binary_text", "large_patch", "malformed_patch", "no_snapshot", "does_not_apply"}
"""Rules that cannot be skipped: without them a pair has no truth."""

ReadBlobs = Callable[[Instance], Reader]


def apply(pairs: Iterable[Instance], rules: Filter, repos_dir: Path) -> tuple[list[Instance], dict[str, int]]:
    """Kept instances with their truth, and how many pairs each rule dropped, all rules listed."""
    drops: Counter[str] = Counter()
    with Repositories(repos_dir) as repositories:
        kept = list(filter_pairs(pairs, rules, repositories.reader, drops))
    return kept, drop_table(drops)


def filter_pairs(pairs: Iterable[Instance], rules: Filter, read_blobs: ReadBlobs, drops: Counter[str]) -> Iterator[Instance]:
    """Yield the pairs no rule drops, with truth; count the others in ``drops`` under the rule's name.

    ``read_blobs`` gives, for an instance, a reader of files at its base commit. ``provenance["leaks"]`` of a kept one
    says whether its issue names a modified ``file`` or ``function``. Bad rows are drops, never errors; an unknown rule
    in ``rules.skip`` is a :class:`ConfigError`.
    """
    check_skip(rules)
    seen = _Seen()
    for pair in pairs:
        judged = _Judged(pair, rules)
        broken = next((rule for rule in _broken(judged, read_blobs, seen) if rule not in rules.skip), None)
        if broken:
            drops[broken] += 1
            continue
        seen.add(pair)
        provenance = {**pair.provenance, "leaks": leaks(pair.problem_statement, judged.truth)}
        yield pair.model_copy(update={"truth": judged.truth, "provenance": provenance})


def drop_table(drops: Counter[str]) -> dict[str, int]:
    """All rules in order with their counts, zeros included."""
    return {rule: drops[rule] for rule in RULES}


def check_skip(rules: Filter) -> None:
    """Raise :class:`ConfigError` if ``rules.skip`` names what is no rule, or one that must hold."""
    for rule in rules.skip:
        if rule not in RULES:
            raise ConfigError(f"filter.skip: there is no rule {rule!r}; the rules are {', '.join(RULES)}")
        if rule in REQUIRED:
            raise ConfigError(f"filter.skip: {rule} cannot be skipped: without it an instance has no truth")


def leaks(issue: str, truth: Truth) -> list[str]:
    """Which of ``file`` and ``function`` the issue names, of those the patch modifies."""
    words = set(re.findall(r"\w+", issue))
    functions = {entity.rpartition("::")[2].rpartition(".")[2] for entity in truth.functions}
    named = {"file": any(path in issue for path in truth.files), "function": bool(functions & words)}
    return [kind for kind, found in named.items() if found]


@dataclass
class _Judged:
    """A pair under the rules, and what has been worked out of its patch so far."""

    pair: Instance
    rules: Filter
    changes: list[FileChange] = field(default_factory=list)
    truth: Truth = field(default_factory=Truth)


@dataclass
class _Seen:
    ids: set[str] = field(default_factory=set)
    issues: set[bytes] = field(default_factory=set)

    def add(self, pair: Instance) -> None:
        self.ids.add(pair.instance_id)
        self.issues.add(issue_digest(pair.problem_statement))


def _broken(judged: _Judged, read_blobs: ReadBlobs, seen: _Seen) -> Iterator[str]:
    """Names of the rules a pair breaks, in order; the rest is worked out only if nobody stops at one."""
    yield from _broken_by_text(judged.pair, judged.rules, seen)
    yield from _broken_by_paths(judged)
    if issue_digest(judged.pair.problem_statement) in seen.issues:
        yield "duplicate_issue"
    try:
        judged.truth = truth_from_changes(judged.changes, read_blobs(judged.pair))
    except RepositoryError:
        yield "no_snapshot"
    except DataError:
        yield "does_not_apply"
    yield from _broken_by_truth(judged.truth, judged.rules)


def _broken_by_text(pair: Instance, rules: Filter, seen: _Seen) -> Iterator[str]:
    if not all(map(_is_text, (pair.instance_id, pair.repo, pair.base_commit, pair.problem_statement, pair.patch))):
        yield "binary_text"
    if pair.instance_id in seen.ids:
        yield "duplicate_id"
    length = len(pair.problem_statement.strip())
    if length < max(1, rules.min_issue_chars):
        yield "short_issue"
    if length > rules.max_issue_chars:
        yield "long_issue"
    if len(pair.patch) > rules.max_patch_chars:
        yield "large_patch"


def _broken_by_paths(judged: _Judged) -> Iterator[str]:
    try:
        judged.changes = parse_patch(judged.pair.patch)
    except DataError:
        yield "malformed_patch"
    paths = [change.new or change.old for change in judged.changes]
    if len(paths) > judged.rules.max_files:
        yield "too_many_files"
    kinds = {file_kind(path) for path in paths}
    for kind, rule in (("test", "only_tests"), ("docs", "only_docs"), ("config", "only_config")):
        if kinds == {kind}:
            yield rule
    if "code" not in kinds:
        yield "no_code_change"


def _broken_by_truth(truth: Truth, rules: Filter) -> Iterator[str]:
    if any(map(is_code, truth.added_files)):
        yield "adds_file"
    if _in_code(truth.added_functions):
        yield "adds_function"
    if not _in_code(truth.functions):
        yield "no_existing_function"
    if rules.single_file and sum(map(is_code, truth.files)) != 1:
        yield "several_files"


def _in_code(entities: Sequence[str]) -> bool:
    return any(is_code(entity.partition("::")[0]) for entity in entities)


def _is_text(text: str) -> bool:
    try:
        return "\0" not in text and text.encode() is not None
    except UnicodeEncodeError:
        return False


class Repositories:
    """Readers of the bare repositories ``repos_dir/<owner>__<name>.git``, a few kept open. A context manager."""

    def __init__(self, repos_dir: Path, at_once: int = 8) -> None:
        self.repos_dir = repos_dir
        self.at_once = at_once
        self._open: OrderedDict[str, Blobs] = OrderedDict()

    def reader(self, instance: Instance) -> Reader:
        """A reader of files at the instance's base commit. Raises :class:`RepositoryError` if it is not there."""
        blobs = self._blobs(instance.repo)
        try:
            blobs.check_commit(instance.base_commit)
        except RepositoryError:
            self._close(instance.repo)
            raise
        return lambda path: blobs.read(instance.base_commit, path)

    def _blobs(self, repo: str) -> Blobs:
        if not re.fullmatch(r"[\w.-]+/[\w.-]+", repo) or ".." in repo:
            raise RepositoryError(f"{repo[:100]!r} is no repository name: it should be owner/name")
        if repo not in self._open:
            while len(self._open) >= self.at_once:
                self._close(next(iter(self._open)))
            self._open[repo] = Blobs(self.repos_dir / f"{repo.replace('/', '__')}.git")
        self._open.move_to_end(repo)
        return self._open[repo]

    def _close(self, repo: str) -> None:
        self._open.pop(repo).close()

    def __enter__(self) -> Repositories:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for repo in list(self._open):
            self._close(repo)
