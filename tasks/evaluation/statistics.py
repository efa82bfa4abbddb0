"""How far a figure can be trusted: intervals by bootstrap, differences of two arms, and correction for many of them.

The unit of resampling is the instance: its runs go with it, because runs of one instance are not independent. A figure is
a :class:`Statistic`: additive components per score and a function of their sums, so that pooled F1 and plain means are
resampled by the same code. Percentile intervals and sign-flip tests are SciPy's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from tasks.core.schema import Score
from tasks.evaluation.metrics import FILE_WEIGHT, FUNCTION_WEIGHT, count, pair_of

Array = NDArray[np.float64]
BATCH = 500
"""Resamples held in memory at once."""


@dataclass(frozen=True)
class Statistic:
    """``components`` of a score (``None``: the score does not have it) and the figure made of their sums.

    ``figure`` maps an array (..., components) to (...). The sums run over all scores of the instances resampled.
    """

    name: str
    components: Callable[[Score], tuple[float, ...] | None]
    figure: Callable[[Array], Array]


@dataclass(frozen=True)
class Interval:
    """A figure with its interval at some confidence; ``None`` bounds where one instance alone says nothing."""

    estimate: float
    low: float | None
    high: float | None
    instances: int

    @property
    def excludes_zero(self) -> bool:
        """Whether zero lies outside the interval."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


def mean(field: str) -> Statistic:
    """Mean of one field of :class:`Score` over scores."""

    def components(score: Score) -> tuple[float, ...] | None:
        value = getattr(score, field)
        return None if value is None else (float(value), 1.0)

    return Statistic(field, components, _share)


def pooled(level: str, figure: str) -> Statistic:
    """``precision``, ``recall`` or ``f1`` of a level from counts pooled over scores."""

    def components(score: Score) -> tuple[float, ...] | None:
        if score.error is not None:
            return None
        hits, predicted, true = count(*pair_of(score, level))
        parts = {"precision": (hits, predicted), "recall": (hits, true), "f1": (2 * hits, predicted + true)}[figure]
        return float(parts[0]), float(parts[1])

    return Statistic(f"{level}_{figure}", components, _share)


def averaged(name: str, level: str, of: Callable[[Sequence[str], Sequence[str]], float]) -> Statistic:
    """Mean of ``of(predicted, true)`` over the scores whose truth names something at ``level``."""

    def components(score: Score) -> tuple[float, ...] | None:
        predicted, true = pair_of(score, level)
        return None if score.error is not None or not true else (of(predicted, true), 1.0)

    return Statistic(name, components, _share)


def ratio(name: str, parts: Callable[[Score], tuple[float, float] | None]) -> Statistic:
    """Sum of the first part over the sum of the second, such as calls that succeeded over calls."""
    return Statistic(name, lambda score: None if score.error is not None else parts(score), _share)


def named(name: str, statistic: Statistic) -> Statistic:
    """The same statistic under another name."""
    return replace(statistic, name=name)


def combined_pooled_f1() -> Statistic:
    """0.7 file + 0.3 function, both pooled."""

    def components(score: Score) -> tuple[float, ...] | None:
        files, functions = _f1_counts(score, "file"), _f1_counts(score, "function")
        return None if files is None or functions is None else (*files, *functions, float(len(score.true_functions)))

    def figure(sums: Array) -> Array:
        by_file, by_function = _share(sums[..., :2]), _share(sums[..., 2:4])
        return np.where(sums[..., 4] > 0, FILE_WEIGHT * by_file + FUNCTION_WEIGHT * by_function, by_file)

    return Statistic("f1_micro", components, figure)


def estimate(scores: Iterable[Score], statistic: Statistic) -> float | None:
    """The figure alone; ``None`` where no score has it."""
    table = list(_by_instance(scores, statistic).values())
    return float(statistic.figure(np.array(table).sum(axis=0))) if table else None


def interval(
    scores: Iterable[Score], statistic: Statistic, *, samples: int = 10_000, confidence: float = 0.95, seed: int = 0
) -> Interval | None:
    """The figure over ``scores`` with a percentile interval; ``None`` where no score has it."""
    table = list(_by_instance(scores, statistic).values())
    return _bootstrap(np.array(table), statistic.figure, samples, confidence, seed) if table else None


def difference(
    first: Iterable[Score],
    second: Iterable[Score],
    statistic: Statistic,
    *,
    samples: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Interval | None:
    """``first - second`` over the instances both measured, resampled in pairs; ``None`` where they share none."""
    left, right = _paired(first, second, statistic)
    width = left.shape[1] if left.size else 0

    def figure(sums: Array) -> Array:
        return statistic.figure(sums[..., :width]) - statistic.figure(sums[..., width:])

    return _bootstrap(np.hstack([left, right]), figure, samples, confidence, seed) if width else None


def permutation_p(
    first: Iterable[Score], second: Iterable[Score], statistic: Statistic, *, samples: int = 10_000, seed: int = 0
) -> float | None:
    """Two-sided p of the paired test that swaps the arms within instances; exact where few instances allow it.

    ``None`` with fewer than two shared instances, where the test can say nothing.
    """
    from scipy import stats

    left, right = _paired(first, second, statistic)
    if len(left) < 2:
        return None
    stacked, rows = np.vstack([left, right]), np.arange(len(left))

    def gap(one: NDArray[np.int64], other: NDArray[np.int64], axis: int = -1) -> Array:
        return _figure(stacked, one, axis, statistic.figure) - _figure(stacked, other, axis, statistic.figure)

    result = stats.permutation_test(
        (rows, rows + len(rows)), gap, permutation_type="samples", vectorized=True,
        n_resamples=samples, batch=BATCH, rng=np.random.default_rng(seed),
    )  # fmt: skip
    return float(min(result.pvalue, 1.0))


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down correction over the tests that could be made; the others stay ``None``."""
    known = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for rank, (p, index) in enumerate(known):
        highest = max(highest, min(1.0, p * (len(known) - rank)))
        adjusted[index] = highest
    return adjusted


def _bootstrap(table: Array, figure: Callable[[Array], Array], samples: int, confidence: float, seed: int) -> Interval:
    """Percentile interval of ``figure`` over rows (instances) of ``table`` (instances, components)."""
    from scipy import stats

    estimate = float(figure(table.sum(axis=0)))
    if len(table) < 2:
        return Interval(estimate, None, None, len(table))
    result = stats.bootstrap(
        (np.arange(len(table)),), lambda rows, axis=-1: _figure(table, rows, axis, figure), method="percentile",
        n_resamples=samples, confidence_level=confidence, batch=BATCH, vectorized=True, rng=np.random.default_rng(seed),
    )  # fmt: skip
    bounds = result.confidence_interval
    return Interval(estimate, float(bounds.low), float(bounds.high), len(table))


def _figure(table: Array, rows: NDArray[np.int64], axis: int, figure: Callable[[Array], Array]) -> Array:
    """The figure for each resample; ``rows`` holds instance numbers along ``axis``.

    A resample is how often it has each instance: sums are then one product of matrices, much faster than gathering rows.
    """
    drawn = np.moveaxis(rows, axis, -1).astype(np.int64)
    flat = drawn.reshape(-1, drawn.shape[-1])
    places = flat + np.arange(len(flat))[:, None] * len(table)
    counts = np.bincount(places.ravel(), minlength=len(flat) * len(table)).reshape(len(flat), len(table))
    return figure((counts.astype(np.float64) @ table).reshape(*drawn.shape[:-1], -1))


def _paired(first: Iterable[Score], second: Iterable[Score], statistic: Statistic) -> tuple[Array, Array]:
    """Components (instances, components) of both arms over the instances both have, in one order.

    They are means over the runs, so that an arm with one run and an arm with three weigh alike when swapped.
    """
    left, right = _by_instance(first, statistic, np.mean), _by_instance(second, statistic, np.mean)
    shared = [key for key in left if key in right]
    return np.array([left[key] for key in shared]), np.array([right[key] for key in shared])


def _by_instance(scores: Iterable[Score], statistic: Statistic, combine: Callable[..., Array] = np.sum) -> dict[str, Array]:
    """Components over the runs of each instance, combined, in order of instance id; errored scores are absent."""
    rows = [(score.instance_id, statistic.components(score)) for score in scores if score.error is None]
    known = sorted((key, row) for key, row in rows if row is not None)
    return {key: combine([row for _, row in group], axis=0) for key, group in groupby(known, key=lambda item: item[0])}


def _f1_counts(score: Score, level: str) -> tuple[float, ...] | None:
    """Numerator and denominator of F1 = 2 hits / (predicted + true)."""
    if score.error is not None:
        return None
    hits, predicted, true = count(getattr(score, f"predicted_{level}s"), getattr(score, f"true_{level}s"))
    return 2.0 * hits, float(predicted + true)


def _share(sums: Array) -> Array:
    numerator, denominator = sums[..., 0], sums[..., 1]
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator > 0)
