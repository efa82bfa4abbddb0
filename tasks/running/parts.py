"""A stage's work in parts, for other processes or machines.

A part fills a journal of its own. Its rows go into the stage's journal, from which the stage goes on as after a kill: so its
artifacts do not depend on who did the work. The module of a stage that can be divided has ``lacking(job)``, the parts that its
journals lack, of any size, and ``do_part(job, part)``, which does a part in the scratch of its job and may return the name of a
folder there that goes with the rows.
"""

from __future__ import annotations

import io
import tarfile
from contextlib import closing
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fusesearch.core.storage import Journal
from tasks.running.node import Job


@dataclass(frozen=True)
class Part:
    """Keys of work to do (repositories, or instances of ``cell``), and the journal of the stage's scratch for the rows."""

    journal: str
    keys: tuple[str, ...]
    cell: str = ""

    def __str__(self) -> str:
        return f"{self.cell and f'{self.cell}, '}{len(self.keys)} from {self.keys[0]}"

    def split(self, count: int) -> list[Part]:
        """At most ``count`` parts of neighbours, which often share a repository's snapshot."""
        size, count = len(self.keys), min(count, len(self.keys))
        return [replace(self, keys=self.keys[size * number // count : size * (number + 1) // count]) for number in range(count)]


def parts_of(job: Job, count: int) -> list[Part]:
    """What the job's journals lack, each in at most ``count`` parts."""
    return [part for lacking in _module(job).lacking(job) for part in lacking.split(count)]


def done(job: Job, part: Part) -> tuple[list[dict[str, Any]], bytes]:
    """A part's rows, and its files as a tar archive. An episode that the infrastructure broke is left to the stage."""
    with TemporaryDirectory(prefix="part-") as name:
        folder, packed = Path(name), io.BytesIO()
        files = _module(job).do_part(Job(job.node, job.params, job.places, folder), part)
        with closing(Journal(folder / part.journal, key="key")) as journal:
            rows = [row for row in journal.rows.values() if row.get("trajectory", {}).get("error") is None]
        with tarfile.open(fileobj=packed, mode="w:gz") as archive:
            if files:
                archive.add(folder / files, files)
    return rows, packed.getvalue()


def join(job: Job, part: Part, rows: list[dict[str, Any]], files: bytes) -> None:
    """Put what :func:`done` returned into the job's scratch."""
    with tarfile.open(fileobj=io.BytesIO(files)) as archive:
        archive.extractall(job.scratch, filter="data")
    with Journal(job.scratch / part.journal, key="key") as journal:
        for row in rows:
            journal.append(row)


def _module(job: Job) -> Any:
    return import_module(job.stage.run.partition(":")[0])
