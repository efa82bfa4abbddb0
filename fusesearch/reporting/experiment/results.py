"""The results of an experiment as one record, ``experiments/<name>/results.json``.

Shares are in [0, 1]; the papers' figures are as printed.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from fusesearch.core.errors import ArtifactError, ConfigError, first_fault
from fusesearch.core.schema import Record
from fusesearch.core.storage import read_json
from fusesearch.evaluation.metrics import METRICS, Metric
from fusesearch.evaluation.statistics import LEAST_SEEDS, Difference

PAGE, RESULTS = "RESULTS.md", "results.json"
FIGURE_NAMES = ("arms", "differences", "calls_by_turn")
"""What ``figures.py`` draws; to import it takes seconds."""

Verdict = Literal["confirmed", "refuted", "undecided", "not measured"]
_WORD: dict[Verdict, str] = {"confirmed": "holds", "refuted": "reversed", "undecided": "open", "not measured": "open"}

POOLED = "f1_micro"
"""F1 over both levels, averaged as in the FuseSearch tables. They do not print it; it follows from F1 of files and functions."""


class Figure(Record):
    """A figure of an arm over all its seeds and instances, by seed, and in the paper."""

    estimate: float
    low: float | None = None
    high: float | None = None
    seeds: int
    instances: int
    by_seed: dict[int, float] = Field(default_factory=dict)
    paper: float | None = None


class TurnCalls(Record):
    """Mean calls of tool-using turns at a turn index (from 1), the range over seeds, and the episodes with such a turn."""

    turn: int
    calls: float
    low: float
    high: float
    episodes: int


class ArmResult(Record):
    """One arm: its finished and missing seeds, and its figures by metric, without undefined ones."""

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


class ClaimResult(Record):
    """The verdict on a claim. ``p_holm`` is corrected over the claims of the experiment; the sentence states the numbers."""

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


class Results(Record):
    """All results of an experiment. ``inputs`` is the digest of its scores, ``revision`` the git commit.

    ``missing`` names arms and seeds without a finished run, ``other_instances`` runs on other instances than most runs.
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
    paper_caption: str = ""
    paper_notes: list[str] = Field(default_factory=list)
    notes: list[str] = Field(default_factory=list)
    arms: list[ArmResult]
    differences: list[Difference]
    claims: list[ClaimResult]
    missing: list[str] = Field(default_factory=list)
    other_instances: list[str] = Field(default_factory=list)

    def arm(self, name: str) -> ArmResult:
        """The arm of that name."""
        return next(arm for arm in self.arms if arm.name == name)

    @property
    def labels(self) -> dict[str, str]:
        """The names of the arms in tables."""
        return {arm.name: arm.label for arm in self.arms}

    @property
    def word(self) -> str:
        """The verdict on the first claim, and how many claims are decided; "" without claims."""
        if not self.claims:
            return ""
        decisions = [_WORD[claim.verdict] for claim in self.claims]
        return f"{decisions[0]}, {len(decisions) - decisions.count('open')} of {len(decisions)} claims decided"

    @property
    def measured_seeds(self) -> list[int]:
        """The finished seeds of any arm; ``seeds`` are the requested ones."""
        return sorted({seed for arm in self.arms for seed in arm.seeds})


def check_figures(names: Iterable[str]) -> None:
    """Raise :class:`ConfigError` for an unknown figure; the message lists the known ones."""
    if unknown := [name for name in names if name not in FIGURE_NAMES]:
        raise ConfigError(f"there is no figure {unknown[0]!r}: use {', '.join(FIGURE_NAMES)}")


def read_results(folder: Path) -> Results:
    """The results in a folder. Raises :class:`ArtifactError` when there are none or they cannot be read."""
    path = folder / RESULTS
    if not path.exists():
        raise ArtifactError(f"{path} is missing: run `python -m flows experiment run {folder.name}`")
    try:
        return Results.model_validate(read_json(path))
    except ValidationError as error:
        raise ArtifactError(f"{path}: {first_fault(error)}; write the results again") from None


def ordering(row: Difference) -> str | None:
    """What becomes of an ordering in the paper's table, or ``None`` if the paper does not order the two.

    The test decides "holds" and "reversed"; "same direction" and "other direction" are undecided. A difference that prints as
    zero is "no difference", whatever the test says.
    """
    if row.agrees is None:
        return None
    if float(METRICS[row.metric].show(row.estimate)) == 0:
        return "no difference"
    if row.agrees:
        return "holds" if decided(row) else "same direction"
    return "reversed" if decided(row) else "other direction"


def decided(row: Difference) -> bool:
    """Whether the corrected test over several seeds decides which arm is ahead."""
    return row.seeds >= LEAST_SEEDS and row.is_significant


def difference_text(row: Difference | ClaimResult, of: Metric) -> str:
    """``+3.1 points [+1.2, +5.0]``."""
    estimate = of.show(row.estimate or 0.0, signed=True) + of.points
    if row.low is None or row.high is None:
        return estimate
    return f"{estimate} [{of.show(row.low, signed=True)}, {of.show(row.high, signed=True)}]"
