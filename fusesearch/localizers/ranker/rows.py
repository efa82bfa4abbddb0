"""What the ranker learns from: the features of an instance's candidates, with whether the gold patch modifies each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fusesearch.core.schema import Instance
from fusesearch.localizers.ranker.features import candidates_of
from fusesearch.localizers.ranker.index import Index
from fusesearch.search.repository import Repository


@dataclass(frozen=True)
class CandidateFeatures:
    """One candidate of one issue. ``features`` are in the order of ``FILE_COLUMNS`` or ``FUNCTION_COLUMNS``."""

    query: str
    level: Literal["file", "function"]
    candidate: str
    features: list[float]
    label: int


def rows_of(instance: Instance, repository: Repository, folder: Path | None) -> Iterator[CandidateFeatures]:
    """The files, then the functions, best first by the sum set by hand. ``folder`` is where the index lies.

    A modified file or function that is not a candidate has no row, so recall can stay below 1.
    """
    truth = instance.truth
    if truth is None:
        raise ValueError(f"{instance.instance_id} has no truth")
    with Index(repository, folder) as index:
        found = candidates_of(instance.problem_statement, index)
    for file in found.files:
        yield CandidateFeatures(instance.instance_id, "file", file.path, file.row(), int(file.path in truth.files))
    for function in found.functions:
        yield CandidateFeatures(
            instance.instance_id, "function", function.entity, function.row(), int(function.entity in truth.functions)
        )
