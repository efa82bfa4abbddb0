"""How often what a system is sure of is right."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import fmean
from typing import Any

import numpy as np

EDGES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
SURE = 0.8
DRAWS = 1000


def calibration(pairs: Iterable[tuple[float, bool]]) -> dict[str, Any]:
    """Calibration of pairs (stated confidence in [0, 1], whether it was right): a row per filled bin, and the errors over all.

    ``expected_error`` is the mean distance of stated and right over the bins, weighted by their sizes. Few issues make it large
    whatever is stated: ``perfect`` is what it would be were each confidence exactly the chance of being right, its mean and 95th
    percentile over :data:`DRAWS` draws (consistency resampling: Bröcker and Smith, 2007). ``sure`` is the share stated from
    :data:`SURE` on, ``sure_right`` how many of those were right (None of none).
    """
    rows = list(pairs)
    bins = []
    for low, high in pairwise(EDGES):
        inside = [row for row in rows if low <= row[0] < high or row[0] == high == EDGES[-1]]
        if inside:
            stated, right = (fmean(column) for column in zip(*inside, strict=True))
            bins.append({"from": low, "to": high, "issues": len(inside), "stated": stated, "right": right})
    error = sum(row["issues"] * abs(row["stated"] - row["right"]) for row in bins) / max(1, len(rows))
    sure = [right for stated, right in rows if stated >= SURE]
    share = len(sure) / max(1, len(rows))
    perfect = _errors_if_perfect([stated for stated, _ in rows])
    return {"bins": bins, "expected_error": error, "perfect": perfect, "sure": share, "sure_right": fmean(sure) if sure else None}


def _errors_if_perfect(confidences: Sequence[float]) -> dict[str, float]:
    stated = np.array(confidences)
    right = np.random.default_rng(0).random((DRAWS, len(stated))) < stated
    in_bin = np.digitize(stated, EDGES[1:-1])
    apart = [np.abs((stated - right)[:, in_bin == number].sum(axis=1)) for number in range(len(EDGES) - 1)]
    errors = np.sum(apart, axis=0) / max(1, len(stated))
    return {"mean": float(errors.mean()), "high": float(np.quantile(errors, 0.95))}
