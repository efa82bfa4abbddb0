"""How long stages took on this machine, to say how long others will take."""

from __future__ import annotations

import json
from collections import defaultdict, deque
from pathlib import Path
from statistics import fmean

from fusesearch.core.config import Params
from tasks.running.places import STATE

RECORD = STATE / "seconds.jsonl"
LAST = 5
"""Runs of a stage that an estimate is made of."""


def parts_of(stage: str, params: Params) -> int:
    """Number of equal parts of a run, an evaluation's cells; durations are kept per part."""
    return len(params.evaluate.cells) if stage == "evaluate" else 1


def note_seconds(stage: str, seconds: float, parts: int = 1, record: Path = RECORD) -> None:
    """Write down what one run of a stage took; ``parts`` are those of it (:func:`parts_of`)."""
    record.parent.mkdir(parents=True, exist_ok=True)
    with record.open("a", encoding="utf-8") as handle:
        handle.write(json.dumps({"stage": stage, "seconds": round(seconds / max(1, parts), 1)}) + "\n")


def usual_seconds(record: Path = RECORD) -> dict[str, float]:
    """Mean seconds of one part in the last runs, by stage; stages that never ran here are not in it.

    A damaged line is passed over.
    """
    kept: dict[str, deque[float]] = defaultdict(lambda: deque(maxlen=LAST))
    for line in record.read_text(encoding="utf-8").splitlines() if record.exists() else []:
        try:
            row = json.loads(line)
            kept[str(row["stage"])].append(float(row["seconds"]))
        except (ValueError, TypeError, KeyError):
            continue
    return {stage: fmean(values) for stage, values in kept.items()}
