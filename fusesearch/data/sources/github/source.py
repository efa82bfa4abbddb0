"""The source ``github``: choose repositories, crawl a few at a time, and publish their pairs and clones."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from rich.console import Console

from fusesearch.core.config import GitHubSource
from fusesearch.core.digests import digest
from fusesearch.core.errors import ArtifactError, DataError, InfrastructureError, RepositoryError
from fusesearch.core.storage import Progress, read_json, write_json
from fusesearch.core.text import flat_name
from fusesearch.data.sources.base import TRIES, Mined
from fusesearch.data.sources.github import client, queries
from fusesearch.data.sources.github.asked import ASKED_DROPS, DiscussionCrawl, IssueCrawl
from fusesearch.data.sources.github.client import Api, Wait, api_of, countdown
from fusesearch.data.sources.github.crawling import Crawl, RepositoryState
from fusesearch.data.sources.github.failures import Gone, Stopped
from fusesearch.data.sources.github.pairing import DROPS
from fusesearch.data.sources.github.selection import Facts, Selection, select
from fusesearch.search.clones import Clone, address_on_github, open_clone

Announce = Callable[[str], None]
States = dict[type[Crawl], RepositoryState]
"""The state of one repository for each of the streams that it is read for."""


@dataclass
class GitHub:
    """Mines GitHub. Keeps its state below ``state_dir``: each run continues where the last one stopped.

    ``benchmarks`` are more repositories to exclude; ``workers`` is how many repositories are crawled at once.
    """

    config: GitHubSource
    state_dir: Path
    workers: int = 2
    benchmarks: Iterable[str] = ()
    announce: Announce = field(default_factory=lambda: Console(stderr=True, highlight=False).print)
    wait: Wait = countdown
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
        selection = self._selection()
        states = {facts.repo: self._states(facts.repo) for facts in selection.repositories}
        self.announce(self.forecast(selection, states))
        self._crawl_all(selection.repositories, states, progress)
        self._publish(selection.repositories, states, repos_dir)
        table = self._table(selection, states)
        if not any(row["pairs"] for row in table["repositories"]):
            reasons = self._message or "; ".join([*table["skipped"].values()][:3]) or "no merged pull request closes an issue"
            raise DataError(f"mine: not one pair from {len(states)} repositories of GitHub: {reasons}")
        if table["complete"]:
            self._selection_path.unlink(missing_ok=True)
        else:
            self.announce(
                f"{self._message or 'some repositories could not be read'}: all rows are kept, and the next run continues there"
            )
        streams = (state for facts in selection.repositories for state in states[facts.repo].values())
        return Mined((row for state in streams for row in state.instances()), table)

    def forecast(self, selection: Selection, states: dict[str, States]) -> str:
        """What the run will cost: pages of unread repositories, one request for each other one, and texts of issues."""
        fresh = [facts for facts in selection.repositories if states[facts.repo][Crawl].progress.watermark is None]
        pulls = sum(facts.pulls for facts in fresh)
        points = sum(_pages(facts.pulls) * queries.page_cost(Crawl.connections) for facts in fresh) + len(states) - len(fresh)
        if self.config.questions:
            points += sum(_pages(facts.issues) * queries.page_cost(IssueCrawl.connections) for facts in fresh) + len(states)
        most = points + sum(-(-facts.pulls // queries.DETAILS) for facts in fresh)
        return (
            f"GitHub: {len(states):,} repositories, {pulls:,} merged pull requests to read, {len(selection.skipped):,} "
            f"repositories left out; {points:,} to {most:,} points ({self.api.spent.points:,} spent on the choice); a run "
            f"may spend {client.BUDGET:,}"
        )

    @property
    def _selection_path(self) -> Path:
        named = self.config.model_dump(mode="json", include={"repositories", "preset", "criteria", "exclude"})
        return self._root / f"selection-{digest(named, sorted(self.benchmarks))[:12]}.json"

    def _selection(self) -> Selection:
        """The selection of an unfinished run, so that resuming does not pay for the search again; else a new one."""
        path = self._selection_path
        if path.exists():
            kept = read_json(path)
            return Selection([Facts(**facts) for facts in kept["repositories"]], kept["skipped"])
        try:
            selection = select(self.api, self.config, self.benchmarks)
        except Stopped as stopped:
            raise InfrastructureError(f"mine: {stopped} before the first request") from None
        write_json(path, {"repositories": [asdict(facts) for facts in selection.repositories], "skipped": selection.skipped})
        return selection

    def _states(self, repo: str) -> States:
        options = {
            "since": self.since.isoformat() if self.since else None,
            "comments": self.config.comments,
            "clone_url": address_on_github("{repo}"),
        }
        folders: dict[type[Crawl], str] = {Crawl: "repositories"}
        if self.config.questions:
            folders |= {IssueCrawl: "issues", DiscussionCrawl: "discussions"}
        return {stream: RepositoryState(self._root / folder, repo, options) for stream, folder in folders.items()}

    def _clone(self, repo: str) -> AbstractContextManager[Clone]:
        return open_clone(address_on_github(repo), self._root, TRIES)

    def _crawl_all(self, chosen: list[Facts], states: dict[str, States], progress: Progress) -> None:
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

    def _crawl(self, facts: Facts, states: States, seen: Callable[[int], None]) -> None:
        if self._stopping.is_set():
            return
        try:
            for stream, state in states.items():
                with state:
                    crawl = stream(self.api, self.config, facts, state, partial(self._clone, facts.repo), since=self.since)
                    before = len(state.pairs)
                    try:
                        crawl.run(seen if stream is Crawl else lambda count: None, self._stopping.is_set)
                    finally:
                        self._new[facts.repo] += len(state.pairs) - before
        except Stopped as stopped:
            self._message = str(stopped)
            self._stopping.set()
        except (Gone, RepositoryError, DataError) as error:
            if isinstance(error, ArtifactError):
                raise
            self._skipped[facts.repo] = str(error)

    def _publish(self, chosen: list[Facts], states: dict[str, States], repos_dir: Path) -> None:
        repos_dir.mkdir(parents=True, exist_ok=True)

        def publish(facts: Facts) -> None:
            commits = {instance.base_commit for state in states[facts.repo].values() for instance in state.instances()}
            if commits:
                with self._clone(facts.repo) as clone:
                    clone.publish(repos_dir / f"{flat_name(facts.repo)}.git", commits)

        with ThreadPoolExecutor(self.workers, thread_name_prefix="publish") as pool:
            list(pool.map(publish, chosen))

    def _table(self, selection: Selection, states: dict[str, States]) -> dict[str, Any]:
        rows = []
        dropped: Counter[str] = Counter()
        for facts in selection.repositories:
            streams = [*states[facts.repo].values()]
            progress = [state.progress for state in streams]
            for reason, numbers in (drop for row in progress for drop in row.drops.items()):
                dropped[reason] += len(set(numbers))
            rows.append({
                "repo": facts.repo, "pairs": sum(len(state.instances()) for state in streams), "new": self._new[facts.repo],
                "looked_at": sum(row.seen for row in progress),
                "complete": all(not row.crawling and row.watermark is not None for row in progress),
                "stars": facts.stars, "licence": facts.licence, "language": facts.language,
            })  # fmt: skip
        return {
            "repositories": rows,
            "dropped": {reason: dropped[reason] for reason in (*DROPS, *(ASKED_DROPS if self.config.questions else ()))},
            "skipped": {**selection.skipped, **self._skipped},
            "spent": self.api.spent.as_dict(),
            "complete": all(row["complete"] for row in rows) and not self._skipped,
            "message": self._message,
        }


def _pages(pulls: int) -> int:
    return -(-pulls // queries.PAGE) or 1
