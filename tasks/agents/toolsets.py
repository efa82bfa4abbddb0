"""The episode factory: synthesis, SFT, GRPO, evaluation and ``localize`` all make their episodes here.

``agent.toolset`` selects the parts of an episode. To add a toolset, write a :class:`Toolset` beside its tools and add a line to
:data:`TOOLSETS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pkgutil import resolve_name

from tasks.agents.loop import CallRunner, Episode, Instructions, OnEvent
from tasks.agents.models.base import Model, Sampling
from tasks.agents.prompts import render_issue, render_system
from tasks.core.config import Agent, Tools
from tasks.core.errors import ConfigError
from tasks.core.schema import Instance, Score
from tasks.search.repository import Repository
from tasks.search.tools import Toolbox, schemas

TOOLSETS = {
    "fusesearch": "tasks.agents.toolsets:FUSESEARCH",
}
"""Values of ``agent.toolset`` and import paths of their :class:`Toolset`, since most are in layers above this one."""


@dataclass(frozen=True)
class Toolset:
    """The parts of an episode.

    ``open`` returns the tools over a repository within limits. ``instruct`` writes the instructions for a problem statement,
    including the reader of answers; its last argument is the number of calls per turn that a teacher is asked for, which a
    student never sees. ``scorer`` is the import path (``module:function``) of the function that scores a trajectory.
    """

    open: Callable[[Repository, Tools], CallRunner]
    instruct: Callable[[Agent, str, int | None], Instructions]
    scorer: str

    @property
    def score(self) -> Callable[..., Score]:
        """The scorer, with the arguments of :func:`tasks.evaluation.metrics.score_trajectory`."""
        return resolve_name(self.scorer)


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
    return Episode(
        instance=instance,
        runner=toolset.open(repository, tools),
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


FUSESEARCH = Toolset(open=Toolbox, instruct=_instruct, scorer="tasks.evaluation.metrics:score_trajectory")
