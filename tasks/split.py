"""Split: which repositories train by imitation, which by reinforcement, and which are held out; and the data card."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from fusesearch.core.dropped import write_dropped
from fusesearch.core.schema import Instance
from fusesearch.core.storage import count_rows, write_instances
from tasks.running.node import Job
from tasks.running.resume import publish


def split_instances(job: Job) -> dict[str, Any]:
    """Write the three splits, which instances were dropped and why, and the data card."""
    from fusesearch.data.splitting import SPLITS, TableSplit, check_filled, counts_of
    from fusesearch.reporting.data_card import Tally, write_card

    params, places, scratch = job.params, job.places, job.scratch
    total = count_rows(places["filter.instances"])
    table = TableSplit(places["filter.instances"], params.split, params.data_seed, places["mine.repos"])
    tallies = {name: Tally() for name in SPLITS}

    def counted(name: str, instances: Iterable[Instance]) -> Iterator[Instance]:
        for instance in instances:
            tallies[name].add(instance)
            yield instance
        job.progress(sum(tally.instances for tally in tallies.values()) + len(table.dropped), total)

    sizes = {name: write_instances(scratch / f"{name}.parquet", counted(name, table.instances(name))) for name in SPLITS}
    check_filled(sizes, params.split, len(table.dropped))
    for name in SPLITS:
        publish(scratch / f"{name}.parquet", places[f"split.{name}"])
    write_dropped(places["split.dropped"], table.dropped)
    dropped = counts_of(table.dropped)
    write_card(places["split.card"], tallies)
    figures: dict[str, Any] = {f"dropped_{reason}": count for reason, count in dropped.items()}
    for name, tally in tallies.items():
        figures |= {f"{name}_instances": tally.instances, f"{name}_repositories": len(tally.counts["repositories"])}
    return figures
