"""Real issues with their truth, and the snapshots they are about."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from fusesearch.core.errors import DataError, RepositoryError
from fusesearch.core.schema import Instance, Truth
from fusesearch.core.storage import Journal
from fusesearch.data.repositories import Repositories
from fusesearch.data.swe_bench import instances as instances_of
from fusesearch.data.swe_bench import read_rows
from fusesearch.data.truth import truth_from_patch
from fusesearch.evaluation.protocols import code_of


@dataclass(frozen=True)
class Cases:
    """Instances with the code of their truth, which sets they are in, and why others could not be had."""

    rows: dict[str, Instance]
    sets: dict[str, list[str]]
    left_out: dict[str, str]


def read_cases(sets: dict[str, Path], repos: Path, out: Path) -> Cases:
    """The instances of all sets; an instance of several sets is there once. Truths are kept in ``out``.

    Left out, with the reason, is what has no clone below ``repos`` and what modifies no file of code.
    """
    given = {name: list(instances_of(name, read_rows(path))) for name, path in sets.items()}
    distinct = {row.instance_id: row for rows in given.values() for row in rows}
    left_out: dict[str, str] = {}
    rows: dict[str, Instance] = {}
    with Journal(out / "truths.jsonl", key="instance_id") as journal, Repositories(repos) as repositories:
        for name, row in distinct.items():
            try:
                truth = code_of(_truth(row, journal, repositories))
            except (DataError, RepositoryError) as error:
                left_out[name] = str(error).replace(f"{repos}/", "")
                continue
            if truth.files:
                rows[name] = row.model_copy(update={"truth": truth})
            else:
                left_out[name] = "it modifies no file of code that exists before it"
    for name, reason in left_out.items():
        print(f"left out: {name}: {reason}", file=sys.stderr)
    return Cases(rows, {name: [row.instance_id for row in found] for name, found in given.items()}, left_out)


def _truth(row: Instance, journal: Journal, repositories: Repositories) -> Truth:
    if row.instance_id not in journal:
        truth = truth_from_patch(row.patch, repositories.reader(row))
        journal.append({"instance_id": row.instance_id, "truth": truth.model_dump(mode="json")})
    return Truth.model_validate(journal.rows[row.instance_id]["truth"])
