"""Turn raw pairs into instances, and drop the others by rules (FuseSearch 3.3, ToolTrain 3.1).

The rules run in the order of :data:`RULES`, cheap ones first; a dropped pair counts under the first rule it breaks. Rows are
streamed: memory holds a few of them, 16 bytes per kept id and issue, and about 1.5 kB per kept issue and patch if
near-duplicates are dropped.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from fusesearch.code.kinds import file_kind, is_code
from fusesearch.core.config import Filter
from fusesearch.core.errors import ConfigError, DataError, RepositoryError
from fusesearch.core.schema import Instance, Truth
from fusesearch.core.storage import instance_of, iter_rows
from fusesearch.data.giveaways import leaks, links_fix, shows_fix
from fusesearch.data.patches import FileChange, parse_patch
from fusesearch.data.provenance import Provenance, read_provenance
from fusesearch.data.repositories import Repositories
from fusesearch.data.similarity import Similar, changed_lines, issue_digest, issue_shingles
from fusesearch.data.truth import Reader, truth_from_changes

MAX_ISSUE_CHARS, MAX_PATCH_CHARS = 20_000, 1_000_000
"""Longer issues are logs, and longer patches releases. The longest gold patch of SWE-bench Verified has 17,385 characters."""

RULES = {
    "malformed_row": "a field is missing or has the wrong type, or the JSON is damaged",
    "binary_text": "id, repository, issue or patch contains a NUL or a lone surrogate",
    "duplicate_id": "an instance with this id was kept already",
    "short_issue": "the issue is empty or shorter than min_issue_chars",
    "long_issue": f"the issue is longer than {MAX_ISSUE_CHARS:,} characters",
    "large_patch": f"the patch is longer than {MAX_PATCH_CHARS:,} characters",
    "bot": "a program wrote the issue or the pull request",
    "several_issues": "the pull request closes more than one issue",
    "several_pulls": "more than one pull request closes the issue, so no single one is the whole fix",
    "links_fix": "the issue names the pull request or commit of its fix",
    "malformed_patch": "the patch is empty, truncated, damaged, or leads out of the repository",
    "too_many_files": "the patch touches more than max_files files",
    "only_tests": "only tests are changed",
    "only_docs": "only documentation is changed",
    "only_config": "only configuration is changed",
    "no_code_change": "no code file is changed",
    "shows_fix": "the issue contains at least half of the lines that the patch adds",
    "duplicate_issue": "the same issue, ignoring case, punctuation and spacing, was kept already",
    "similar_issue": "an issue at least as similar as near_duplicate was kept already",
    "similar_patch": "a patch at least as similar as near_duplicate was kept already",
    "no_snapshot": "the repository or its base commit cannot be read",
    "does_not_apply": "the patch does not fit the files of the base commit",
    "adds_file": "the patch adds a code file, which cannot be located before it exists",
    "adds_function": "the patch adds a function to a code file",
    "functions_unknown": "a changed line lies in code that cannot be parsed",
    "no_existing_function": "no existing function in a code file is modified",
}
"""All rules in their order, with what they drop."""

REQUIRED = {"malformed_row", "binary_text", "large_patch", "malformed_patch", "no_snapshot", "does_not_apply"}
"""Rules that cannot be skipped, because a pair that breaks them has no truth."""

ReadBlobs = Callable[[Instance], Reader]

Dropped = list[tuple[str, str]]
"""Ids of dropped pairs, and the rule that dropped each."""


def filter_table(path: Path, rules: Filter, repos_dir: Path, drops: Counter[str], dropped: Dropped) -> Iterator[Instance]:
    """Yield the instances of a table of raw pairs and count the other pairs in ``drops``; see :func:`filter_pairs`.

    Raises :class:`ArtifactError` when the table cannot be read.
    """
    check_skip(rules)
    contested = frozenset[str]()
    if "several_pulls" not in rules.skip:
        contested = contested_issues(iter_rows(path, ["repo", "provenance"]))
    with Repositories(repos_dir) as repositories:
        pairs = _readable(iter_rows(path), drops, dropped)
        yield from filter_pairs(pairs, rules, repositories.reader, drops, contested, dropped)


def filter_pairs(
    pairs: Iterable[Instance],
    rules: Filter,
    read_blobs: ReadBlobs,
    drops: Counter[str],
    contested: frozenset[str] = frozenset(),
    dropped: Dropped | None = None,
) -> Iterator[Instance]:
    """Yield the pairs that break no rule, with truth; count the others in ``drops`` by rule.

    ``read_blobs`` returns a reader of files at an instance's base commit; ``contested`` are issues that several pull
    requests close; ``dropped`` takes their ids.
    ``provenance["leaks"]`` of a kept pair says whether its issue names a modified ``file`` or ``function``. Bad rows are
    dropped and never raise; an unknown rule in ``rules.skip`` raises :class:`ConfigError`.
    """
    check_skip(rules)
    seen = _Seen(rules.near_duplicate)
    for pair in pairs:
        judged = _Judged(pair, rules, contested)
        broken = next((rule for rule in _broken(judged, read_blobs, seen) if rule not in rules.skip), None)
        if broken:
            drops[broken] += 1
            if dropped is not None:
                dropped.append((pair.instance_id, broken))
            continue
        seen.add(judged)
        provenance = {**pair.provenance, "leaks": leaks(pair.problem_statement, judged.truth)}
        yield pair.model_copy(update={"truth": judged.truth, "provenance": provenance})


def contested_issues(rows: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """Issues (``owner/name#number``) that more than one pull request closes; unreadable rows are ignored."""
    pulls: dict[str, str] = {}
    contested: set[str] = set()
    for row in rows:
        repo, values = row["repo"], _mapping(row["provenance"])
        if not isinstance(repo, str) or values is None:
            continue
        known = read_provenance(repo, values)
        name = f"{repo.casefold()}!{known.pull}"
        contested.update(issue for issue in known.issues if known.pull is not None and pulls.setdefault(issue, name) != name)
    return frozenset(contested)


def _mapping(value: Any) -> dict[str, Any] | None:
    try:
        value = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _readable(rows: Iterable[Mapping[str, Any]], drops: Counter[str], dropped: Dropped) -> Iterator[Instance]:
    for row in rows:
        try:
            yield instance_of(row)
        except DataError:
            drops["malformed_row"] += 1
            dropped.append((str(row.get("instance_id")), "malformed_row"))


def drop_table(drops: Counter[str]) -> dict[str, int]:
    """Counts of all rules in order, zeros included."""
    return {rule: drops[rule] for rule in RULES}


def check_skip(rules: Filter) -> None:
    """Raise :class:`ConfigError` if ``rules.skip`` names an unknown or a required rule."""
    for rule in rules.skip:
        if rule not in RULES:
            raise ConfigError(f"filter.skip: unknown rule {rule!r}; the rules are {', '.join(RULES)}")
        if rule in REQUIRED:
            raise ConfigError(f"filter.skip: {rule} cannot be skipped: without it an instance has no truth")


@dataclass
class _Judged:
    """A pair being checked, and what has been computed for it so far."""

    pair: Instance
    rules: Filter
    contested: frozenset[str] = frozenset()
    changes: list[FileChange] = field(default_factory=list)
    truth: Truth = field(default_factory=Truth)

    @cached_property
    def known(self) -> Provenance:
        return read_provenance(self.pair.repo, self.pair.provenance)

    @cached_property
    def issue_digest(self) -> bytes:
        return issue_digest(self.pair.problem_statement)


class _Seen:
    """What later pairs are compared with: ids, issues and patches of the kept ones."""

    def __init__(self, near_duplicate: float | None) -> None:
        self.ids: set[str] = set()
        self.digests: set[bytes] = set()
        self.issues = None if near_duplicate is None else Similar(near_duplicate, issue_shingles)
        self.patches = None if near_duplicate is None else Similar(near_duplicate, changed_lines)

    def add(self, judged: _Judged) -> None:
        self.ids.add(judged.pair.instance_id)
        self.digests.add(judged.issue_digest)
        if self.issues and self.patches:
            self.issues.add(judged.pair.problem_statement)
            self.patches.add(judged.pair.patch)


def _broken(judged: _Judged, read_blobs: ReadBlobs, seen: _Seen) -> Iterator[str]:
    """Yield the rules that a pair breaks, in order. Lazy, so that later rules cost nothing once one is broken."""
    if judged.pair.truth is not None and judged.pair.truth.expected is not None:
        yield from _broken_question(judged, judged.pair.truth, read_blobs, seen)
        return
    yield from _broken_by_text(judged.pair, judged.rules, seen)
    yield from _broken_by_provenance(judged)
    yield from _broken_by_paths(judged)
    yield from _broken_by_earlier_text(judged, seen)
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
    if length > MAX_ISSUE_CHARS:
        yield "long_issue"
    if len(pair.patch) > MAX_PATCH_CHARS:
        yield "large_patch"


def _broken_question(judged: _Judged, truth: Truth, read_blobs: ReadBlobs, seen: _Seen) -> Iterator[str]:
    """A question may be short, has its truth and no patch: rules about patches and their fixes do not apply."""
    yield from (rule for rule in _broken_by_text(judged.pair, judged.rules, seen) if rule != "short_issue")
    if judged.issue_digest in seen.digests:
        yield "duplicate_issue"
    judged.truth = truth
    try:
        read = read_blobs(judged.pair)
        if any(read(path) is None for path in truth.files):
            yield "no_snapshot"
    except RepositoryError:
        yield "no_snapshot"


def _broken_by_provenance(judged: _Judged) -> Iterator[str]:
    """Rules about where a pair comes from; unknown provenance breaks none."""
    known = judged.known
    if known.bot:
        yield "bot"
    if len(known.issues) > 1:
        yield "several_issues"
    if judged.contested.intersection(known.issues):
        yield "several_pulls"
    if links_fix(judged.pair.problem_statement, judged.pair.repo, known):
        yield "links_fix"


def _broken_by_paths(judged: _Judged) -> Iterator[str]:
    try:
        judged.changes = parse_patch(judged.pair.patch)
    except DataError:
        yield "malformed_patch"
    paths = {change.new or change.old for change in judged.changes if not change.submodule}
    if len(paths) > judged.rules.max_files:
        yield "too_many_files"
    kinds = {file_kind(path) for path in paths}
    for kind, rule in (("test", "only_tests"), ("docs", "only_docs"), ("config", "only_config")):
        if kinds == {kind}:
            yield rule
    if "code" not in kinds:
        yield "no_code_change"


def _broken_by_earlier_text(judged: _Judged, seen: _Seen) -> Iterator[str]:
    """Rules about text that gives the fix away, and about duplicates."""
    if shows_fix(judged.pair.problem_statement, judged.pair.patch):
        yield "shows_fix"
    if judged.issue_digest in seen.digests:
        yield "duplicate_issue"
    if seen.issues and seen.issues.holds(judged.pair.problem_statement):
        yield "similar_issue"
    if seen.patches and seen.patches.holds(judged.pair.patch):
        yield "similar_patch"


def _broken_by_truth(truth: Truth, rules: Filter) -> Iterator[str]:
    if any(map(is_code, truth.added_files)):
        yield "adds_file"
    if _in_code(truth.added_functions):
        yield "adds_function"
    if truth.unread:
        yield "functions_unknown"
    if not _in_code(truth.functions):
        yield "no_existing_function"


def _in_code(entities: Sequence[str]) -> bool:
    return any(is_code(entity.partition("::")[0]) for entity in entities)


def _is_text(text: str) -> bool:
    try:
        return "\0" not in text and text.encode() is not None
    except UnicodeEncodeError:
        return False
