"""Verdicts on the answers of a grid's cells: kept beside the scores, and read by the protocols ``coreqa`` and ``swe-qa``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pydantic import Field

from fusesearch.agents.answers import format_values
from fusesearch.core.errors import ArtifactError
from fusesearch.core.schema import Record, Score, Trajectory
from fusesearch.core.storage import read_jsonl, write_jsonl
from fusesearch.evaluation.judges import Case, Judge, Rubric, Verdict, verdicts_of
from fusesearch.evaluation.protocols import Protocol
from fusesearch.evaluation.results import TRAJECTORIES, CellResult
from fusesearch.evaluation.statistics import Statistic, mean, ratio


class JudgedEpisode(Record):
    """The verdict on one episode, and the judge's model."""

    instance_id: str
    run: int
    judge: str
    verdict: Verdict


class JudgedScore(Score):
    """A score with its verdict; without figures of the judge where the episode or the verdict failed."""

    judge_grade: float | None = None
    judge_share: float | None = None
    judge_points: dict[str, float] = Field(default_factory=dict)


def cases_of(row: CellResult) -> dict[tuple[str, int], Case]:
    """The answers of a cell that can be judged, by instance and run: those to questions, without errored episodes."""
    trajectories = read_jsonl(row.folder / TRAJECTORIES, Trajectory)
    return {
        (score.instance_id, score.run): Case(
            instance_id=score.instance_id,
            question=trajectory.issue,
            reference=score.true_values[0] if score.family == "open" else format_values(score.true_values),
            candidate=trajectory.answer.text if trajectory.answer else "",
            exact=score.answer_score,
        )
        for score, trajectory in zip(row.scores, trajectories, strict=True)
        if score.true_values and score.error is None
    }


async def judge_cell(row: CellResult, rubric: Rubric, judge: Judge, name: str) -> list[Verdict]:
    """Judge every answer of a cell, as the model ``name``, and write the verdicts down in place of earlier ones."""
    cases = cases_of(row)
    verdicts = await verdicts_of(judge, list(cases.values()))
    rows = (
        JudgedEpisode(instance_id=instance_id, run=run, judge=name, verdict=verdict)
        for (instance_id, run), verdict in zip(cases, verdicts, strict=True)
    )
    write_jsonl(row.folder / _file(rubric), rows)
    return verdicts


def judged(cells: Sequence[CellResult], rubric: Rubric) -> tuple[list[CellResult], Protocol]:
    """The cells with judged scores, and the protocol that averages them. Raises :class:`ArtifactError` for answers not judged."""
    found, every = [], list[JudgedEpisode]()
    for row in cells:
        path = row.folder / _file(rubric)
        episodes = list(read_jsonl(path, JudgedEpisode)) if path.exists() else []
        verdicts = {(kept.instance_id, kept.run): kept.verdict for kept in episodes}
        if any(score.true_values and not score.error and (score.instance_id, score.run) not in verdicts for score in row.scores):
            raise ArtifactError(f"{row.cell.name} has answers that are not judged: run `fusesearch judge --rubric {rubric.name}`")
        scores: list[Score] = []
        for score in row.scores:
            verdict = verdicts.get((score.instance_id, score.run), Verdict(key=""))
            figures = {"judge_grade": verdict.grade, "judge_share": verdict.share, "judge_points": verdict.points}
            scores.append(JudgedScore(**score.model_dump(), **figures))
        found.append(replace(row, scores=scores))
        every += episodes
    columns = (mean("judge_grade"), mean("judge_share"), *(_points(name, rubric) for name in rubric.dimensions))
    judges, failed = ", ".join(dict.fromkeys(kept.judge for kept in every)), sum(kept.verdict.share is None for kept in every)
    source = f"{rubric.name}: answers as {judges} judged them; {failed} of {len(every)} verdicts failed and are in no mean"
    headline = ("judge_grade", "judge_share")
    return found, Protocol(rubric.name, source, lambda truth: True, columns, headline, questions=True)


def _points(dimension: str, rubric: Rubric) -> Statistic:
    def parts(score: Score) -> tuple[float, float] | None:
        points = score.judge_points if isinstance(score, JudgedScore) else {}
        return (points[dimension] / rubric.highest, 1.0) if dimension in points else None

    return ratio(f"judge_{dimension}", parts)


def _file(rubric: Rubric) -> str:
    return f"judged-{rubric.name}.jsonl"
