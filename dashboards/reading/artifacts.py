"""Files of the pipeline's stages, read at most once for as long as they stay the same."""

from __future__ import annotations

import csv
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, TypeVar

from tasks.core.config import Params, load_params
from tasks.core.errors import ArtifactError
from tasks.core.examples import Example, read_examples
from tasks.core.schema import Score
from tasks.core.storage import read_csv, read_json, read_jsonl
from tasks.evaluation.metrics import METRICS
from tasks.evaluation.statistics import Difference, Measured
from tasks.pipeline.places import MAIN
from tasks.pipeline.work.report import PAPER_STAGES
from tasks.reporting.curves import read_curve
from tasks.reporting.reproduction import REPORTED, Summary, mined_tables
from tasks.reporting.table import Table

T = TypeVar("T")
_FIGURE = ("estimate", "low", "high", "instances")
MOST_BYTES = 512 * 1024**2
"""A larger file is refused: a page would not be done with it."""


_newest: dict[tuple[Path, Callable[[Path], Any]], tuple[tuple[int, int], Any]] = {}
"""What was read of each file last, with when it had changed and its size."""


def cached(path: Path, stage: str, read: Callable[[Path], T]) -> T:
    """``read(path)``, or what it gave while the file was the same.

    Raises :class:`ArtifactError` where the file is missing (naming the stage that makes it), too large, or not what it
    should be.
    """
    try:
        found = path.stat()
    except OSError:
        raise ArtifactError(f"{path} is missing: run `dvc repro {stage}`") from None
    if found.st_size > MOST_BYTES:
        raise ArtifactError(f"{path} has {found.st_size / 1e6:,.0f} MB: the dashboard reads {MOST_BYTES // 1024**2} MB at most")
    key, version = (path.resolve(), read), (found.st_mtime_ns, found.st_size)
    kept = _newest.get(key)
    if kept is None or kept[0] != version:
        _newest.pop(key, None)
        kept = _newest[key] = (version, _read(path, read))
    return kept[1]


def _read(path: Path, read: Callable[[Path], T]) -> T:
    try:
        return read(path)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OSError) as error:
        raise ArtifactError(f"{path} cannot be used ({_first_line(error)}): delete it and run `dvc repro`") from None


def current_params(root: Path) -> Params:
    """``params.yaml`` as it is now."""
    return load_params(root / "params.yaml")


def summary(root: Path) -> Summary:
    """Figures with intervals of every arm, as the report stage measured them."""
    return cached(root / MAIN["report.table"], "report", _summary)


def differences(root: Path) -> list[Difference]:
    """Paired differences of arms, as the report stage measured them."""
    return cached(root / MAIN["report.differences"], "report", _differences)


def calls_by_turn(root: Path) -> list[dict[str, Any]]:
    """Mean calls at each turn index of each arm: ``arm, turn, calls, episodes``."""
    return cached(root / MAIN["report.calls_by_turn"], "report", _calls_by_turn)


def scores(root: Path) -> list[Score]:
    """All scores of the evaluate stage."""
    return cached(root / MAIN["evaluate.scores"], "evaluate", read_scores)


def paper_stages(root: Path) -> list[dict[str, str]]:
    """FuseSearch table 2 as printed; empty where it is not there."""
    path = root / PAPER_STAGES
    return cached(path, "report", _paper_stages) if path.exists() else []


def curve(path: Path, stage: str) -> list[dict[str, float]]:
    """Logged steps of a training stage, numbers only. Raises :class:`ArtifactError` where there is none."""
    found = cached(path, stage, read_curve)
    if not found:
        raise ArtifactError(f"{path} holds no step: run `dvc repro {stage}`")
    return found


def counts(path: Path, stage: str) -> dict[str, Any]:
    """A JSON object, such as a drop table or the figures of a stage."""
    return cached(path, stage, _mapping)


def mined(root: Path) -> list[Table]:
    """What mining tried, kept and dropped."""
    return cached(root / MAIN["mine.table"], "mine", _mined)


def examples(path: Path, stage: str) -> dict[str, list[Example]]:
    """Examples of what each rule dropped."""
    return cached(path, stage, read_examples)


def read_scores(path: Path) -> list[Score]:
    """All scores of a file."""
    return list(read_jsonl(path, Score))


def rows_of(path: Path, columns: Collection[str]) -> list[dict[str, str]]:
    """Rows of a CSV file that has these columns, or none because there was nothing to write.

    Raises :class:`ArtifactError` for another file.
    """
    found = read_csv(path)
    with path.open(encoding="utf-8", newline="") as handle:
        header = next(csv.reader(handle), [])
    if header != ["empty"] and not set(columns) <= set(header):
        raise ArtifactError(f"{path} lacks {', '.join(sorted(set(columns) - set(header)))}: delete it and run `dvc repro`")
    return found


def _summary(path: Path) -> Summary:
    found: Summary = {}
    for row in rows_of(path, ("arm", "metric", *_FIGURE)):
        found.setdefault(row["arm"], {})[row["metric"]] = _interval(row)
    return found


def _differences(path: Path) -> list[Difference]:
    return [
        Difference(
            **{name: row[name] for name in ("first", "second", "metric")},
            **{name: _number(row[name]) for name in ("low", "high", "p", "p_holm")},
            estimate=float(row["estimate"]),
            instances=int(row["instances"]),
        )
        for row in rows_of(path, ("first", "second", "metric", *_FIGURE, "p", "p_holm"))
    ]


def _interval(row: dict[str, str]) -> Measured:
    return Measured(float(row["estimate"]), _number(row["low"]), _number(row["high"]), instances=int(row["instances"]))


def _paper_stages(path: Path) -> list[dict[str, str]]:
    """Rows as printed, all of whose figures are numbers or empty."""
    figures = [METRICS[key].paper or "" for key in REPORTED if METRICS[key].paper]
    found = rows_of(path, ("model", "stage", *figures))
    for row in found:
        for figure in figures:
            if row[figure] != "":
                float(row[figure])
    return found


def _calls_by_turn(path: Path) -> list[dict[str, Any]]:
    return [
        {"arm": row["arm"], "turn": int(row["turn"]), "calls": float(row["calls"]), "episodes": int(row["episodes"])}
        for row in rows_of(path, ("arm", "turn", "calls", "episodes"))
    ]


def _mapping(path: Path) -> dict[str, Any]:
    found = read_json(path)
    if not isinstance(found, dict):
        raise ArtifactError(f"{path} holds no JSON object: delete it and run `dvc repro`")
    return found


def _mined(path: Path) -> list[Table]:
    return mined_tables(_mapping(path))


def _number(text: str) -> float | None:
    return float(text) if text else None


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
