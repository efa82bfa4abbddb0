"""Turn merged pull requests into raw pairs: the issue as it was before the work, and the diff of the merge from git."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from fusesearch.core.schema import Instance
from fusesearch.core.text import flat_name
from fusesearch.data.sources import history
from fusesearch.data.sources.github import queries
from fusesearch.data.sources.github.client import Api
from fusesearch.data.sources.github.parsing import MAX_FILES, IssueText, Pull, issue_before
from fusesearch.data.sources.github.selection import Facts
from fusesearch.data.sources.history import Change
from fusesearch.search.clones import Clone

DROPS = {
    "before_since": "merged before mine.since",
    "no_issue": "closes no issue by GitHub's links or by a keyword in title, body or commit messages",
    "no_merge_commit": "GitHub names no merge commit",
    "no_files": "changes no file",
    "many_files": f"changes more than {MAX_FILES} files",
    "issue_gone": "the issue was deleted, moved away or turned into a discussion",
    "issue_is_pull": "what it closes is a pull request",
    "issue_after_merge": "the issue was opened after the merge",
    "issue_text_unknown": "the issue was edited after work on the fix began, and its earlier text is gone",
    "commit_gone": "git no longer has the commits",
    "diff_differs": "no commit changes exactly the files that GitHub lists",
    "large_patch": f"the diff is longer than {history.MAX_PATCH_BYTES:,} bytes",
}
"""Why a merged pull request does not become a raw pair."""

OpenClone = Callable[[], AbstractContextManager[Clone]]


@dataclass(frozen=True)
class Span:
    """The commits before and after a pull request, and the changed files."""

    base: str
    end: str
    changes: tuple[Change, ...]


def pair(api: Api, facts: Facts, pulls: Sequence[Pull], open_clone: OpenClone, reasons: dict[int, str]) -> list[Instance]:
    """Pairs of pull requests that passed the screen; ``reasons`` gets those against the others, by number."""
    issues = _texts(api, facts.repo, pulls, reasons)
    wanted = [pull for pull in pulls if pull.number in issues]
    if not wanted:
        return []
    with open_clone() as clone:
        spans = _spans(clone, wanted, reasons)
        blobs = {blob for span in spans.values() for change in span.changes for blob in (change.old, change.new)}
        clone.have_blobs((commit for span in spans.values() for commit in (span.base, span.end)), blobs)
        patches = history.patches(clone.git_dir, [(span.base, span.end) for span in spans.values()])
    pairs = []
    for pull in wanted:
        if span := spans.get(pull.number):
            if (span.base, span.end) in patches:
                both = patches[span.base, span.end]
                pairs.append(_instance(facts, pull, issues[pull.number], span, both))
            else:
                reasons[pull.number] = "large_patch"
    return pairs


def _texts(api: Api, repo: str, pulls: Sequence[Pull], reasons: dict[int, str]) -> dict[int, list[IssueText]]:
    """The earlier texts of the issues of pull requests, by number; records reasons for those without."""
    issues = _issues(api, repo, pulls)
    found: dict[int, list[IssueText]] = {}
    for pull in pulls:
        closed = [issues[key] for key in pull.issue_ids or pull.links if key in issues]
        nodes = [node for node in closed if node.get("__typename") == "Issue"]
        texts = [text for node in nodes if (text := issue_before(node, pull.first_commit))]
        earlier = {(text.repo, text.number): text for text in texts if text.created <= pull.merged}
        if closed and not nodes:
            reasons[pull.number] = "issue_is_pull"
        elif not nodes:
            elsewhere = not pull.issue_ids and all(name != repo for name, _ in pull.links)
            reasons[pull.number] = "no_issue" if elsewhere else "issue_gone"
        elif len(texts) < len(nodes):
            reasons[pull.number] = "issue_text_unknown"
        elif not earlier:
            reasons[pull.number] = "issue_after_merge"
        else:
            found[pull.number] = [earlier[key] for key in sorted(earlier)]
    return found


def _issues(api: Api, repo: str, pulls: Sequence[Pull]) -> dict[str | tuple[str, int], dict[str, Any]]:
    """Issues by id, and by link if the link leads to ``repo``, as its former names do; fetched many at a time."""
    asked: list[str | tuple[str, int]] = list(dict.fromkeys(key for pull in pulls for key in (pull.issue_ids or pull.links)))
    issues: dict[str | tuple[str, int], dict[str, Any]] = {}
    for start in range(0, len(asked), queries.DETAILS):
        part = asked[start : start + queries.DETAILS]
        ids = [key for key in part if isinstance(key, str)]
        links = [key for key in part if isinstance(key, tuple)]
        data = api.graphql(*queries.details(ids, links))
        issues |= {key: node for key, node in zip(ids, data.get("nodes") or [], strict=False) if isinstance(node, dict)}
        for number, link in enumerate(links):
            found = data.get(f"i{number}") or {}
            node = found.get("issueOrPullRequest")
            if isinstance(node, dict) and str(found.get("nameWithOwner")).casefold() == repo.casefold():
                issues[link] = node
    return issues


def _spans(clone: Clone, pulls: Sequence[Pull], reasons: dict[int, str]) -> dict[int, Span]:
    """The commits of each pull request whose merge, squash or rebase changes the files that GitHub lists."""
    gone = clone.have_commits(pull.merge for pull in pulls)
    present = [pull.merge for pull in pulls if pull.merge not in gone]
    parents = {commit.id: commit.parents for commit in history.commits(clone.git_dir, present).values()}
    before = history.resolve(clone.git_dir, (f"{pull.merge}~{pull.commits}" for pull in pulls if parents.get(pull.merge)))
    options: dict[int, list[history.Pair]] = {}
    for pull in pulls:
        above = parents.get(pull.merge, ())
        options[pull.number] = [(above[0], pull.merge)] if above else []
        start = before.get(f"{pull.merge}~{pull.commits}")
        if len(above) == 1 and pull.commits > 1 and start:
            options[pull.number].append((start, pull.merge))
    spans = _fitting(clone, pulls, options)
    for pull in pulls:
        if pull.number not in spans:
            reasons[pull.number] = "diff_differs" if options[pull.number] else "commit_gone"
    return spans


def _fitting(clone: Clone, pulls: Sequence[Pull], options: dict[int, list[history.Pair]]) -> dict[int, Span]:
    """The first option of each pull request that changes the files GitHub lists."""
    found = history.changes(clone.git_dir, [pair for several in options.values() for pair in several])
    spans: dict[int, Span] = {}
    for pull in pulls:
        for base, end in options[pull.number]:
            if pull.number not in spans and _fits(pull, found.get((base, end), [])):
                spans[pull.number] = Span(base, end, tuple(found[base, end]))
    return spans


def _fits(pull: Pull, found: Sequence[Change]) -> bool:
    """Whether the same files changed, whatever counts as a rename."""
    after = {change.path for change in found if change.status != "D"}
    deleted = {change.path for change in found if change.status == "D"}
    listed = {path for path, kind in pull.files.items() if kind != "DELETED"}
    return bool(found) and after == listed and {path for path in pull.files if path not in listed} <= deleted


def _instance(facts: Facts, pull: Pull, texts: list[IssueText], span: Span, patches: tuple[str, str]) -> Instance:
    provenance = {
        "source": "github",
        "renamed_from": facts.asked if facts.asked.casefold() != facts.repo.casefold() else None,
        "fork_of": facts.parent,
        "licence": facts.licence,
        "language": facts.language,
        "pull": pull.number,
        "issues": [
            text.number if text.repo.casefold() == facts.repo.casefold() else f"{text.repo}#{text.number}" for text in texts
        ],
        "text": "issue",
        "merged_at": pull.merged.isoformat(),
        "merge_commit": span.end,
        "author": pull.author,
        "bot": pull.bot or any(text.bot for text in texts),
    }
    return Instance(
        instance_id=f"{flat_name(facts.repo)}-{pull.number}",
        repo=facts.repo,
        base_commit=span.base,
        problem_statement="\n\n".join(text.text for text in texts),
        patch=patches[0],
        provenance=provenance,
        test_patch=patches[1],
        created_at=pull.created.isoformat(),
    )
