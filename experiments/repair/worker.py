"""Repairs the faults of one package in its own process: import it, record its examples, try candidates.

:mod:`experiments.repair.repairing` starts it. It sends a message when the examples are recorded, and one per fault.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from experiments.repair.orders import Order, orders
from experiments.repair.outcomes import Outcome
from experiments.repair.snapshot import Snapshots
from experiments.repair.trials import Bench, Trials
from fusesearch.core.errors import DataError, FusesearchError
from fusesearch.data.sources.synthetic.corpus import Corpus
from fusesearch.data.sources.synthetic.packages import Package
from fusesearch.data.sources.synthetic.processes import Say, take_job
from fusesearch.data.sources.synthetic.recording import record
from fusesearch.data.sources.synthetic.sandbox import Sandbox
from fusesearch.evaluation.predictions import Prediction
from fusesearch.search.git import Git

WALL_SECONDS = 900.0
"""Wall-clock limit of a child, for those that sleep; the limit of processor time ends all others long before."""


def main() -> None:
    """Do the job, and say what came of each fault."""
    job, say, _ = take_job()
    try:
        repair_package(job, say)
    except FusesearchError as error:
        for row in job["faults"]:
            say({"instance_id": row["instance_id"], "skipped": str(error)})


def repair_package(job: dict[str, Any], say: Say) -> None:
    """Do one job; say ``{"instance_id", "outcomes"}`` or ``{"instance_id", "skipped": reason}`` of each fault."""
    root = Path(job["root"]) if job["root"] else None
    package = Package(job["repo"], tuple(job["modules"]), tuple(job["without"]), root)
    if root:
        sys.path.insert(0, str(root))
    corpus = Corpus(package)
    sandbox = Sandbox(math.inf, WALL_SECONDS, job["memory_mb"])
    bench = Bench(corpus, list(record(corpus, 0, sandbox, docstrings=len(corpus.docstrings))), sandbox)
    say({"examples": len(bench.units)})
    with Git(Path(job["git_dir"])) as git:
        snapshots = Snapshots(git)
        for row in job["faults"]:
            try:
                if row["version"] != package.version:
                    raise DataError(f"version {package.version} is installed, and the fault is in {row['version']}")
                trials = Trials(bench, snapshots.files(row["base_commit"]), row["function"], row["example"])
                found = {name: Prediction(**answer) for name, answer in row["found"].items()}
                tried = orders(row["issue"], trials.functions, [row["function"]], found, row["instance_id"], job["draws"])
                outcomes = [attempt(trials, row, order, traced, job["budgets"]) for order in tried for traced in (False, True)]
                say({"instance_id": row["instance_id"], "outcomes": [outcome.model_dump() for outcome in outcomes]})
            except FusesearchError as error:
                say({"instance_id": row["instance_id"], "skipped": str(error)})


def attempt(trials: Trials, row: dict[str, Any], order: Order, traced: bool, budgets: Sequence[int]) -> Outcome:
    """Try all candidates of a function before those of the next, until one passes what the repairer sees or the budget ends."""
    outcome = Outcome(
        instance_id=row["instance_id"], repo=row["repo"], kind=row["kind"], system=order.system,
        configuration=order.configuration, traced=traced, seconds_at=dict.fromkeys(budgets, 0.0),
        place=order.functions.index(row["function"]) if row["function"] in order.functions else None,
    )  # fmt: skip
    for entity, index in islice(_tried(trials, order.functions, traced), budgets[-1]):
        candidate = trials.space(entity)[index]
        result = trials.result(entity, index) if trials.matters(entity, candidate) else None
        outcome.candidates += 1
        outcome.seconds += result.seconds if result else trials.failing_seconds
        outcome.seconds_at |= {budget: outcome.seconds for budget in budgets if budget >= outcome.candidates}
        if result and result.plausible:
            outcome.submitted_at, outcome.resolved = outcome.candidates, result.resolved
            outcome.function, outcome.change = entity, candidate.change.kind
            break
    return outcome


def _tried(trials: Trials, functions: Sequence[str], traced: bool) -> Iterator[tuple[str, int]]:
    for entity in functions:
        if not traced or trials.reaches(entity):
            for index, candidate in enumerate(trials.space(entity)):
                if not traced or trials.matters(entity, candidate):
                    yield entity, index


if __name__ == "__main__":
    main()
