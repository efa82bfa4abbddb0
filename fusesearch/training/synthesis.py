"""Candidate trajectories from a teacher, several per instance, each with its own guided breadth (FuseSearch 3.3).

The guidance is drawn by seed from ``synthesize.calls_per_turn``; the teacher sees it, the student never does. The
default teacher is the lexical policy, which follows it; a model behind any OpenAI-compatible endpoint works too, or one that
vLLM serves for the stage (``teacher.model``).
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path

from fusesearch.agents.loop import run_episode
from fusesearch.agents.models.base import Model, Sampling
from fusesearch.agents.models.openai_compatible import OpenAICompatibleModel
from fusesearch.core.config import Params, Synthesize, Teacher
from fusesearch.core.errors import ConfigError, InfrastructureError
from fusesearch.core.schema import Instance, Trajectory
from fusesearch.core.storage import Journal, Progress, silent
from fusesearch.evaluation.harness import save_episodes
from fusesearch.localizers.episodes import make_episode
from fusesearch.localizers.lexical.compact import plan_for
from fusesearch.localizers.lexical.localizer import LexicalModel
from fusesearch.search.repository import Repository
from fusesearch.training.served import served

TEMPERATURE = 0.7
"""Of the teacher."""


@dataclass(frozen=True)
class Candidate:
    """One episode to make: the instance, its number there, the guided calls per turn, the sampling seed.

    ``answers`` and ``turns`` are the most functions that the lexical teacher names and the most turns that it takes;
    None leaves them to its plan.
    """

    instance: Instance
    number: int
    guidance: int
    seed: int
    answers: int | None = None
    turns: int | None = None

    @property
    def key(self) -> str:
        """Key in the journal."""
        return f"{self.instance.instance_id}#{self.number}"


def draw(instances: Iterable[Instance], section: Synthesize, seed: int) -> list[Candidate]:
    """``per_instance`` candidates for each instance, with distinct guidance as far as the range allows.

    An instance's candidates depend only on the seed and its id, so that new instances do not change the others.
    """
    return [candidate for instance in instances for candidate in _draw_one(instance, section, seed)]


def _draw_one(instance: Instance, section: Synthesize, seed: int) -> Iterator[Candidate]:
    low, high = section.calls_per_turn
    rng = random.Random(f"{seed}/{instance.instance_id}")
    guidance: list[int] = []
    while len(guidance) < section.per_instance:
        guidance += rng.sample(range(low, high + 1), high - low + 1)
    for number, calls in enumerate(guidance[: section.per_instance]):
        sampled = rng.getrandbits(31)
        answers, turns = (rng.randint(*bounds) if bounds else None for bounds in (section.answers, section.turns))
        yield Candidate(instance, number, calls, sampled, answers, turns)


def synthesize(
    candidates: Sequence[Candidate],
    params: Params,
    snapshot: Callable[[Instance], Repository],
    journal: Journal,
    progress: Progress = silent,
    out: Path = Path(),
) -> list[Trajectory]:
    """Make the candidates that ``journal`` lacks. Returns all in order; those that kept failing have ``error``.

    ``out`` is for the log of servers that the teacher needs, if it does.

    Raises:
        InfrastructureError: over half of the candidates failed; finished ones stay in the journal.
    """
    with _asked(params.teacher, params, out) as model:
        failed = asyncio.run(_make(candidates, params, model, snapshot, journal, progress))
    if len(failed) * 2 > len(candidates):
        reason = next(iter(failed.values())).error
        raise InfrastructureError(f"the teacher failed on {len(failed)} of {len(candidates)} candidates: {reason}")
    keys = [candidate.key for candidate in candidates]
    return [failed.get(key) or Trajectory.model_validate(journal.rows[key]["trajectory"]) for key in keys]


async def _make(
    candidates: Sequence[Candidate],
    params: Params,
    model: Model | None,
    snapshot: Callable[[Instance], Repository],
    journal: Journal,
    progress: Progress,
) -> dict[str, Trajectory]:
    """Run episodes of the teacher, ``model`` or a script, into the journal. Returns errored ones by key."""
    instances = {candidate.instance.instance_id: candidate.instance for candidate in candidates}
    agent, concurrency = params.agent, params.synthesize.concurrency
    # candidates of one instance share its repository and with it the results of equal calls
    opened = lru_cache(maxsize=concurrency)(lambda name: snapshot(instances[name]))

    async def episode(candidate: Candidate) -> Trajectory:
        made = make_episode(
            candidate.instance,
            opened(candidate.instance.instance_id),
            model or _scripted(candidate, params),
            agent,
            params.tools,
            Sampling(temperature=TEMPERATURE, max_new_tokens=agent.max_new_tokens, seed=candidate.seed),
            localizer="fusesearch" if model else "lexical",
            guidance=candidate.guidance,
        )
        return await run_episode(made)

    try:
        jobs = {candidate.key: partial(episode, candidate) for candidate in candidates}
        return await save_episodes(jobs, journal, concurrency, progress)
    finally:
        if model is not None:
            await model.close()


def _scripted(candidate: Candidate, params: Params) -> Model:
    """The lexical teacher, with the candidate's guidance."""
    if candidate.instance.question:
        raise ConfigError("synthesize: no scripted teacher answers questions: name teacher.model")
    plan = plan_for(params.agent)
    turns = min(candidate.turns or plan.turns, plan.turns)
    plan = replace(plan, functions=candidate.answers or plan.functions, turns=turns, proposal=candidate.number)
    return LexicalModel(candidate.guidance, plan)


@contextmanager
def _asked(teacher: Teacher, params: Params, out: Path) -> Iterator[Model | None]:
    """Gives the teacher's model, for one event loop, or None where a script teaches."""
    if not teacher.model and params.agent.toolset == "reposearcher":
        raise ConfigError("synthesize: no scripted teacher uses the tools of reposearcher: name teacher.model")
    if not teacher.model:
        yield None
    elif teacher.base_url:
        yield OpenAICompatibleModel(teacher.model, teacher.base_url, os.environ.get("OPENAI_API_KEY"))
    else:
        with served(teacher.model, params.compute, out, params.model.dtype) as policy:
            yield policy.model()
