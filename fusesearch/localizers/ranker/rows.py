"""What the ranker learns from: the features of an instance's candidates, with whether the gold patch modifies each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fusesearch.core.schema import Instance
from fusesearch.localizers.ranker.columns import COLUMNS, WITH_MEANING
from fusesearch.localizers.ranker.encoder import Encoder
from fusesearch.localizers.ranker.features import candidates_of
from fusesearch.localizers.ranker.index import Index
from fusesearch.localizers.ranker.meaning import add_meaning
from fusesearch.search.repository import Repository


@dataclass(frozen=True)
class CandidateFeatures:
    """One candidate of one issue. ``features`` are in the order of ``COLUMNS``, with an encoder of ``WITH_MEANING``."""

    query: str
    level: Literal["file", "function"]
    candidate: str
    features: list[float]
    label: int


def rows_of(
    instance: Instance, repository: Repository, folder: Path | None, encoder: Encoder | None = None
) -> Iterator[CandidateFeatures]:
    """The files, then the functions, best first by the sum set by hand. ``folder`` is where the index lies.

    A modified file or function that is not a candidate has no row, so recall can stay below 1.
    """
    truth = instance.truth
    if truth is None:
        raise ValueError(f"{instance.instance_id} has no truth")
    with Index(repository, folder) as index:
        found = candidates_of(instance.problem_statement, index)
        if encoder:
            add_meaning(found, instance.problem_statement, index, encoder)
    names = WITH_MEANING if encoder else COLUMNS
    for file in found.files:
        label = int(file.path in truth.files)
        yield CandidateFeatures(instance.instance_id, "file", file.path, file.row(names["file"]), label)
    for function in found.functions:
        label = int(function.entity in truth.functions)
        yield CandidateFeatures(instance.instance_id, "function", function.entity, function.row(names["function"]), label)
