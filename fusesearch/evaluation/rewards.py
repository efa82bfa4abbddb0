"""Rewards by name, for GRPO and for the tables.

FuseSearch equation 6 is R = alpha F1 + beta e + gamma F1 e, with 0.8, 0 and 0.2 in appendix B.3. The ablations of its
table 5 are named by their formula and taken literally, with weights of one; GRPO normalizes within a group, so only the
ratio of the terms matters. Rewards of questions begin with ``answer``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from fusesearch.core.errors import ConfigError, DataError
from fusesearch.core.schema import Score
from fusesearch.evaluation.metrics import Reward, Scope, efficiency_of, given, quality_of
from fusesearch.evaluation.quality import ndcg_at


@dataclass(frozen=True)
class JointReward:
    """alpha F1 + beta e + gamma F1 e (FuseSearch equation 6); for a question, what its answer is worth stands for F1."""

    alpha: float = 0.8
    beta: float = 0.0
    gamma: float = 0.2

    def __call__(self, score: Score, scope: Scope = "turn") -> float:
        """The reward. Raises :class:`DataError` for an errored score, which has no reward, not a reward of zero."""
        f1, e = given(score, quality_of(score)), efficiency_of(score, scope)
        return self.alpha * f1 + self.beta * e + self.gamma * f1 * e


@dataclass(frozen=True)
class RankedReward:
    """nDCG@k of the functions (ToolTrain section 3.3.2), or of the files if the truth has no function."""

    k: int

    def __call__(self, score: Score, scope: Scope = "turn") -> float:
        """The reward, which does not depend on e. Raises :class:`DataError` for an errored score, and for a question."""
        given(score, score.f1)
        if score.true_functions:
            return ndcg_at(score.predicted_functions, score.true_functions, self.k)
        return ndcg_at(score.predicted_files, score.true_files, self.k)


@dataclass(frozen=True)
class AnswerReward:
    """What the answer of a question is worth, and besides how it was found.

    ``executed`` adds RepoSearch-R1's process reward (equation 4), 0.1 / D for each call that ran and -0.1 / D for each that
    failed, D being the turns with the answer: a clean search gets 0.1 (D - 1) / D, so longer ones get more. ``informative`` adds
    0.1 e, what its text means by effective calls. FuseSearch's form, 0.8 s + 0.2 s e, is the reward ``fusesearch``.
    """

    process: Literal["none", "executed", "informative"] = "none"

    def __call__(self, score: Score, scope: Scope = "turn") -> float:
        """The reward. Raises :class:`DataError` for a score without one."""
        if score.answer_score is None or score.turns is None:
            raise DataError(f"{score.instance_id}: the score is absent ({score.error or 'not a question'})")
        right = score.answer_score
        match self.process:
            case "executed":
                return right + 0.1 * ((score.calls or 0) - 2 * (score.failed_calls or 0)) / max(score.turns, 1)
            case "informative":
                return right + 0.1 * efficiency_of(score, scope)
        return right


FORMULAS: dict[str, Reward] = {
    "f1": JointReward(1, 0, 0),
    "f1+e": JointReward(1, 1, 0),
    "f1+f1*e": JointReward(1, 0, 1),
    "answer": AnswerReward(),
    "answer+executed": AnswerReward("executed"),
    "answer+informative": AnswerReward("informative"),
}
NAMES = ("fusesearch", *FORMULAS, "ndcg@k")


def make_reward(name: str, *, alpha: float = 0.8, beta: float = 0.0, gamma: float = 0.2) -> Reward:
    """The reward called ``name``; the weights only affect ``fusesearch``. Raises :class:`ConfigError` with the known names."""
    if name == "fusesearch":
        return JointReward(alpha, beta, gamma)
    if name in FORMULAS:
        return FORMULAS[name]
    if ranked := re.fullmatch(r"ndcg@([1-9]\d{0,3})", name):
        return RankedReward(int(ranked[1]))
    raise ConfigError(f"reward {name!r} is unknown: use one of {', '.join(NAMES)} (k a number, such as ndcg@5)")


def outcome_of(reward: Reward) -> Reward:
    """The reward without its process part, which trees do not propagate."""
    return AnswerReward() if isinstance(reward, AnswerReward) else reward
