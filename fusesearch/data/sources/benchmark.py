"""The source ``benchmark``: published sets in the SWE-bench schema, as files.

Keeps unknown columns with each row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from fusesearch.core.config import BenchmarkSource
from fusesearch.core.errors import ConfigError, DataError, RepositoryError
from fusesearch.core.schema import Instance
from fusesearch.core.storage import Progress
from fusesearch.core.text import flat_name
from fusesearch.data.sources.base import REPOSITORY, TRIES, Mined
from fusesearch.data.swe_bench import instances, read_rows
from fusesearch.search.clones import address_on_github, open_clone


@dataclass
class Benchmark:
    """Reads the sets and clones their repositories with the base commits of the rows.

    Keeps the clones below ``state_dir`` between runs.
    """

    config: BenchmarkSource
    state_dir: Path
    workers: int = 2

    def mine(self, repos_dir: Path, progress: Progress) -> Mined:
        """See :class:`~fusesearch.data.sources.base.Source`.

        Raises :class:`ConfigError` if the params name no set, :class:`DataError` for an unreadable one or missing columns.
        """
        if not self.config.files:
            raise ConfigError("mine.benchmark: name files")
        rows = [row for path in self.config.files for row in instances(str(path), read_rows(path))]
        skipped = clone_all(rows, repos_dir, self.state_dir, self.workers, progress)
        kept = [row for row in rows if row.repo not in skipped]
        if not kept:
            raise DataError(f"mine: no repository of {len(rows)} rows could be cloned: {next(iter(skipped.values()), 'no rows')}")
        counts = Counter(row.repo for row in kept)
        table = [{"repo": repo, "pairs": count, "new": count} for repo, count in sorted(counts.items())]
        return Mined(kept, {"repositories": table, "dropped": {"no_clone": len(rows) - len(kept)}, "skipped": skipped})


def clone_all(rows: Iterable[Instance], repos_dir: Path, state_dir: Path, workers: int, progress: Progress) -> dict[str, str]:
    """Clone the repositories of ``rows`` with their base commits; returns the failed ones with reasons."""
    commits: dict[str, set[str]] = {}
    for row in rows:
        commits.setdefault(row.repo, set()).add(row.base_commit)
    repos_dir.mkdir(parents=True, exist_ok=True)
    skipped: dict[str, str] = {}
    done: list[str] = []

    def clone(repo: str) -> None:
        try:
            if not REPOSITORY.fullmatch(repo):
                raise RepositoryError(f"{repo[:100]!r} is not a repository: it should be owner/name")
            with open_clone(address_on_github(repo), state_dir, TRIES) as found:
                present = commits[repo] - found.have_commits(commits[repo])
                found.publish(repos_dir / f"{flat_name(repo)}.git", present)
        except RepositoryError as error:
            skipped[repo] = str(error)
        done.append(repo)
        progress(len(done), len(commits))

    with ThreadPoolExecutor(workers, thread_name_prefix="clone") as pool:
        list(pool.map(clone, sorted(commits)))
    return dict(sorted(skipped.items()))
