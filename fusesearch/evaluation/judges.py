"""Judges of answers: a model that compares an answer with a reference and gives points.

A judge that fails, or whose verdict cannot be read, gives no points: that score is absent, never 0. How good a judge is is
measured by :func:`self_checks`, and by its agreement with exact scores where questions have both.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Protocol

from pydantic import Field

from fusesearch.agents.loop import in_order
from fusesearch.agents.models.base import Message, Model, Sampling
from fusesearch.agents.prompts import render
from fusesearch.core.digests import digest
from fusesearch.core.errors import ConfigError, InfrastructureError
from fusesearch.core.schema import Record
from fusesearch.core.storage import Journal
from fusesearch.evaluation.quality import mean

MAX_CHARS = 20_000
TRIES = 3
TEMPERATURE = 0.2
CONCURRENCY = 8
"""Cases judged at once."""


@dataclass(frozen=True)
class Rubric:
    """What a judge gives points for: the range of each dimension, and its words."""

    name: str
    dimensions: dict[str, str]
    lowest: int
    highest: int


RUBRICS = {
    rubric.name: rubric
    for rubric in (
        Rubric("coreqa", {"completeness": "how much of the reference the answer contains, without errors"}, 1, 100),
        Rubric(
            "swe-qa",
            {
                "correctness": "whether what it says is true of this code",
                "completeness": "whether it answers every part of the question",
                "relevance": "whether it keeps to the question",
                "clarity": "whether it can be understood",
                "reasoning": "whether its conclusions follow from the code it names",
            },
            1,
            20,
        ),
    )
}
"""By name: the five grades of RepoSearch-R1's judge, and the five dimensions of SWE-QA. The words are ours."""


def rubric_named(name: str) -> Rubric:
    """The rubric called ``name``. Raises :class:`ConfigError` with the known names."""
    if name not in RUBRICS:
        raise ConfigError(f"rubric {name!r} is unknown: use one of {', '.join(RUBRICS)}")
    return RUBRICS[name]


class Case(Record):
    """An answer to judge. ``exact`` is its exact score, where it has one."""

    instance_id: str
    question: str
    reference: str
    candidate: str
    exact: float | None = None


class Verdict(Record):
    """Points by dimension; without any, ``error`` says why. ``share`` is their mean in [0, 1]."""

    key: str
    points: dict[str, float] = Field(default_factory=dict)
    share: float | None = None
    error: str | None = None

    @property
    def grade(self) -> float | None:
        """One of 0.2, 0.4, ... 1 (RepoSearch-R1 equation 3), 0 for a share of 0."""
        return None if self.share is None else math.ceil(round(self.share * 5, 9)) / 5


class Judge(Protocol):
    """Anything that judges an answer."""

    async def judge(self, case: Case) -> Verdict:
        """The verdict; a failure is a verdict with ``error``, never raised."""
        ...


class ModelJudge:
    """A model with a rubric. Verdicts are kept in ``cache`` by the digest of model, prompt and texts; failures are not."""

    def __init__(self, model: Model, rubric: Rubric, cache: Journal) -> None:
        self._model, self._rubric, self._cache = model, rubric, cache

    async def judge(self, case: Case) -> Verdict:
        """The verdict after at most ``TRIES`` requests. An empty answer gets no points without one."""
        rubric = self._rubric
        if not case.candidate.strip():
            return Verdict(key="", points=dict.fromkeys(rubric.dimensions, 0.0), share=0.0)
        prompt = self._prompt(case)
        key = digest(self._model.name, prompt)
        if key in self._cache:
            return Verdict.model_validate(self._cache.rows[key])
        reason = ""
        for number in range(TRIES):
            try:
                sampling = Sampling(temperature=TEMPERATURE, max_new_tokens=1024, seed=number)
                reply = await self._model.complete([Message(role="user", content=prompt)], [], sampling)
            except InfrastructureError as error:
                reason = " ".join(str(error).split())
                continue
            points = read_points(reply.text, rubric)
            if points is not None:
                share = (sum(points.values()) / len(points)) / rubric.highest
                verdict = Verdict(key=key, points=points, share=share)
                self._cache.append(verdict)
                return verdict
            reason = f"no verdict in {reply.text[-80:]!r}"
        return Verdict(key=key, error=reason)

    def _prompt(self, case: Case) -> str:
        rubric = self._rubric
        span = f"({rubric.lowest} to {rubric.highest}, or 0 for nothing)"
        return render(
            "fusesearch.agents.prompts",
            "judge",
            question=case.question[:MAX_CHARS],
            reference=case.reference[:MAX_CHARS],
            # the fence depends on the answer, so that the answer cannot contain it, and no verdict in it can be read as one
            fence=f"=== {digest(case.candidate)[:16]} ===",
            candidate=case.candidate[:MAX_CHARS].replace("[[", "[ ["),
            dimensions="\n".join(f"- {name}: {words} {span}" for name, words in rubric.dimensions.items()),
            form="\n".join(f"[[{name}: NUMBER]]" for name in rubric.dimensions),
        )


def read_points(text: str, rubric: Rubric) -> dict[str, float] | None:
    """The last verdict of each dimension in a judge's message; None if one is missing or out of range."""
    points = {}
    for name in rubric.dimensions:
        found = re.findall(rf"\[\[\s*{name}\s*:\s*(\d{{1,3}}(?:\.\d{{1,3}})?)\s*\]\]", text, re.IGNORECASE)
        if not found or not (float(found[-1]) == 0 or rubric.lowest <= float(found[-1]) <= rubric.highest):
            return None
        points[name] = float(found[-1])
    return points


@dataclass(frozen=True)
class Checked:
    """Mean shares of what must be top, bottom and low, the rank correlation with exact scores, and how many verdicts failed."""

    judged: float | None
    reference_itself: float | None
    empty: float | None
    another_answer: float | None
    agreement: float | None
    failed: int


async def verdicts_of(judge: Judge, cases: Sequence[Case]) -> list[Verdict]:
    """The verdicts in the order of the cases."""
    return await in_order([partial(judge.judge, case) for case in cases], CONCURRENCY)


async def self_checks(judge: Judge, cases: Sequence[Case]) -> Checked:
    """Judge the cases, each reference against itself, an empty answer, and the answer to another question."""
    draw = Random(0)
    others = [draw.choice([row.reference for row in cases if row.reference != case.reference] or [""]) for case in cases]
    variants = [
        list(cases),
        [case.model_copy(update={"candidate": case.reference}) for case in cases],
        [case.model_copy(update={"candidate": ""}) for case in cases],
        [case.model_copy(update={"candidate": other}) for case, other in zip(cases, others, strict=True)],
    ]
    groups = [await verdicts_of(judge, group) for group in variants]
    means = [mean([row.share for row in group if row.share is not None]) for group in groups]
    pairs = [
        (case.exact, row.share)
        for case, row in zip(cases, groups[0], strict=True)
        if case.exact is not None and row.share is not None
    ]
    failed = sum(row.share is None for group in groups for row in group)
    return Checked(means[0], means[1], means[2], means[3], _rank_correlation(pairs), failed)


def _rank_correlation(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Spearman's; None where one side does not vary."""
    if len({first for first, _ in pairs}) < 2 or len({second for _, second in pairs}) < 2:
        return None
    from scipy.stats import spearmanr

    return float(spearmanr(*zip(*pairs, strict=True)).statistic)
