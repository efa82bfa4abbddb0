"""The server: GraphQL on this machine, with GitHub's prices, limits and ways to fail."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, get_args

import graphql

from tests.fakes.github_server.world import Node, Repository, World
from tests.fakes.local_server import Handler, LocalServer, by

Fault = Literal["502", "dropped", "cut", "slow"]
KINDS: tuple[Fault, ...] = get_args(Fault)
Reply = tuple[int, Any, dict[str, str]]
HTML = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body><h1>502 Bad Gateway</h1></body></html>\r\n"
SCHEMA = graphql.build_schema(Path(__file__).with_name("schema.graphql").read_text())
CONNECTIONS = {"search", "issues", "pullRequests", "closingIssuesReferences", "commits", "files"} | {
    "userContentEdits", "timelineItems",
}  # fmt: skip


def stamp(when: datetime) -> str:
    """A time as GitHub writes it."""
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


SCHEMA.type_map["DateTime"].serialize = stamp


def cost(document: graphql.DocumentNode, variables: dict[str, Any]) -> tuple[int, int]:
    """Points and nodes of a query: each connection as often as its parents can occur."""
    fragments = {node.name.value: node for node in document.definitions if isinstance(node, graphql.FragmentDefinitionNode)}
    requests = nodes = 0

    def count(node: Any, parents: int) -> None:
        nonlocal requests, nodes
        below = fragments[node.name.value] if isinstance(node, graphql.FragmentSpreadNode) else node
        if isinstance(node, graphql.FieldNode) and node.name.value in CONNECTIONS:
            requests += parents
            parents *= _first(node, variables)
            nodes += parents
        elif isinstance(node, graphql.FieldNode) and node.name.value == "nodes" and node.arguments:
            parents *= len(variables["ids"])
        for selection in below.selection_set.selections if below.selection_set else ():
            count(selection, parents)

    count(next(node for node in document.definitions if isinstance(node, graphql.OperationDefinitionNode)), 1)
    return max(1, round(requests / 100)), nodes


def _first(node: graphql.FieldNode, variables: dict[str, Any]) -> int:
    given = next((argument.value for argument in node.arguments if argument.name.value == "first"), None)
    size = 0 if given is None else int(given.value if isinstance(given, graphql.IntValueNode) else variables[given.name.value])
    if given is not None and not 1 <= size <= 100:
        raise graphql.GraphQLError("`first` must be between 1 and 100", extensions={"code": "argumentLiteralsIncompatible"})
    return size


@dataclass
class Counts:
    """Counts of requests and points, and who asked."""

    graphql: int = 0
    points: int = 0
    tokens: set[str] = field(default_factory=set)


class GitHubServer(LocalServer):
    """Serves a world to whoever has one of the accepted ``tokens``; ``faults`` spoil its answers in turn, None does not."""

    def __init__(self, world: World, git_root: Path, faults: Iterable[Fault | None] = ()) -> None:
        super().__init__(by(self.reply))
        self.world, self.git_url, self.faults = world, git_root.resolve().as_uri(), list(faults)
        self.tokens, self.counts = {"ghp_" + "a" * 36}, Counts()

    def reply(self, handler: Handler, asked: Any) -> tuple[Any, ...]:
        """Status, body, headers, and how many bytes are missing."""
        token = str(handler.headers.get("Authorization", "")).partition(" ")[2]
        words = handler.path.partition("?")[0].strip("/").split("/")
        if words[0] == "app" and token.startswith("ey"):  # an App's signed request for a token of an installation
            self.tokens.add(f"ghs_{words[2]}")
            return 201, {"token": f"ghs_{words[2]}", "expires_at": "2099-01-01T00:00:00Z", "permissions": {}}
        if token not in self.tokens:
            return 401, {"message": "Bad credentials", "status": "401"}
        self.counts.tokens.add(token)
        fault = self.faults.pop(0) if self.faults else None
        if fault == "dropped":
            raise ConnectionAbortedError
        if fault == "502":
            return 502, HTML, {"Content-Type": "text/html"}
        answer = self._graphql(asked)
        time.sleep(0.2 if fault == "slow" else 0)
        return *answer, 100 if fault == "cut" else 0

    def _graphql(self, asked: Any) -> Reply:
        self.counts.graphql += 1
        document, variables = graphql.parse(asked["query"], no_location=True), asked["variables"]
        if faulty := graphql.validate(SCHEMA, document):
            return 200, {"errors": [{"message": error.message, "extensions": {"code": "undefinedField"}} for error in faulty]}, {}
        try:
            points, _ = cost(document, variables)
        except graphql.GraphQLError as error:
            return 200, {"errors": [error.formatted]}, {}
        self.counts.points += points
        limit = {"cost": points, "limit": 5000, "remaining": 4999, "used": 1, "resetAt": datetime.now(UTC)}
        root = {"rateLimit": limit, "repository": self._named, "nodes": self._by_id, "search": self._search}
        done = graphql.execute_sync(SCHEMA, document, root, variable_values=variables, field_resolver=_resolve)
        errors = [{"type": (error.extensions or {}).get("type"), "message": error.message} for error in done.errors or ()]
        return 200, {"data": done.data} | ({"errors": errors} if errors else {}), {}

    def _named(self, owner: str, name: str, **_: Any) -> Node:
        found = self.world.find(f"{owner}/{name}")
        if found is None:
            raise _not_found(f"Could not resolve to a Repository with the name '{owner}/{name}'.")
        return _node(found)

    def _by_id(self, ids: list[str]) -> list[Node | None]:
        known = {issue["id"]: issue for row in self.world.repositories.values() for issue in row.issues.values()}
        return [known.get(name) for name in ids]

    def _search(self, query: str, type: str, first: int, after: str | None = None) -> Node:
        """All repositories, most stars first; of the criteria in a query the tests of its words speak."""
        rows = sorted(self.world.repositories.values(), key=lambda row: -row.stars)
        return _page([_node(row) for row in rows], first, after)


def _node(row: Repository) -> Node:
    """A repository; its merged pull requests, last updated first."""

    def numbered(number: int) -> Node:
        if number in row.issues:
            return row.issues[number]
        if number in row.pulls:
            return row.pulls[number]
        raise _not_found(f"Could not resolve to an issue or pull request with the number of {number}.")

    return {
        "__typename": "Repository", "nameWithOwner": row.name, "isFork": bool(row.fork_of),
        "isArchived": False, "isDisabled": False, "isPrivate": False, "stargazerCount": row.stars,
        "parent": {"nameWithOwner": row.fork_of} if row.fork_of else None,
        "licenseInfo": {"spdxId": row.licence} if row.licence else None,
        "primaryLanguage": {"name": row.language} if row.language else None, "issueOrPullRequest": numbered,
        "issues": [*row.issues.values()],
        "pullRequests": sorted(row.merged, key=lambda pull: (pull["updatedAt"], pull["number"]), reverse=True),
    }  # fmt: skip


def _resolve(node: Node, info: graphql.GraphQLResolveInfo, first: int = 100, after: str | None = None, **given: Any) -> Any:
    """The field of a node; a list becomes a page where a connection is due."""
    value = node.get(info.field_name)
    if callable(value):
        paging = {"first": first, "after": after} if info.field_name == "search" else {}
        return value(**given, **paging)
    return _page(value, first, after) if str(info.return_type).rstrip("!").endswith("Connection") else value


def _page(rows: list[Node], first: int, after: str | None) -> Node:
    if not (after or "0").isdecimal():
        kind = {"type": "INVALID_CURSOR_ARGUMENTS"}
        raise graphql.GraphQLError(f"`{after}` does not appear to be a valid cursor.", extensions=kind)
    start = int(after or 0)
    page = rows[start : start + first]
    more = {"hasNextPage": start + len(page) < len(rows), "endCursor": str(start + len(page)) if page else None}
    return {"totalCount": len(rows), "filteredCount": len(rows), "repositoryCount": len(rows), "nodes": page, "pageInfo": more}


def _not_found(message: str) -> graphql.GraphQLError:
    return graphql.GraphQLError(message, extensions={"type": "NOT_FOUND"})
