"""Write the results of all experiments again from the artifacts that exist: ``python -m tasks.experiments.rebuild``."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Iterable, Sequence
from pathlib import Path

from fusesearch.core.errors import FusesearchError
from fusesearch.core.storage import write_text
from fusesearch.reporting.experiment.pages import overview
from fusesearch.reporting.experiment.results import PAGE, RESULTS, read_results
from tasks.experiments.outcome import ArmRun, outcomes
from tasks.experiments.results import write_results
from tasks.experiments.spec import Experiment, experiment_names, load_experiment
from tasks.running.dvc_command import up_to_date
from tasks.running.places import EXPERIMENTS


def rebuild(names: Iterable[str]) -> dict[str, str]:
    """Write the results of each experiment again, then the page over all. Returns a summary or an error by name.

    Keeps results if some of the runs behind them are missing here or out of date.
    """
    summaries = {}
    current = up_to_date()
    for name in names:
        try:
            experiment = load_experiment(name)
            runs = outcomes(experiment, current)
            if missing := _missing(experiment, runs):
                summaries[name] = f"kept: {missing} of its runs are missing here or out of date"
            else:
                summaries[name] = write_results(experiment, runs).summary
        except FusesearchError as error:
            summaries[name] = f"not written: {error}"
    write_overview()
    return summaries


def _missing(experiment: Experiment, runs: Sequence[ArmRun]) -> int:
    """How many runs of the existing results are not among ``runs``."""
    if not (experiment.folder / RESULTS).exists():
        return 0
    known = [arm for arm in read_results(experiment.folder).arms if arm.name in experiment.arms]
    wanted = {(arm.name, seed) for arm in known for seed in arm.seeds if seed in experiment.seeds}
    return len(wanted - {(run.arm, run.seed) for run in runs})


def write_overview(root: Path = EXPERIMENTS) -> Path:
    """Write ``RESULTS.md`` over all experiments that have results. Returns its path."""
    every = [root / name for name in experiment_names(root) if (root / name / RESULTS).exists()]
    write_text(root / PAGE, overview([read_results(folder) for folder in every]))
    return root / PAGE


def main() -> None:
    """Rebuild every experiment and print the summaries."""
    for name, summary in rebuild(experiment_names()).items():
        print(f"{name}: {summary}")


if __name__ == "__main__":
    ArgumentParser(prog="python -m tasks.experiments.rebuild", description=__doc__).parse_args()
    try:
        main()
    except FusesearchError as error:
        sys.exit(f"error: {error}")
