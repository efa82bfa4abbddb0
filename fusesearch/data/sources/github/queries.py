"""The GraphQL queries for GitHub, and what each costs.

A query costs one point per 100 connections it opens, each counted as often as its parent can occur, and at least one point.
Fields and ``nodes(ids:)`` cost nothing, so texts of issues are fetched by id, many at a time, and only where needed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fusesearch.core.storage import read_text

PAGE = 100
FIRST_LOOK = 25
"""Pull requests on the first page if few are new; costs one point."""

DETAILS = 30
"""Issues whose texts are fetched at once; costs one point."""

LOOKUPS = 40
"""Repositories looked up at once; costs one point."""

_LIMIT = "rateLimit { cost }"

_REPOSITORY, _ISSUE, PULLS, SEARCH = (
    read_text(Path(__file__).with_name(f"{name}.graphql")) for name in ("repository", "issue", "pulls", "search")
)
SEARCH += _REPOSITORY
PULL_CONNECTIONS = 3
"""Connections of each pull request in ``PULLS``."""


def page_cost(connections: int, first: int = PAGE) -> int:
    """Points of a page of ``first`` nodes, each of which opens so many connections."""
    return points(1 + connections * first)


def lookup(repositories: list[str]) -> tuple[str, dict[str, Any], int]:
    """Query, variables and points for the facts of several repositories, under ``r0``, ``r1`` and so on."""
    declared = ", ".join(f"$o{n}: String!, $n{n}: String!" for n in range(len(repositories)))
    asked = "\n".join(f"  r{n}: repository(owner: $o{n}, name: $n{n}) {{ ...R }}" for n in range(len(repositories)))
    variables: dict[str, Any] = {}
    for n, repo in enumerate(repositories):
        variables[f"o{n}"], _, variables[f"n{n}"] = repo.partition("/")
    return f"query({declared}) {{\n  {_LIMIT}\n{asked}\n}}\n{_REPOSITORY}", variables, points(2 * len(repositories))


def details(ids: list[str], links: list[tuple[str, int]]) -> tuple[str, dict[str, Any], int]:
    """Query, variables and points for issues: by id under ``nodes``, by repository and number under ``i0``, ``i1`` and so on."""
    linked = []
    for n, (repo, number) in enumerate(links):
        owner, _, name = repo.partition("/")
        node = f"nameWithOwner issueOrPullRequest(number: {number}) {{ __typename ...I }}"
        linked.append(f'  i{n}: repository(owner: "{owner}", name: "{name}") {{ {node} }}\n')
    query = f"query($ids: [ID!]!) {{\n  {_LIMIT}\n  nodes(ids: $ids) {{ __typename ...I }}\n{''.join(linked)}}}\n{_ISSUE}"
    return query, {"ids": ids}, points(2 * (len(ids) + len(links)))


def points(connections: int) -> int:
    """GitHub's formula."""
    return max(1, round(connections / 100))
