"""Rows that veRL reads: ``python -m fusesearch.training.engines.rows``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from fusesearch.core.errors import FusesearchError
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


def main(arguments: Sequence[str]) -> None:
    """Write the rows that veRL reads."""
    parser = argparse.ArgumentParser(prog="python -m fusesearch.training.engines.rows", description=main.__doc__)
    parser.add_argument("instances", type=Path, help="a .parquet file, such as data/splits/rl.parquet")
    parser.add_argument("out", type=Path, help="file for veRL's data.train_files or data.val_files: .parquet")
    parser.add_argument("repos", help="folder of the repositories, such as data/repos")
    parser.add_argument("cache", help="folder for their snapshots, such as .fusesearch/snapshots")
    parser.add_argument("settings", nargs="?", help="checkpoint whose fusesearch.json has the limits of an episode")
    given = parser.parse_args(arguments)
    write_rows(read_instances(given.instances), open_tasks(given.repos, given.cache, given.settings), given.out)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except FusesearchError as error:
        sys.exit(f"error: {error}")
