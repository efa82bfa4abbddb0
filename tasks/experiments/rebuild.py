"""All tables of all experiments again from the artifacts that are there: ``make experiment-tables``."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from tasks.core.errors import FusesearchError
from tasks.core.layout import EXPERIMENTS
from tasks.core.storage import write_text
from tasks.experiments.outcome import outcomes
from tasks.experiments.pages import overview
from tasks.experiments.results import PAGE, RESULTS, read_results, write_results
from tasks.experiments.spec import experiment_names, load_experiment


def rebuild(names: Iterable[str]) -> dict[str, str]:
    """Write the results of each experiment again, then the page over all; returns by name a summary, or why there is none.

    What an experiment without finished runs had written before stays.
    """
    said = {}
    for name in names:
        try:
            experiment = load_experiment(name)
            said[name] = write_results(experiment, outcomes(experiment)).summary
        except FusesearchError as error:
            said[name] = f"not written: {error}"
    write_overview()
    return said


def write_overview(root: Path = EXPERIMENTS) -> Path:
    """Write ``RESULTS.md`` over all experiments that have results; returns its path."""
    every = [read_results(path.parent) for path in sorted(root.glob(f"*/{RESULTS}"))]
    write_text(root / PAGE, overview(every))
    return root / PAGE


def main() -> None:
    """Rebuild every experiment and print what came out."""
    for name, summary in rebuild(experiment_names()).items():
        print(f"{name}: {summary}")


if __name__ == "__main__":
    try:
        main()
    except FusesearchError as error:
        sys.exit(f"error: {error}")
