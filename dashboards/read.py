"""Artifacts as the pages need them: read once while a file stays the same; what is missing names the stage that makes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd
from pydantic import ValidationError

from fusesearch.core.errors import ArtifactError, FusesearchError, first_fault
from fusesearch.core.examples import Example, read_examples
from fusesearch.core.schema import Record, Score
from fusesearch.core.storage import read_csv, read_json, read_jsonl
from fusesearch.evaluation.metrics import METRICS
from fusesearch.evaluation.statistics import Difference, Measured
from fusesearch.reporting.curves import read_curve
from fusesearch.reporting.experiment.results import RESULTS, Results, read_results
from fusesearch.reporting.reproduction import REPORTED, Summary, label, mined_tables
from fusesearch.reporting.table import Table
from tasks.experiments.spec import experiment_names
from tasks.report import PAPER_STAGES
from tasks.running.places import EXPERIMENTS, MAIN, NODES, experiment_files
from tasks.stages import TRAINED

T = TypeVar("T")
R = TypeVar("R", bound=Record)
MOST_BYTES = 512 * 1024**2
"""A larger file is refused: a page would take too long to open."""

_newest: dict[tuple[object, ...], tuple[tuple[int, int], Any]] = {}
"""What was read of each file last, with its time of change and size then."""


def cached(path: Path, stage: str, read: Callable[..., T], *arguments: Any) -> T:
    """``read(path, *arguments)``, or what it returned while the file was the same.

    Raises :class:`ArtifactError` if the file is missing (naming the stage that makes it), too large, or damaged.
    """
    try:
        found = path.stat()
    except OSError:
        raise ArtifactError(f"{path} is missing: run `dvc repro {stage}`") from None
    if found.st_size > MOST_BYTES:
        raise ArtifactError(f"{path} has {found.st_size / 1e6:,.0f} MB: the dashboard reads {MOST_BYTES // 1024**2} MB at most")
    key, version = (path.resolve(), read, *arguments), (found.st_mtime_ns, found.st_size)
    kept = _newest.pop(key, None)
    if kept is None or kept[0] != version:
        try:
            kept = (version, read(path, *arguments))
        except ArtifactError as error:
            raise ArtifactError(f"{error}: delete it and run `dvc repro {stage}`") from None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OSError) as error:
            raise ArtifactError(f"{path} cannot be used ({_reason(error)}): delete it and run `dvc repro {stage}`") from None
    _newest[key] = kept
    return kept[1]


def _reason(error: Exception) -> str:
    if isinstance(error, ValidationError):
        return first_fault(error)
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


class _Estimate(Record):
    arm: str
    metric: str
    estimate: float
    low: float | None
    high: float | None
    instances: int


class TurnProfile(Record):
    """Mean calls at a turn index of an arm, and how many episodes had such a turn."""

    arm: str
    turn: int
    calls: float
    episodes: int


def summary(root: Path) -> Summary:
    """Figures with intervals of every arm, as the report stage measured them."""
    found: Summary = {}
    for row in cached(root / MAIN["report.table"], "report", _rows, _Estimate):
        found.setdefault(row.arm, {})[row.metric] = Measured(row.estimate, row.low, row.high, instances=row.instances)
    return found


def differences(root: Path) -> list[Difference]:
    """Paired differences of arms, as the report stage measured them."""
    return cached(root / MAIN["report.differences"], "report", _rows, Difference)


def calls_by_turn(root: Path) -> list[TurnProfile]:
    """Mean calls at each turn index of each arm."""
    return cached(root / MAIN["report.calls_by_turn"], "report", _rows, TurnProfile)


def scores(root: Path) -> list[Score]:
    """All scores of the evaluate stage."""
    return cached(root / MAIN["evaluate.scores"], "evaluate", read_scores)


def read_scores(path: Path) -> list[Score]:
    """All scores of a file."""
    return list(read_jsonl(path, Score))


def paper_stages(root: Path) -> list[dict[str, str]]:
    """FuseSearch table 2 as printed; empty if the project does not have it."""
    path = root / PAPER_STAGES
    return cached(path, "report", _paper_stages) if path.exists() else []


def metrics(root: Path, stage: str) -> dict[str, Any]:
    """The summary figures of a stage."""
    return cached(root / MAIN[f"{stage}.metrics"], stage, _mapping)


def drops(root: Path, stage: str) -> dict[str, Any]:
    """How many rows each rule of a stage dropped."""
    return cached(root / MAIN[f"{stage}.drops"], stage, _mapping)


def examples(root: Path, stage: str) -> dict[str, list[Example]]:
    """Examples of what each rule of a stage dropped."""
    return cached(root / MAIN[f"{stage}.examples"], stage, read_examples)


def mined(root: Path) -> list[Table]:
    """What mining tried, kept and dropped."""
    return cached(root / MAIN["mine.table"], "mine", lambda path: mined_tables(_mapping(path)))


def candidates(root: Path) -> pd.DataFrame:
    """All scored candidates of the teacher: ``instance_id, f1, efficiency, efficiency_call, outcome``."""
    return cached(root / MAIN["select.plane"], "select", _candidates)


@dataclass(frozen=True)
class Curve:
    """Logged steps of one training run. ``name`` is unique, ``label`` for people, ``stage`` the training stage."""

    name: str
    label: str
    stage: str
    rows: Sequence[dict[str, float]]


def main_curves(root: Path) -> tuple[list[Curve], list[str]]:
    """Curves of the main pipeline's training stages, and a line for each that is missing or damaged."""
    found, faults = [], []
    for stage in TRAINED:
        arm = {"grpo": "sft+rl"}.get(stage, stage)
        try:
            found.append(Curve(arm, f"{label(arm)} ({stage})", stage, _curve(root / MAIN[f"{stage}.curve"], stage)))
        except FusesearchError as error:
            faults.append(str(error))
    return found, faults


def node_curves(root: Path) -> Iterator[Curve]:
    """Curves of the runs that experiments made, by the ids of their nodes; one that cannot be read is left out."""
    labels = node_labels(root)
    for path in sorted((root / NODES).glob("*/curve.csv")):
        node = path.parent.name
        stage = node.rpartition("-")[0]
        try:
            yield Curve(node, labels.get(node, node), stage, _curve(path, f"experiments/dvc.yaml:{stage}@{node}"))
        except FusesearchError:
            continue


def trees(root: Path, nodes: Iterable[str]) -> dict[str, Path]:
    """Files of the search trees of GRPO, the main pipeline's and those of ``nodes``, by run, step and instance."""
    runs = {"sft+rl": root / MAIN["grpo.checkpoint"], **{node: root / NODES / node / "checkpoint" for node in nodes}}
    return {f"{run} {file.stem}": file for run, folder in runs.items() for file in sorted((folder / "trees").glob("*.json"))}


def _curve(path: Path, stage: str) -> list[dict[str, float]]:
    rows = cached(path, stage, read_curve)
    if not rows:
        raise ArtifactError(f"{path} holds no step: run `dvc repro {stage}`")
    return rows


def experiments(root: Path) -> list[str]:
    """Experiments that have a file of their own, by name."""
    return experiment_names(root / EXPERIMENTS)


def results_of(root: Path, name: str) -> Results:
    """The results of one experiment. Raises :class:`ArtifactError` without any, saying what to run."""
    path = root / EXPERIMENTS / name / RESULTS
    if not path.exists():
        raise ArtifactError(f"experiments/{name}/{RESULTS} is missing: run `python -m flows experiment run {name}`")
    return cached(path, f"results-{name}", lambda path: read_results(path.parent))


def finished(root: Path) -> dict[str, Results]:
    """All results that can be read, by name."""
    found = {}
    for name in experiments(root):
        try:
            found[name] = results_of(root, name)
        except FusesearchError:
            continue
    return found


def experiment_curves(root: Path, name: str) -> list[dict[str, Any]]:
    """Training curves of an experiment over its seeds; empty unless it was run on this machine."""
    path = root / experiment_files(name) / "curves.csv"
    return cached(path, f"results-{name}", _experiment_curves) if path.exists() else []


def node_labels(root: Path) -> dict[str, str]:
    """What nodes are called: their id and the first arm that uses them."""
    users: dict[str, list[str]] = {}
    for name, results in finished(root).items():
        for arm in results.arms:
            for seed, nodes in arm.nodes.items():
                for node in nodes.values():
                    users.setdefault(node, []).append(f"{name}, {arm.label}, seed {seed}")
    return {node: f"{node}: {found[0]}{f' and {len(found) - 1} more' * (len(found) > 1)}" for node, found in users.items()}


def _csv(path: Path, *columns: str) -> list[dict[str, str]]:
    """Rows of a table that has these columns, or of one without a row."""
    rows = read_csv(path)
    header = path.read_text(encoding="utf-8").partition("\n")[0].rstrip("\r").split(",")
    if header != ["empty"] and (missing := set(columns) - set(header)):
        raise ValueError(f"it lacks {', '.join(sorted(missing))}")
    return rows


def _rows(path: Path, kind: type[R]) -> list[R]:
    """Rows as records; empty cells are ``None``."""
    needed = [name for name, field in kind.model_fields.items() if field.is_required()]
    return [kind.model_validate({key: text or None for key, text in row.items()}) for row in _csv(path, *needed)]


def _paper_stages(path: Path) -> list[dict[str, str]]:
    """Rows as printed, all of whose figures are numbers or empty."""
    columns = [METRICS[key].paper or "" for key in REPORTED if METRICS[key].paper]
    rows = _csv(path, "model", "stage", *columns)
    for row in rows:
        for column in columns:
            if row[column] != "":
                float(row[column])
    return rows


def _candidates(path: Path) -> pd.DataFrame:
    names = ("instance_id", "f1", "efficiency", "efficiency_call", "outcome")
    frame = pd.DataFrame([{name: row[name] for name in names} for row in _csv(path, *names)], columns=list(names))
    frame = frame[(frame["f1"] != "") & (frame["efficiency"] != "")]
    return frame.astype({"f1": float, "efficiency": float, "efficiency_call": float})


def _experiment_curves(path: Path) -> list[dict[str, Any]]:
    words = ("arm", "stage")
    return [{key: text if key in words else float(text) for key, text in row.items() if text} for row in read_csv(path)]


def _mapping(path: Path) -> dict[str, Any]:
    found = read_json(path)
    if not isinstance(found, Mapping):
        raise ValueError("it holds no JSON object")
    return dict(found)
