"""The definition of an experiment: ``experiments/<name>/experiment.yaml``, checked when it is read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, model_validator

from fusesearch.core.config import Params, Section, Subject, parse_section, read_mapping
from fusesearch.core.errors import ConfigError
from fusesearch.core.overrides import override
from fusesearch.evaluation.names import check_names
from tasks.running.places import EXPERIMENTS

FILE = "experiment.yaml"

ArmName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]{0,49}$")]
"""Part of the name of a file."""

Checkpoint = Literal["base", "sft", "grpo"]
"""The model of an arm that is evaluated: the base model, or the checkpoint of a training stage."""


class Claim(Section):
    """An ordering of two arms that the experiment tests.

    With a ``margin`` it claims that ``better`` is worse than ``than`` by less than the margin.
    """

    metric: str = Field(description="a metric of the experiment; `better` is expected to be higher in it than `than`")
    better: str = Field(description="arm")
    than: str = Field(description="arm")
    lower: bool = Field(False, description="`better` is expected to be lower in the metric instead")
    margin: float | None = Field(None, gt=0, description="`better` may be worse by less than this, in the metric's unit")
    paper: bool = Field(False, description="the paper's table states this ordering")
    note: str = ""

    @model_validator(mode="after")
    def _the_paper_states_orderings_only(self) -> Claim:
        if self.paper and self.margin is not None:
            raise ValueError("a claim with a margin is not an ordering that a paper's table states")
        return self


class Arm(Section):
    """One variant: its changes, and the model that is evaluated."""

    label: str = Field("", description="its name in tables; empty: its key")
    set: dict[str, Any] = Field(default_factory=dict, description="params by dotted key, such as `select.min_f1: 0`")
    checkpoint: Checkpoint = "sft"
    localizer: str = Field("fusesearch", description="what asks the model: a name of fusesearch/localizers/registry.py")
    paper_row: dict[str, str] = Field(default_factory=dict, description="columns that select its row of the paper's table")

    @property
    def subject(self) -> Subject:
        """What the evaluate stage scores for it."""
        return Subject(localizer=self.localizer, checkpoint=self.checkpoint)


class PaperTable(Section):
    """The table of a paper that the results are shown beside."""

    table: str = Field(description="file in experiments/reference")
    where: dict[str, str] = Field(default_factory=dict, description="columns that select the rows for all arms")
    caption: str = ""
    notes: list[str] = Field(default_factory=list, description="what to know about the table before comparing, a sentence each")


class Experiment(Section):
    """The content of ``experiment.yaml``. The name is the folder's."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")
    title: str
    question: str
    hypothesis: str
    finished: str = Field("", description="the tag at which its code and params are; such an experiment is not run again")
    notes: list[str] = Field(default_factory=list, description="what a reader must know about the experiment's history")
    paper: PaperTable | None = None
    set: dict[str, Any] = Field(default_factory=dict, description="params by dotted key, for all arms; an arm's own win")
    arms: dict[ArmName, Arm] = Field(min_length=1)
    seeds: list[Annotated[int, Field(ge=0)]] = Field(min_length=1)
    metrics: list[str] = Field(min_length=1, description="figures of the table, by their names in MLflow")
    primary: str = Field(description="the metric of the figure of arms")
    claims: list[Claim] = Field(default_factory=list)
    figures: list[str] = Field(default_factory=list)

    @property
    def folder(self) -> Path:
        """The folder of its file and its results."""
        return EXPERIMENTS / self.name

    def label(self, arm: str) -> str:
        """The name of an arm in tables."""
        return self.arms[arm].label or arm

    def params(self, params: Params, arm: str, seed: int) -> Params:
        """``params`` with this arm's changes. Raises :class:`ConfigError` for an unknown key or a value out of range."""
        changes = {**self.set, **self.arms[arm].set, "seed": seed}
        source = f"{self.folder / FILE}: {arm}"
        return check_names(override(params, changes, source), source)

    @model_validator(mode="after")
    def _names_are_known(self) -> Experiment:
        for claim in self.claims:
            if unknown := {claim.better, claim.than} - set(self.arms):
                raise ValueError(f"a claim names {', '.join(sorted(unknown))}, which is not an arm")
        named = {self.primary, *(claim.metric for claim in self.claims)}
        if unknown := named - set(self.metrics):
            raise ValueError(f"{', '.join(sorted(unknown))} is used and not among the metrics")
        if any("seed" in changes for changes in (self.set, *(arm.set for arm in self.arms.values()))):
            raise ValueError("seed is set by seeds, for all arms")
        for kind, values in (("seeds", self.seeds), ("metrics", self.metrics)):
            if len(values) != len(set(values)):
                raise ValueError(f"{kind} has a value twice")
        return self


def load_experiment(name: str, root: Path = EXPERIMENTS) -> Experiment:
    """Read and check ``<root>/<name>/experiment.yaml``. Raises :class:`ConfigError` with file, key and reason in one line."""
    path = root / name / FILE
    if "/" in name or not path.is_file():
        known = ", ".join(experiment_names(root)) or "none"
        raise ConfigError(f"there is no experiment {name!r}: {path} is missing; there are {known}")
    experiment = parse_section(Experiment, {**read_mapping(path), "name": name}, source=str(path))
    for arm, variant in experiment.arms.items():
        check_names(variant.subject, f"{path}: {arm}")
    return experiment


def experiment_names(root: Path = EXPERIMENTS) -> list[str]:
    """Folders below ``root`` that hold an experiment, by name."""
    return sorted(path.parent.name for path in root.glob(f"*/{FILE}"))
