"""The systems of the table: localizers that ask no model, run here, and answers that other systems released."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from experiments.evidence.cases import Cases, in_order
from experiments.evidence.released import FORMATS, Published, Snapshots, prediction
from fusesearch.core.errors import DataError, RepositoryError
from fusesearch.core.schema import Instance, Score
from fusesearch.core.storage import Journal
from fusesearch.data.repositories import git_dir_of
from fusesearch.evaluation.harness import Repositories, evaluate
from fusesearch.localizers.base import Setup
from fusesearch.localizers.registry import make_localizer
from fusesearch.search.git import Git


@dataclass(frozen=True)
class System:
    """A row of the table: its answers as scores by instance, in rank order; ``seconds`` of each where they were measured.

    ``confidence`` is that of an answer, ``probabilities`` those of what it names and of other candidates.
    """

    name: str
    scores: Mapping[str, Score]
    seconds: Sequence[float] = ()
    confidence: Mapping[str, float] = field(default_factory=dict)
    probabilities: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def only(self, instances: Iterable[str]) -> System:
        """The same on some instances."""
        return replace(self, scores={key: self.scores[key] for key in instances})


class Released(NamedTuple):
    """A released run: its system and model, the format, and its file in CoSIL's repository for each set."""

    system: str
    model: str
    format: str
    files: Mapping[str, str]

    @property
    def name(self) -> str:
        """What the table calls it."""
        return f"{self.system}, {self.model}"


_FOLDERS = {
    "CoSIL": ("cosil", "afl/loc", "afl/afl"),
    "Agentless": ("agentless", "agentless/agentless", "agentless/agentless"),
    "OrcaLoca": ("cosil", "orcaloca/orca", "orcaloca/orcaloca"),
    "LocAgent": ("cosil", "locagent/locagent", "locagent/locagent"),
}
RELEASED = [
    Released(
        system, f"{size}B", format_,
        {
            "verified": f"loc_to_patch_verified/{verified}_qwen_coder_{size}b_func.jsonl",
            "lite": f"loc_to_patch/{lite}_qwen_coder_{size}b_func.jsonl",
        },
    )
    for size in (32, 7)
    for system, (format_, lite, verified) in _FOLDERS.items()
]  # fmt: skip
"""Runs with Qwen2.5-Coder that CoSIL's repository holds, on SWE-bench Verified and Lite."""
SETS = ("verified", "lite")


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


def released(cosil: Path, cases: Cases, repos: Path, out: Path) -> dict[str, dict[str, System]]:
    """All released runs by set. What they name is looked up in the snapshots, each read once, and kept in ``out``."""
    return {name: _released(name, cosil, cases, repos, out / f"released on {name}.jsonl") for name in cases.sets if name in SETS}


def _released(name: str, cosil: Path, cases: Cases, repos: Path, path: Path) -> dict[str, System]:
    given = {run.name: answers for run in RELEASED if (answers := _answers(run, name, cosil))}
    with Snapshots(lambda repo: git_dir_of(repo, repos)) as snapshots, Journal(path, key="instance_id") as kept:
        for row in in_order(cases.of(name)):
            if row.instance_id not in kept:
                snapshot = snapshots.at(row.repo, row.base_commit)
                found = {
                    run: prediction(answers[row.instance_id], snapshot).model_dump()
                    for run, answers in given.items()
                    if row.instance_id in answers
                }
                kept.append({"instance_id": row.instance_id, "answers": found})
        rows = [(row, kept.rows[row.instance_id]["answers"]) for row in cases.of(name)]
    return {
        run: System(run, {row.instance_id: scored(row, **_lists(answers.get(run, {}))) for row, answers in rows}) for run in given
    }


def _answers(run: Released, name: str, cosil: Path) -> dict[str, Published]:
    """The answers by instance; none where a clone lacks the file."""
    try:
        with Git(cosil) as git, TemporaryDirectory() as folder:
            text = git.read("HEAD", run.files[name])
            if text is None:
                raise DataError(f"{cosil} holds no {run.files[name]}: name a clone of CoSIL's repository")
            path = Path(folder, "answers.jsonl")
            path.write_text(text, encoding="utf-8")
            return {answer.instance_id: answer for answer in FORMATS[run.format](path)}
    except (DataError, RepositoryError) as error:
        print(f"left out: {run.name} on {name}: {error}", file=sys.stderr)
        return {}


def _lists(answer: Mapping[str, Any]) -> dict[str, list[str]]:
    """An instance without an answer counts as one that names nothing."""
    return {level: answer.get(level, []) for level in ("files", "functions")}


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
