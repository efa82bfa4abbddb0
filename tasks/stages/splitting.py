"""Split: which repositories train by imitation, which by reinforcement, and which are held out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tasks.core import layout
from tasks.core.config import Params
from tasks.core.progress import Progress
from tasks.core.storage import read_instances, write_instances


def split_instances(params: Params, scratch: Path, progress: Progress) -> dict[str, Any]:
    """Write ``data/splits/{sft,rl,validation}.parquet``."""
    from tasks.data.splitting import split_and_count

    instances = read_instances(layout.INSTANCES)
    parts, dropped = split_and_count(instances, params.split, params.data_seed)
    figures: dict[str, Any] = {f"dropped_{reason}": count for reason, count in dropped.items()}
    for name, part in parts.items():
        write_instances(layout.split_path(name), part)
        figures[f"{name}_instances"] = len(part)
        figures[f"{name}_repositories"] = len({instance.repo for instance in part})
    progress(len(instances), len(instances))
    return figures
