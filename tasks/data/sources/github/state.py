"""What is known of one repository between runs: its pairs, the cursor of an unfinished crawl, and how far a finished one saw.

A repository is read from its last updated pull request backwards. ``watermark`` is the time up to which everything has been
seen; the next crawl ends there, so that it costs only what is new. Pairs are written before the cursor moves on: a killed run
reads its last pages again and finds those pairs already there.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from tasks.core.errors import ArtifactError
from tasks.core.schema import Instance
from tasks.core.storage import Journal, read_json, write_json
from tasks.core.text import flat_name

VERSION = 1
"""Part of the folder's name: rows of another version are not mixed with these."""


@dataclass
class Progress:
    """Where the crawl stands. Times are ISO 8601 in UTC; ``drops`` are numbers of pull requests by reason."""

    watermark: str | None = None
    etag: str | None = None
    crawling: bool = False
    cursor: str | None = None
    next_watermark: str | None = None
    next_etag: str | None = None
    seen: int = 0
    drops: dict[str, list[int]] = field(default_factory=dict)

    def begin(self, etag: str | None) -> None:
        """Start a crawl at the newest pull request."""
        self.crawling, self.cursor, self.next_watermark, self.next_etag = True, None, None, etag

    def finish(self) -> None:
        """All that was to be seen has been seen."""
        self.watermark, self.etag = self.next_watermark or self.watermark, self.next_etag
        self.crawling, self.cursor, self.next_watermark, self.next_etag = False, None, None, None

    def drop(self, reasons: dict[int, str], kept: Iterable[int]) -> None:
        """Note why pull requests are no pairs; what was noted of them before no longer holds."""
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
        self.progress = self._read()

    def _read(self) -> Progress:
        path = self.folder / "progress.json"
        if not path.exists():
            return Progress()
        try:
            return Progress(**read_json(path))
        except TypeError:
            raise ArtifactError(f"{path} is of another version: delete {self.folder}") from None

    def save(self) -> None:
        """Write how far the crawl is; after the pairs."""
        write_json(self.folder / "progress.json", asdict(self.progress))

    def __enter__(self) -> RepositoryState:
        self.pairs = Journal(self.folder / "pairs.jsonl", key="instance_id")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.pairs.close()

    def instances(self) -> list[Instance]:
        """All pairs so far, by the number of their pull request."""
        path = self.folder / "pairs.jsonl"
        if not path.exists():
            return []
        with Journal(path, key="instance_id") as journal:
            found = [Instance.model_validate(row) for row in journal.rows.values()]
        return sorted(found, key=lambda instance: int(instance.provenance["pull"]))
