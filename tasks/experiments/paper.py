"""The paper's figures for the arms of an experiment."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fusesearch.core.errors import ConfigError
from fusesearch.core.storage import read_csv
from fusesearch.evaluation.metrics import METRICS, metric_named
from fusesearch.evaluation.quality import combined_f1
from fusesearch.reporting.experiment.results import POOLED
from tasks.experiments.spec import Experiment
from tasks.running.places import EXPERIMENTS

REFERENCE = EXPERIMENTS / "reference"

Paper = dict[str, dict[str, float]]
"""By arm and metric, in the unit of the paper's table."""


def paper_figures(experiment: Experiment, root: Path = Path()) -> Paper:
    """The figures that the paper's table prints for each arm that names its row.

    Raises :class:`ConfigError` for a row or column that the table does not have, or a selection of several rows.
    """
    if experiment.paper is None:
        return {}
    path = root / REFERENCE / experiment.paper.table
    rows = read_csv(path)
    found: Paper = {}
    for name, arm in experiment.arms.items():
        if arm.paper_row:
            row = _row(rows, {**experiment.paper.where, **arm.paper_row}, f"{experiment.name}, arm {name}: {path}")
            found[name] = _figures(row, experiment.metrics)
    return found


def is_ordered(metric: str) -> bool:
    """Whether the paper's order of two arms in a metric can be compared with ours: not for pooled F1 or for times."""
    return metric != POOLED and not METRICS[metric].timed


def _row(rows: list[dict[str, str]], where: Mapping[str, str], source: str) -> dict[str, str]:
    chosen = [row for row in rows if all(row.get(key) == value for key, value in where.items())]
    if len(chosen) != 1:
        wanted = ", ".join(f"{key}={value}" for key, value in where.items())
        raise ConfigError(f"{source} has {len(chosen)} rows with {wanted}: exactly one is needed")
    return chosen[0]


def _figures(row: Mapping[str, str], metrics: list[str]) -> dict[str, float]:
    printed = {metric: row.get(metric_named(metric).paper or "", "") for metric in metrics}
    found = {metric: float(value) for metric, value in printed.items() if value}
    levels = [row.get(METRICS[f"{level}_micro_f1"].paper or "", "") for level in ("file", "function")]
    if POOLED in metrics and all(levels):
        found[POOLED] = round(combined_f1(*map(float, levels)), 2)
    return found
