"""FuseSearch: a model, three tools, several calls per turn (FuseSearch section 3.1)."""

from __future__ import annotations

from tasks.agents.loop import OnEvent, run_episode
from tasks.agents.models.base import Model, Sampling
from tasks.core.config import Agent, Tools
from tasks.core.schema import Instance, Trajectory
from tasks.search.repository import Repository
from tasks.search.tools import Toolbox


class FuseSearchLocalizer:
    """The multi-turn parallel loop around any model.

    ``agent`` and ``tools`` are the limits of an episode; ``sampling`` is greedy where it is not given; ``guidance``
    is the number of calls per turn a teacher is asked for.
    """

    def __init__(
        self,
        model: Model,
        agent: Agent,
        tools: Tools,
        *,
        sampling: Sampling | None = None,
        guidance: int | None = None,
        name: str = "fusesearch",
        on_event: OnEvent | None = None,
    ) -> None:
        self.name = name
        self.model = model
        self.agent = agent
        self.tools = tools
        self.sampling = sampling or Sampling(max_new_tokens=agent.max_new_tokens)
        self.guidance = guidance
        self.on_event = on_event

    async def localize(self, instance: Instance, repository: Repository, seed: int | None = None) -> Trajectory:
        """One episode; see :func:`tasks.agents.loop.run_episode` for how failures are told."""
        return await run_episode(
            instance,
            Toolbox(repository, self.tools),
            self.model,
            self.agent,
            self.sampling.seeded(seed),
            localizer=self.name,
            guidance=self.guidance,
            on_event=self.on_event,
        )
