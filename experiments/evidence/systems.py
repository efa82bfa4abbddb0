"""The systems of the table: localizers that ask no model, run here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from experiments.evidence.cases import in_order
from fusesearch.core.schema import Instance, Score
from fusesearch.evaluation.harness import Repositories, evaluate
from fusesearch.localizers.base import Setup
from fusesearch.localizers.registry import make_localizer


@dataclass(frozen=True)
class System:
    """A row of the table: its answers as scores by instance, in rank order; ``seconds`` of each where they were measured.

    ``confidence`` is that of an answer.
    """

    name: str
    scores: Mapping[str, Score]
    seconds: Sequence[float] = ()
    confidence: Mapping[str, float] = field(default_factory=dict)

    def only(self, instances: Iterable[str]) -> System:
        """The same on some instances."""
        return replace(self, scores={key: self.scores[key] for key in instances})


def scored(row: Instance, files: Sequence[str], functions: Sequence[str]) -> Score:
    """The score of a ranked answer."""
    assert row.truth is not None  # noqa: S101
    return Score(
        instance_id=row.instance_id, repo=row.repo, issue_chars=len(row.problem_statement),
        predicted_files=[*files], predicted_functions=[*functions], true_files=row.truth.files,
        true_functions=row.truth.functions, added_files=row.truth.added_files, added_functions=row.truth.added_functions,
    )  # fmt: skip


def free(name: str, rows: Iterable[Instance], repositories: Repositories, out: Path) -> System:
    """A localizer that asks no model, one episode after another. Goes on from the episodes in ``out``."""
    done = asyncio.run(
        evaluate(make_localizer(name, Setup()), in_order(rows), repositories, journal=out / f"{name}.jsonl", concurrency=1)
    )
    found = {score.instance_id: score for score in done.scores}
    return System(name, found, [score.seconds for score in done.scores if score.seconds is not None])


READINGS: dict[str, Callable[[Score], tuple[list[str], list[str]]]] = {
    "first of each": lambda score: (score.predicted_files[:1], score.predicted_functions[:1]),
    "first file": lambda score: (
        score.predicted_files[:1],
        [name for name in score.predicted_functions if [_file(name)] == score.predicted_files[:1]][:1],
    ),
    "first function": lambda score: (
        [*map(_file, score.predicted_functions[:1])] or score.predicted_files[:1],
        score.predicted_functions[:1],
    ),
    "all": lambda score: (score.predicted_files, score.predicted_functions),
}
"""How a ranked answer is read as a set: its first file and first function; its first file with the first function it names there;
its first function with the file of that; everything."""


def _file(function: str) -> str:
    return function.partition("::")[0]


def read_as(reading: str, score: Score) -> Score:
    """The same answer under one of :data:`READINGS`."""
    files, functions = READINGS[reading](score)
    return score.model_copy(update={"predicted_files": files, "predicted_functions": functions})
