"""Quality of an answer and cost of an episode: the one definition of each, used by selection, GRPO, evaluation and reports.

Precision, recall and F1 are FuseSearch equation 2; the combined F1 is equation 8 with the weights of appendix B.3; the
ranked metrics are equations 1 to 7 of ToolTrain, Acc@k is LocAgent's. All are shares in [0, 1]. *Predicted* is a ranked
list, repeated names count once at their first rank; *true* is a set.

Where the truth names nothing at a level (a patch that changes no existing function), recall has no meaning: such an
instance is left out of that level's means, and its combined F1 is its file F1. What was predicted for it still counts as
wrong in the pooled precision.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Any, Literal, NamedTuple, Protocol

from tasks.agents.conversation import tokens_billed, tokens_context
from tasks.core.errors import DataError
from tasks.core.schema import Answer, Score, Trajectory, Truth
from tasks.search.gain import tool_efficiency

FILE_WEIGHT, FUNCTION_WEIGHT = 0.7, 0.3
RECALL_AT = (1, 3, 5)
ACCURACY_AT = {"file": (1, 3, 5), "module": (5, 10), "function": (5, 10)}
"""LocAgent's levels and cut-offs."""

NDCG_AT = 5

Scope = Literal["turn", "call"]
Pair = tuple[Sequence[str], Sequence[str]]
"""One instance at one level: (predicted in rank order, true)."""


class Reward(Protocol):
    """Maps a score whose quality and efficiency are set to one number (FuseSearch equation 6)."""

    def __call__(self, score: Score, scope: Scope = "turn") -> float:
        """The reward, with e under ``scope``."""
        ...


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
    return Quality(_ratio(hits, predicted), _ratio(hits, true), _ratio(2 * hits, predicted + true))


def combined_f1(file_f1: float, function_f1: float | None) -> float:
    """0.7 file F1 + 0.3 function F1 (FuseSearch equation 8); file F1 alone where the truth names no function."""
    if function_f1 is None:
        return file_f1
    return FILE_WEIGHT * file_f1 + FUNCTION_WEIGHT * function_f1


def recall_at(predicted: Sequence[str], true: Sequence[str], k: int) -> float:
    """Share of the truth among the first ``k`` predictions."""
    wanted = set(true)
    return _ratio(len(wanted.intersection(_ranked(predicted)[:k])), len(wanted))


def accuracy_at(predicted: Sequence[str], true: Sequence[str], k: int) -> float:
    """1 if the whole truth stands among the first ``k`` predictions, else 0 (LocAgent's Acc@k); 0 for an empty truth."""
    wanted = set(true)
    return float(bool(wanted) and wanted <= set(_ranked(predicted)[:k]))


def modules_of(functions: Iterable[str]) -> list[str]:
    """LocAgent's modules of function entities, in rank order: the class, or the function where it stands in none."""
    parts = (entity.partition("::") for entity in functions)
    return list(dict.fromkeys(f"{path}::{name.partition('.')[0]}" for path, _, name in parts))


def pair_of(score: Score, level: str) -> Pair:
    """Predicted and true of a score at level ``file``, ``module`` or ``function``."""
    if level == "file":
        return score.predicted_files, score.true_files
    if level == "module":
        return modules_of(score.predicted_functions), modules_of(score.true_functions)
    return score.predicted_functions, score.true_functions


def average_precision(predicted: Sequence[str], true: Sequence[str]) -> float:
    """Mean over the truth of the precision at the rank where each item stands, 0 if absent (ToolTrain equation 5)."""
    wanted, hits, total = set(true), 0, 0.0
    for rank, item in enumerate(_ranked(predicted), 1):
        if item in wanted:
            hits += 1
            total += hits / rank
    return _ratio(total, len(wanted))


def reciprocal_rank(predicted: Sequence[str], true: Sequence[str]) -> float:
    """1 / rank of the first right prediction, 0 if there is none (ToolTrain equation 6)."""
    wanted = set(true)
    return next((1 / rank for rank, item in enumerate(_ranked(predicted), 1) if item in wanted), 0.0)


def ndcg_at(predicted: Sequence[str], true: Sequence[str], k: int) -> float:
    """Normalized discounted cumulative gain of the first ``k``, gains 0 or 1 (ToolTrain equations 1 to 3)."""
    wanted = set(true)
    gain = math.fsum(1 / math.log2(rank + 1) for rank, item in enumerate(_ranked(predicted)[:k], 1) if item in wanted)
    ideal = math.fsum(1 / math.log2(rank + 1) for rank in range(1, min(k, len(wanted)) + 1))
    return _ratio(gain, ideal)


def summarize_level(pairs: Sequence[Pair]) -> dict[str, Any]:
    """Every metric of one level over instances (or runs of them).

    ``instances`` is how many have a truth at this level; where none has, all values are ``None``.
    """
    defined = [pair for pair in pairs if pair[1]]
    summary: dict[str, Any] = {"instances": len(defined)}
    for average, values in _averages(pairs, defined).items():
        summary[average] = dict(zip(Quality._fields, values, strict=True))
    for k in RECALL_AT:
        summary[f"recall@{k}"] = _mean([recall_at(*pair, k) for pair in defined])
    summary["map"] = _mean([average_precision(*pair) for pair in defined])
    summary["mrr"] = _mean([reciprocal_rank(*pair) for pair in defined])
    summary[f"ndcg@{NDCG_AT}"] = _mean([ndcg_at(*pair, NDCG_AT) for pair in defined])
    return summary


def summarize(files: Sequence[Pair], functions: Sequence[Pair]) -> dict[str, Any]:
    """Both levels over the same instances, and the combined F1 in both averages.

    ``micro`` weighs the pooled F1 of the levels, ``macro`` is the mean of the instances' combined F1.
    """
    summary: dict[str, Any] = {"file": summarize_level(files), "function": summarize_level(functions)}
    pooled = summary["file"]["micro"]["f1"]
    each = [pair_f1(*pairs) for pairs in zip(files, functions, strict=True) if pairs[0][1]]
    micro = None if pooled is None else combined_f1(pooled, summary["function"]["micro"]["f1"])
    return summary | {"f1": {"micro": micro, "macro": _mean(each)}}


def pair_f1(files: Pair, functions: Pair) -> float:
    """Combined F1 of one instance."""
    return combined_f1(quality(count(*files)).f1, quality(count(*functions)).f1 if functions[1] else None)


def aggregate(scores: Iterable[Score]) -> dict[str, Any]:
    """Averages over scores of one arm; errored ones are only counted.

    ``file`` and ``function`` as :func:`summarize_level` gives them, ``f1`` in both averages, tool success, and the mean of
    every other figure of :class:`Score`. Runs of one instance weigh like instances.
    """
    every = list(scores)
    measured = [score for score in every if score.error is None]
    summary: dict[str, Any] = {
        "instances": len({score.instance_id for score in measured}),
        "scores": len(measured),
        "errored": len(every) - len(measured),
    }
    files = [(score.predicted_files, score.true_files) for score in measured]
    functions = [(score.predicted_functions, score.true_functions) for score in measured]
    summary |= summarize(files, functions)
    summary["tool_success"] = tool_success(measured)
    return summary | {name: mean_of(measured, name) for name in COST_FIELDS}


COST_FIELDS = (
    "reward", "f1_best", "efficiency", "efficiency_call", "redundancy", "redundancy_call",
    "turns", "calls", "calls_per_turn", "failed_calls",
    "seconds", "seconds_model", "seconds_tools", "seconds_waiting",
    "tokens_context", "tokens_billed", "tokens_prompt", "tokens_completion",
)  # fmt: skip
"""Fields of :class:`Score` besides quality, each averaged over trajectories."""


def tool_success(scores: Iterable[Score]) -> float | None:
    """Calls that came back without an error over calls, pooled over episodes; ``None`` where no call was made."""
    counted = [(score.calls, score.failed_calls) for score in scores if score.calls and score.failed_calls is not None]
    return 1 - sum(failed for _, failed in counted) / sum(calls for calls, _ in counted) if counted else None


def mean_of(scores: Iterable[Score], field: str) -> float | None:
    """Mean of one field over the scores that have it; ``None`` where none has."""
    return _mean([value for score in scores if (value := getattr(score, field)) is not None])


def score_trajectory(
    trajectory: Trajectory,
    truth: Truth,
    *,
    accepted: Sequence[Truth] = (),
    issue_chars: int | None = None,
    reward: Reward | None = None,
    scope: Scope = "turn",
    arm: str = "",
    run: int = 0,
) -> Score:
    """All that is measured of one episode. ``accepted`` is what other patches modify that resolve the issue as well.

    An episode the infrastructure broke gets a score whose figures are all ``None``. Raises :class:`DataError` where the
    truth names no file, because nothing could be measured against it.
    """
    if not truth.files:
        raise DataError(f"{trajectory.instance_id}: the truth names no file, so the instance cannot be scored")
    score = Score(
        instance_id=trajectory.instance_id, repo=trajectory.repo, localizer=trajectory.localizer, arm=arm, run=run,
        error=trajectory.error, true_files=truth.files, true_functions=truth.functions,
        added_files=truth.added_files, added_functions=truth.added_functions,
        issue_chars=issue_chars,
    )  # fmt: skip
    if trajectory.error is not None:
        return score
    answer = trajectory.answer or Answer()
    score = against(score.model_copy(update={"predicted_files": answer.files, "predicted_functions": answer.functions}), truth)
    score = score.model_copy(update=tool_statistics(trajectory) | _best_accepted(score, accepted))
    return score if reward is None else score.model_copy(update={"reward": reward(score, scope)})


def against(score: Score, truth: Truth) -> Score:
    """The score of the same answer against ``truth``: what it modifies, and precision, recall and F1 at both levels."""
    given = {"true_files": truth.files, "true_functions": truth.functions}
    return score.model_copy(update=given | (_quality_figures(score, truth) if score.error is None else {}))


def efficiency_of(score: Score, scope: Scope) -> float:
    """e of a score under a history scope. Raises :class:`DataError` for an errored score."""
    value = score.efficiency if scope == "turn" else score.efficiency_call
    if value is None:
        raise DataError(f"{score.instance_id}: the score is absent ({score.error or 'not measured'})")
    return value


def tool_statistics(trajectory: Trajectory) -> dict[str, Any]:
    """Efficiency and cost of an episode under the names of :class:`Score` (DESIGN.md section 3).

    ``calls_per_turn`` is over tool-using turns, 0 where there is none. ``seconds`` is the whole episode's wall time,
    ``seconds_model`` and ``seconds_tools`` are sums over its requests and turns, ``seconds_waiting`` is the rest.
    """
    turns, calls = trajectory.turns, calls_by_turn(trajectory)
    by_turn, by_call = _gains(trajectory, "gain_turn"), _gains(trajectory, "gain_call")
    model, tools = math.fsum(turn.usage.seconds for turn in turns), math.fsum(turn.seconds_tools for turn in turns)
    return {
        "efficiency": tool_efficiency(by_turn),
        "efficiency_call": tool_efficiency(by_call),
        "redundancy": _mean([float(gain == 0) for gain in by_turn]),
        "redundancy_call": _mean([float(gain == 0) for gain in by_call]),
        "turns": len(turns),
        "calls": sum(calls),
        "calls_per_turn": _ratio(sum(calls), sum(number > 0 for number in calls)),
        "failed_calls": sum(observation.error is not None for turn in turns for observation in turn.observations),
        "calls_each_turn": calls,
        "seconds": trajectory.seconds,
        "seconds_model": model,
        "seconds_tools": tools,
        "seconds_waiting": max(0.0, trajectory.seconds - model - tools),
        "tokens_context": tokens_context(trajectory),
        "tokens_billed": tokens_billed(trajectory),
        "tokens_prompt": sum(turn.usage.prompt_tokens for turn in turns),
        "tokens_completion": sum(turn.usage.completion_tokens for turn in turns),
    }


def calls_by_turn(trajectory: Trajectory) -> list[int]:
    """Calls of each turn, in order; the answer turn has none."""
    return [len(turn.calls) for turn in trajectory.turns]


def _quality_figures(score: Score, truth: Truth) -> dict[str, Any]:
    by_file = quality(count(score.predicted_files, truth.files))
    by_function = quality(count(score.predicted_functions, truth.functions)) if truth.functions else None
    figures: dict[str, Any] = {f"file_{name}": value for name, value in by_file._asdict().items()}
    for name, value in zip(Quality._fields, by_function or (None,) * len(Quality._fields), strict=True):
        figures[f"function_{name}"] = value
    return figures | {"f1": combined_f1(by_file.f1, by_function.f1 if by_function else None)}


def _best_accepted(score: Score, accepted: Sequence[Truth]) -> dict[str, Any]:
    """``f1_best`` and what it is measured against; the gold patch wins a tie."""
    known = [truth for truth in accepted if truth.files]
    if not known:
        return {}
    rivals = [(against(score, truth).f1 or 0.0, truth) for truth in known]
    best, truth = max(rivals, key=lambda rival: rival[0])
    if best <= (score.f1 or 0.0):
        return {"f1_best": score.f1}
    return {"f1_best": best, "accepted_files": truth.files, "accepted_functions": truth.functions}


def _gains(trajectory: Trajectory, field: str) -> list[float]:
    """Gain of every call: each call has its observation."""
    return [getattr(observation, field) for turn in trajectory.turns for observation in turn.observations]


def _averages(pairs: Sequence[Pair], defined: Sequence[Pair]) -> dict[str, tuple[float | None, ...]]:
    if not defined:
        return {"micro": (None, None, None), "macro": (None, None, None)}
    each = [quality(count(*pair)) for pair in defined]
    return {
        "micro": quality(pool(count(*pair) for pair in pairs)),
        "macro": tuple(_mean([row[index] for row in each]) for index in range(3)),
    }


def _ranked(predicted: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(predicted))


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None
