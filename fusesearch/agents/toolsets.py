"""The episode factory: synthesis, SFT, GRPO, evaluation and ``localize`` all make their episodes here.

``agent.toolset`` selects the parts of an episode. To add a toolset, write a :class:`Toolset` beside its tools and add a line to
:data:`TOOLSETS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pkgutil import resolve_name
from typing import Any

from fusesearch.agents.answers import parse_values
from fusesearch.agents.loop import CallRunner, Episode, Instructions, OnEvent
from fusesearch.agents.models.base import Model, Sampling
from fusesearch.agents.prompts import render_issue, render_system
from fusesearch.core.config import Agent, Tools
from fusesearch.core.errors import ConfigError
from fusesearch.core.schema import Instance, Mode, Score, Trajectory, Truth
from fusesearch.search.repoqa import REPOQA
from fusesearch.search.repository import Repository
from fusesearch.search.tools import TOOLS, Toolbox, schemas

TOOLSETS = {
    "both": "fusesearch.agents.toolsets:BOTH",
    "fusesearch": "fusesearch.agents.toolsets:FUSESEARCH",
    "questions": "fusesearch.agents.toolsets:QUESTIONS",
    "repoqa": "fusesearch.agents.toolsets:REPO_QA",
    "reposearcher": "fusesearch.localizers.reposearcher.toolset:REPOSEARCHER",
}
"""Values of ``agent.toolset`` and import paths of their :class:`Toolset`, since most are in layers above this one."""


@dataclass(frozen=True)
class Toolset:
    """The parts of an episode.

    ``open`` returns the tools of an agent over a repository within limits. ``instruct`` writes the instructions for a problem
    statement, including the reader of answers; its last argument is the number of calls per turn that a teacher is asked for,
    which a student never sees. ``schemas`` are the tools as a model's API takes them. ``scorer`` is the import path
    (``module:function``) of the function that scores a trajectory. ``mode``, if given, replaces the agent's. ``questions`` says
    which instances it is for, and ``other``, if given, is for those of the other kind.
    """

    open: Callable[[Repository, Agent, Tools], CallRunner]
    instruct: Callable[[Agent, str, int | None], Instructions]
    schemas: Callable[[], list[dict[str, Any]]]
    scorer: str
    mode: Mode | None = None
    questions: bool = False
    other: Toolset | None = None

    def of(self, question: bool | None) -> Toolset:
        """The toolset for a question, or for an issue; :class:`ConfigError` where that is not known and matters."""
        if self.other is None:
            return self
        if question is None:
            raise ConfigError("agent.toolset both is for training: use fusesearch for issues and questions for questions")
        return self if question == self.questions else self.other

    def score(self, trajectory: Trajectory, truth: Truth, **options: Any) -> Score:
        """By the scorer, with the arguments of :func:`fusesearch.evaluation.metrics.score_trajectory`."""
        score: Score = resolve_name(self.of(truth.expected is not None).scorer)(trajectory, truth, **options)
        return score

    def own(self, instances: Iterable[Instance]) -> list[Instance]:
        """The instances that it is for: questions, issues, or all. A data set may hold both."""
        return [row for row in instances if self.other or bool(row.question) == self.questions]

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
    """An episode of ``agent.toolset`` for :func:`fusesearch.agents.loop.run_episode`; ``localizer`` is its name in tables."""
    toolset = toolset_named(agent.toolset).of(instance.question)
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


FUSESEARCH = Toolset(open=_toolbox, instruct=_instruct, schemas=schemas, scorer="fusesearch.evaluation.metrics:score_trajectory")

QUESTIONS = Toolset(
    open=_toolbox,
    instruct=lambda agent, question, guidance: _instruct_answerer(agent, question, guidance, "questions", TOOLS),
    schemas=schemas,
    scorer="fusesearch.evaluation.answers:score_answer",
    questions=True,
)
"""Questions with the tools of FuseSearch, several calls per turn."""

BOTH = replace(FUSESEARCH, other=QUESTIONS)
"""Issues and questions, for one student of both."""

REPO_QA = Toolset(
    open=lambda repository, agent, limits: Toolbox(repository, limits, tools=REPOQA),
    instruct=lambda agent, question, guidance: _instruct_answerer(agent, question, None, "repoqa", REPOQA),
    schemas=lambda: schemas(REPOQA),
    scorer="fusesearch.evaluation.answers:score_answer",
    mode="sequential",
    questions=True,
)
"""RepoQA-Agent: five tools, one call per turn (RepoSearch-R1 section 2.3). Guidance on parallel calls does not apply."""
