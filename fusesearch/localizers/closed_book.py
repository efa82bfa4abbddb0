"""The answerer ``closed-book``: what a model says without the code (naive generation of RepoSearch-R1, section 4.3)."""

from __future__ import annotations

from dataclasses import replace

from fusesearch.agents.answers import parse_values
from fusesearch.agents.loop import run_episode
from fusesearch.agents.prompts import render_issue, render_system
from fusesearch.agents.recording import Instructions
from fusesearch.core.schema import Instance, Trajectory
from fusesearch.localizers.base import BaseLocalizer
from fusesearch.localizers.episodes import make_episode
from fusesearch.search.repository import Repository


class ClosedBookLocalizer(BaseLocalizer):
    """One request, without tools and without the repository."""

    name = "closed-book"

    async def localize(self, instance: Instance, repository: Repository, seed: int | None = None) -> Trajectory:
        """The model's answer; a message with calls ends the episode without one."""
        agent = self.agent.model_copy(update={"max_turns": 1})
        episode = make_episode(
            instance, repository, self.model, agent, self.tools, self.sampling.seeded(seed),
            localizer=self.name, on_event=self.on_event,
        )  # fmt: skip
        system = render_system(agent, task="closed")
        instructions = Instructions(system, render_issue(agent, instance.problem_statement), [], parse_values)
        return await run_episode(replace(episode, agent=agent, instructions=instructions))
