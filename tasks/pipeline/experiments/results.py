"""What an experiment came to: its figures, differences, verdicts and power, as one record and as files beside its YAML.

::

    experiments/<name>/
      results.json       a :class:`Results`: everything below
      RESULTS.md         the page for people
      table.csv          arm, metric, estimate, interval, the paper's figure
      differences.csv    every pair of arms in every metric, with interval, p, and the paper's difference
      curves.csv         training curves, mean and range over seeds
      figures/*.svg

Shares are in [0, 1] in JSON and CSV, tokens and seconds as they are; the papers' figures are as printed in
``results.json`` and in our unit in the CSV files.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from tasks.core.errors import ArtifactError
from tasks.core.schema import Record
from tasks.core.storage import read_json, write_csv, write_json, write_text
from tasks.pipeline.experiments.outcome import ArmRun
from tasks.pipeline.experiments.spec import Experiment
from tasks.pipeline.layout import RESULT_FILES

PAGE, RESULTS, TABLE, DIFFERENCES, CURVES, FIGURES = RESULT_FILES

Verdict = Literal["confirmed", "refuted", "undecided", "not measured"]


class Figure(Record):
    """A figure of an arm: over all its seeds and instances, by seed, and what the paper prints for it."""

    estimate: float
    low: float | None = None
    high: float | None = None
    seeds: int
    instances: int
    by_seed: dict[int, float] = Field(default_factory=dict)
    paper: float | None = None


class TurnCalls(Record):
    """Mean calls of tool-using turns at a turn index from 1, its range over seeds, and how many episodes had such a turn."""

    turn: int
    calls: float
    low: float
    high: float
    episodes: int


class ArmResult(Record):
    """One arm: the seeds that are there and those that are missing, its figures by metric; absent ones are not in it."""

    name: str
    label: str
    seeds: list[int]
    missing_seeds: list[int] = Field(default_factory=list)
    instances: int = 0
    episodes: int = 0
    errored: int = 0
    figures: dict[str, Figure] = Field(default_factory=dict)
    calls_by_turn: list[TurnCalls] = Field(default_factory=list)
    nodes: dict[int, dict[str, str]] = Field(default_factory=dict)


class DifferenceResult(Record):
    """``first - second`` over the seeds and instances both have. ``p_holm`` is corrected over the pairs of the metric.

    ``error`` is the standard error of the difference, ``of_seeds`` the seeds' share of its square. ``paper`` is the same
    difference in the paper's table, ``agrees`` whether its sign is ours, where the paper's table orders the arms in this metric;
    ``clear`` whether our interval leaves zero out.
    """

    metric: str
    first: str
    second: str
    estimate: float
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_holm: float | None = None
    error: float | None = None
    of_seeds: float | None = None
    seeds: int
    instances: int
    clear: bool = False
    paper: float | None = None
    agrees: bool | None = None


class ClaimResult(Record):
    """What became of a claim: ``p_holm`` is corrected over the claims of the experiment; the sentence is made of the numbers."""

    metric: str
    better: str
    than: str
    lower: bool = False
    margin: float | None = None
    paper: bool = False
    note: str = ""
    verdict: Verdict
    sentence: str
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_holm: float | None = None
    paper_difference: float | None = None


class PowerResult(Record):
    """What the spread of one difference says of the size of the experiment.

    Standard deviations are of one episode: between seeds, between instances, and the rest. ``detectable`` is, by number of
    seeds, the difference that 80 of 100 such experiments would show at ``level``, the strictest of Holm's correction over the
    claims; ``needed`` the seeds for ``target``, ``needed_cautious`` those if seeds differ as much as this pilot cannot rule out.
    ``None``: more instances are needed.
    """

    metric: str
    first: str
    second: str
    seeds: int
    instances: int
    sd_seeds: float
    sd_instances: float
    sd_rest: float
    detectable: dict[int, float]
    level: float = 0.05
    target: float
    needed: int | None
    needed_cautious: int | None
    lower_bound: bool = False


class Results(Record):
    """Everything an experiment came to. ``inputs`` is the digest of all its scores, ``revision`` the git commit.

    ``missing`` names arms and seeds without a finished run, ``other_instances`` those measured on other instances than most.
    """

    schema_version: Literal[1] = 1
    experiment: str
    title: str
    question: str
    hypothesis: str
    profile: str = ""
    summary: str
    command: str
    revision: str
    dvc_revision: str
    inputs: str
    seeds: list[int]
    metrics: list[str]
    primary: str
    confidence: float = 0.95
    paper_caption: str = ""
    paper_notes: list[str] = Field(default_factory=list)
    notes: list[str] = Field(default_factory=list)
    arms: list[ArmResult]
    differences: list[DifferenceResult]
    claims: list[ClaimResult]
    power: list[PowerResult]
    missing: list[str] = Field(default_factory=list)
    other_instances: list[str] = Field(default_factory=list)

    def arm(self, name: str) -> ArmResult:
        """The arm of that name."""
        return next(arm for arm in self.arms if arm.name == name)

    @property
    def measured_seeds(self) -> list[int]:
        """Those of any arm; ``seeds`` are those that were asked for."""
        return sorted({seed for arm in self.arms for seed in arm.seeds})


def write_results(experiment: Experiment, runs: Sequence[ArmRun], folder: Path | None = None, root: Path = Path()) -> Results:
    """Measure the runs that are there and write all files to ``folder`` (default: beside the experiment's YAML).

    Runs that are missing are named in the results; nothing is made up for them. Results that come out as they are there already
    keep the revision they were first written at. ``root`` is the project's, for the papers' tables. Raises
    :class:`ArtifactError` where no run is there at all, :class:`ConfigError` for a metric, a figure or a row of the paper's
    table that is not there.
    """
    from tasks.pipeline.experiments.curves import spread_curves
    from tasks.pipeline.experiments.figures import draw
    from tasks.pipeline.experiments.long_form import difference_rows, table_rows
    from tasks.pipeline.experiments.measuring import measured
    from tasks.pipeline.experiments.pages import page

    out = folder or root / experiment.folder
    ordered = sorted(runs, key=lambda run: (run.arm, run.seed))
    curves = spread_curves(experiment, ordered)
    results = _unchanged(measured(experiment, ordered, root), out)
    drawn = draw(experiment, results, curves)
    shutil.rmtree(out / FIGURES, ignore_errors=True)
    for figure in drawn:
        write_text(out / FIGURES / f"{figure.name}.svg", figure.svg + "\n")
    write_csv(out / TABLE, table_rows(results))
    write_csv(out / DIFFERENCES, difference_rows(results))
    write_csv(out / CURVES, curves)
    write_text(out / PAGE, page(results, drawn))
    write_json(out / RESULTS, results.model_dump(mode="json"))
    return results


def _unchanged(results: Results, out: Path) -> Results:
    """With the revisions of what is in ``out`` where nothing else differs."""
    try:
        old = read_results(out)
    except ArtifactError:
        return results
    known = results.model_copy(update={"revision": old.revision, "dvc_revision": old.dvc_revision})
    return known if known == old else results


def read_results(folder: Path) -> Results:
    """The results in a folder. Raises :class:`ArtifactError` when there are none or they cannot be read."""
    path = folder / RESULTS
    if not path.exists():
        raise ArtifactError(f"{path} is missing: run `fusesearch experiment run {folder.name}`")
    try:
        return Results.model_validate(read_json(path))
    except ValidationError as error:
        first = error.errors()[0]
        raise ArtifactError(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}; write the results again") from None
