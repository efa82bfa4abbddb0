"""Episodes on disk: the files that hold them, what is in each, and one episode at a time.

A file of trajectories is read once to learn where each episode begins; only what is looked at is parsed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from dashboards.read import cached, node_labels, read_scores
from fusesearch.core.errors import ArtifactError, FusesearchError, first_fault
from fusesearch.core.schema import Trajectory, Truth
from fusesearch.core.storage import iter_rows
from fusesearch.evaluation.results import TRAJECTORIES
from fusesearch.reporting.reproduction import label
from fusesearch.reporting.table import ARMS
from tasks.running.places import MAIN, NODES

MOST_LINE = 64 * 1024**2
"""Bytes of one episode that are read at most."""


@dataclass(frozen=True)
class Source:
    """A file of trajectories, one per line: who searched, the table with the truth, and the stage that made the file."""

    name: str
    label: str
    path: Path
    truths: Path
    stage: str

    def offsets(self) -> dict[str, list[int]]:
        """Where the episodes of each instance begin in the file, in bytes, in order of their runs."""
        return cached(self.path, self.stage, _offsets)

    def episode(self, instance_id: str, run: int = 1) -> Trajectory:
        """One episode; ``run`` counts from 1. Raises :class:`ArtifactError` if it is missing or damaged."""
        offsets = self.offsets().get(instance_id, [])
        if not 1 <= run <= len(offsets):
            raise ArtifactError(f"{self.path} has {len(offsets)} episodes of {instance_id}, so episode {run} does not exist")
        with self.path.open("rb") as handle:
            handle.seek(offsets[run - 1])
            line = handle.readline(MOST_LINE)
        try:
            return Trajectory.model_validate_json(line)
        except ValidationError as error:
            raise ArtifactError(f"{self.path}: an episode of {instance_id} is damaged ({first_fault(error)})") from None

    def f1(self) -> dict[str, float]:
        """F1 of the first scored run of each instance; empty without scores. The teacher's candidates have none."""
        path = self.path.parent.parent.with_name(MAIN["evaluate.scores"].name)
        try:
            scores = cached(path, self.stage, read_scores) if path.exists() else []
        except FusesearchError:
            return {}
        found: dict[str, float] = {}
        for score in scores:
            if (score.arm or score.localizer) == self.path.parent.name and score.f1 is not None:
                found.setdefault(score.instance_id, score.f1)
        return found

    def truth(self, instance_id: str) -> Truth:
        """What the patch of an instance modifies. Raises :class:`ArtifactError` if the split does not say."""
        found = cached(self.truths, "split", _truths).get(instance_id)
        if found is None or not found.files:
            raise ArtifactError(f"{self.truths} does not have the truth of {instance_id}: run `dvc repro split`")
        return found


def sources(root: Path) -> list[Source]:
    """Evaluated arms in the order of tables, runs of experiments, then the teacher's candidates."""
    held_out, imitated = root / MAIN["split.validation"], root / MAIN["split.sft"]
    arms = {path.parent.name: path for path in sorted((root / MAIN["evaluate.cells"]).glob(f"*/{TRAJECTORIES}"))}
    order = [arm for arm in ARMS if arm in arms] + [arm for arm in arms if arm not in ARMS]
    found = [Source(arm, label(arm), arms[arm], held_out, "evaluate") for arm in order]
    labels = node_labels(root)
    for path in sorted((root / NODES).glob(f"*/cells/*/{TRAJECTORIES}")):
        node, cell = path.parents[2].name, path.parent.name
        name = labels.get(node, f"{node}: {label(cell)}")
        found.append(Source(f"{node}/{cell}", name, path, held_out, f"experiments/dvc.yaml:{node.rpartition('-')[0]}@{node}"))
    if (root / MAIN["synthesize.candidates"]).exists():
        found.append(Source("candidates", "teacher's candidates", root / MAIN["synthesize.candidates"], imitated, "synthesize"))
    return found


def readable(known: Sequence[Source]) -> tuple[list[Source], list[str]]:
    """Sources whose files can be read, and a line for each of the others."""
    found, faults = [], []
    for source in known:
        try:
            source.offsets()
            found.append(source)
        except FusesearchError as error:
            faults.append(str(error))
    return found, faults


def _truths(path: Path) -> dict[str, Truth]:
    rows = iter_rows(path, ["instance_id", "truth"])
    return {row["instance_id"]: Truth.model_validate_json(row["truth"]) for row in rows if row["truth"]}


def _offsets(path: Path) -> dict[str, list[int]]:
    offsets: dict[str, list[int]] = {}
    with path.open("rb") as handle:
        at = 0
        while line := handle.readline(MOST_LINE):
            if line.strip():
                offsets.setdefault(str(json.loads(line)["instance_id"]), []).append(at)
            at += len(line)
    return offsets
