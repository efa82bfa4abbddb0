"""Split: which repositories train by imitation, which by reinforcement, and which are held out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from fusesearch.core.dropped import write_dropped
from fusesearch.core.schema import Instance
from fusesearch.core.storage import count_rows, write_instances
from tasks.running.node import Job
from tasks.running.resume import publish


def split_instances(job: Job) -> dict[str, Any]:
    """Write the three splits, and which instances were dropped and why."""
    from fusesearch.data.splitting import SPLITS, TableSplit, check_filled, counts_of

    params, places, scratch = job.params, job.places, job.scratch
    total = count_rows(places["filter.instances"])
    table = TableSplit(places["filter.instances"], params.split, params.data_seed, places["mine.repos"])
    repositories: dict[str, set[str]] = {name: set() for name in SPLITS}
    sizes: dict[str, int] = {}

    def counted(name: str, instances: Iterable[Instance]) -> Iterator[Instance]:
        for instance in instances:
            repositories[name].add(instance.repo)
            yield instance

    for name in SPLITS:
        sizes[name] = write_instances(scratch / f"{name}.parquet", counted(name, table.instances(name)))
        job.progress(sum(sizes.values()) + len(table.dropped), total)
    check_filled(sizes, params.split, len(table.dropped))
    for name in SPLITS:
        publish(scratch / f"{name}.parquet", places[f"split.{name}"])
    write_dropped(places["split.dropped"], table.dropped)
    dropped = counts_of(table.dropped)
    figures: dict[str, Any] = {f"dropped_{reason}": count for reason, count in dropped.items()}
    for name in SPLITS:
        figures |= {f"{name}_instances": sizes[name], f"{name}_repositories": len(repositories[name])}
    return figures
