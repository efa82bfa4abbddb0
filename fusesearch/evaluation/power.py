"""How small a difference an experiment can see, and how many seeds it takes to see one of a given size.

The variances come from the two-way table of a pilot (:class:`~fusesearch.evaluation.statistics.Spread`): between instances,
between seeds, and what is left. More seeds lower the second and the third, only more instances the first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fusesearch.evaluation.statistics import LEAST_SEEDS, Spread

Array = NDArray[np.float64]

MOST_SEEDS = 50
"""The most seeds worth asking for."""

SEED_PARTS, INSTANCE_PARTS = 400, 9
"""Parts of the ranges of the mean squares, by which the power of the test is summed up."""

PESSIMISM = 0.2
"""A pilot of few seeds may have met similar seeds: the cautious plan takes their variance at its upper 80% bound."""


@dataclass(frozen=True)
class Variances:
    """Variances of a cell's value: between seeds, between instances, and the rest, in squares of the figure's unit."""

    seeds: float
    instances: float
    residual: float

    def named(self) -> dict[str, float]:
        """By where they come from: ``seeds``, ``instances``, ``rest``."""
        return {"seeds": self.seeds, "instances": self.instances, "rest": self.residual}


@dataclass(frozen=True)
class Plan:
    """What one pilot says for one number of instances. ``needed`` is ``None`` where no number of seeds is enough.

    ``lower_bound`` marks a pilot of one seed: what it says is the least, as trainings may differ more than it can show.
    """

    variances: Variances
    detectable: dict[int, float]
    needed: int | None
    needed_cautious: int | None
    lower_bound: bool


def plan(pilot: Spread, target: float = 0.05, *, alpha: float = 0.05, power: float = 0.8, most: int = 10) -> Plan:
    """Smallest differences that 3 to ``most`` seeds would show, and the seeds needed for one of ``target``.

    Args:
        pilot: mean squares of a difference of two arms; its number of instances is the plan's.
        target: difference to be seen, in the figure's unit.
        alpha: two-sided level of the test.
        power: chance of seeing it.
    """
    variances = variances_of(pilot)
    cautious = variances_of(_cautious(pilot))
    of = {seeds: detectable(variances, seeds, pilot.instances, alpha, power) for seeds in range(LEAST_SEEDS, most + 1)}
    return Plan(
        variances,
        of,
        needed=_needed(variances, pilot.instances, target, alpha, power),
        needed_cautious=_needed(cautious, pilot.instances, target, alpha, power),
        lower_bound=pilot.by_seed is None,
    )


def variances_of(pilot: Spread) -> Variances:
    """Variances from mean squares, none below zero. With one seed, all that varies counts as left over."""
    if pilot.by_seed is None or pilot.residual is None:
        return Variances(0.0, 0.0, pilot.by_instance)
    return Variances(
        max(0.0, (pilot.by_seed - pilot.residual) / pilot.instances),
        max(0.0, (pilot.by_instance - pilot.residual) / pilot.seeds),
        pilot.residual,
    )


def detectable(variances: Variances, seeds: int, instances: int, alpha: float = 0.05, power: float = 0.8) -> float:
    """Smallest true difference that the test of :mod:`fusesearch.evaluation.statistics` finds with the given power."""
    from scipy import optimize

    test = _test_of(variances, seeds, instances, alpha)
    most = float(test.bounds.max()) + 10 * test.error
    return float(optimize.brentq(lambda size: test.power(size) - power, 0.0, most)) if most else 0.0


@dataclass(frozen=True)
class _Test:
    """The test of an estimate. ``bounds``: equally likely critical values; ``error``: its true standard error."""

    bounds: Array
    error: float

    def power(self, size: float) -> float:
        """Chance of finding a true difference of that size."""
        from scipy import stats

        if not self.error:
            return float((abs(size) > self.bounds).mean())
        return float((stats.norm.sf(self.bounds, size, self.error) + stats.norm.cdf(-self.bounds, size, self.error)).mean())


def _test_of(variances: Variances, seeds: int, instances: int, alpha: float) -> _Test:
    """Mean squares are as chi-square has them: at the middles of equally likely parts of their range, each with each."""
    from scipy import stats

    rest = variances.residual
    of_seeds, of_instances = rest + instances * variances.seeds, rest + seeds * variances.instances
    by_seed = of_seeds * stats.chi2.ppf(_middles(SEED_PARTS), seeds - 1)[:, None] / (seeds - 1)
    by_instance = of_instances * stats.chi2.ppf(_middles(INSTANCE_PARTS), instances - 1)[None] / (instances - 1)
    of_t = stats.t.isf(alpha / 2, [seeds - 1, instances - 1])
    total = np.maximum(by_seed + by_instance, np.finfo(float).tiny)
    bounds = (by_seed * of_t[0] + by_instance * of_t[1]) / np.sqrt(total * seeds * instances)
    return _Test(bounds, float(np.sqrt((of_seeds + of_instances - rest) / (seeds * instances))))


def _middles(parts: int) -> Array:
    return (np.arange(parts) + 0.5) / parts


def _needed(variances: Variances, instances: int, target: float, alpha: float, power: float) -> int | None:
    counts = range(LEAST_SEEDS, MOST_SEEDS + 1)
    return next((n for n in counts if _test_of(variances, n, instances, alpha).power(target) >= power), None)


def _cautious(pilot: Spread) -> Spread:
    """The pilot with its mean square between seeds at the upper bound that chi-square gives it."""
    from scipy import stats

    if pilot.by_seed is None:
        return pilot
    freedom = pilot.seeds - 1
    return replace(pilot, by_seed=pilot.by_seed * freedom / float(stats.chi2.ppf(PESSIMISM, freedom)))
