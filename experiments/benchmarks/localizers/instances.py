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
from tasks.core.text import flat_name
from tasks.data.truth import truth_in_git
from tasks.evaluation.harness import Repositories
from tasks.search.snapshots import SnapshotStore, instance_snapshot


def load(instances: Path, repos: Path, repositories: Repositories, count: int) -> list[Instance]:
    """Up to ``count`` instances of ``instances`` (JSONL in the SWE-bench schema) whose patch modifies a file, with truth.

    They are taken in turn from the repositories that ``repos`` has a clone of, ``owner__name.git``, and within each in an
    order that does not depend on their number: more instances hold the fewer. Those whose snapshot a clone lacks objects
    for are told on stderr and left out; the others' are made. Raises :class:`ArtifactError` for none.
    """
    lines = instances.read_text(encoding="utf-8").split("\n")
    rows = [Instance.model_validate_json(line) for line in lines if line.strip()]
    by_repo: dict[str, list[Instance]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: zlib.crc32(row.instance_id.encode())):
        if _git_dir(repos, row).exists():
            by_repo[row.repo].append(row)
    turns = chain.from_iterable(zip_longest(*(by_repo[repo] for repo in sorted(by_repo))))
    usable = (row for row in (_usable(repos, repositories, turn) for turn in turns if turn) if row)
    chosen = list(islice(usable, count))
    if not chosen:
        raise ArtifactError(f"{repos} holds no clone of a repository of {instances}: put bare clones there as owner__name.git")
    return sorted(chosen, key=lambda row: row.instance_id)


def snapshots(cache: Path, repos: Path) -> Repositories:
    """Gives an instance's snapshot, kept below ``cache``."""
    return partial(instance_snapshot, SnapshotStore(cache), repos)


def _usable(repos: Path, repositories: Repositories, row: Instance) -> Instance | None:
    """The instance with its truth; None where it has none or its snapshot cannot be made."""
    try:
        truth = truth_in_git(_git_dir(repos, row), row.base_commit, row.patch)
        repositories(row)
    except (DataError, RepositoryError) as error:
        print(f"left out: {row.instance_id}: {error}", file=sys.stderr)
        return None
    return row.model_copy(update={"truth": truth}) if truth.files else None


def _git_dir(repos: Path, row: Instance) -> Path:
    return repos / f"{flat_name(row.repo)}.git"
