"""Which model searches, with which limits: the choice behind the options of ``fusesearch localize``."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from tasks.agents.loop import OnEvent
from tasks.agents.models.base import Model
from tasks.agents.models.loading import load_model
from tasks.cli.choices import SearchOptions
from tasks.core.config import Agent, Tools
from tasks.core.errors import ArtifactError, DataError
from tasks.core.schema import Instance, Trajectory
from tasks.core.storage import read_json
from tasks.localizers.base import Setup
from tasks.localizers.registry import make_localizer
from tasks.pipeline.layout import GRAPHS
from tasks.search.repository import Repository

SETTINGS = "fusesearch.json"
"""Written beside a checkpoint by training: the tool limits and loop settings it was trained with."""


@dataclass(frozen=True)
class Searcher:
    """A localizer by its name, the model it asks if it asks one, and the limits under which it searches."""

    name: str
    model: Model | None
    agent: Agent
    tools: Tools

    async def run(self, instance: Instance, repository: Repository, on_event: OnEvent) -> Trajectory:
        """One greedy episode; the model is closed afterwards, also when it is interrupted."""
        try:
            return await self.search(instance, repository, on_event)
        finally:
            await self.close()

    async def search(self, instance: Instance, repository: Repository, on_event: OnEvent) -> Trajectory:
        """One greedy episode; the model stays open for others, which may run at the same time."""
        setup = Setup(self.model, self.agent, self.tools, on_event=on_event, graphs=GRAPHS)
        return await make_localizer(self.name, setup).localize(instance, repository)

    async def close(self) -> None:
        """Close the model, if there is one."""
        if self.model is not None:
            await self.model.close()


def choose(options: SearchOptions) -> Searcher:
    """The searcher the options ask for; lexical when they name neither a model nor a localizer."""
    changes = {"mode": options.mode} | ({"max_turns": options.max_turns} if options.max_turns else {})
    name = options.localizer or ("fusesearch" if options.model or options.checkpoint else "lexical")
    if options.checkpoint is not None:
        tools, agent = settings_of(options.checkpoint)
        model = load_model(checkpoint=options.checkpoint)
    elif options.model is not None:
        if options.settings is not None and not (options.settings / SETTINGS).is_file():
            raise ArtifactError(f"{options.settings} holds no {SETTINGS}: name the directory of the checkpoint that is served")
        tools, agent = settings_of(options.settings) if options.settings else (Tools(), Agent())
        key = os.environ.get("OPENAI_API_KEY")
        model = load_model(options.model, options.base_url or "", api_key=key, retries=3)  # few, since a person waits
    else:
        model, tools, agent = None, Tools(), Agent(max_calls_per_turn=options.calls_per_turn)
    return Searcher(name, model, Agent.model_validate(agent.model_dump() | changes), tools)


def instance_of(name: str, issue: str) -> Instance:
    """The task to find what ``issue`` is about in the tree called ``name``. Raises :class:`DataError` when it is empty."""
    if not issue.strip():
        raise DataError("the issue is empty")
    return Instance(instance_id=name, repo=name, base_commit="", problem_statement=issue)


def settings_of(checkpoint: Path) -> tuple[Tools, Agent]:
    """Tool limits and loop settings saved beside a checkpoint; the full profile's where none are.

    Raises :class:`ArtifactError` when they are malformed.
    """
    path = checkpoint / SETTINGS
    data = read_json(path) if path.is_file() else {}
    try:
        given = ({k: v for k, v in data.get(section, {}).items() if v is not None} for section in ("tools", "agent"))
        return Tools.model_validate(next(given)), Agent.model_validate(next(given))
    except (AttributeError, ValidationError) as error:
        raise ArtifactError(f"{path} does not hold tool limits and loop settings: {error}") from None
