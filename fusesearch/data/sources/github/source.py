"""The source ``github``: choose repositories, crawl a few at a time, and publish their pairs and clones."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fusesearch.core.config import GitHubSource
from fusesearch.core.errors import ArtifactError, DataError, InfrastructureError, RepositoryError
from fusesearch.core.storage import Progress
from fusesearch.core.text import flat_name
from fusesearch.data.sources.base import TRIES, Mined
from fusesearch.data.sources.github.client import Api, Wait, api_of, logged_wait
from fusesearch.data.sources.github.crawling import Crawl, RepositoryState
from fusesearch.data.sources.github.failures import Gone, Stopped
from fusesearch.data.sources.github.pairing import DROPS
from fusesearch.data.sources.github.selection import Facts, Selection, select
from fusesearch.search.clones import Clone, address_on_github, open_clone

log = logging.getLogger(__name__)


@dataclass
class GitHub:
    """Mines GitHub. Keeps its state below ``state_dir``: each run continues where the last one stopped.

    ``benchmarks`` are more repositories to exclude; ``workers`` is how many repositories are crawled at once.
    """

    config: GitHubSource
    state_dir: Path
    workers: int = 2
    benchmarks: Iterable[str] = ()
    wait: Wait = logged_wait
    since: date | None = None
    api: Api = field(init=False)

    def __post_init__(self) -> None:
        self.api = Api(self.wait)
        self._root = self.state_dir / urlsplit(api_of()).netloc.replace(":", "-")
        self._stopping = threading.Event()
        self._new: Counter[str] = Counter()
        self._skipped: dict[str, str] = {}
        self._message = ""

    def mine(self, repos_dir: Path, progress: Progress) -> Mined:
        """See :class:`~fusesearch.data.sources.base.Source`. A run that ends by its budget or a long wait keeps all rows.

        Raises :class:`DataError` if no pair was found, :class:`InfrastructureError` if GitHub cannot be reached.
        """
        try:
            selection = select(self.api, self.config, self.benchmarks)
        except Stopped as stopped:
            raise InfrastructureError(f"mine: {stopped} before the first request") from None
        states = {facts.repo: self._state(facts.repo) for facts in selection.repositories}
        self._crawl_all(selection.repositories, states, progress)
        self._publish(selection.repositories, states, repos_dir)
        table = self._table(selection, states)
        if not any(row["pairs"] for row in table["repositories"]):
            reasons = self._message or "; ".join([*table["skipped"].values()][:3]) or "no merged pull request closes an issue"
            raise DataError(f"mine: not one pair from {len(states)} repositories of GitHub: {reasons}")
        if not table["complete"]:
            why = self._message or "some repositories could not be read"
            log.warning("%s: all rows are kept, and the next run continues there", why)
        return Mined((row for facts in selection.repositories for row in states[facts.repo].instances()), table)

    def _state(self, repo: str) -> RepositoryState:
        options = {
            "since": self.since.isoformat() if self.since else None,
            "clone_url": address_on_github("{repo}"),
        }
        return RepositoryState(self._root / "repositories", repo, options)

    def _clone(self, repo: str) -> AbstractContextManager[Clone]:
        return open_clone(address_on_github(repo), self._root, TRIES)

    def _crawl_all(self, chosen: list[Facts], states: dict[str, RepositoryState], progress: Progress) -> None:
        total, lock = sum(facts.pulls for facts in chosen), threading.Lock()
        looked_at: Counter[str] = Counter()

        def seen(repo: str, count: int) -> None:
            with lock:
                looked_at[repo] = count
                progress(min(total, looked_at.total()), total)

        with ThreadPoolExecutor(self.workers, thread_name_prefix="mine") as pool:
            futures = [pool.submit(self._crawl, facts, states[facts.repo], partial(seen, facts.repo)) for facts in chosen]
            try:
                for future in futures:
                    future.result()
            except BaseException:
                self._stopping.set()
                pool.shutdown(wait=True, cancel_futures=True)
                raise

    def _crawl(self, facts: Facts, state: RepositoryState, seen: Callable[[int], None]) -> None:
        if self._stopping.is_set():
            return
        try:
            with state:
                crawl = Crawl(self.api, facts, state, partial(self._clone, facts.repo), since=self.since)
                before = len(state.pairs)
                try:
                    crawl.run(seen, self._stopping.is_set)
                finally:
                    self._new[facts.repo] += len(state.pairs) - before
        except Stopped as stopped:
            self._message = str(stopped)
            self._stopping.set()
        except (Gone, RepositoryError, DataError) as error:
            if isinstance(error, ArtifactError):
                raise
            self._skipped[facts.repo] = str(error)

    def _publish(self, chosen: list[Facts], states: dict[str, RepositoryState], repos_dir: Path) -> None:
        repos_dir.mkdir(parents=True, exist_ok=True)

        def publish(facts: Facts) -> None:
            commits = {instance.base_commit for instance in states[facts.repo].instances()}
            if commits:
                with self._clone(facts.repo) as clone:
                    clone.publish(repos_dir / f"{flat_name(facts.repo)}.git", commits)

        with ThreadPoolExecutor(self.workers, thread_name_prefix="publish") as pool:
            list(pool.map(publish, chosen))

    def _table(self, selection: Selection, states: dict[str, RepositoryState]) -> dict[str, Any]:
        rows = []
        dropped: Counter[str] = Counter()
        for facts in selection.repositories:
            state = states[facts.repo]
            progress = state.progress
            dropped.update({reason: len(set(numbers)) for reason, numbers in progress.drops.items()})
            rows.append({
                "repo": facts.repo, "pairs": len(state.instances()), "new": self._new[facts.repo],
                "looked_at": progress.seen, "complete": not progress.crawling and progress.watermark is not None,
                "stars": facts.stars, "licence": facts.licence, "language": facts.language,
            })  # fmt: skip
        return {
            "repositories": rows,
            "dropped": {reason: dropped[reason] for reason in DROPS},
            "skipped": {**selection.skipped, **self._skipped},
            "spent": self.api.spent.as_dict(),
            "complete": all(row["complete"] for row in rows) and not self._skipped,
            "message": self._message,
        }
