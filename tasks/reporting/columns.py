"""Every figure of an evaluated arm as a column of a table: how it is computed, headed, printed, and named in the papers' tables.

Keys are the metric names of MLflow; the report, the comparison of localizers and experiments take their columns from here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from tasks.core.errors import ConfigError
from tasks.core.schema import Score
from tasks.evaluation import statistics
from tasks.evaluation.metrics import NDCG_AT, RECALL_AT, average_precision, ndcg_at, recall_at, reciprocal_rank
from tasks.evaluation.statistics import Statistic


@dataclass(frozen=True)
class Column:
    """A figure of an arm: its key in files, its heading, how it is printed, and its column in the papers' tables."""

    key: str
    heading: str
    statistic: Statistic
    percent: bool = False
    digits: int = 2
    paper: str | None = None
    scale: float = 1.0

    def show(self, value: float, signed: bool = False) -> str:
        """The value as printed; shares in percent."""
        return f"{self.shown(value):{'+' if signed else ''}.{1 if self.percent else self.digits}f}"

    def shown(self, value: float) -> float:
        """The value in the unit of the heading, which is that of the papers' tables."""
        return value * (100 if self.percent else self.scale)

    def stored(self, printed: float) -> float:
        """A value as the papers print it, in the unit that files have ours in."""
        return printed / (100 if self.percent else self.scale)

    @property
    def of_differences(self) -> str:
        """The heading over differences, which are in points where the figure is in percent."""
        return self.heading.replace("(%)", "(points)")


def column(key: str) -> Column:
    """The column of a metric. Raises :class:`ConfigError` naming the metrics that there are."""
    if key not in COLUMNS:
        raise ConfigError(f"there is no metric {key!r}: use one of {', '.join(sorted(COLUMNS))}")
    return COLUMNS[key]


def tool_success() -> Statistic:
    """Calls that came back without an error over calls, pooled over episodes."""
    return statistics.ratio("tool_success", _succeeded)


def _succeeded(score: Score) -> tuple[float, float] | None:
    if not score.calls or score.failed_calls is None:
        return None
    return float(score.calls - score.failed_calls), float(score.calls)


def _repeated_within_turns(score: Score) -> tuple[float, float] | None:
    """Calls without gain for an earlier call of their own turn alone, as a share of the episode's calls."""
    if score.redundancy is None or score.redundancy_call is None:
        return None
    return score.redundancy_call - score.redundancy, 1.0


def _first_turn(score: Score) -> tuple[float, float] | None:
    used = [calls for calls in score.calls_each_turn if calls]
    return (float(used[0]), 1.0) if used else None


def _later_turns(score: Score) -> tuple[float, float] | None:
    later = [calls for calls in score.calls_each_turn if calls][1:]
    return (sum(later) / len(later), 1.0) if later else None


def _level(level: str) -> Iterator[Column]:
    """Precision, recall and F1 of a level in both averages, and its ranked metrics."""
    name = level.capitalize()
    for figure, heading in (("precision", "P"), ("recall", "R"), ("f1", "F1")):
        pooled, plain = statistics.pooled(level, figure), statistics.mean(f"{level}_{figure}")
        paper = f"{level}_{figure}"
        yield Column(f"{level}_micro_{figure}", f"{name} {heading}, pooled (%)", pooled, percent=True, paper=paper)
        yield Column(f"{level}_macro_{figure}", f"{name} {heading}, mean (%)", plain, percent=True)
    ranked: list[tuple[str, str, Callable[[Sequence[str], Sequence[str]], float]]] = [
        *((f"recall@{k}", f"R@{k}", partial(recall_at, k=k)) for k in RECALL_AT),
        ("map", "MAP", average_precision),
        ("mrr", "MRR", reciprocal_rank),
        (f"ndcg@{NDCG_AT}", f"nDCG@{NDCG_AT}", partial(ndcg_at, k=NDCG_AT)),
    ]
    for figure, heading, of in ranked:
        key, paper = f"{level}_{figure}".replace("@", "_at_"), f"{level}_{figure}"
        yield Column(key, f"{name} {heading} (%)", statistics.averaged(key, level, of), percent=True, paper=paper)


_MEAN, _RATIO = statistics.mean, statistics.ratio
_ALL = (
    *_level("file"),
    *_level("function"),
    Column("f1_micro", "F1 0.7/0.3, pooled (%)", statistics.combined_pooled_f1(), percent=True),
    Column("f1_macro", "F1 0.7/0.3, mean (%)", _MEAN("f1"), percent=True),
    Column("f1_best", "F1, best accepted (%)", _MEAN("f1_best"), percent=True),
    Column("reward", "Reward", _MEAN("reward"), digits=3),
    Column("efficiency", "e, history by turn (%)", _MEAN("efficiency"), percent=True, paper="efficiency"),
    Column("efficiency_call", "e, history by call (%)", _MEAN("efficiency_call"), percent=True),
    Column("redundancy", "Redundant, by turn (%)", _MEAN("redundancy"), percent=True, paper="redundancy"),
    Column("redundancy_call", "Redundant, by call (%)", _MEAN("redundancy_call"), percent=True),
    Column("redundancy_within", "Repeated within a turn (%)", _RATIO("redundancy_within", _repeated_within_turns), percent=True),
    Column("tool_success", "Tool success (%)", tool_success(), percent=True, paper="tool_success"),
    Column("turns", "Turns", _MEAN("turns"), paper="turns"),
    Column("calls", "Calls", _MEAN("calls")),
    Column("calls_per_turn", "Calls per turn", _MEAN("calls_per_turn"), paper="tools_per_turn"),
    Column("calls_first_turn", "Calls, first turn", _RATIO("calls_first_turn", _first_turn)),
    Column("calls_later_turns", "Calls, later turns", _RATIO("calls_later_turns", _later_turns)),
    Column("failed_calls", "Failed calls", _MEAN("failed_calls")),
    Column("seconds", "Seconds", _MEAN("seconds"), paper="time_s"),
    Column("seconds_model", "Model (s)", _MEAN("seconds_model")),
    Column("seconds_tools", "Tools (s)", _MEAN("seconds_tools")),
    Column("seconds_waiting", "Waiting (s)", _MEAN("seconds_waiting")),
    Column("tokens_context", "Tokens, context (k)", _MEAN("tokens_context"), scale=1e-3),
    Column("tokens_billed", "Tokens, billed (k)", _MEAN("tokens_billed"), paper="tokens_k", scale=1e-3),
    Column("tokens_prompt", "Tokens, prompt (k)", _MEAN("tokens_prompt"), scale=1e-3),
    Column("tokens_completion", "Tokens, completion (k)", _MEAN("tokens_completion"), scale=1e-3),
)
COLUMNS: dict[str, Column] = {found.key: found for found in _ALL}
"""By metric name."""
