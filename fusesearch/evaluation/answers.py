"""The scorer of questions: how much of the exact answer is right, and what it cost."""

from __future__ import annotations

from typing import Any

from fusesearch.agents.answers import share_right
from fusesearch.core.errors import DataError
from fusesearch.core.schema import Answer, Score, Trajectory, Truth
from fusesearch.evaluation.costs import tool_statistics
from fusesearch.evaluation.metrics import Reward, Scope


def score_answer(
    trajectory: Trajectory,
    truth: Truth,
    *,
    issue_chars: int | None = None,
    reward: Reward | None = None,
    scope: Scope = "turn",
    arm: str = "",
    run: int = 0,
) -> Score:
    """All that is measured of one episode on a question; see :func:`fusesearch.evaluation.metrics.score_trajectory`.

    An answer to an open question has no score before a judge has read it, and no reward.
    Raises :class:`DataError` where the truth expects no answer.
    """
    expected = truth.expected
    if expected is None:
        raise DataError(f"{trajectory.instance_id}: not a question: use agent.toolset fusesearch")
    score = Score(
        instance_id=trajectory.instance_id, repo=trajectory.repo, localizer=trajectory.localizer, arm=arm, run=run,
        error=trajectory.error, issue_chars=issue_chars, family=expected.family, true_values=expected.values,
    )  # fmt: skip
    if trajectory.error is not None:
        return score
    values = (trajectory.answer or Answer()).values
    figures: dict[str, Any] = {"predicted_values": values} | tool_statistics(trajectory)
    if expected.kind == "text":
        return score.model_copy(update=figures)
    figures["answer_score"] = share_right(values, expected)
    if expected.evidence:
        seen = {entity for turn in trajectory.turns for observation in turn.observations for entity in observation.entities}
        figures["evidence_seen"] = len(seen.intersection(expected.evidence)) / len(set(expected.evidence))
    if expected.original:
        figures["from_memory"] = float(share_right(values, expected.model_copy(update={"values": [expected.original]})))
    score = score.model_copy(update=figures)
    return score if reward is None else score.model_copy(update={"reward": reward(score, scope)})
