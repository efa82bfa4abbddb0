"""LocAgent: an agent that walks a graph of the code (Chen et al., 2025; FuseSearch appendix C, ToolTrain appendix D)."""

from __future__ import annotations

from functools import partial

from fusesearch.agents.loop import Episode, run_episode
from fusesearch.agents.prompts import render, render_issue
from fusesearch.agents.recording import Instructions
from fusesearch.code.names import Namer
from fusesearch.core.schema import Instance, Trajectory
from fusesearch.localizers.base import BaseLocalizer
from fusesearch.localizers.locagent.answers import read_answer
from fusesearch.localizers.locagent.arguments import schemas
from fusesearch.localizers.locagent.tools import GraphTools
from fusesearch.search.repository import Repository


class LocAgentLocalizer(BaseLocalizer):
    """An agent with three tools over a graph of the code."""

    name = "locagent"

    async def localize(self, instance: Instance, repository: Repository, seed: int | None = None) -> Trajectory:
        """One episode; see :func:`fusesearch.agents.loop.run_episode` for failures."""
        issue = render_issue(self.agent, instance.problem_statement)
        system = render(__package__, "system", turns=self.agent.max_turns)
        read = partial(read_answer, namer=Namer(repository))
        episode = Episode(
            instance=instance,
            runner=GraphTools(repository, self.tools, self.caches.graphs),
            model=self.model,
            agent=self.agent,
            sampling=self.sampling.seeded(seed),
            instructions=Instructions(system, issue, schemas(), read),
            localizer=self.name,
            on_event=self.on_event,
        )
        return await run_episode(episode)
