"""Episodes on disk: which sources of trajectories there are, what is in them, and one of them at a time.

A file of trajectories is gone through once to learn where each episode begins; only what is looked at is read whole.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from dashboards.reading.artifacts import cached, read_scores
from dashboards.reading.experiments import node_labels
from tasks.core.errors import ArtifactError, FusesearchError
from tasks.core.schema import Trajectory, Truth
from tasks.core.storage import iter_rows
from tasks.pipeline.places import MAIN, NODES
from tasks.reporting.reproduction import label
from tasks.reporting.table import ARMS

MOST_LINE = 64 * 1024**2
"""Bytes of one episode that are read at most."""


@dataclass(frozen=True)
class Source:
    """A file of trajectories, one per line, the truth of its instances, and who searched."""

    name: str
    label: str
    path: Path
    truths: Path
    stage: str

    @property
    def scores(self) -> Path | None:
        """The scores of an evaluated arm, among others'; the teacher's candidates have none."""
        folder = self.path.parent
        return folder.with_name(MAIN["evaluate.scores"].name) if folder.name == MAIN["evaluate.trajectories"].name else None


@dataclass(frozen=True)
class Index:
    """Where the episodes of each instance begin in a file, in bytes, in order of their runs."""

    offsets: Mapping[str, tuple[int, ...]]


def sources(root: Path) -> list[Source]:
    """Evaluated arms in the order of tables, runs of experiments, then the teacher's candidates."""
    held_out, imitated = root / MAIN["split.validation"], root / MAIN["split.sft"]
    arms = {path.stem: path for path in sorted((root / MAIN["evaluate.trajectories"]).glob("*.jsonl"))}
    order = [arm for arm in ARMS if arm in arms] + [arm for arm in arms if arm not in ARMS]
    found = [Source(arm, label(arm), arms[arm], held_out, "evaluate") for arm in order]
    labels = node_labels(root)
    for path in sorted((root / NODES).glob("*/trajectories/*.jsonl")):
        node = path.parent.parent.name
        name = labels.get(node, f"{node}: {label(path.stem)}")
        found.append(
            Source(f"{node}/{path.stem}", name, path, held_out, f"experiments/dvc.yaml:{node.rpartition('-')[0]}@{node}")
        )
    if (root / MAIN["synthesize.candidates"]).exists():
        found.append(Source("candidates", "teacher's candidates", root / MAIN["synthesize.candidates"], imitated, "synthesize"))
    return found


def index(source: Source) -> Index:
    """What is in a source. Raises :class:`ArtifactError` where it is missing or a line is no episode."""
    return cached(source.path, source.stage, _index)


def readable(sources: Sequence[Source]) -> tuple[list[Source], list[str]]:
    """The sources that :func:`index` can read, and a line for each other."""
    found, faults = [], []
    for source in sources:
        try:
            index(source)
            found.append(source)
        except FusesearchError as error:
            faults.append(str(error))
    return found, list(dict.fromkeys(faults))


def read_episode(source: Source, instance_id: str, run: int = 1) -> Trajectory:
    """One episode; ``run`` counts from 1. Raises :class:`ArtifactError` where it is not there or is none."""
    offsets = index(source).offsets.get(instance_id, ())
    if not 1 <= run <= len(offsets):
        raise ArtifactError(f"{source.path} has {len(offsets)} episodes of {instance_id}: there is no episode {run}")
    with source.path.open("rb") as handle:
        handle.seek(offsets[run - 1])
        line = handle.readline(MOST_LINE)
    try:
        return Trajectory.model_validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "line"
        raise ArtifactError(f"{source.path}: an episode of {instance_id} is none ({where}: {first['msg']})") from None


def f1_of(source: Source) -> dict[str, float]:
    """F1 of the first scored run of each instance; nothing where the scores are missing. Failed runs are absent."""
    try:
        scores = cached(source.scores, source.stage, read_scores) if source.scores else []
    except FusesearchError:
        return {}
    found: dict[str, float] = {}
    for score in scores:
        if (score.arm or score.localizer) == source.path.stem and score.f1 is not None:
            found.setdefault(score.instance_id, score.f1)
    return found


def truth_of(source: Source, instance_id: str) -> Truth | None:
    """What the patch of an instance modifies; ``None`` where no table at hand says so."""
    return _truths(source.truths).get(instance_id) if source.truths.exists() else None


def _truths(path: Path) -> dict[str, Truth]:
    return cached(path, "split", _read_truths)


def _read_truths(path: Path) -> dict[str, Truth]:
    rows = iter_rows(path, ["instance_id", "truth"])
    return {row["instance_id"]: Truth.model_validate_json(row["truth"]) for row in rows if row["truth"]}


def _index(path: Path) -> Index:
    offsets: dict[str, tuple[int, ...]] = {}
    with path.open("rb") as handle:
        at = 0
        while line := handle.readline(MOST_LINE):
            if line.strip():
                instance_id = str(json.loads(line)["instance_id"])
                offsets[instance_id] = (*offsets.get(instance_id, ()), at)
            at += len(line)
    return Index(offsets)
