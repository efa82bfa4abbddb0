"""Gradient-boosted trees from JSON, evaluated without the library that trained them, and what their scores mean as probabilities.

A model file has one model per level::

    {"version": 2, "provenance": {...}, "file": MODEL, "function": MODEL}
    MODEL = {"columns": [names], "trees": [TREE], "calibration": {"python": CURVE, "other": CURVE}, "file_share": 0.0}
    CURVE = [constant, weight of the log-odds, weight of the score]
    TREE = {"column": [...], "threshold": [...], "left": [...], "right": [...], "missing_left": [...], "value": [...]}

Inner nodes of a tree have parallel lists; a child that is not negative is a node, a negative one the leaf ``-child - 1`` of
``value``. Node 0 is the root; a tree without nodes is its only leaf. A value goes left if it is at most the threshold, and NaN
goes where ``missing_left`` says. The score of a row is the sum of its leaves. A curve is a logistic function of how a candidate
stands among those of its issue (:func:`log_odds`) and of its score, which is low for all candidates of a text that says nothing.
Its weights are not negative, so the most probable candidate is the one with the highest score.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from fusesearch.code.spans import is_python
from fusesearch.core.errors import ArtifactError
from fusesearch.localizers.ranker.columns import FILE_COLUMNS, FUNCTION_COLUMNS

VERSION = 2
COLUMNS = {"file": FILE_COLUMNS, "function": FUNCTION_COLUMNS}
GROUPS = ("python", "other")
"""Languages whose candidates have a calibration of their own."""
MOST = 0.95
"""The highest probability: of the surest 70 of 702 issues, scored by trees of other repositories, 94% were right."""
MAX_BYTES = 64 << 20
WEIGHTS = Path(__file__).with_name("weights.json")

Curve = tuple[float, float, float]
Tree = tuple[list[int], list[float], list[int], list[int], list[int], list[float]]
"""Columns, thresholds, left and right children, whether NaN goes left, and values of the leaves."""

PARTS = ("column", "threshold", "left", "right", "missing_left", "value")
"""Of a tree in a model file."""


@dataclass(frozen=True)
class Model:
    """Trees of one level over ``columns``; ``curves`` by :data:`GROUPS`, ``file_share`` is what a function's file counts."""

    trees: list[Tree]
    curves: dict[str, Curve]
    file_share: float
    columns: tuple[str, ...] = ()

    @classmethod
    def of(cls, data: Mapping[str, Any], columns: Sequence[str]) -> Model:
        """The model in JSON ``data``. Raises :class:`ValueError` if it is malformed or splits by other columns than these."""
        names = tuple(data["columns"])
        trees = [_checked(tuple(tree[part] for part in PARTS), len(names)) for tree in data["trees"]]
        if not {names[used] for tree in trees for used in tree[0]} <= set(columns):
            raise ValueError("it was trained on other features")
        curves = {}
        for group in GROUPS:
            constant, odds, score = map(float, data["calibration"][group])
            if not math.isfinite(constant) or not (0 <= odds < math.inf and 0 <= score < math.inf):
                raise ValueError("its calibration is not a curve")
            curves[group] = (constant, odds, score)
        return cls(trees, curves, float(data.get("file_share", 0.0)), names)

    def score(self, row: Sequence[float]) -> float:
        """The sum of the trees for a row of columns."""
        total = 0.0
        for columns, thresholds, left, right, missing_left, values in self.trees:
            node = 0 if columns else -1
            while node >= 0:
                value = row[columns[node]]
                lower = value <= thresholds[node] if value == value else missing_left[node]  # NaN is not equal to itself
                node = left[node] if lower else right[node]
            total += values[-node - 1]
        return total

    def probability(self, group: str, odds: float, score: float) -> float:
        """The calibrated probability of a candidate from its :func:`log_odds` and its score, by the ``group`` of the best one."""
        constant, by_odds, by_score = self.curves[group]
        return min(MOST, 1 / (1 + math.exp(-max(-30.0, min(30.0, constant + by_odds * odds + by_score * score)))))


def group_of(path: str) -> str:
    """The group of :data:`GROUPS` that a file belongs to."""
    return GROUPS[0] if is_python(path) else GROUPS[1]


def log_odds(scores: Sequence[float]) -> list[float]:
    """For each candidate of an issue the logarithm of softmax(score) / (1 - softmax(score)), at most 20 either way."""
    top = max(scores, default=0.0)
    weights = [math.exp(score - top) for score in scores]
    total = sum(weights)
    return [max(-20.0, min(20.0, math.log(weight + 1e-12) - math.log(total - weight + 1e-12))) for weight in weights]


class Models(NamedTuple):
    """Those of files and of functions."""

    file: Model
    function: Model


def read_models(path: Path) -> Models:
    """The models in a file. Raises :class:`ArtifactError` for a missing or damaged one, or other features."""
    try:
        with path.open("rb") as stored:
            data = json.loads(stored.read(MAX_BYTES))
        if data["version"] != VERSION:
            raise ValueError("it is of another version")
        file, function = (Model.of(data[level], names) for level, names in COLUMNS.items())
    except OSError as error:
        raise ArtifactError(f"{path} cannot be read: {error.strerror or error}") from None
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
        raise ArtifactError(f"{path} holds no models of this version: {error}") from None
    return Models(file, function)


def _checked(tree: tuple[Any, ...], columns: int) -> Tree:
    """A tree whose walk ends at a leaf for any row: children come after their parents."""
    column, threshold, left, right, missing, value = tree
    nodes = len(column)
    if not value or any(len(part) != nodes for part in (threshold, left, right, missing)):
        raise ValueError("a tree lacks parts")
    for number, (used, *children) in enumerate(zip(column, left, right, strict=True)):
        inside = all(number < child < nodes if child >= 0 else -child <= len(value) for child in children)
        if not inside or not 0 <= used < columns or not all(isinstance(place, int) for place in (used, *children)):
            raise ValueError("a tree leads nowhere")
    leaves = [float(leaf) for leaf in value]
    if not all(map(math.isfinite, leaves)):
        raise ValueError("a leaf is not a number")
    return column, [float(limit) for limit in threshold], left, right, missing, leaves
