"""Quality of an answer: precision, recall, F1 and the ranked metrics of one instance, and their averages over instances.

Precision, recall and F1 are FuseSearch equation 2; the combined F1 is equation 8 with the weights of appendix B.3; the
ranked metrics are equations 1 to 7 of ToolTrain, Acc@k is LocAgent's. All are shares in [0, 1]. *Predicted* is a ranked
list in which a repeated name counts once, at its first rank; *true* is a set.

Recall has no meaning where the truth names nothing at a level (a patch that changes no existing function). Such an instance
is left out of that level's means, and its combined F1 is its file F1. What was predicted for it still counts as wrong in the
pooled precision.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

FILE_WEIGHT, FUNCTION_WEIGHT = 0.7, 0.3
RECALL_AT = (1, 3, 5)
ACCURACY_AT = {"file": (1, 3, 5), "module": (5, 10), "function": (5, 10)}
"""LocAgent's levels and cut-offs."""

NDCG_AT = 5

Pair = tuple[Sequence[str], Sequence[str]]
"""One instance at one level: (predicted in rank order, true)."""


class Counts(NamedTuple):
    """Sizes of prediction, truth and their intersection; sums over instances are pooled counts."""

    hits: int
    predicted: int
    true: int


class Quality(NamedTuple):
    """Precision, recall and F1, each in [0, 1]; 0 where a denominator is 0."""

    precision: float
    recall: float
    f1: float


def count(predicted: Sequence[str], true: Sequence[str]) -> Counts:
    """Counts of one instance at one level."""
    guessed, wanted = set(predicted), set(true)
    return Counts(len(guessed & wanted), len(guessed), len(wanted))


def pool(counts: Iterable[Counts]) -> Counts:
    """Sums over instances, from which ``micro`` averages are taken."""
    rows = list(counts)
    return Counts(sum(row.hits for row in rows), sum(row.predicted for row in rows), sum(row.true for row in rows))


def quality(counts: Counts) -> Quality:
    """Precision, recall and their harmonic mean (FuseSearch equation 2)."""
    hits, predicted, true = counts
    return Quality(ratio(hits, predicted), ratio(hits, true), ratio(2 * hits, predicted + true))


def combined_f1(file_f1: float, function_f1: float | None) -> float:
    """0.7 file F1 + 0.3 function F1 (FuseSearch equation 8); file F1 alone where the truth names no function."""
    if function_f1 is None:
        return file_f1
    return FILE_WEIGHT * file_f1 + FUNCTION_WEIGHT * function_f1


def recall_at(predicted: Sequence[str], true: Sequence[str], k: int) -> float:
    """Share of the truth among the first ``k`` predictions."""
    wanted = set(true)
    return ratio(len(wanted.intersection(_ranked(predicted)[:k])), len(wanted))


def accuracy_at(predicted: Sequence[str], true: Sequence[str], k: int) -> float:
    """1 if the whole truth stands among the first ``k`` predictions, else 0 (LocAgent's Acc@k); 0 for an empty truth."""
    wanted = set(true)
    return float(bool(wanted) and wanted <= set(_ranked(predicted)[:k]))


def modules_of(functions: Iterable[str]) -> list[str]:
    """LocAgent's modules of function entities, in rank order: the class, or the function itself outside of classes."""
    parts = (entity.partition("::") for entity in functions)
    return list(dict.fromkeys(f"{path}::{name.partition('.')[0]}" for path, _, name in parts))


def average_precision(predicted: Sequence[str], true: Sequence[str]) -> float:
    """Mean over the truth of the precision at the rank where each item stands, 0 if absent (ToolTrain equation 5)."""
    wanted, hits, total = set(true), 0, 0.0
    for rank, item in enumerate(_ranked(predicted), 1):
        if item in wanted:
            hits += 1
            total += hits / rank
    return ratio(total, len(wanted))


def reciprocal_rank(predicted: Sequence[str], true: Sequence[str]) -> float:
    """1 / rank of the first right prediction, 0 if there is none (ToolTrain equation 6)."""
    wanted = set(true)
    return next((1 / rank for rank, item in enumerate(_ranked(predicted), 1) if item in wanted), 0.0)


def ndcg_at(predicted: Sequence[str], true: Sequence[str], k: int) -> float:
    """Normalized discounted cumulative gain of the first ``k``, gains 0 or 1 (ToolTrain equations 1 to 3)."""
    wanted = set(true)
    gain = math.fsum(1 / math.log2(rank + 1) for rank, item in enumerate(_ranked(predicted)[:k], 1) if item in wanted)
    ideal = math.fsum(1 / math.log2(rank + 1) for rank in range(1, min(k, len(wanted)) + 1))
    return ratio(gain, ideal)


RANKED: dict[str, Callable[[Sequence[str], Sequence[str]], float]] = {
    **{f"recall@{k}": partial(recall_at, k=k) for k in RECALL_AT},
    "map": average_precision,
    "mrr": reciprocal_rank,
    f"ndcg@{NDCG_AT}": partial(ndcg_at, k=NDCG_AT),
}
"""The ranked metrics by name, each of (predicted, true)."""


def summarize_level(pairs: Sequence[Pair]) -> dict[str, Any]:
    """Every metric of one level over instances (or runs of them).

    ``instances`` is how many have a truth at this level; where none has, all values are ``None``.
    """
    defined = [pair for pair in pairs if pair[1]]
    each = [quality(count(*pair)) for pair in defined]
    micro = quality(pool(count(*pair) for pair in pairs)) if defined else (None, None, None)
    summary: dict[str, Any] = {
        "instances": len(defined),
        "micro": dict(zip(Quality._fields, micro, strict=True)),
        "macro": {name: mean([getattr(row, name) for row in each]) for name in Quality._fields},
    }
    return summary | {name: mean([of(*pair) for pair in defined]) for name, of in RANKED.items()}


def summarize(files: Sequence[Pair], functions: Sequence[Pair]) -> dict[str, Any]:
    """Both levels over the same instances, and the combined F1 in both averages.

    ``micro`` weighs the pooled F1 of the levels, ``macro`` is the mean of the instances' combined F1.
    """
    summary: dict[str, Any] = {"file": summarize_level(files), "function": summarize_level(functions)}
    pooled = summary["file"]["micro"]["f1"]
    each = [
        combined_f1(quality(count(*file)).f1, quality(count(*function)).f1 if function[1] else None)
        for file, function in zip(files, functions, strict=True)
        if file[1]
    ]
    micro = None if pooled is None else combined_f1(pooled, summary["function"]["micro"]["f1"])
    return summary | {"f1": {"micro": micro, "macro": mean(each)}}


def _ranked(predicted: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(predicted))


def ratio(part: float, whole: float) -> float:
    """``part / whole``; 0 where ``whole`` is 0."""
    return part / whole if whole else 0.0


def mean(values: Sequence[float]) -> float | None:
    """The mean; ``None`` of nothing."""
    return math.fsum(values) / len(values) if values else None
