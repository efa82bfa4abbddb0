"""Parse pull requests and issues from GraphQL answers, which may lack any field.

An issue is restored to its text before anybody worked on the fix: later edits are undone and later titles reverted, because
they may give away the solution. If GitHub no longer has the earlier text, the pair is dropped.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from fusesearch.data.sources.base import moment
from fusesearch.data.sources.links import links
from fusesearch.search.git import ID

MAX_FILES = 100
"""Files of a pull request on one page. Pull requests with more are not localization tasks."""


@dataclass(frozen=True)
class Pull:
    """A merged pull request; times are in UTC.

    ``issue_ids`` are the issues GitHub links as closed; ``links`` are repository and number of those that title, body or
    commit messages name after a keyword. ``first_commit`` is when work began: the earliest known authored date, at most the
    date it was opened.
    """

    number: int
    created: datetime
    updated: datetime
    merged: datetime
    merge: str
    first_commit: datetime
    commits: int
    files: dict[str, str] = field(default_factory=dict)
    changed_files: int = 0
    issue_ids: tuple[str, ...] = ()
    links: tuple[tuple[str, int], ...] = ()
    author: str | None = None
    bot: bool = False


def parse_pull(node: Any, repo: str) -> Pull | None:
    """The pull request of a GraphQL node; None if an essential field is missing."""
    if not isinstance(node, dict):
        return None
    number, merged = node.get("number"), moment(node.get("mergedAt"))
    created = moment(node.get("createdAt")) or merged
    if not isinstance(number, int) or merged is None or created is None:
        return None
    commits = [_dict(entry.get("commit")) for entry in nodes(node.get("commits"))]
    authored = [when for commit in commits if (when := moment(commit.get("authoredDate")))]
    texts = (node.get("title"), node.get("body"), *(str(commit.get("message") or "") for commit in commits))
    return Pull(
        number=number,
        created=created,
        updated=moment(node.get("updatedAt")) or merged,
        merged=merged,
        merge=_oid(_dict(node.get("mergeCommit")).get("oid")),
        first_commit=min([created, *authored]),
        commits=_count(node.get("commits"), len(commits)),
        files={str(file.get("path")): str(file.get("changeType")) for file in nodes(node.get("files"))},
        changed_files=int(node.get("changedFiles") or _count(node.get("files"), 0)),
        issue_ids=tuple(str(issue["id"]) for issue in nodes(node.get("closingIssuesReferences")) if issue.get("id")),
        links=tuple(dict.fromkeys(link for text in texts for link in links(text, repo) if link != (repo, number))),
        author=login(node.get("author")),
        bot=is_bot(node.get("author")),
    )


@dataclass(frozen=True)
class IssueText:
    """An issue as it was at the first commit of the fix, or as it was opened if it is younger."""

    number: int
    repo: str
    title: str
    body: str
    created: datetime
    bot: bool

    @property
    def text(self) -> str:
        """Title and body."""
        return f"{self.title}\n\n{self.body}".replace("\r\n", "\n").strip()


def issue_before(node: dict[str, Any], first_commit: datetime) -> IssueText | None:
    """The issue of a GraphQL node as it was at ``first_commit``; None if GitHub no longer has that text."""
    created = moment(node.get("createdAt"))
    number = node.get("number")
    if created is None or not isinstance(number, int):
        return None
    body, title = (text_at(node, max(created, first_commit)) for text_at in (_body_at, _title_at))
    if body is None or title is None:
        return None
    return IssueText(
        number=number,
        repo=str((node.get("repository") or {}).get("nameWithOwner") or ""),
        title=title,
        body=body,
        created=created,
        bot=is_bot(node.get("author")),
    )


def _body_at(node: dict[str, Any], at: datetime) -> str | None:
    """The newest version not after ``at``. GitHub keeps all versions as whole texts, newest first."""
    edited = moment(node.get("lastEditedAt"))
    if edited is None or edited <= at:
        return str(node.get("body") or "")
    versions = [(when, edit) for edit in nodes(node.get("userContentEdits")) if (when := moment(edit.get("editedAt")))]
    earlier = [(when, edit) for when, edit in versions if when <= at]
    if not earlier:
        return None
    edit = max(earlier, key=lambda version: version[0])[1]
    return None if edit.get("diff") is None or edit.get("deletedAt") else str(edit["diff"])


def _title_at(node: dict[str, Any], at: datetime) -> str | None:
    items = node.get("timelineItems")
    renamed = [(when, event) for event in nodes(items) if (when := moment(event.get("createdAt")))]
    if isinstance(items, dict) and int(items.get("filteredCount") or 0) > len(renamed):
        return None
    later = [(when, event) for when, event in renamed if when > at]
    if not later:
        return str(node.get("title") or "")
    return str(min(later, key=lambda version: version[0])[1].get("previousTitle") or "")


def nodes(connection: Any) -> list[dict[str, Any]]:
    """Nodes of a connection, without the nulls that GitHub writes for hidden ones."""
    found = _dict(connection).get("nodes")
    return [node for node in found if isinstance(node, dict)] if isinstance(found, list) else []


def login(author: Any) -> str | None:
    """Login of an author; None for a deleted user."""
    return str(name) if (name := _dict(author).get("login")) else None


def is_bot(author: Any) -> bool:
    """Whether an author is a program."""
    return _dict(author).get("__typename") == "Bot" or str(_dict(author).get("login") or "").endswith("[bot]")


def _oid(value: Any) -> str:
    return value if isinstance(value, str) and ID.fullmatch(value) else ""


def _count(connection: Any, least: int) -> int:
    total = _dict(connection).get("totalCount")
    return total if isinstance(total, int) else least


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
