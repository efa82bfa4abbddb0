"""Counts the requests that SWE-bench's collector would make for a world.

From swebench/collect (``print_pulls``, ``build_dataset`` and the ``Repo`` they share). It reads a listing until a page is
empty, which takes one request more than the listing has pages. Requests for the rate limit and the diff do not count against
GitHub's limit and are left out. It reads all comments, and closed pull requests of every kind.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.fakes.github_server.world import Pull, Repository, World

PAGE = 100


@dataclass
class Calls:
    """REST requests, each a point of the limit, and the resulting pairs."""

    requests: int = 0
    pairs: int = 0


def count(world: World) -> Calls:
    """All repositories of a world."""
    calls = Calls()
    for repository in world.repositories.values():
        _repository(repository, calls)
    return calls


def _repository(repository: Repository, calls: Calls) -> None:
    closed = list(repository.pulls.values())
    calls.requests += 1 + _listing(len(closed))  # repos.get, pulls.list
    calls.requests += sum(_listing(len(pull.commits)) for pull in closed)  # pulls.list_commits of each
    resolved = [pull for pull in closed if pull.merged and _named(pull)]
    calls.requests += 1 if resolved else 0  # repos.get once more, to build
    for pull in resolved:
        texts = 0
        for number in _named(pull):
            calls.requests += 1  # issues.get
            issue = repository.issues.get(number)
            if issue:
                calls.requests += _listing(len(pull.commits)) + _listing(len(issue.comments))
                texts += 1
        calls.pairs += 1 if texts and pull.kind != "commit gone" else 0


def _named(pull: Pull) -> list[int]:
    """Issues it finds: only by a keyword before ``#12`` in title, body or commit messages."""
    from tasks.data.sources.links import closing_links

    texts = (pull.title, pull.body, *(commit.message for commit in pull.commits))
    found = [number for text in texts for number in closing_links(text.replace(": #", " #"), "")]
    return list(dict.fromkeys(found))


def _listing(rows: int) -> int:
    return -(-rows // PAGE) + 1
