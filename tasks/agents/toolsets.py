"""The episode factory: synthesis, SFT, GRPO, evaluation and ``localize`` all make their episodes here.

``agent.toolset`` names what an episode is made of. To add a toolset, write a :class:`Toolset` beside its tools and one line in
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
"""The values of ``agent.toolset``, and where each :class:`Toolset` is: a name, since most belong to a layer above this one."""


@dataclass(frozen=True)
class Toolset:
    """What an episode is made of.

    ``open`` gives the tools over a repository within limits. ``instruct`` writes the instructions for a problem statement, among
    them the reader of answers; its last argument is the number of calls per turn a teacher is asked for, which a student never
    sees. ``scorer`` is where the function is that scores a trajectory against a truth, as ``module:function``.
    """

    open: Callable[[Repository, Tools], CallRunner]
    instruct: Callable[[Agent, str, int | None], Instructions]
    scorer: str

    @property
    def score(self) -> Callable[..., Score]:
        """The scorer; :func:`tasks.evaluation.metrics.score_trajectory` has its arguments."""
        return resolve_name(self.scorer)


def toolset_named(name: str) -> Toolset:
    """The toolset. Raises :class:`ConfigError` that lists the names."""
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
    """An episode of ``agent.toolset`` for :func:`tasks.agents.loop.run_episode`; ``localizer`` is what tables call it."""
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
