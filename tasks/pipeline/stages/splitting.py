"""Split: which repositories train by imitation, which by reinforcement, and which are held out; and the data card."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tasks.core.config import Params
from tasks.core.schema import Instance
from tasks.core.storage import Progress, count_rows, write_instances
from tasks.pipeline.places import Places
from tasks.pipeline.progress import publish


def split_instances(params: Params, places: Places, scratch: Path, progress: Progress) -> dict[str, Any]:
    """Write ``data/splits/{sft,rl,validation}.parquet`` and the data card."""
    from tasks.data.contamination import CONTAMINATION
    from tasks.data.splitting import SPLITS, TableSplit, check_filled
    from tasks.reporting.data_card import write_card
    from tasks.reporting.tally import Tally

    total = count_rows(places.instances)
    table = TableSplit(places.instances, params.split, params.data_seed, places.repos)
    tallies = {name: Tally() for name in SPLITS}

    def counted(name: str, instances: Iterable[Instance]) -> Iterator[Instance]:
        for instance in instances:
            tallies[name].add(instance)
            yield instance
        progress(sum(tally.instances for tally in tallies.values()) + table.drops.total(), total)

    sizes = {name: write_instances(scratch / f"{name}.parquet", counted(name, table.instances(name))) for name in SPLITS}
    check_filled(sizes, params.split, table.drops)
    for name in SPLITS:
        publish(scratch / f"{name}.parquet", places.split(name))
    dropped = {reason: table.drops[reason] for reason in CONTAMINATION}
    write_card(places.card, tallies, dropped, filter_drops=places.filter_drops, mined=places.mine_table)
    figures: dict[str, Any] = {f"dropped_{reason}": count for reason, count in dropped.items()}
    for name, tally in tallies.items():
        figures |= {f"{name}_instances": tally.instances, f"{name}_repositories": len(tally.repositories)}
    return figures
