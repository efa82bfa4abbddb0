"""Fixes of public histories that no model learned from, scored with the models and features of before and of after a change.

``histories`` of ``results.json`` has a row per fix: ``instance_id`` (with the commit), ``group`` (``python`` or ``other``),
and for ``before``
and ``after`` whether the ``file`` that is shown first is right, one of the five ``files``, the first ``function`` and one of the
first five ``functions`` (None where the fix modifies none), the ``confidence`` in the first file (None without an answer) and
processor ``seconds``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import comb
from statistics import median
from typing import Any

from fusesearch.evaluation.calibration import calibration
from fusesearch.reporting.table import ABSENT, Row, Table

MEASURES = {
    "file": "first file",
    "files": "one of five files",
    "function": "first function",
    "functions": "one of five functions",
}
GROUPS = ("all", "python", "other")


def tables(rows: Sequence[Mapping[str, Any]]) -> list[Table]:
    """What is right before and after, and the error of the confidence, by group; nothing without rows."""
    if not rows:
        return []
    groups = {name: [row for row in rows if name in ("all", row["group"])] for name in GROUPS}
    right = [Row(_compared(name, key, found)) for name, found in groups.items() if found for key in MEASURES]
    sure = [
        Row([name, str(len(found)), *(f"{value:.1f}" for when in ("before", "after") for value in _errors(found, when))])
        for name, found in groups.items()
        if found
    ]
    seconds = ", ".join(f"{when} {median(row[when]['seconds'] for row in rows):.2f}" for when in ("before", "after"))
    return [
        Table(
            "Fixes with the right answer, in percent; p of a sign test over those that differ",
            ["fixes of", "right", "fixes", "before", "after", "gained", "lost", "p"],
            right,
        ),
        Table(
            f"Confidence in the first file: expected calibration error, and mean stated less mean right, in points. "
            f"Median processor seconds an issue, index ready: {seconds}",
            ["fixes of", "answered", "error before", "stated less right before", "error after", "stated less right after"],
            sure,
        ),
    ]


def _compared(group: str, key: str, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    pairs = [(row["before"][key], row["after"][key]) for row in rows if row["before"][key] is not None]
    gained, lost = (sum(pair == way for pair in pairs) for way in ((False, True), (True, False)))
    shares = [f"{100 * sum(side) / len(pairs):.1f}" for side in zip(*pairs, strict=True)]
    differ = gained + lost  # exact: a fair coin for each fix that differs
    p = min(1.0, sum(comb(differ, k) for k in range(min(gained, lost) + 1)) / 2 ** (differ - 1)) if differ else None
    return [group, MEASURES[key], str(len(pairs)), *shares, str(gained), str(lost), ABSENT if p is None else f"{p:.3f}"]


def _errors(rows: Sequence[Mapping[str, Any]], when: str) -> tuple[float, float]:
    pairs = [(row[when]["confidence"], row[when]["file"]) for row in rows if row[when]["confidence"] is not None]
    stated, right = (sum(side) / len(pairs) for side in zip(*pairs, strict=True))
    return 100 * calibration(pairs)["expected_error"], 100 * (stated - right)
