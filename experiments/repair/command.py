"""``python -m experiments.repair run``: let a repairer use the answers of localizers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def repair(
    answers: Annotated[
        list[str],
        typer.Argument(help="Folders that `evaluate` wrote, or files of predictions as NAME=FILE.jsonl.", metavar="ANSWERS..."),
    ],
    instances: Annotated[Path, typer.Option(help="Synthetic faults: .json, .jsonl or .parquet.", metavar="FILE")],
    repos: Annotated[Path, typer.Option(help="Folder of their repositories, OWNER__NAME.git.", metavar="DIR")],
    out: Annotated[Path, typer.Option(help="Folder of the outcomes; use the same one to resume.", metavar="DIR")] = Path(
        "repairs"
    ),
    params: Annotated[
        Path, typer.Option(help="Params with which the faults were mined; the packages are in them.", metavar="FILE")
    ] = Path("params.yaml"),
    max_instances: Annotated[
        int | None, typer.Option(help="Only a sample of this size; part of every larger one.", min=1)
    ] = None,
    budget: Annotated[
        list[int] | None,
        typer.Option(help="Candidates to run at most; repeat it for several. Default: 10, 30, 100, 300.", min=1),
    ] = None,
    draws: Annotated[int, typer.Option(help="Random orders for the lower bound.", min=1)] = 3,
    workers: Annotated[int, typer.Option(help="Processes; each repairs one package at a time.", min=1)] = 1,
) -> None:
    """Repair synthetic faults with the help of localizers.

    A repairer without a model tries the inverse changes of all kinds of fault at the functions that a localizer names, and
    submits the first that passes the issue's example and the others of its docstring. Examples that it did not see decide
    whether the fault is resolved. Prints what was resolved, and at what cost, for each localizer used in three ways, beside a
    repairer without one, the true function and random functions.

    The packages must be installed in the version that was mined; their code runs in a sandbox. Writes `outcomes.jsonl`. To
    resume after a kill, run it again with the same folder.

    ```
    python -m experiments.repair run artifacts/evaluate --instances data/splits/validation.parquet --repos data/repos --out
    repairs python -m experiments.repair run ours=answers.jsonl --instances faults.jsonl --repos data/repos --max-instances 50
    ```
    """
    from experiments.repair.page import figures_of, sections_of
    from experiments.repair.repairing import BUDGETS, Repairs, read_answers, sample
    from experiments.repair.repairing import repair as repair_all
    from fusesearch.cli.evaluate import progress_bar
    from fusesearch.core.config import load_params
    from fusesearch.data.sources.synthetic.packages import parse_packages
    from fusesearch.evaluation.benchmarks import read_benchmark
    from fusesearch.reporting.page import show

    mine = load_params(params).mine
    settings = Repairs(
        parse_packages(mine.packages), repos, tuple(sorted(set(budget or BUDGETS))), draws, mine.memory_mb, workers
    )
    faults, found = sample(read_benchmark(instances), max_instances), read_answers(answers)
    with progress_bar() as bar:
        outcomes, skipped = repair_all(faults, found, settings, out, bar.of("faults", 0, len(faults)))
    show(sections_of(figures_of(outcomes, skipped))[:2])
