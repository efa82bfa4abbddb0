"""Choose the repositories to mine: a list, or the results of a GitHub search; never a benchmark's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fusesearch.core.config import Criteria, GitHubSource
from fusesearch.core.errors import ConfigError
from fusesearch.core.storage import read_json
from fusesearch.data.sources.base import REPOSITORY
from fusesearch.data.sources.github import queries
from fusesearch.data.sources.github.client import Api

PERMISSIVE = ("MIT", "Apache-2.0", "BSD-3-Clause", "BSD-2-Clause", "ISC", "0BSD", "Unlicense", "Zlib", "BSL-1.0", "Python-2.0")

PRESETS = {
    # 3.1: 1,000 issues, 1,000 pull requests, 100 stars, "an appropriate license"; 600 repositories
    "tooltrain": Criteria(min_stars=100, min_issues=1000, min_pulls=1000, licences=["any"], max_repositories=600),
    # 3.3 says no more than "233 high-quality GitHub repositories": the thresholds are ToolTrain's, permissive licences alone
    "fusesearch": Criteria(
        min_stars=100, min_issues=1000, min_pulls=1000, licences=list(PERMISSIVE), languages=["Python"], max_repositories=233
    ),
}
"""Criteria by the name of the paper that used them."""

BENCHMARKS: list[str] = read_json(Path(__file__).with_name("benchmarks.json"))
"""Repositories that benchmarks take their tasks from, in lower case; what is mined of them would be training on the test.

SWE-bench with its Lite, Verified, dev, multilingual and Pro sets, Multi-SWE-bench, SWE-PolyBench, and what is known of LocBench,
which names its repositories only in its file: give that file under ``split.benchmarks``.
"""

SEARCH_LIMIT = 1000
"""Most results of one GitHub search; the search then continues with fewer stars."""


@dataclass(frozen=True)
class Facts:
    """What GitHub knows about a repository. ``repo`` is its current name, ``asked`` the one in the request."""

    repo: str
    asked: str
    stars: int
    issues: int
    pulls: int
    licence: str | None
    language: str | None
    parent: str | None
    fork: bool
    archived: bool
    hidden: bool


@dataclass(frozen=True)
class Selection:
    """Repositories to mine, and the skipped ones with reasons."""

    repositories: list[Facts]
    skipped: dict[str, str]


def select(api: Api, config: GitHubSource, benchmarks: Iterable[str] = ()) -> Selection:
    """The repositories of the params, in a fixed order. Raises :class:`ConfigError` if they name none."""
    for name in (*config.repositories, *config.exclude):
        if not REPOSITORY.fullmatch(name):
            raise ConfigError(f"mine.github: {name!r} is not a repository: write owner/name")
    barred = {name.casefold() for name in (*BENCHMARKS, *benchmarks, *config.exclude)}
    skipped: dict[str, str] = {}
    chosen: dict[str, Facts] = {}
    criteria = None if config.repositories else effective(config)
    found = _search(api, criteria) if criteria else _look_up(api, config.repositories, skipped)
    limit = (criteria.max_repositories if criteria else None) or 10**9
    for facts in found:
        names = {name.casefold() for name in (facts.repo, facts.asked, facts.parent) if name}
        reason = "disabled" if facts.hidden else "benchmark or excluded" if names & barred else None
        reason = reason or (unfit(facts, criteria) if criteria else None)
        if reason:
            skipped[facts.asked] = reason
        else:
            chosen.setdefault(facts.repo.casefold(), facts)
        if len(chosen) >= limit:
            break
    return Selection(sorted(chosen.values(), key=lambda facts: facts.repo.casefold()), skipped)


def effective(config: GitHubSource) -> Criteria:
    """The criteria of the params over those of the preset."""
    if config.preset is None and not config.criteria:
        raise ConfigError("mine.github: name repositories, a preset (fusesearch, tooltrain) or criteria")
    base = PRESETS[config.preset] if config.preset else Criteria()
    return base.model_copy(update=Criteria.model_validate(config.criteria).model_dump(exclude_unset=True))


def unfit(facts: Facts, criteria: Criteria) -> str | None:
    """The first criterion a repository does not meet."""
    licences = criteria.licences
    tests = {
        "stars": facts.stars >= (criteria.min_stars or 0),
        "issues": facts.issues >= (criteria.min_issues or 0),
        "pulls": facts.pulls >= (criteria.min_pulls or 0),
        "licence": licences is None or (facts.licence is not None and ("any" in licences or facts.licence in licences)),
        "language": criteria.languages is None or facts.language in criteria.languages,
        "archived": not facts.archived,
        "fork": not facts.fork,
    }
    return next((name for name, met in tests.items() if not met), None)


def _look_up(api: Api, names: list[str], skipped: dict[str, str]) -> Iterator[Facts]:
    for start in range(0, len(names), queries.LOOKUPS):
        part = names[start : start + queries.LOOKUPS]
        data = api.graphql(*queries.lookup(part))
        for number, name in enumerate(part):
            facts = _facts(data.get(f"r{number}"), name)
            if facts:
                yield facts
            else:
                skipped[name] = "the repository does not exist, or the token may not see it"


def _search(api: Api, criteria: Criteria) -> Iterator[Facts]:
    """Most stars first. After a thousand results, the search continues below the fewest stars seen."""
    for language in criteria.languages or (None,):
        most: int | None = None
        while True:
            fewest, total = None, 0
            for facts in _pages(api, search_text(criteria, language, most)):
                fewest, total = facts.stars, total + 1
                yield facts
            if total < SEARCH_LIMIT or fewest is None:
                break
            most = fewest if most is None or fewest < most else most - 1


def search_text(criteria: Criteria, language: str | None, most_stars: int | None) -> str:
    """The query in GitHub's search syntax."""
    least = criteria.min_stars or 0
    words = ["sort:stars-desc", f"stars:{least}..{most_stars}" if most_stars is not None else f"stars:>={least}"]
    words.append("archived:false")
    words += [f'language:"{language}"'] if language else []
    known = [licence for licence in criteria.licences or [] if licence != "any"]
    words += [f"license:{licence.lower()}" for licence in known] if "any" not in (criteria.licences or []) else []
    return " ".join(words)


def _pages(api: Api, text: str) -> Iterator[Facts]:
    variables: dict[str, Any] = {"search": text, "first": queries.PAGE, "after": None}
    while True:
        found = api.graphql(queries.SEARCH, variables, queries.page_cost(2)).get("search") or {}
        for node in found.get("nodes") or []:
            if facts := _facts(node, str((node or {}).get("nameWithOwner"))):
                yield facts
        page = found.get("pageInfo") or {}
        if not page.get("hasNextPage"):
            return
        variables["after"] = page.get("endCursor")


def _facts(node: Any, asked: str) -> Facts | None:
    if not isinstance(node, dict) or not REPOSITORY.fullmatch(str(node.get("nameWithOwner"))):
        return None
    licence = (node.get("licenseInfo") or {}).get("spdxId")
    return Facts(
        repo=node["nameWithOwner"],
        asked=asked,
        stars=int(node.get("stargazerCount") or 0),
        issues=int((node.get("issues") or {}).get("totalCount") or 0),
        pulls=int((node.get("pullRequests") or {}).get("totalCount") or 0),
        licence=str(licence) if licence and licence != "NOASSERTION" else None,  # GitHub's id for an unknown one
        language=(node.get("primaryLanguage") or {}).get("name"),
        parent=(node.get("parent") or {}).get("nameWithOwner"),
        fork=bool(node.get("isFork")),
        archived=bool(node.get("isArchived")),
        hidden=bool(node.get("isDisabled")),
    )
