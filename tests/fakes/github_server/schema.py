"""GraphQL: the supported part of GitHub's schema, answers from the world, and the cost of a query."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    IntValueNode,
    OperationDefinitionNode,
    SelectionSetNode,
    VariableNode,
    build_schema,
    execute,
    parse,
    validate,
)  # fmt: skip

from tests.fakes.github_server.world import Comment, Issue, Pull, Repository, World

SCHEMA = build_schema(Path(__file__).with_name("schema.graphql").read_text())
_COUNTED = {"search", "issues", "pullRequests", "closingIssuesReferences", "commits", "files"} | {
    "userContentEdits", "comments", "timelineItems", "discussions", "labels",
}  # fmt: skip


def cost(document: DocumentNode, variables: dict[str, Any]) -> tuple[int, int]:
    """Points and nodes of a query: each connection as often as its parents can occur."""
    fragments = {node.name.value: node for node in document.definitions if isinstance(node, FragmentDefinitionNode)}
    operation = next(node for node in document.definitions if isinstance(node, OperationDefinitionNode))
    requests, nodes = _count(operation.selection_set, 1, fragments, variables)
    return max(1, round(requests / 100)), nodes


def _count(
    selections: SelectionSetNode | None, parents: int, fragments: dict[str, FragmentDefinitionNode], variables: dict[str, Any]
) -> tuple[int, int]:
    requests = nodes = 0
    for selection in selections.selections if selections else ():
        inner = parents
        below = getattr(selection, "selection_set", None)
        if isinstance(selection, FragmentSpreadNode):
            below = fragments[selection.name.value].selection_set
        elif isinstance(selection, FieldNode) and selection.name.value in _COUNTED:
            requests += parents
            inner = parents * _first(selection, variables)
            nodes += inner
        elif isinstance(selection, FieldNode) and selection.name.value == "nodes" and selection.arguments:
            inner = parents * len(variables.get("ids") or [])
        more = _count(below, inner, fragments, variables)
        requests, nodes = requests + more[0], nodes + more[1]
    return requests, nodes


def _first(field: FieldNode, variables: dict[str, Any]) -> int:
    for argument in field.arguments:
        if argument.name.value == "first":
            value = argument.value
            size = int(value.value) if isinstance(value, IntValueNode) else 0
            size = int(variables[value.name.value]) if isinstance(value, VariableNode) else size
            if not 1 <= size <= 100:
                raise GraphQLError("`first` must be between 1 and 100")
            return size
    return 0


class Answers:
    """Executes queries on a world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._known: dict[tuple[str, int], dict[str, Any]] = {}

    def run(self, document: DocumentNode, variables: dict[str, Any], limit: dict[str, Any]) -> dict[str, Any]:
        """Body of the answer: data, and errors with their types."""
        if errors := validate(SCHEMA, document):
            return {"errors": [{"message": error.message, "extensions": {"code": "undefinedField"}} for error in errors]}
        root = {"rateLimit": limit, "repository": self._repository, "nodes": self._nodes, "search": self._search}
        done = execute(SCHEMA, document, root, variable_values=variables)
        if hasattr(done, "__await__"):
            raise TypeError
        body: dict[str, Any] = {"data": done.data}
        if done.errors:
            body["errors"] = [_error(error) for error in done.errors]
        return body

    def _repository(self, info: Any, owner: str, name: str, followRenames: bool = True) -> dict[str, Any] | None:
        found = self.world.find(f"{owner}/{name}")
        if found is None:
            raise _not_found(f"Could not resolve to a Repository with the name '{owner}/{name}'.")
        return self.repository(found)

    def _nodes(self, info: Any, ids: list[str]) -> list[dict[str, Any] | None]:
        found: list[dict[str, Any] | None] = []
        for name in ids:
            try:
                _, repo, number = base64.b64decode(name).decode().split("|")
                found.append(self.issue(self.world.repositories[repo], self.world.repositories[repo].issues[int(number)]))
            except (ValueError, KeyError):
                found.append(None)
        return found

    def _search(self, info: Any, query: str, type: str, first: int = 0, after: str | None = None) -> dict[str, Any]:
        rows = [repository for repository in self.world.repositories.values() if matches(repository, query)]
        rows.sort(key=lambda repository: (-repository.stars, repository.id))
        start = int(_decode(after)[0]) if after else 0
        page = rows[start : min(start + first, 1000)]
        end = start + len(page)
        info_ = {"hasNextPage": end < min(len(rows), 1000), "endCursor": _encode([end])}
        return {"repositoryCount": len(rows), "nodes": [self.repository(row) for row in page], "pageInfo": info_}

    def repository(self, row: Repository) -> dict[str, Any]:
        """A node of a repository."""
        merged = len(row.merged)

        def pulls(info: Any, first: int = 0, after: str | None = None, states: Any = None, orderBy: Any = None) -> dict[str, Any]:
            return self._pulls(row, first, after) if first else {"totalCount": merged}

        def numbered(info: Any, number: int) -> dict[str, Any]:
            return self._numbered(row, number)

        def issues(info: Any, first: int = 0, after: str | None = None, **_: Any) -> dict[str, Any]:
            closed = [issue for issue in row.issues.values() if issue.closed]
            return {**self._asked(row, closed, first, after), "totalCount": len(row.issues)}

        def discussions(info: Any, first: int = 0, after: str | None = None, **_: Any) -> dict[str, Any]:
            return self._asked(row, [found for found in row.discussions.values() if found.answer], first, after)

        parent = {"nameWithOwner": row.fork_of} if row.fork_of else None
        return {
            "__typename": "Repository", "id": f"R_{row.id}", "databaseId": row.id, "nameWithOwner": row.name,
            "isFork": bool(parent), "isArchived": row.archived, "isDisabled": False, "isPrivate": False, "parent": parent,
            "stargazerCount": row.stars, "licenseInfo": {"spdxId": row.licence} if row.licence else None,
            "primaryLanguage": {"name": row.language} if row.language else None,
            "issues": issues, "discussions": discussions, "pullRequests": pulls, "issueOrPullRequest": numbered,
        }  # fmt: skip

    def _numbered(self, row: Repository, number: int) -> dict[str, Any]:
        if number in row.issues:
            return self.issue(row, row.issues[number])
        if number in row.pulls:
            return self.pull(row, row.pulls[number])
        raise _not_found(f"Could not resolve to an issue or pull request with the number of {number}.")

    def _pulls(self, row: Repository, first: int, after: str | None) -> dict[str, Any]:
        """Merged pull requests, last updated first. A cursor is a place in that order, not a row."""
        ordered = sorted(row.merged, key=lambda pull: (pull.updated, pull.number), reverse=True)
        if after:
            when, number = _decode(after)
            ordered = [pull for pull in ordered if (stamp(pull.updated), pull.number) < (when, number)]
        page = ordered[:first]
        cursor = _encode([stamp(page[-1].updated), page[-1].number]) if page else None
        nodes = [self.pull(row, pull) for pull in page]
        return {
            "totalCount": len(row.merged),
            "nodes": nodes,
            "pageInfo": {"hasNextPage": len(ordered) > first, "endCursor": cursor},
        }

    def _asked(self, row: Repository, asked: list[Issue], first: int, after: str | None) -> dict[str, Any]:
        """Closed issues or answered discussions, last updated first."""
        start = int(_decode(after)[0]) if after else 0
        ordered = sorted(asked, key=lambda issue: (updated(issue), issue.number), reverse=True)
        end = start + len(page := ordered[start : start + first])
        info = {"hasNextPage": end < len(ordered), "endCursor": _encode([end]) if page else None}
        return {"nodes": [self.issue(row, issue) for issue in page], "pageInfo": info, "totalCount": len(ordered)}

    def pull(self, row: Repository, pull: Pull) -> dict[str, Any]:
        """A node of a pull request."""
        closing = [self.issue(row, row.issues[number]) for number in pull.closes]
        commits = [
            {"commit": {"oid": commit.oid, "message": commit.message, "authoredDate": stamp(commit.authored)}}
            for commit in pull.commits
        ]
        files = [{"path": path, "changeType": kind} for path, kind in pull.changed.items()]
        return {
            "__typename": "PullRequest", "id": _id("P", row, pull.number), "number": pull.number, "title": pull.title,
            "body": pull.body, "createdAt": stamp(pull.created), "updatedAt": stamp(pull.updated),
            "mergedAt": stamp(pull.merged) if pull.merged else None, "baseRefName": "main", "baseRefOid": pull.base,
            "headRefOid": pull.head, "changedFiles": len(files), "author": actor(pull.author),
            "mergeCommit": {"oid": pull.merge} if pull.kind != "no merge commit" else None,
            "closingIssuesReferences": connection(closing), "commits": connection(commits), "files": connection(files),
        }  # fmt: skip

    def issue(self, row: Repository, issue: Issue) -> dict[str, Any]:
        """A node of an issue."""
        edits = [{"editedAt": stamp(edit.at), "deletedAt": None if edit.diff is not None else stamp(edit.at), "diff": edit.diff}
                 for edit in reversed(issue.edits)]  # fmt: skip
        renames = [
            {"__typename": "RenamedTitleEvent", "createdAt": stamp(when), "previousTitle": old, "currentTitle": new}
            for when, old, new in issue.renames
        ]
        closer = {"__typename": issue.closer} if issue.closer else None
        closings = [
            {"__typename": "ClosedEvent", "createdAt": stamp(issue.closed), "actor": actor(issue.closed_by), "closer": closer}
            for _ in range(issue.closed is not None)
        ]

        def timeline(info: Any, itemTypes: list[str], first: int = 100) -> dict[str, Any]:
            found = renames if "RENAMED_TITLE_EVENT" in itemTypes else closings
            return connection(found, filteredCount=len(found))(info, first)

        return {
            "__typename": "Issue", "id": _id("I", row, issue.number), "number": issue.number, "title": issue.title,
            "body": issue.body, "createdAt": stamp(issue.created), "lastEditedAt": stamp(issue.edited) if issue.edited else None,
            "repository": {"nameWithOwner": row.name}, "author": actor(issue.author), "userContentEdits": connection(edits),
            "comments": connection([comment(entry) for entry in issue.comments]),
            "timelineItems": timeline, "labels": connection([{"name": name} for name in issue.labels]),
            "url": f"https://example.org/{row.name}/{issue.number}", "updatedAt": stamp(updated(issue)),
            "closedAt": stamp(issue.closed) if issue.closed else None, "stateReason": issue.reason if issue.closed else None,
            "answer": comment(issue.answer) if issue.answer else None,
        }  # fmt: skip


def matches(repository: Repository, query: str) -> bool:
    """The supported qualifiers of a repository search."""
    words = dict(word.split(":", 1) for word in query.replace('"', "").split() if ":" in word)
    stars = words.get("stars", ">=0")
    least, _, most = stars.removeprefix(">=").partition("..")
    tests = [
        int(least) <= repository.stars <= int(most or 10**9),
        words.get("archived") != "false" or not repository.archived,
        "fork" in words or not repository.fork_of,
        words.get("language") in (None, repository.language),
    ]
    licences = [word.partition(":")[2] for word in query.split() if word.startswith("license:")]
    return all(tests) and (not licences or str(repository.licence).lower() in licences)


def connection(nodes: Sequence[dict[str, Any]], **more: Any) -> Any:
    """A connection with at most ``first`` of its nodes."""

    def page(info: Any, first: int = 100, after: str | None = None, itemTypes: Any = None) -> dict[str, Any]:
        return {"totalCount": len(nodes), "nodes": list(nodes[:first]), **more}

    return page


def comment(entry: Comment) -> dict[str, Any]:
    """A node of a comment."""
    edited = stamp(entry.edited) if entry.edited else None
    node = {"body": entry.body, "createdAt": stamp(entry.at), "lastEditedAt": edited, "isMinimized": False}
    url = f"https://example.org/comments/{int(entry.at.timestamp())}"
    return {**node, "author": actor(entry.author), "authorAssociation": entry.association, "url": url}


def updated(issue: Issue) -> datetime:
    """When anything last happened to an issue or a discussion."""
    return max(filter(None, [issue.created, issue.closed, issue.edited, *(entry.at for entry in issue.comments)]))


def actor(login: str | None) -> dict[str, Any] | None:
    """An author; null where the user was deleted. Programs have no [bot] in GraphQL."""
    if login is None:
        return None
    kind = "Bot" if login.endswith("[bot]") else "User"
    return {"__typename": kind, "id": login, "login": login.removesuffix("[bot]")}


def stamp(when: datetime) -> str:
    """A time as GitHub writes it."""
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


def document_of(query: str) -> DocumentNode:
    """The parsed query."""
    return parse(query, no_location=True)


def _id(kind: str, row: Repository, number: int) -> str:
    return base64.b64encode(f"{kind}|{row.name}|{number}".encode()).decode()


def _encode(place: list[Any]) -> str:
    return base64.b64encode(json.dumps(place).encode()).decode()


def _decode(cursor: str) -> list[Any]:
    try:
        return json.loads(base64.b64decode(cursor))
    except ValueError:
        message = f"`{cursor}` does not appear to be a valid cursor."
        raise GraphQLError(message, extensions={"type": "INVALID_CURSOR_ARGUMENTS"}) from None


def _not_found(message: str) -> GraphQLError:
    return GraphQLError(message, extensions={"type": "NOT_FOUND"})


def _error(error: GraphQLError) -> dict[str, Any]:
    kind = (error.extensions or {}).get("type")
    return {**({"type": kind} if kind else {}), "path": error.path, "message": error.message}
