"""Filter: raw pairs that are worth a task, with their truth; how many each rule dropped."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from fusesearch.core.dropped import write_dropped
from fusesearch.core.schema import Instance
from fusesearch.core.storage import count_rows, iter_rows, write_instances, write_json
from tasks.running.node import Job

SHOWN_EVERY = 100


def filter_pairs(job: Job) -> dict[str, Any]:
    """Write the kept instances, how many pairs each rule dropped and which ones."""
    from fusesearch.data.filtering import drop_table, filter_table

    places = job.places
    total = count_rows(places["mine.pairs"])
    drops: Counter[str] = Counter()
    dropped: list[tuple[str, str]] = []
    repositories: set[str] = set()

    def counted(instances: Iterable[Instance]) -> Iterator[Instance]:
        for number, instance in enumerate(instances, 1):
            repositories.add(instance.repo)
            if number % SHOWN_EVERY == 0:
                job.progress(number + drops.total(), total)
            yield instance

    instances = filter_table(places["mine.pairs"], job.params.filter, places["mine.repos"], drops, dropped)
    kept = write_instances(places["filter.instances"], counted(instances))
    job.progress(total, total)
    write_json(places["filter.drops"], drop_table(drops))
    write_dropped(places["filter.dropped"], dropped)
    if nothing := sorted({row["repo"] for row in iter_rows(places["mine.pairs"], ["repo"])} - repositories):
        print(f"warning: no pair is left of {len(nothing)} repositories: {', '.join(nothing[:5])}", file=sys.stderr)
    return {"pairs": total, "instances": kept, "dropped": drops.total(), "repositories": len(repositories)}
