"""Environments: kinds of task. ``agent.toolset`` names one; training and evaluation take all that they need of it from here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from fusesearch.agents.specs import EpisodeSpec
from fusesearch.core.errors import DataError
from fusesearch.core.schema import Instance, Score, Trajectory, Truth
from fusesearch.evaluation.answers import score_answer
from fusesearch.evaluation.judges import Case, Judge
from fusesearch.evaluation.metrics import Reward, Scope, score_trajectory
from fusesearch.localizers.episodes import SPECS, spec_named

Scorer = Callable[..., Score]
"""Takes the arguments of :func:`fusesearch.evaluation.metrics.score_trajectory`."""


@dataclass(frozen=True)
class Environment:
    """What episodes are made of (``spec``: tools, instructions, reader of answers), and how they are scored.

    ``issues`` scores episodes on issues, ``questions`` those on questions; an environment without one of them is for the other
    kind alone. Open questions need a judge besides.
    """

    spec: EpisodeSpec
    issues: Scorer | None = None
    questions: Scorer | None = None

    def own(self, instances: Iterable[Instance]) -> list[Instance]:
        """The instances that it is for. A data set may hold both kinds."""
        return [row for row in instances if (self.questions if row.question else self.issues)]

    def trainable(self, instances: Iterable[Instance]) -> list[Instance]:
        """Those of :meth:`own` with an exact truth: no open questions, whose answers only a judge can score."""
        own = self.own(instances)
        return [row for row in own if not (row.truth and row.truth.expected and row.truth.expected.kind == "text")]

    def score(self, trajectory: Trajectory, truth: Truth, **options: Any) -> Score:
        """The score by the scorer of the truth's kind. Raises :class:`DataError` where there is none."""
        kind, scorer = ("question", self.questions) if truth.expected is not None else ("issue", self.issues)
        if scorer is None:
            raise DataError(f"{trajectory.instance_id} is of the kind {kind}, which this agent.toolset is not for")
        return scorer(trajectory, truth, **options)

    async def judged(self, trajectory: Trajectory, truth: Truth, judge: Judge | None, *, reward: Reward, scope: Scope) -> Score:
        """As :meth:`score`, but ``judge`` grades the answer to an open question. Its failure is an error, never a 0."""
        score = self.score(trajectory, truth, reward=reward, scope=scope)
        if judge is None or score.error is not None or truth.expected is None or truth.expected.kind != "text":
            return score
        said, reference = trajectory.answer.text if trajectory.answer else "", truth.expected.values[0]
        case = Case(instance_id=score.instance_id, question=trajectory.issue, reference=reference, candidate=said)
        verdict = await judge.judge(case)
        if verdict.grade is None:
            return score.model_copy(update={"error": f"no verdict: {verdict.error}"})
        graded = score.model_copy(update={"answer_score": verdict.grade})
        return graded.model_copy(update={"reward": reward(graded, scope)})


ENVIRONMENTS = {
    "both": Environment(SPECS["both"], issues=score_trajectory, questions=score_answer),
    "fusesearch": Environment(SPECS["fusesearch"], issues=score_trajectory),
    "questions": Environment(SPECS["questions"], questions=score_answer),
    "repoqa": Environment(SPECS["repoqa"], questions=score_answer),
    "reposearcher": Environment(SPECS["reposearcher"], issues=score_trajectory),
}
"""By the names of ``agent.toolset``, the same as those of :data:`fusesearch.localizers.episodes.SPECS`."""


def environment_named(name: str) -> Environment:
    """The environment called ``name``. Raises :class:`ConfigError` with the known names."""
    spec_named(name)
    return ENVIRONMENTS[name]
