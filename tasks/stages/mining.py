"""Mine: raw pairs of issue and patch, and the repositories they are about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tasks.core import layout
from tasks.core.config import Params
from tasks.core.errors import ConfigError
from tasks.core.progress import Progress, publish
from tasks.core.storage import write_instances, write_json


def mine(params: Params, scratch: Path, progress: Progress) -> dict[str, Any]:
    """Write ``data/raw/pairs.parquet``, its table of what was tried, and a bare git repository per package."""
    if params.mine.source != "synthetic":
        raise ConfigError(f"mine.source: {params.mine.source!r} is not available as a stage; use 'synthetic'")
    from tasks.data.sources.synthetic import mine as mine_packages

    repos = scratch / "repos"
    counts = _Counts(progress, params.mine.per_repository * len(params.mine.packages))
    mined = mine_packages(params.mine, params.data_seed, repos, scratch, counts)
    keep_empty_folders(repos)
    write_json(layout.MINE_TABLE, mined.table)
    write_instances(layout.PAIRS, mined.instances)
    publish(repos, layout.REPOS)
    return {
        "pairs": len(mined.instances),
        "repositories": len({instance.repo for instance in mined.instances}),
        "skipped_packages": len(mined.table["skipped"]),
        "multi_hop": sum(int(instance.provenance.get("hops", 0)) > 0 for instance in mined.instances),
    }


class _Counts:
    """Sums what the repositories report, each for itself, to the stage's progress."""

    def __init__(self, progress: Progress, total: int) -> None:
        self.progress = progress
        self.total = total
        self.kept: dict[str, int] = {}

    def __call__(self, repo: str, kept: int, attempts: int) -> None:
        self.kept[repo] = kept
        self.progress(sum(self.kept.values()), self.total)


def keep_empty_folders(root: Path) -> None:
    """Put a hidden file into empty folders of bare repositories.

    DVC stores files only; a repository without its ``refs`` folder is none to git. Git ignores names that begin with a dot.
    """
    for folder in [path for path in root.rglob("*") if path.is_dir()]:
        if not any(folder.iterdir()):
            (folder / ".keep").touch()
