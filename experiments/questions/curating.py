"""Curates open questions: rewrites what people wrote, as CoReQA does, and keeps what is neither easy nor hopeless.

The papers give no numbers for either step; those here are ours.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from string import Template

from fusesearch.agents.loop import run_episodes
from fusesearch.agents.models.base import Message, Model, Sampling
from fusesearch.core.digests import digest
from fusesearch.core.errors import ArtifactError, InfrastructureError
from fusesearch.core.schema import Instance, Record, Score
from fusesearch.core.storage import Journal, read_text
from fusesearch.evaluation.judged import JudgedScore
from fusesearch.evaluation.judges import CONCURRENCY, MAX_CHARS, Case, Judge
from fusesearch.evaluation.results import CellResult

SAMPLES = 3
TEMPERATURE = 0.7
SOLVED = 0.8
"""Grade from which an answer counts as right."""
PROMPT = Template(read_text(Path(__file__).with_name("rewrite.md")).strip())
"""The request to rewrite a question and its answer."""

_FORM = re.compile(r"^## Question\s*\n(.+?)\n## Answer\s*\n(.+)$", re.DOTALL | re.MULTILINE)


class Rewriting(Record):
    """A question and its answer in other words; without them, ``reason`` says why."""

    key: str
    question: str = ""
    answer: str = ""
    reason: str | None = None


async def rewrite(
    instances: Sequence[Instance], model: Model, judge: Judge, journal: Journal, drops: Counter[str]
) -> list[Instance]:
    """The open questions among ``instances``, each rewritten; what it was stays under ``original`` in the provenance.

    A rewriting is kept if the judge finds that its answer agrees with that of another sample. Failures of the model are counted
    in ``drops`` and asked again next time; all else is kept in ``journal``.
    """

    async def one(instance: Instance) -> tuple[Instance, Rewriting]:
        return instance, await _rewritten(instance, model, judge, journal)

    jobs = [partial(one, instance) for instance in instances if _reference(instance) is not None]
    found = {instance.instance_id: (instance, row) async for instance, row in run_episodes(jobs, CONCURRENCY)}
    kept = []
    for instance, row in (found[each.instance_id] for each in instances if each.instance_id in found):
        if row.reason is not None or instance.truth is None or instance.truth.expected is None:
            drops[row.reason or ""] += 1
            continue
        expected = instance.truth.expected.model_copy(update={"values": [row.answer]})
        original = {"question": instance.problem_statement, "answer": _reference(instance)}
        changed = {
            "problem_statement": row.question,
            "truth": instance.truth.model_copy(update={"expected": expected}),
            "provenance": {**instance.provenance, "original": original},
        }
        kept.append(instance.model_copy(update=changed))
    return kept


async def _rewritten(instance: Instance, model: Model, judge: Judge, journal: Journal) -> Rewriting:
    question, answer = instance.problem_statement[:MAX_CHARS], (_reference(instance) or "")[:MAX_CHARS]
    prompt = PROMPT.substitute(question=question, answer=answer, fence=f"=== {digest(question, answer)[:16]} ===")
    key = digest(model.name, prompt)
    if key in journal:
        return Rewriting.model_validate(journal.rows[key])
    samples = []
    for number in range(SAMPLES):
        try:
            sampling = Sampling(temperature=TEMPERATURE, max_new_tokens=2048, seed=number)
            reply = await model.complete([Message(role="user", content=prompt)], [], sampling)
        except InfrastructureError:
            return Rewriting(key=key, reason="the model failed")
        if form := _FORM.search(reply.text.strip()):
            samples.append((form[1].strip(), form[2].strip()))
    row, failed = Rewriting(key=key, reason="no two rewritings agree"), False
    for (asked, said), (_, other) in combinations(samples, 2):
        case = Case(instance_id=instance.instance_id, question=asked, reference=said, candidate=other)
        verdict = await judge.judge(case)
        failed = failed or verdict.grade is None
        if (verdict.grade or 0.0) >= SOLVED:
            row = Rewriting(key=key, question=asked, answer=said)
            break
    if row.reason is not None and failed:
        return Rewriting(key=key, reason="the judge failed")
    journal.append(row)
    return row


def _reference(instance: Instance) -> str | None:
    """The reference answer of an open question; None for any other instance."""
    expected = instance.truth.expected if instance.truth else None
    return expected.values[0] if expected and expected.kind == "text" else None


def calibrated(
    instances: Iterable[Instance], cells: Sequence[CellResult], weak: Sequence[str], strong: Sequence[str], drops: Counter[str]
) -> list[Instance]:
    """The questions that no weak system solved in any run, and, if there are strong ones, that one of those solved.

    ``weak`` and ``strong`` name systems as tables do. A question without any grade of the weak ones is dropped. Raises
    :class:`ArtifactError` for a name that no cell has.
    """
    known = {row.cell.system for row in cells} | {row.cell.localizer for row in cells}
    if unknown := sorted({*weak, *strong} - known):
        raise ArtifactError(f"no cell of {', '.join(unknown)}: use some of {', '.join(sorted(known))}")
    easy, hard = _grades(cells, weak), _grades(cells, strong)
    kept = []
    for instance in instances:
        name = instance.instance_id
        if name not in easy:
            drops["no grade of a weak system"] += 1
        elif max(easy[name]) >= SOLVED:
            drops["a weak system solves it"] += 1
        elif strong and max(hard.get(name, [0.0])) < SOLVED:
            drops["no strong system solves it"] += 1
        else:
            kept.append(instance)
    return kept


def _grades(cells: Sequence[CellResult], systems: Sequence[str]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for row in cells:
        if row.cell.system in systems or row.cell.localizer in systems:
            for score in row.scores:
                if (grade := _grade(score)) is not None:
                    found.setdefault(score.instance_id, []).append(grade)
    return found


def _grade(score: Score) -> float | None:
    """A judge's grade, or the exact score of a question that has one."""
    return score.judge_grade if isinstance(score, JudgedScore) and score.family == "open" else score.answer_score
