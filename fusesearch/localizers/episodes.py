"""The episode factory: synthesis, SFT, GRPO, evaluation and ``localize`` all make their episodes here."""

from __future__ import annotations

from fusesearch.agents.loop import Episode
from fusesearch.agents.models.base import Model, Sampling
from fusesearch.agents.recording import OnEvent
from fusesearch.agents.specs import BOTH, FUSESEARCH, QUESTIONS, REPO_QA, EpisodeSpec
from fusesearch.core.config import Agent, Tools
from fusesearch.core.errors import ConfigError
from fusesearch.core.schema import Instance
from fusesearch.localizers.reposearcher.tools import REPOSEARCHER
from fusesearch.search.repository import Repository

SPECS = {"both": BOTH, "fusesearch": FUSESEARCH, "questions": QUESTIONS, "repoqa": REPO_QA, "reposearcher": REPOSEARCHER}
"""By the names of ``agent.toolset``. :data:`fusesearch.evaluation.environments.ENVIRONMENTS` adds how their episodes score."""


def spec_named(name: str) -> EpisodeSpec:
    """The spec called ``name``. Raises :class:`ConfigError` with the known names."""
    if name not in SPECS:
        raise ConfigError(f"agent.toolset {name!r} is unknown: use one of {', '.join(SPECS)}")
    return SPECS[name]


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
    spec = spec_named(agent.toolset).of(instance.question)
    if spec.mode is not None:
        agent = agent.model_copy(update={"mode": spec.mode})
    return Episode(
        instance=instance,
        runner=spec.open(repository, agent, tools),
        model=model,
        agent=agent,
        sampling=sampling,
        instructions=spec.instruct(agent, instance.problem_statement, guidance),
        localizer=localizer,
        guidance=guidance,
        on_event=on_event,
    )
