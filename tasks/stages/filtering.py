"""Filter: raw pairs that are worth a task, with their truth; how many each rule dropped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tasks.core import layout
from tasks.core.config import Params
from tasks.core.progress import Progress
from tasks.core.storage import read_instances, write_instances, write_json


def filter_pairs(params: Params, scratch: Path, progress: Progress) -> dict[str, Any]:
    """Write ``data/filtered/instances.parquet`` and the drop table beside it."""
    from tasks.data.filtering import apply

    pairs = read_instances(layout.PAIRS)
    kept, drops = apply(pairs, params.filter, layout.REPOS)
    progress(len(pairs), len(pairs))
    write_instances(layout.INSTANCES, kept)
    write_json(layout.FILTER_DROPS, drops)
    return {
        "pairs": len(pairs),
        "instances": len(kept),
        "dropped": len(pairs) - len(kept),
        "repositories": len({instance.repo for instance in kept}),
    }
