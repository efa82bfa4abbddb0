"""What is measured of an episode and of an arm: selection, GRPO, evaluation and reports all use these definitions.

:func:`score_trajectory` fills in a :class:`Score`. :data:`METRICS` is the one table of an arm's figures: the names that MLflow,
``metrics.json`` and result files use, what they mean, how they are computed, and how tables print them. A new metric is a field
of :class:`Score`, a line in :func:`~fusesearch.evaluation.costs.tool_statistics` and a row of the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from fusesearch.core.errors import ConfigError, DataError
from fusesearch.core.schema import Answer, Instance, Score, Trajectory, Truth
from fusesearch.evaluation import statistics
from fusesearch.evaluation.costs import tool_statistics
from fusesearch.evaluation.quality import NDCG_AT, RANKED, RECALL_AT, Quality, combined_f1, count, mean, quality
from fusesearch.evaluation.statistics import Statistic

Scope = Literal["turn", "call"]


class Reward(Protocol):
    """Maps a score whose quality and efficiency are set to one number (FuseSearch equation 6)."""

    def __call__(self, score: Score, scope: Scope = "turn") -> float:
        """The reward, with e under ``scope``."""
        ...


@dataclass(frozen=True)
class Metric:
    """One figure of an arm.

    ``words`` say what it is (default: the description of the :class:`Score` field it is the mean of), ``paper`` is its column in
    the papers' tables. A ``timed`` figure depends on the machine, so no ordering of two arms follows from it.
    """

    key: str
    heading: str
    statistic: Statistic
    words: str
    percent: bool = False
    digits: int = 2
    paper: str | None = None
    scale: float = 1.0
    timed: bool = False

    @property
    def factor(self) -> float:
        """From a value as files have it to the unit of the heading, which is that of the papers' tables."""
        return 100 if self.percent else self.scale

    @property
    def name(self) -> str:
        """The heading without its unit."""
        return self.heading.removesuffix(" (%)")

    @property
    def of_differences(self) -> str:
        """The heading over differences, which are in points where the figure is in percent."""
        return self.heading.replace("(%)", "(points)")

    @property
    def points(self) -> str:
        """The unit written after a difference."""
        return " points" if self.percent else ""

    def show(self, value: float, signed: bool = False) -> str:
        """The value as printed, in the unit of the heading."""
        return f"{value * self.factor:{'+' if signed else ''}.{1 if self.percent else self.digits}f}"


def metric_named(key: str) -> Metric:
    """The metric of that name. Raises :class:`ConfigError` listing the names."""
    if key not in METRICS:
        raise ConfigError(f"there is no metric {key!r}: use one of {', '.join(sorted(METRICS))}")
    return METRICS[key]


def _failed(score: Score) -> tuple[float, float] | None:
    if not score.calls or score.failed_calls is None:
        return None
    return float(score.failed_calls), float(score.calls)


def _repeated_within_turns(score: Score) -> tuple[float, float] | None:
    if score.redundancy is None or score.redundancy_call is None:
        return None
    return score.redundancy_call - score.redundancy, 1.0


def _first_turn(score: Score) -> tuple[float, float] | None:
    used = [calls for calls in score.calls_each_turn if calls]
    return (float(used[0]), 1.0) if used else None


def _later_turns(score: Score) -> tuple[float, float] | None:
    later = [calls for calls in score.calls_each_turn if calls][1:]
    return (sum(later) / len(later), 1.0) if later else None


def _level(level: str) -> Iterator[Metric]:
    """Precision, recall and F1 of a level in both averages, and its ranked metrics."""
    name = level.capitalize()
    for figure, short in (("precision", "P"), ("recall", "R"), ("f1", "F1")):
        words = f"{figure} at {level} level"
        yield Metric(
            f"{level}_micro_{figure}", f"{name} {short}, pooled (%)", statistics.pooled(level, figure),
            f"{words}, counts pooled over instances", percent=True, paper=f"{level}_{figure}",
        )  # fmt: skip
        yield Metric(
            f"{level}_macro_{figure}", f"{name} {short}, mean (%)", statistics.mean(f"{level}_{figure}"),
            f"{words}, mean over instances", percent=True,
        )  # fmt: skip
    ranked = [
        *((f"recall@{k}", f"R@{k}", f"Recall@{k}") for k in RECALL_AT),
        ("map", "MAP", "mean average precision"),
        ("mrr", "MRR", "mean reciprocal rank"),
        (f"ndcg@{NDCG_AT}", f"nDCG@{NDCG_AT}", f"nDCG@{NDCG_AT}"),
    ]
    for figure, short, words in ranked:
        key = f"{level}_{figure}".replace("@", "_at_")  # MLflow takes no @ in names
        yield Metric(
            key, f"{name} {short} (%)", statistics.averaged(key, level, RANKED[figure]),
            f"{words} at {level} level, mean over instances", percent=True, paper=f"{level}_{figure}",
        )  # fmt: skip


def _mean(field: str, heading: str, **options: Any) -> Metric:
    """The mean of a field of :class:`Score`, in its words."""
    return Metric(field, heading, statistics.mean(field), Score.model_fields[field].description or "", **options)


_TOOL_SUCCESS = Statistic("tool_success", _failed, lambda sums: 1 - statistics.quotient(sums))

METRICS: dict[str, Metric] = {
    row.key: row
    for row in (
        *_level("file"),
        *_level("function"),
        Metric(
            "f1_micro", "F1 0.7/0.3, pooled (%)", statistics.combined_pooled_f1(),
            "0.7 file F1 + 0.3 function F1, of the pooled figures", percent=True,
        ),
        Metric(
            "f1_macro", "F1 0.7/0.3, mean (%)", statistics.mean("f1"),
            "0.7 file F1 + 0.3 function F1, mean over instances", percent=True,
        ),
        _mean("answer_score", "Answer (%)", percent=True),
        _mean("evidence_seen", "Evidence seen (%)", percent=True),
        _mean("from_memory", "From memory (%)", percent=True),
        _mean("reward", "Reward", digits=3),
        _mean("efficiency", "e, history by turn (%)", percent=True, paper="efficiency"),
        _mean("efficiency_call", "e, history by call (%)", percent=True),
        _mean("redundancy", "Redundant, by turn (%)", percent=True, paper="redundancy"),
        _mean("redundancy_call", "Redundant, by call (%)", percent=True),
        Metric(
            "redundancy_within", "Repeated within a turn (%)", statistics.ratio("redundancy_within", _repeated_within_turns),
            "share of an episode's calls with gain 0 only because of an earlier call of the same turn", percent=True,
        ),
        Metric(
            "tool_success", "Tool success (%)", _TOOL_SUCCESS,
            "share of all calls that came back without an error", percent=True, paper="tool_success",
        ),
        _mean("turns", "Turns", paper="turns"),
        _mean("calls", "Calls"),
        _mean("calls_per_turn", "Calls per turn", paper="tools_per_turn"),
        Metric(
            "calls_first_turn", "Calls, first turn", statistics.ratio("calls_first_turn", _first_turn),
            "tool calls in the first turn that used tools",
        ),
        Metric(
            "calls_later_turns", "Calls, later turns", statistics.ratio("calls_later_turns", _later_turns),
            "tool calls per later turn that used tools, mean over episodes that have one (differences: in both arms)",
        ),
        _mean("failed_calls", "Failed calls"),
        _mean("seconds", "Seconds", paper="time_s", timed=True),
        _mean("seconds_model", "Model (s)", timed=True),
        _mean("seconds_tools", "Tools (s)", timed=True),
        _mean("seconds_waiting", "Waiting (s)", timed=True),
        _mean("tokens_context", "Tokens, context (k)", scale=1e-3),
        _mean("tokens_billed", "Tokens, billed (k)", paper="tokens_k", scale=1e-3),
        _mean("tokens_prompt", "Tokens, prompt (k)", scale=1e-3),
        _mean("tokens_completion", "Tokens, completion (k)", scale=1e-3),
    )
}  # fmt: skip
"""Every figure of an evaluated arm, by its name in MLflow, ``metrics.json`` and result files."""

COUNTS = {
    "instances": "instances with a score",
    "scores": "episodes with a score",
    "errored": "episodes without a score because the infrastructure failed",
    "functions_unknown": "episodes without figures of functions, because a changed file cannot be parsed",
}
"""What :func:`aggregate` counts besides."""


def aggregate(scores: Iterable[Score]) -> dict[str, Any]:
    """:data:`COUNTS` and :data:`METRICS` of one arm, by name; ``None`` where a figure is undefined. Errored scores are only
    counted; runs of one instance weigh like instances.
    """
    every = list(scores)
    measured = [score for score in every if score.error is None]
    unknown = sum(bool(score.unread) for score in measured)
    return {
        "instances": len({score.instance_id for score in measured}),
        "scores": len(measured),
        "errored": len(every) - len(measured),
        **({"functions_unknown": unknown} if unknown else {}),
        **{key: statistics.estimate(measured, row.statistic) for key, row in METRICS.items()},
    }


def tool_success(scores: Iterable[Score]) -> float | None:
    """The metric of that name alone: GRPO logs it at every step."""
    return statistics.estimate(scores, _TOOL_SUCCESS)


def mean_of(scores: Iterable[Score], field: str) -> float | None:
    """Mean of one field over the scores that have it; ``None`` where none has."""
    return mean([value for score in scores if (value := getattr(score, field)) is not None])


def truth_of(instance: Instance) -> Truth:
    """The truth of an instance. Raises :class:`DataError` if it has none."""
    if instance.truth is None:
        raise DataError(f"{instance.instance_id} has no truth: run the filter stage first")
    return instance.truth


def score_trajectory(
    trajectory: Trajectory,
    truth: Truth,
    *,
    issue_chars: int | None = None,
    reward: Reward | None = None,
    scope: Scope = "turn",
    arm: str = "",
    run: int = 0,
) -> Score:
    """All that is measured of one episode.

    An episode the infrastructure broke gets a score whose figures are all ``None``. Raises :class:`DataError` where the
    truth names no file, because nothing could be measured against it, and for a question.
    """
    if not truth.files or truth.expected is not None:
        reason = "is that of a question: use agent.toolset questions" if truth.expected else "names no file, so nothing is scored"
        raise DataError(f"{trajectory.instance_id}: the truth {reason}")
    score = Score(
        instance_id=trajectory.instance_id, repo=trajectory.repo, localizer=trajectory.localizer, arm=arm, run=run,
        error=trajectory.error, true_files=truth.files, true_functions=truth.functions,
        added_files=truth.added_files, added_functions=truth.added_functions, unread=truth.unread,
        issue_chars=issue_chars,
    )  # fmt: skip
    if trajectory.error is not None:
        return score
    answer = trajectory.answer or Answer()
    score = against(score.model_copy(update={"predicted_files": answer.files, "predicted_functions": answer.functions}), truth)
    score = score.model_copy(update=tool_statistics(trajectory))
    return score if reward is None else score.model_copy(update={"reward": reward(score, scope)})


def against(score: Score, truth: Truth) -> Score:
    """The score of the same answer against ``truth``: what it modifies, and precision, recall and F1 at both levels."""
    given = {"true_files": truth.files, "true_functions": truth.functions}
    return score.model_copy(update=given | (_quality_figures(score, truth) if score.error is None else {}))


def quality_of(score: Score) -> float | None:
    """F1, or the share of a question's answer that is right; None for an errored score."""
    return score.f1 if score.answer_score is None else score.answer_score


def efficiency_of(score: Score, scope: Scope) -> float:
    """e of a score under a history scope. Raises :class:`DataError` for an errored score."""
    return given(score, score.efficiency if scope == "turn" else score.efficiency_call)


def given(score: Score, value: float | None) -> float:
    """A figure of the score. Raises :class:`DataError` if it is absent."""
    if value is None:
        raise DataError(f"{score.instance_id}: the score is absent ({score.error or 'not measured'})")
    return value


def _quality_figures(score: Score, truth: Truth) -> dict[str, Any]:
    by_file = quality(count(score.predicted_files, truth.files))
    by_function = None
    if truth.functions and not truth.unread:
        by_function = quality(count(score.predicted_functions, truth.functions))
    figures: dict[str, Any] = {f"file_{name}": value for name, value in by_file._asdict().items()}
    for name, value in zip(Quality._fields, by_function or (None,) * len(Quality._fields), strict=True):
        figures[f"function_{name}"] = value
    return figures | {"f1": combined_f1(by_file.f1, by_function.f1 if by_function else None)}
