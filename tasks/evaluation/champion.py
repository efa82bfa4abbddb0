"""Whether a model takes the place of the best one so far: only by a paired win on the same held-out instances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tasks.core.schema import Score
from tasks.evaluation.statistics import Interval, difference, holm, mean, permutation_p

FIGURE = "f1_macro"
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Contest:
    """A challenger against the holder: the paired difference in F1 (challenger - holder), and p after Holm's correction.

    ``won`` needs both: an interval above zero, and p below 1 - confidence. ``shared`` is whether both have a score for the
    same instances; otherwise nothing is compared.
    """

    challenger: str
    holder: str
    shared: bool
    gap: Interval | None = None
    p: float | None = None

    @property
    def won(self) -> bool:
        """Whether the challenger is better beyond chance."""
        above = self.gap is not None and self.gap.low is not None and self.gap.low > 0
        return above and self.p is not None and self.p < 1 - CONFIDENCE

    @property
    def sentence(self) -> str:
        """What came out, with its numbers."""
        if not self.shared:
            return f"{self.challenger} and {self.holder} have no scores on the same held-out instances: not compared"
        if self.gap is None or self.gap.low is None or self.gap.high is None:
            return f"{self.challenger} and {self.holder} share too few instances to be compared"
        outcome = "beats" if self.won else "does not beat"
        interval = f"{self.gap.estimate:+.3f} F1 [{self.gap.low:+.3f}, {self.gap.high:+.3f}]"
        test = "not tested" if self.p is None else f"p {self.p:.3g} (Holm)"
        return f"{self.challenger} {outcome} {self.holder}: {interval}, {test}, {self.gap.instances} instances"


def hold(
    challengers: Mapping[str, Sequence[Score]], holder: str, scores: Sequence[Score], *, samples: int = 10_000, seed: int = 0
) -> list[Contest]:
    """Every challenger against the holder, by the mean of F1 over instances, corrected for how many challengers there are."""
    fair = {name: _same_instances(own, scores) for name, own in challengers.items()}
    figure = mean("f1")
    gaps = {name: difference(challengers[name], scores, figure, samples=samples, seed=seed) for name in fair if fair[name]}
    raw = {name: permutation_p(challengers[name], scores, figure, samples=samples, seed=seed) for name in gaps}
    adjusted = dict(zip(raw, holm(list(raw.values())), strict=True))
    return [Contest(name, holder, fair[name], gaps.get(name), adjusted.get(name)) for name in challengers]


def winner(contests: Sequence[Contest]) -> Contest | None:
    """The contest won by the most, if any is won."""
    won = [contest for contest in contests if contest.won]
    return max(won, key=lambda contest: contest.gap.estimate if contest.gap else 0.0, default=None)


def _same_instances(first: Sequence[Score], second: Sequence[Score]) -> bool:
    """Whether both were measured on the same instances; what errored in one of them is left out of the pairs."""
    ids = {score.instance_id for score in first}
    return bool(ids) and ids == {score.instance_id for score in second}
