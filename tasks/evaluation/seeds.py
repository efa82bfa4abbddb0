"""Figures of an arm that was trained with several seeds, and differences of two such arms.

Every seed is evaluated on the same instances, so a figure varies for two reasons: which instances there are, and how training
with another seed would have ended. The variance of a mean over S seeds and I instances, both drawn at random, is estimated as
(MS_seeds + MS_instances) / (S I), with the mean squares of the two-way table. That is what a bootstrap that draws seeds and
instances independently converges to (Owen, The pigeonhole bootstrap, 2007), but for the residual mean square that the bootstrap
counts once more, and on average never too small. Percentiles of such a bootstrap are too narrow with two to five seeds that
differ, and so is Student's t with Satterthwaite's degrees of freedom, which come from the same few seeds: at the levels that
Holm's correction tests at, up to four times as many false findings as allowed with three seeds. Cochran and Cox's mean of two
quantiles, that of the seeds and that of the instances, each with the weight of its mean square, keeps the level from three seeds
on, or nearly (three seeds that differ much: 1.2 times as many at the level of one of seven claims, 1.4 at that of one of ten;
:mod:`tests.unit.evaluation.test_seeds`); with two it does not at small levels (2.4 times).

Figures that are no means, such as pooled F1, enter by the pseudo-values of the jackknife over the cells of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tasks.core.schema import Score
from tasks.evaluation.statistics import Array, Statistic

Seeds = Mapping[int, Sequence[Score]]
"""The scores of one arm by seed."""

LEAST_SEEDS = 3
"""Fewer decide nothing: with two, the test finds more than its level allows where several claims share that."""

LEAST_P = 1e-15
"""Below it the quantiles are not exact, and nothing depends on it."""

Figure = Callable[[Array], Array]
Cells = dict[tuple[int, str], Array]
"""Components by seed and instance, means over the runs."""


class Error(NamedTuple):
    """The standard error of a figure over ``seeds`` and ``instances``; ``of_seeds`` is the seeds' share of its square."""

    size: float
    of_seeds: float
    seeds: int
    instances: int

    def quantile(self, tail: float) -> float:
        """How many standard errors leave ``tail`` above them (Cochran and Cox)."""
        from scipy import stats

        over_instances = float(stats.t.isf(tail, self.instances - 1))
        if self.seeds < 2:
            return over_instances
        return self.of_seeds * float(stats.t.isf(tail, self.seeds - 1)) + (1 - self.of_seeds) * over_instances

    def p(self, estimate: float) -> float:
        """Two-sided p of the figure's being zero, at least :data:`LEAST_P`; where nothing varies, 1 for zero and else 0."""
        from scipy import optimize

        if self.size < 1e-12 * max(1.0, abs(estimate)):
            return float(abs(estimate) < 1e-12)
        ratio = abs(estimate) / self.size
        if ratio >= self.quantile(LEAST_P / 2):
            return LEAST_P

        def beyond(logarithm: float) -> float:
            return self.quantile(float(np.exp(logarithm))) - ratio

        return 2 * float(np.exp(optimize.brentq(beyond, np.log(LEAST_P / 2), np.log(0.5))))


@dataclass(frozen=True)
class Spread:
    """The two-way table of a figure: its mean squares, and how many seeds and instances they are over.

    ``residual`` and ``by_seed`` are ``None`` with one seed, which says nothing about another training.
    """

    seeds: int
    instances: int
    by_instance: float
    by_seed: float | None = None
    residual: float | None = None

    @property
    def error(self) -> Error:
        """The standard error of the figure."""
        total = self.by_instance + (self.by_seed or 0.0)
        share = (self.by_seed or 0.0) / total if total else 0.0
        return Error(float(np.sqrt(total / (self.seeds * self.instances))), share, self.seeds, self.instances)


@dataclass(frozen=True)
class Measured:
    """A figure over seeds and instances, its interval and the p of its being zero; ``None`` where one instance says nothing."""

    estimate: float
    low: float | None
    high: float | None
    p: float | None
    seeds: int
    instances: int
    by_seed: dict[int, float]
    spread: Spread | None

    @property
    def excludes_zero(self) -> bool:
        """Whether zero lies outside the interval."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


def measure(arm: Seeds, statistic: Statistic, *, confidence: float = 0.95) -> Measured | None:
    """The figure over all seeds of an arm; ``None`` where no score has it."""
    cells = _cells(arm, statistic)
    return _measured(cells, statistic.figure, confidence) if cells else None


def difference(first: Seeds, second: Seeds, statistic: Statistic, *, confidence: float = 0.95) -> Measured | None:
    """``first - second``, paired over the seeds and instances that both have; ``None`` where they share none."""
    left, right = _cells(first, statistic), _cells(second, statistic)
    cells = {key: np.concatenate([left[key], right[key]]) for key in left if key in right}
    if not cells:
        return None
    width = len(next(iter(left.values())))

    def figure(sums: Array) -> Array:
        return statistic.figure(sums[..., :width]) - statistic.figure(sums[..., width:])

    return _measured(cells, figure, confidence)


def _measured(cells: Cells, figure: Figure, confidence: float) -> Measured:
    seeds, table = _table(cells)
    estimate = float(figure(table.sum(axis=(0, 1))))
    by_seed = {seed: float(figure(table[row].sum(axis=0))) for row, seed in enumerate(seeds)}
    spread = spread_of(_pseudo_values(table, figure))
    counts = (len(seeds), table.shape[1], by_seed, spread)
    if spread is None:
        return Measured(estimate, None, None, None, *counts)
    error = spread.error
    half = error.quantile((1 - confidence) / 2) * error.size
    return Measured(estimate, estimate - half, estimate + half, error.p(estimate), *counts)


def spread_of(values: Array) -> Spread | None:
    """Mean squares of a table (seeds, instances) of values; ``None`` with fewer than two instances."""
    seeds, instances = values.shape
    if instances < 2:
        return None
    columns = values.mean(axis=0)
    by_instance = seeds * float(columns.var(ddof=1))
    if seeds < 2:
        return Spread(seeds, instances, by_instance)
    rows = values.mean(axis=1)
    rest = values - rows[:, None] - columns[None] + values.mean()
    residual = float((rest**2).sum()) / ((seeds - 1) * (instances - 1))
    return Spread(seeds, instances, by_instance, instances * float(rows.var(ddof=1)), residual)


def _pseudo_values(table: Array, figure: Figure) -> Array:
    """N f - (N - 1) f without the cell, for each of N cells: of a mean they are the values themselves."""
    total, cells = table.sum(axis=(0, 1)), table.shape[0] * table.shape[1]
    if cells < 2:
        return np.full(table.shape[:2], float(figure(total)))
    return cells * figure(total) - (cells - 1) * figure(total - table)


def _table(cells: Cells) -> tuple[list[int], Array]:
    """Seeds, and components (seeds, instances, components) with zeros for cells that are absent.

    An absent cell takes part in no sum, and its pseudo-value is the figure itself: it does not add to the spread.
    """
    seeds, instances = sorted({seed for seed, _ in cells}), sorted({instance for _, instance in cells})
    rows = {seed: place for place, seed in enumerate(seeds)}
    columns = {instance: place for place, instance in enumerate(instances)}
    table = np.zeros((len(seeds), len(instances), len(next(iter(cells.values())))))
    for (seed, instance), components in cells.items():
        table[rows[seed], columns[instance]] = components
    return seeds, table


def _cells(arm: Seeds, statistic: Statistic) -> Cells:
    """Means of the components over the runs of each seed and instance; errored scores are absent."""
    found: dict[tuple[int, str], list[tuple[float, ...]]] = {}
    for seed, scores in arm.items():
        for score in scores:
            row = statistic.components(score) if score.error is None else None
            if row is not None:
                found.setdefault((seed, score.instance_id), []).append(row)
    return {key: np.mean(rows, axis=0) for key, rows in found.items()}
