"""How small a difference an experiment can see, and how many seeds it takes to see one of a given size.

The variances come from the two-way table of a pilot (:class:`~tasks.evaluation.seeds.Spread`): between instances, between
seeds, and what is left. More seeds lower the second and the third, only more instances the first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tasks.evaluation.seeds import Spread

MOST_SEEDS = 50
"""Seeds beyond which a number of them is no answer."""

PESSIMISM = 0.2
"""A pilot of few seeds may have met seeds that were alike: the cautious plan takes their variance at its upper 80% bound."""


@dataclass(frozen=True)
class Variances:
    """Of the value of one cell: between seeds, between instances, and what is left. All in squares of the figure's unit."""

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
    """Smallest differences that 2 to ``most`` seeds would show, and the seeds needed for one of ``target``.

    Args:
        pilot: mean squares of a difference of two arms; its number of instances is the plan's.
        target: difference to be seen, in the figure's unit.
        alpha: two-sided level of the test.
        power: chance of seeing it.
    """
    variances = variances_of(pilot)
    cautious = variances_of(_cautious(pilot))
    of = {seeds: detectable(variances, seeds, pilot.instances, alpha, power) for seeds in range(2, most + 1)}
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
    """Smallest true difference that the test of :mod:`tasks.evaluation.seeds` finds with the given power."""
    from scipy import stats

    expected = Spread(
        seeds,
        instances,
        by_instance=variances.residual + seeds * variances.instances,
        by_seed=variances.residual + instances * variances.seeds,
        residual=variances.residual,
    )
    quantiles = stats.t.ppf([1 - alpha / 2, power], expected.freedom)
    return float(quantiles.sum()) * expected.error


def _needed(variances: Variances, instances: int, target: float, alpha: float, power: float) -> int | None:
    enough = (n for n in range(2, MOST_SEEDS + 1) if detectable(variances, n, instances, alpha, power) <= target)
    return next(enough, None)


def _cautious(pilot: Spread) -> Spread:
    """The pilot with its mean square between seeds at the upper bound that chi-square gives it."""
    from scipy import stats

    if pilot.by_seed is None:
        return pilot
    freedom = pilot.seeds - 1
    return replace(pilot, by_seed=pilot.by_seed * freedom / float(stats.chi2.ppf(PESSIMISM, freedom)))
