"""The episode factory: synthesis, SFT, GRPO, evaluation and ``localize`` all make their episodes here.

``agent.toolset`` selects the parts of an episode. To add a toolset, write a :class:`Toolset` beside its tools and add a line to
:data:`TOOLSETS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any

from tasks.agents.answers import parse_values
from tasks.agents.loop import CallRunner, Episode, Instructions, OnEvent
from tasks.agents.models.base import Model, Sampling
from tasks.agents.prompts import render_issue, render_system
from tasks.core.config import Agent, Tools
from tasks.core.errors import ConfigError
from tasks.core.schema import Instance, Mode, Score
from tasks.search.repoqa import REPOQA
from tasks.search.repository import Repository
from tasks.search.tools import TOOLS, Toolbox, schemas

TOOLSETS = {
    "fusesearch": "tasks.agents.toolsets:FUSESEARCH",
    "questions": "tasks.agents.toolsets:QUESTIONS",
    "repoqa": "tasks.agents.toolsets:REPO_QA",
    "reposearcher": "tasks.localizers.reposearcher.toolset:REPOSEARCHER",
}
"""Values of ``agent.toolset`` and import paths of their :class:`Toolset`, since most are in layers above this one."""


@dataclass(frozen=True)
class Toolset:
    """The parts of an episode.

    ``open`` returns the tools of an agent over a repository within limits. ``instruct`` writes the instructions for a problem
    statement, including the reader of answers; its last argument is the number of calls per turn that a teacher is asked for,
    which a student never sees. ``schemas`` are the tools as a model's API takes them. ``scorer`` is the import path
    (``module:function``) of the function that scores a trajectory. ``mode``, if given, replaces the agent's. ``questions`` says
    which instances it is for.
    """

    open: Callable[[Repository, Agent, Tools], CallRunner]
    instruct: Callable[[Agent, str, int | None], Instructions]
    schemas: Callable[[], list[dict[str, Any]]]
    scorer: str
    mode: Mode | None = None
    questions: bool = False

    @property
    def score(self) -> Callable[..., Score]:
        """The scorer, with the arguments of :func:`tasks.evaluation.metrics.score_trajectory`."""
        return resolve_name(self.scorer)

    def own(self, instances: Iterable[Instance]) -> list[Instance]:
        """The instances that it is for: questions, or issues. A data set may hold both."""
        return [row for row in instances if (row.truth is not None and row.truth.expected is not None) == self.questions]

    def trainable(self, instances: Iterable[Instance]) -> list[Instance]:
        """Those of :meth:`own` with an exact truth: no open questions, whose answers only a judge can score."""
        own = self.own(instances)
        return [row for row in own if not (row.truth and row.truth.expected and row.truth.expected.kind == "text")]


def toolset_named(name: str) -> Toolset:
    """The toolset called ``name``. Raises :class:`ConfigError` with the known names."""
    if name not in TOOLSETS:
        raise ConfigError(f"agent.toolset {name!r} is unknown: use one of {', '.join(TOOLSETS)}")
    return resolve_name(TOOLSETS[name])


def make_episode(
    instance: Instance,
    repository: Repository,
    model: Model,
    agent: Agent,
    tools: Tools,
    sampling: Sampling,
    *,
    localizer: str,
    guidance: int | None = None,
    on_event: OnEvent | None = None,
) -> Episode:
    """An episode of ``agent.toolset`` for :func:`tasks.agents.loop.run_episode`; ``localizer`` is its name in tables."""
    toolset = toolset_named(agent.toolset)
    if toolset.mode is not None:
        agent = agent.model_copy(update={"mode": toolset.mode})
    return Episode(
        instance=instance,
        runner=toolset.open(repository, agent, tools),
        model=model,
        agent=agent,
        sampling=sampling,
        instructions=toolset.instruct(agent, instance.problem_statement, guidance),
        localizer=localizer,
        guidance=guidance,
        on_event=on_event,
    )


def _instruct(agent: Agent, problem_statement: str, guidance: int | None = None) -> Instructions:
    tools = schemas() if agent.prompt == "full" else []
    return Instructions(render_system(agent, guidance), render_issue(agent, problem_statement), tools)


def _instruct_answerer(agent: Agent, question: str, guidance: int | None, task: str, tools: Mapping[str, Any]) -> Instructions:
    shown = schemas(tools) if agent.prompt == "full" else []
    return Instructions(render_system(agent, guidance, task), render_issue(agent, question), shown, parse_values)


def _toolbox(repository: Repository, agent: Agent, limits: Tools) -> Toolbox:
    return Toolbox(repository, limits)


FUSESEARCH = Toolset(open=_toolbox, instruct=_instruct, schemas=schemas, scorer="tasks.evaluation.metrics:score_trajectory")

QUESTIONS = Toolset(
    open=_toolbox,
    instruct=lambda agent, question, guidance: _instruct_answerer(agent, question, guidance, "questions", TOOLS),
    schemas=schemas,
    scorer="tasks.evaluation.answers:score_answer",
    questions=True,
)
"""Questions with the tools of FuseSearch, several calls per turn."""

REPO_QA = Toolset(
    open=lambda repository, agent, limits: Toolbox(repository, limits, tools=REPOQA),
    instruct=lambda agent, question, guidance: _instruct_answerer(agent, question, None, "repoqa", REPOQA),
    schemas=lambda: schemas(REPOQA),
    scorer="tasks.evaluation.answers:score_answer",
    mode="sequential",
    questions=True,
)
"""RepoQA-Agent: five tools, one call per turn (RepoSearch-R1 section 2.3). Guidance on parallel calls does not apply."""
