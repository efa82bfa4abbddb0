"""Repair all faults in a few processes, one per package; a killed run goes on where it stopped."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.repair.outcomes import Outcome
from fusesearch.core.digests import digest
from fusesearch.core.errors import AGAIN, DataError, InfrastructureError
from fusesearch.core.schema import Instance
from fusesearch.core.storage import Journal, Progress, read_text, silent, write_jsonl
from fusesearch.data.repositories import git_dir_of
from fusesearch.data.sources.synthetic.packages import Package
from fusesearch.data.sources.synthetic.processes import Worker, in_processes
from fusesearch.evaluation.predictions import Prediction, read_predictions
from fusesearch.evaluation.results import MANIFEST, read_results

VERSION = 1
JOURNAL, OUTCOMES = "journal.jsonl", "outcomes.jsonl"
BUDGETS = (10, 30, 100, 300)
SILENT_SECONDS = 4 * 3600.0
"""A worker that says nothing for so long is killed."""


@dataclass(frozen=True)
class Repairs:
    """What a run depends on, beside the faults and the answers. ``draws`` is the number of random orders."""

    packages: Sequence[Package]
    repos: Path
    budgets: Sequence[int] = BUDGETS
    draws: int = 3
    memory_mb: int = 2048
    workers: int = 1


def read_answers(sources: Sequence[str]) -> dict[str, dict[str, Prediction]]:
    """Answers by system and instance, from folders that ``evaluate`` wrote or files of predictions given as ``NAME=FILE``.

    An episode that the infrastructure broke is absent. Of several runs the first counts. Raises :class:`DataError`, also for
    two systems of one name.
    """
    found: dict[str, dict[str, Prediction]] = {}
    for source in sources:
        answers = _answers(source)
        if twice := found.keys() & answers.keys():
            raise DataError(f"{source}: {', '.join(twice)} is there already: give its answers as ANOTHER_NAME=FILE.jsonl")
        found |= answers
    return found


def _answers(source: str) -> dict[str, dict[str, Prediction]]:
    name, separator, path = source.partition("=")
    if separator:
        return {name: read_predictions(Path(path))}
    if not (Path(source) / MANIFEST).exists():
        raise DataError(f"{source} is neither a folder that `fusesearch evaluate` wrote nor NAME=FILE.jsonl")
    found = {}
    for row in read_results([Path(source)]).cells:
        scores = sorted((score for score in row.scores if score.error is None), key=lambda score: -score.run)
        named = (
            Prediction(instance_id=it.instance_id, files=it.predicted_files, functions=it.predicted_functions) for it in scores
        )
        found[row.cell.system] = {prediction.instance_id: prediction for prediction in named}
    return found


def sample(instances: Sequence[Instance], count: int | None) -> list[Instance]:
    """Synthetic faults, in an order like chance; the first ``count``, so that a smaller sample is part of a larger one.

    Raises :class:`DataError` where none of the instances is one.
    """
    faults = [row for row in instances if row.provenance.get("source") == "synthetic" and row.provenance.get("kind")]
    if not faults:
        raise DataError("none of the instances is a synthetic fault: repair needs to know how to reproduce it")
    return sorted(faults, key=lambda row: digest(row.instance_id))[:count]


def repair(
    faults: Sequence[Instance], answers: Mapping[str, Mapping[str, Prediction]], settings: Repairs, out: Path,
    progress: Progress = silent,
) -> tuple[list[Outcome], dict[str, str]]:  # fmt: skip
    """Outcomes of all faults, and why others were skipped; ``out`` gets the journal and ``outcomes.jsonl``.

    Calls ``progress`` with the faults done. Raises :class:`DataError` for a fault whose package is not listed, and
    :class:`InfrastructureError` when a worker died, after the other workers have finished.
    """
    packages = {package.repo: package for package in settings.packages}
    if unknown := next((row.repo for row in faults if row.repo not in packages), None):
        raise DataError(f"{unknown} is not among mine.packages of the params: give those with which it was mined")
    keys = {row.instance_id: _key(row, answers, settings) for row in faults}
    lock = threading.Lock()
    with Journal(out / JOURNAL, key="key") as journal:

        def work(package: Package) -> None:
            rows = [row for row in faults if row.repo == package.repo and keys[row.instance_id] not in journal]
            for message in _converse(package, _job(package, rows, answers, settings)):
                with lock:
                    journal.append({"key": keys[message["instance_id"]], **message})
                    progress(sum(key in journal for key in keys.values()), len(faults))

        progress(sum(key in journal for key in keys.values()), len(faults))
        pending = {row.repo for row in faults if keys[row.instance_id] not in journal}
        in_processes(work, [packages[repo] for repo in sorted(pending)], settings.workers)
        rows = [journal.rows[keys[row.instance_id]] for row in faults]
    outcomes, skipped = _read(rows)
    write_jsonl(out / OUTCOMES, outcomes)
    return outcomes, skipped


def read_outcomes(out: Path) -> tuple[list[Outcome], dict[str, str]]:
    """What the journal of a run has, finished or not; of a fault that was repaired twice the last. Raises :class:`DataError`."""
    rows = [json.loads(line) for line in read_text(out / JOURNAL).split("\n")[:-1]]  # a line that is being written has no end
    return _read({row["instance_id"]: row for row in rows}.values())


def _read(rows: Iterable[dict[str, Any]]) -> tuple[list[Outcome], dict[str, str]]:
    rows = list(rows)
    outcomes = [Outcome.model_validate(outcome) for row in rows for outcome in row.get("outcomes", [])]
    return outcomes, {row["instance_id"]: row["skipped"] for row in rows if "skipped" in row}


def _key(fault: Instance, answers: Mapping[str, Mapping[str, Prediction]], settings: Repairs) -> str:
    found = {name: rows.get(fault.instance_id) for name, rows in answers.items()}
    return f"{fault.instance_id} {digest(VERSION, found, list(settings.budgets), settings.draws)[:16]}"


def _job(package: Package, faults: Sequence[Instance], answers: Mapping[str, Mapping[str, Prediction]], settings: Repairs) -> Any:
    return {
        "repo": package.repo,
        "modules": package.modules,
        "without": package.without,
        "root": str(package.root) if package.root else None,
        "git_dir": str(git_dir_of(package.repo, settings.repos).resolve()),
        "memory_mb": settings.memory_mb,
        "budgets": list(settings.budgets),
        "draws": settings.draws,
        "faults": [
            {"instance_id": row.instance_id, "repo": row.repo, "base_commit": row.base_commit, "issue": row.problem_statement,
             **{name: row.provenance[name] for name in ("kind", "function", "example", "version")},
             "found": {name: rows[row.instance_id].model_dump() for name, rows in answers.items() if row.instance_id in rows}}
            for row in faults
        ],
    }  # fmt: skip


def _converse(package: Package, job: Any) -> Iterator[dict[str, Any]]:
    """What a worker says of each fault. Raises :class:`InfrastructureError` when it ends before the last."""
    worker, left = Worker("experiments.repair.worker", SILENT_SECONDS), len(job["faults"])
    with closing(worker.messages(job)) as messages:
        for message in messages:
            worker.watch()
            if "instance_id" in message:
                left -= 1
                yield message
    if left:
        raise InfrastructureError(f"repair: {package.repo}: its process ended with status {worker.status}; {AGAIN}")
