"""LocAgent as a localizer: its tools and its instructions in the one loop."""

from __future__ import annotations

from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from string import Template

from tasks.agents.loop import Instructions, OnEvent, run_episode
from tasks.agents.models.base import Model, Sampling
from tasks.agents.prompts import render_issue
from tasks.code.names import Namer
from tasks.core.config import Agent, Tools
from tasks.core.schema import Instance, Trajectory
from tasks.localizers.locagent.answers import read_answer
from tasks.localizers.locagent.arguments import schemas
from tasks.localizers.locagent.tools import GraphTools
from tasks.search.repository import Repository


class LocAgentLocalizer:
    """An agent with three tools over a graph of the code. ``cache`` is where what graphs are made of is kept."""

    name = "locagent"

    def __init__(
        self,
        model: Model,
        agent: Agent,
        tools: Tools,
        *,
        sampling: Sampling | None = None,
        on_event: OnEvent | None = None,
        cache: Path | None = None,
    ) -> None:
        self.model = model
        self.agent = agent
        self.tools = tools
        self.sampling = sampling or Sampling(max_new_tokens=agent.max_new_tokens)
        self.on_event = on_event
        self.cache = cache

    async def localize(self, instance: Instance, repository: Repository, seed: int | None = None) -> Trajectory:
        """One episode; see :func:`tasks.agents.loop.run_episode` for how failures are told."""
        issue = render_issue(self.agent, instance.problem_statement)
        system = _template("system").substitute(turns=self.agent.max_turns)
        read = partial(read_answer, namer=Namer(repository))
        return await run_episode(
            instance,
            GraphTools(repository, self.tools, self.cache),
            self.model,
            self.agent,
            self.sampling.seeded(seed),
            localizer=self.name,
            instructions=Instructions(system, issue, schemas(), read),
            on_event=self.on_event,
        )


@cache
def _template(name: str) -> Template:
    return Template(files(__package__).joinpath(f"{name}.md").read_text(encoding="utf-8").strip())
