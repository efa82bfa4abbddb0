"""Writes the results of an experiment.

::

    experiments/<name>/
      RESULTS.md         the page for people
      results.json       a :class:`Results`: everything on it
    artifacts/experiments/<name>/
      figures/*.svg

"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from fusesearch.core.storage import write_json, write_text
from fusesearch.reporting.experiment.figures import check_figures, draw
from fusesearch.reporting.experiment.pages import overview, page
from fusesearch.reporting.experiment.results import PAGE, RESULTS, Results, read_results
from tasks.experiments.measuring import measured
from tasks.experiments.outcome import ArmRun
from tasks.experiments.spec import Experiment, experiment_names
from tasks.running.places import EXPERIMENTS, experiment_files


def write_results(experiment: Experiment, runs: Sequence[ArmRun], folder: Path | None = None, root: Path = Path()) -> Results:
    """Measure the given runs, and write the results to ``folder`` (default: beside the experiment's YAML).

    The results name missing runs. ``root`` is the project's. Raises :class:`ArtifactError` without any run,
    :class:`ConfigError` for an unknown metric, figure or row of the paper's table.
    """
    out, files = folder or root / experiment.folder, root / experiment_files(experiment.name)
    check_figures(experiment.figures)
    ordered = sorted(runs, key=lambda run: (run.arm, run.seed))
    results = measured(experiment, ordered, root)
    shutil.rmtree(files, ignore_errors=True)
    for figure in draw(experiment.figures, results):
        write_text(files / f"figures/{figure.name}.svg", figure.svg + "\n")
    write_text(out / PAGE, page(results).render("md"))
    write_json(out / RESULTS, results.model_dump(mode="json"))
    return results


def write_overview(root: Path = EXPERIMENTS) -> Path:
    """Write ``RESULTS.md`` over all experiments that have results. Returns its path."""
    every = [root / name for name in experiment_names(root) if (root / name / RESULTS).exists()]
    write_text(root / PAGE, overview([read_results(folder) for folder in every]))
    return root / PAGE
