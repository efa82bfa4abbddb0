"""Filter: raw pairs that are worth a task, with their truth; how many each rule dropped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tasks.core.config import Params
from tasks.core.examples import Examples
from tasks.core.schema import Instance
from tasks.core.storage import Progress, count_rows, write_instances, write_json
from tasks.pipeline.places import Places

SHOWN_EVERY = 100


def filter_pairs(params: Params, places: Places, scratch: Path, progress: Progress) -> dict[str, Any]:
    """Write ``data/filtered/instances.parquet``, and beside it the drop table and examples of what each rule dropped."""
    from tasks.data.filtering import RULES, drop_table, filter_table

    total = count_rows(places.pairs)
    drops: Counter[str] = Counter()
    examples = Examples(RULES)
    repositories: set[str] = set()

    def counted(instances: Iterable[Instance]) -> Iterator[Instance]:
        for number, instance in enumerate(instances, 1):
            repositories.add(instance.repo)
            if number % SHOWN_EVERY == 0:
                progress(number + drops.total(), total)
            yield instance

    instances = filter_table(places.pairs, params.filter, places.repos, drops, examples)
    kept = write_instances(places.instances, counted(instances))
    progress(total, total)
    write_json(places.filter_drops, drop_table(drops))
    examples.write(places.filter_examples)
    return {"pairs": total, "instances": kept, "dropped": drops.total(), "repositories": len(repositories)}
