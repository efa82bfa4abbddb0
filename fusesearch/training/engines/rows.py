"""Rows that veRL reads: ``python -m fusesearch.training.engines.rows INSTANCES OUT REPOS CACHE [SETTINGS]``.

The last three are the arguments of :func:`~fusesearch.training.environment.open_tasks`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from fusesearch.core.schema import Instance
from fusesearch.core.storage import read_instances, replacing
from fusesearch.training.environment import SearchTasks, open_tasks


def write_rows(instances: Iterable[Instance], tasks: SearchTasks, out: Path, held_out: bool = False) -> None:
    """Write a Parquet file with a row for each of the ``instances`` that ``tasks`` can have.

    ``prompt`` has the opening messages, by which veRL measures a row, and ``extra_info.instance`` the instance, which
    :class:`~fusesearch.training.engines.verl.SearchLoop` runs. ``held_out``: they are for validation.
    """
    import polars as pl

    known = {row.instance_id: row for row in instances}
    rows = []
    for number, row in enumerate(tasks.of(known.values()).prompts()):
        instance = known[row["prompt"][0]["instance_id"]]
        prompt = [{name: message[name] for name in ("role", "content")} for message in row["prompt"]]
        extra = {"index": number, "instance": instance.model_dump_json(), "held_out": held_out}
        rows.append({"data_source": "fusesearch", "agent_name": "fusesearch", "prompt": prompt, "extra_info": extra})
    with replacing(out) as path:
        pl.DataFrame(rows).write_parquet(path)


if __name__ == "__main__":
    source, target, *where = sys.argv[1:]
    write_rows(read_instances(Path(source)), open_tasks(*where), Path(target))
