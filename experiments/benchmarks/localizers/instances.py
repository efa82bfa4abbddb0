"""Real instances with their truth, spread over repositories, and their snapshots from clones."""

from __future__ import annotations

import sys
import zlib
from collections import defaultdict
from functools import partial
from itertools import chain, islice, zip_longest
from pathlib import Path

from tasks.core.errors import ArtifactError, DataError, RepositoryError
from tasks.core.schema import Instance
from tasks.data.repositories import git_dir_of
from tasks.data.truth import truth_in_git
from tasks.evaluation.harness import Repositories
from tasks.search.snapshots import SnapshotStore, instance_snapshot


def load(instances: Path, repos: Path, repositories: Repositories, count: int) -> list[Instance]:
    """Up to ``count`` instances of ``instances`` (JSONL in the SWE-bench schema) whose patch modifies a file, with truth.

    Takes them in turn from the repositories with a clone in ``repos``, ``owner__name.git``, and within each in a fixed order,
    so that a larger ``count`` includes the smaller one's. Makes their snapshots; leaves out instances for which a clone lacks
    objects, with a line on stderr. Raises :class:`ArtifactError` when none is left.
    """
    lines = instances.read_text(encoding="utf-8").split("\n")
    rows = [Instance.model_validate_json(line) for line in lines if line.strip()]
    by_repo: dict[str, list[Instance]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: zlib.crc32(row.instance_id.encode())):
        if git_dir_of(row.repo, repos).exists():
            by_repo[row.repo].append(row)
    turns = chain.from_iterable(zip_longest(*(by_repo[repo] for repo in sorted(by_repo))))
    usable = (row for row in (_usable(repos, repositories, turn) for turn in turns if turn) if row)
    chosen = list(islice(usable, count))
    if not chosen:
        raise ArtifactError(f"{repos} holds no clone of a repository of {instances}: put bare clones there as owner__name.git")
    return sorted(chosen, key=lambda row: row.instance_id)


def snapshots(cache: Path, repos: Path) -> Repositories:
    """A function from an instance to its snapshot below ``cache``."""
    return partial(instance_snapshot, SnapshotStore(cache), repos)


def _usable(repos: Path, repositories: Repositories, row: Instance) -> Instance | None:
    """The instance with its truth; None without truth or snapshot."""
    try:
        truth = truth_in_git(git_dir_of(row.repo, repos), row.base_commit, row.patch)
        repositories(row)
    except (DataError, RepositoryError) as error:
        print(f"left out: {row.instance_id}: {error}", file=sys.stderr)
        return None
    return row.model_copy(update={"truth": truth}) if truth.files else None
