"""The GraphQL queries for GitHub, and what each costs.

A query costs one point per 100 connections it opens, each counted as often as its parent can occur, and at least one point.
Fields and ``nodes(ids:)`` cost nothing, so texts of issues are fetched by id, many at a time, and only where needed.
"""

from __future__ import annotations

from typing import Any

PAGE = 100
FIRST_LOOK = 25
"""Pull requests on the first page if few are new; costs one point."""

DETAILS = 30
"""Issues whose texts are fetched at once; costs one point."""

LOOKUPS = 40
"""Repositories looked up at once; costs one point."""

_LIMIT = "rateLimit { cost }"

_REPOSITORY = """
fragment R on Repository {
  databaseId nameWithOwner isFork isArchived isDisabled isPrivate stargazerCount
  parent { nameWithOwner }
  licenseInfo { spdxId }
  primaryLanguage { name }
  issues { totalCount }
  pullRequests(states: MERGED) { totalCount }
}
"""

SEARCH = f"""
query($search: String!, $first: Int!, $after: String) {{
  {_LIMIT}
  search(query: $search, type: REPOSITORY, first: $first, after: $after) {{
    repositoryCount
    pageInfo {{ hasNextPage endCursor }}
    nodes {{ ...R }}
  }}
}}
{_REPOSITORY}
"""

PULLS = f"""
query($owner: String!, $name: String!, $first: Int!, $after: String) {{
  {_LIMIT}
  repository(owner: $owner, name: $name) {{
    nameWithOwner
    pullRequests(states: MERGED, first: $first, after: $after, orderBy: {{field: UPDATED_AT, direction: DESC}}) {{
      pageInfo {{ hasNextPage endCursor }}
      nodes {{
        number title body createdAt updatedAt mergedAt baseRefName baseRefOid headRefOid changedFiles
        author {{ __typename login }}
        mergeCommit {{ oid }}
        closingIssuesReferences(first: 10) {{ totalCount nodes {{ id }} }}
        commits(first: 20) {{ totalCount nodes {{ commit {{ oid message authoredDate }} }} }}
        files(first: 100) {{ totalCount nodes {{ path changeType }} }}
      }}
    }}
  }}
}}
"""

_ISSUE = """
fragment I on Issue {
  id number title body createdAt lastEditedAt
  repository { nameWithOwner }
  author { __typename login }
  userContentEdits(first: 100) { totalCount nodes { editedAt deletedAt diff } }
  comments(first: 50) { nodes { body createdAt lastEditedAt isMinimized author { __typename login } } }
  timelineItems(itemTypes: [RENAMED_TITLE_EVENT], first: 20) {
    filteredCount
    nodes { ... on RenamedTitleEvent { createdAt previousTitle currentTitle } }
  }
}
"""


_ASKED = """
        id number title body createdAt updatedAt lastEditedAt url
        author { __typename login }
        userContentEdits(first: 100) { totalCount nodes { editedAt deletedAt diff } }
"""

ISSUES = f"""
query($owner: String!, $name: String!, $first: Int!, $after: String) {{
  {_LIMIT}
  repository(owner: $owner, name: $name) {{
    issues(states: CLOSED, first: $first, after: $after, orderBy: {{field: UPDATED_AT, direction: DESC}}) {{
      pageInfo {{ hasNextPage endCursor }}
      nodes {{
        {_ASKED}
        stateReason closedAt
        labels(first: 20) {{ nodes {{ name }} }}
        comments(first: 50) {{
          totalCount nodes {{ url body createdAt isMinimized authorAssociation author {{ __typename login }} }}
        }}
        timelineItems(itemTypes: [RENAMED_TITLE_EVENT], first: 20) {{
          filteredCount nodes {{ ... on RenamedTitleEvent {{ createdAt previousTitle currentTitle }} }}
        }}
        closings: timelineItems(itemTypes: [CLOSED_EVENT], first: 20) {{
          nodes {{ ... on ClosedEvent {{ createdAt actor {{ login }} closer {{ __typename }} }} }}
        }}
      }}
    }}
  }}
}}
"""

DISCUSSIONS = f"""
query($owner: String!, $name: String!, $first: Int!, $after: String) {{
  {_LIMIT}
  repository(owner: $owner, name: $name) {{
    discussions(answered: true, first: $first, after: $after, orderBy: {{field: UPDATED_AT, direction: DESC}}) {{
      pageInfo {{ hasNextPage endCursor }}
      nodes {{ {_ASKED} answer {{ url body createdAt isMinimized authorAssociation author {{ __typename login }} }} }}
    }}
  }}
}}
"""


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
    return query, {"ids": ids}, points(3 * (len(ids) + len(links)))


def points(connections: int) -> int:
    """GitHub's formula."""
    return max(1, round(connections / 100))
