"""How far a figure can be trusted: its interval over seeds and instances, the difference of two arms, and many tests at once.

A figure is a :class:`Statistic`: additive components per score and a function of their sums, so that pooled F1 and plain means
go through the same code. It varies for two reasons: which instances there are, and how training with another seed would have
ended. The variance of a mean over S seeds and I instances, both drawn at random, is estimated as
(MS_seeds + MS_instances) / (S I), with the mean squares of the two-way table. A bootstrap that draws seeds and instances
independently converges to the same, except that it counts the residual mean square once more (Owen, The pigeonhole bootstrap,
2007); on average the estimate is never too small. Quantiles are Cochran and Cox's: the mean of Student's t for the seeds and for
the instances, each weighted by its mean square. From three seeds on they keep the level of the test, or nearly: with three seeds
that differ much, 1.2 times as many false findings at the level of one of seven claims and 1.4 times at that of one of ten.
Percentiles of a bootstrap are too narrow with two to five seeds that differ. So is Student's t with Satterthwaite's degrees of
freedom, which come from the same few seeds: up to four times too many findings with three. With two seeds small levels are not
kept (2.4 times). :mod:`tests.unit.evaluation.test_statistics` simulates this. With one seed, or a system that was not trained,
what remains is Student's t over instances, which says nothing of another training.

Figures that are not means, such as pooled F1, enter by the jackknife's pseudo-values over the cells of the table. The runs of an
instance are averaged first, because they are not independent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from fusesearch.core.schema import Record, Score
from fusesearch.evaluation.quality import FILE_WEIGHT, FUNCTION_WEIGHT, count, modules_of

if TYPE_CHECKING:  # NumPy and SciPy are imported where something is measured: `localize` needs neither
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

LEVEL = 0.05
"""Significance level of the tests after Holm's correction; intervals leave as much outside, so they are 95% intervals."""

LEAST_SEEDS = 3
"""With fewer, nothing is decided about two ways to train: the test finds more than its level allows."""

POWER = 0.8
"""Share of experiments that find a difference of the size that :meth:`Error.detectable` gives."""

LEAST_P = 1e-15
"""Smaller quantiles are not exact, and nothing depends on them."""

Seeds = Mapping[int, Sequence[Score]]
"""The scores of one arm by seed; a system that was not trained has one seed, whatever its number."""


@dataclass(frozen=True)
class Statistic:
    """``components`` of a score (``None``: the score lacks them), and the figure made of their sums.

    ``figure`` maps an array (..., components) to (...), NaN where the figure is undefined.
    """

    name: str
    components: Callable[[Score], tuple[float, ...] | None]
    figure: Callable[[Array], Array]


def mean(field: str) -> Statistic:
    """Mean of one field of :class:`Score` over scores."""
    return ratio(field, lambda score: None if (value := getattr(score, field)) is None else (float(value), 1.0))


def pooled(level: str, figure: str) -> Statistic:
    """``precision``, ``recall`` or ``f1`` of a level from counts pooled over scores; undefined where no truth has that level."""

    def components(score: Score) -> tuple[float, ...]:
        hits, predicted, true = count(*pair_of(score, level))
        parts = {"precision": (hits, predicted), "recall": (hits, true), "f1": (2 * hits, predicted + true)}[figure]
        return float(parts[0]), float(parts[1]), float(true)

    def of_sums(sums: Array) -> Array:
        import numpy as np

        return np.where(sums[..., 2] > 0, quotient(sums), np.nan)

    return Statistic(f"{level}_{figure}", components, of_sums)


def averaged(name: str, level: str, of: Callable[[Sequence[str], Sequence[str]], float]) -> Statistic:
    """Mean of ``of(predicted, true)`` over the scores whose truth names something at ``level``."""

    def components(score: Score) -> tuple[float, ...] | None:
        predicted, true = pair_of(score, level)
        return (of(predicted, true), 1.0) if true else None

    return Statistic(name, components, quotient)


def ratio(name: str, parts: Callable[[Score], tuple[float, float] | None]) -> Statistic:
    """Sum of the first part over the sum of the second."""
    return Statistic(name, parts, quotient)


def combined_pooled_f1(name: str = "f1_micro") -> Statistic:
    """0.7 file F1 + 0.3 function F1, both pooled; file F1 alone where no truth names a function."""
    levels = [pooled(level, "f1") for level in ("file", "function")]

    def components(score: Score) -> tuple[float, ...]:
        return tuple(part for level in levels for part in level.components(score) or ())

    def figure(sums: Array) -> Array:
        import numpy as np

        by_file, by_function = (level.figure(sums[..., start : start + 3]) for start, level in zip((0, 3), levels, strict=True))
        return np.where(sums[..., 5] > 0, FILE_WEIGHT * by_file + FUNCTION_WEIGHT * by_function, by_file)

    return Statistic(name, components, figure)


def pair_of(score: Score, level: str) -> tuple[Sequence[str], Sequence[str]]:
    """Predicted and true of a score at level ``file``, ``module`` or ``function``; nothing of either if the truth is unknown."""
    if level == "file":
        return score.predicted_files, score.true_files
    if score.unread:
        return [], []
    if level == "module":
        return modules_of(score.predicted_functions), modules_of(score.true_functions)
    return score.predicted_functions, score.true_functions


def estimate(scores: Iterable[Score], statistic: Statistic) -> float | None:
    """The figure alone; ``None`` where it is undefined. Errored scores are left out."""
    import numpy as np

    rows = [row for score in scores if score.error is None and (row := statistic.components(score)) is not None]
    if not rows:
        return None
    value = float(statistic.figure(np.array([math.fsum(column) for column in zip(*rows, strict=True)])))
    return None if math.isnan(value) else value


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
        """Two-sided p of a figure of zero, at least :data:`LEAST_P`; where nothing varies, 1 for zero and else 0."""
        from scipy import optimize

        if self.size < 1e-12 * max(1.0, abs(estimate)):
            return float(abs(estimate) < 1e-12)
        distance = abs(estimate) / self.size
        if distance >= self.quantile(LEAST_P / 2):
            return LEAST_P
        root = optimize.brentq(lambda log: self.quantile(math.exp(log)) - distance, math.log(LEAST_P / 2), math.log(0.5))
        return 2 * math.exp(root)

    def detectable(self, level: float = LEVEL) -> float:
        """Smallest true difference that a two-sided test at ``level`` finds in most experiments of this size and spread.

        By the usual sum of two quantiles, for a power of 80%. The error itself is only estimated: simulated, the power is 77
        to 82% at 5%, and 69 to 73% with three seeds at a fifth of that.
        """
        return self.size * (self.quantile(level / 2) + self.quantile(1 - POWER))


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
        return Error(math.sqrt(total / (self.seeds * self.instances)), share, self.seeds, self.instances)


@dataclass(frozen=True)
class Measured:
    """A figure over seeds and instances, its interval and the p of a figure of zero; ``None`` where one instance is too few."""

    estimate: float
    low: float | None
    high: float | None
    p: float | None = None
    seeds: int = 1
    instances: int = 0
    by_seed: Mapping[int, float] = field(default_factory=dict)
    spread: Spread | None = None


class Difference(Record):
    """``first - second`` in one metric, over the seeds and instances both arms have.

    ``p_holm`` is corrected over the pairs of the metric. ``error`` is the standard error, ``of_seeds`` the seeds' share of its
    square. ``paper`` is the same difference in the paper's table, ``agrees`` whether its sign is ours; both are ``None`` where no
    table orders the two arms in this metric.
    """

    metric: str
    first: str
    second: str
    estimate: float
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_holm: float | None = None
    error: float | None = None
    of_seeds: float | None = None
    seeds: int = 1
    instances: int = 0
    paper: float | None = None
    agrees: bool | None = None

    def detectable(self, tests: int = 1) -> float | None:
        """See :meth:`Error.detectable`, at the level at which Holm's correction over ``tests`` tests the smallest p."""
        if self.error is None or self.of_seeds is None:
            return None
        return Error(self.error, self.of_seeds, self.seeds, self.instances).detectable(LEVEL / max(1, tests))

    @property
    def excludes_zero(self) -> bool:
        """Whether zero lies outside the interval."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)

    @property
    def is_significant(self) -> bool:
        """Whether the corrected test finds a difference at :data:`LEVEL`."""
        return self.p_holm is not None and self.p_holm < LEVEL


def measure(arm: Seeds, statistic: Statistic) -> Measured | None:
    """The figure over all seeds of an arm; ``None`` where it is undefined."""
    return _measured(_cells(arm, statistic), statistic.figure)


def difference(first: Seeds, second: Seeds, statistic: Statistic) -> Measured | None:
    """``first - second``, paired over the seeds and instances that both have; ``None`` where they share none."""
    left, right = _cells(first, statistic), _cells(second, statistic)
    cells = {key: (*left[key], *right[key]) for key in left if key in right}
    width = len(next(iter(cells.values()), ())) // 2

    def figure(sums: Array) -> Array:
        return statistic.figure(sums[..., :width]) - statistic.figure(sums[..., width:])

    return _measured(cells, figure)


def compare(
    arms: Mapping[str, Seeds],
    pairs: Sequence[tuple[str, str]],
    figures: Mapping[str, Statistic],
) -> list[Difference]:
    """The differences of all pairs (first, second) in all figures, by name; Holm's correction is over the pairs of a figure.

    p has four significant digits, before and after the correction. Pairs that share no instance are left out.
    """
    found: list[Difference] = []
    for metric, statistic in figures.items():
        rows = []
        for first, second in pairs:
            own = difference(arms[first], arms[second], statistic)
            if own is None:
                continue
            error = own.spread.error if own.spread else None
            rows.append(
                Difference(
                    metric=metric, first=first, second=second, estimate=own.estimate, low=own.low, high=own.high,
                    p=_short(own.p), error=error and error.size, of_seeds=error and error.of_seeds,
                    seeds=own.seeds, instances=own.instances,
                )
            )  # fmt: skip
        corrected = holm([row.p for row in rows])
        found += [row.model_copy(update={"p_holm": _short(p)}) for row, p in zip(rows, corrected, strict=True)]
    return found


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down correction over the tests that could be made; the others stay ``None``."""
    known = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for rank, (p, index) in enumerate(known):
        highest = max(highest, min(1.0, p * (len(known) - rank)))
        adjusted[index] = highest
    return adjusted


def spread_of(values: Array) -> Spread | None:
    """Mean squares of a table (seeds, instances) of values; ``None`` with fewer than two instances, or where one is NaN."""
    import numpy as np

    seeds, instances = values.shape
    if instances < 2 or np.isnan(values).any():
        return None
    columns = values.mean(axis=0)
    by_instance = seeds * float(columns.var(ddof=1))
    if seeds < 2:
        return Spread(seeds, instances, by_instance)
    rows = values.mean(axis=1)
    rest = values - rows[:, None] - columns[None] + values.mean()
    residual = float((rest**2).sum()) / ((seeds - 1) * (instances - 1))
    return Spread(seeds, instances, by_instance, instances * float(rows.var(ddof=1)), residual)


def _measured(cells: Mapping[tuple[int, str], Sequence[float]], figure: Callable[[Array], Array]) -> Measured | None:
    """The table (seeds, instances, components) has zeros for absent cells: they take part in no sum, and their pseudo-value is
    the figure itself, so they do not add to the spread.
    """
    import numpy as np

    if not cells:
        return None
    seeds, instances = sorted({seed for seed, _ in cells}), sorted({instance for _, instance in cells})
    rows = {seed: place for place, seed in enumerate(seeds)}
    columns = {instance: place for place, instance in enumerate(instances)}
    table = np.zeros((len(seeds), len(instances), len(next(iter(cells.values())))))
    for (seed, instance), components in cells.items():
        table[rows[seed], columns[instance]] = components
    total, number = table.sum(axis=(0, 1)), len(seeds) * len(instances)
    value = float(figure(total))
    if math.isnan(value):
        return None
    by_seed = {seed: float(figure(table[row].sum(axis=0))) for seed, row in rows.items()}
    pseudo_values = number * figure(total) - (number - 1) * figure(total - table)  # of a mean: the cells themselves
    spread = spread_of(pseudo_values)
    if spread is None:
        return Measured(value, None, None, None, len(seeds), len(instances), by_seed)
    error = spread.error
    half = error.quantile(LEVEL / 2) * error.size
    return Measured(value, value - half, value + half, error.p(value), len(seeds), len(instances), by_seed, spread)


def _cells(arm: Seeds, statistic: Statistic) -> dict[tuple[int, str], tuple[float, ...]]:
    """Means of the components over the runs of each seed and instance; errored scores are absent."""
    found: dict[tuple[int, str], list[tuple[float, ...]]] = {}
    for seed, scores in arm.items():
        for score in scores:
            row = statistic.components(score) if score.error is None else None
            if row is not None:
                found.setdefault((seed, score.instance_id), []).append(row)
    return {key: tuple(sum(column) / len(rows) for column in zip(*rows, strict=True)) for key, rows in found.items()}


def _short(p: float | None) -> float | None:
    return None if p is None else float(f"{p:.4g}")


def quotient(sums: Any) -> Any:
    """First component over the second, 0 where that is 0; ``sums`` is an array (..., components)."""
    import numpy as np

    numerator, denominator = sums[..., 0], sums[..., 1]
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator > 0)
