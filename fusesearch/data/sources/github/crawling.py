"""Crawl one repository, a few pages at a time, and keep its state between runs.

Merged pull requests are read from the last updated one backwards. ``watermark`` is the time up to which all have been
read; the next crawl ends there, so that it costs only what is new. Rows are written before the cursor moves: a killed run reads
its last pages again and finds those rows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any

from fusesearch.core.errors import ArtifactError, DataError
from fusesearch.core.schema import Instance
from fusesearch.core.storage import Journal, read_json, write_json
from fusesearch.core.text import flat_name
from fusesearch.data.sources.base import moment
from fusesearch.data.sources.github import queries
from fusesearch.data.sources.github.client import Api
from fusesearch.data.sources.github.failures import Gone
from fusesearch.data.sources.github.pairing import pair
from fusesearch.data.sources.github.parsing import MAX_FILES, Pull, parse_pull
from fusesearch.data.sources.github.selection import Facts
from fusesearch.search.clones import Clone

VERSION = 3
"""Part of the folder's name, so that rows of different versions are never mixed."""

PAGES_AT_ONCE = 5
"""Pages read before their pairs are made, so that issue texts are fetched many at a time. A kill loses at most these."""

EPOCH = "1970-01-01T00:00:00+00:00"
"""The watermark where there was nothing to read."""

Seen = Callable[[int], None]
"""Called with the number of pull requests seen in this crawl."""


@dataclass
class Progress:
    """How far the crawl is. Times are ISO 8601 in UTC; ``drops`` are numbers of pull requests by reason."""

    watermark: str | None = None
    crawling: bool = False
    cursor: str | None = None
    next_watermark: str | None = None
    seen: int = 0
    drops: dict[str, list[int]] = field(default_factory=dict)

    def drop(self, reasons: dict[int, str], kept: Iterable[int]) -> None:
        """Record why pull requests were dropped, replacing earlier reasons; ``kept`` ones lose theirs."""
        forgotten = {*reasons, *kept}
        for reason, numbers in self.drops.items():
            self.drops[reason] = [number for number in numbers if number not in forgotten]
        for number, reason in reasons.items():
            self.drops.setdefault(reason, []).append(number)


class RepositoryState:
    """The folder of one repository. A context manager; one process at a time."""

    def __init__(self, root: Path, repo: str, options: dict[str, Any]) -> None:
        self.repo = repo
        key = hashlib.sha256(json.dumps([VERSION, repo.casefold(), options], sort_keys=True).encode()).hexdigest()[:12]
        self.folder = root / f"{flat_name(repo.casefold())}-{key}"
        path = self.folder / "progress.json"
        try:
            self.progress = Progress(**read_json(path)) if path.exists() else Progress()
        except TypeError:
            raise ArtifactError(f"{path} is of another version: delete {self.folder}") from None

    def save(self) -> None:
        """Write the progress. Call it after writing the pairs."""
        write_json(self.folder / "progress.json", asdict(self.progress))

    def __enter__(self) -> RepositoryState:
        self.pairs = Journal(self.folder / "pairs.jsonl", key="instance_id")
        return self

    def __exit__(self, *_: object) -> None:
        self.pairs.close()

    def instances(self) -> list[Instance]:
        """All pairs so far, sorted by number."""
        path = self.folder / "pairs.jsonl"
        if not path.exists():
            return []
        with Journal(path, key="instance_id") as journal:
            found = [Instance.model_validate(row) for row in journal.rows.values()]
        return sorted(found, key=number_of)


def number_of(instance: Instance) -> int:
    """The number of the pull request that a row comes from."""
    return int(instance.instance_id.rpartition("-")[2])


@dataclass
class Chunk:
    """Some pages: candidates, reasons against the others, and the cursor of the next page."""

    wanted: list[Pull] = field(default_factory=list)
    reasons: dict[int, str] = field(default_factory=dict)
    cursor: str | None = None
    newest: datetime | None = None
    seen: int = 0
    last: bool = False


@dataclass
class Crawl:
    """Crawls one repository into its state."""

    api: Api
    facts: Facts
    state: RepositoryState
    open_clone: Callable[[], AbstractContextManager[Clone]]
    page: int = queries.PAGE
    since: date | None = None

    def run(self, seen: Seen, stopping: Callable[[], bool]) -> None:
        """Read what is new. Ends after a chunk if ``stopping()`` is true.

        Passes on errors of :class:`Api` and the clone; everything before the last chunk is then kept.
        """
        progress = self.state.progress
        if not progress.crawling:
            progress.crawling = True
            self.page = queries.FIRST_LOOK if progress.watermark else queries.PAGE
        total = 0
        while progress.crawling and not stopping():
            chunk = Chunk(cursor=progress.cursor)
            for _ in range(PAGES_AT_ONCE):
                self._take(chunk, self._page(chunk))
                if chunk.last or len(chunk.wanted) >= queries.DETAILS:
                    break
            rows = pair(self.api, self.facts, chunk.wanted, self.open_clone, chunk.reasons)
            for row in rows:
                self.state.pairs.append(row)
            progress.drop(chunk.reasons, map(number_of, rows))
            self._advance(chunk)
            total += chunk.seen
            seen(total)

    def _page(self, chunk: Chunk) -> dict[str, Any]:
        owner, _, name = self.facts.repo.partition("/")
        cost = queries.page_cost(queries.PULL_CONNECTIONS, self.page)
        variables = {"owner": owner, "name": name, "first": self.page, "after": chunk.cursor}
        try:
            data = self.api.graphql(queries.PULLS, variables, cost)
        except DataError:
            if chunk.cursor is None:
                raise
            data = self.api.graphql(queries.PULLS, variables | {"after": None}, cost)
        repository = data.get("repository")
        if not isinstance(repository, dict):
            raise Gone("the repository is gone, or the token may not see it")
        self.page = queries.PAGE
        return repository.get("pullRequests") or {}

    def _take(self, chunk: Chunk, page: dict[str, Any]) -> None:
        since = datetime.combine(self.since, time.min, UTC) if self.since else None
        until = max(filter(None, (moment(self.state.progress.watermark), since)), default=None)
        for row in filter(None, (parse_pull(node, self.facts.repo) for node in page.get("nodes") or [])):
            chunk.newest = max(chunk.newest or row.updated, row.updated)
            if until is not None and row.updated < until:
                chunk.last = True
                break
            chunk.seen += 1
            if f"{flat_name(self.facts.repo)}-{row.number}" in self.state.pairs:
                continue
            reason = _unwanted(row, since)
            if reason:
                chunk.reasons[row.number] = reason
            else:
                chunk.wanted.append(row)
        info = page.get("pageInfo") or {}
        chunk.cursor = info.get("endCursor")
        chunk.last = chunk.last or not info.get("hasNextPage") or not chunk.cursor

    def _advance(self, chunk: Chunk) -> None:
        """Move the cursor behind a chunk; behind the last one, the crawl has read everything new and ends."""
        progress = self.state.progress
        progress.seen += chunk.seen
        progress.cursor = chunk.cursor
        if progress.next_watermark is None and chunk.newest is not None:
            progress.next_watermark = chunk.newest.isoformat()
        if chunk.last:
            progress.watermark = progress.next_watermark or progress.watermark or EPOCH
            progress.crawling, progress.cursor, progress.next_watermark = False, None, None
        self.state.save()


def _unwanted(row: Pull, since: datetime | None) -> str | None:
    """Why to drop a pull request at first sight, or None."""
    tests = {
        "before_since": since is not None and row.merged < since,
        "no_issue": not row.issue_ids and not row.links,
        "no_merge_commit": not row.merge,
        "no_files": row.changed_files == 0,
        "many_files": row.changed_files > MAX_FILES,
    }
    return next((reason for reason, holds in tests.items() if holds), None)
