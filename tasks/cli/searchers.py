"""Which model searches, with which limits: the choice behind the options of ``fusesearch localize``."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tasks.agents.loop import OnEvent
from tasks.agents.models.base import Model
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


def choose(
    *,
    model: str | None,
    base_url: str | None,
    settings: Path | None,
    checkpoint: Path | None,
    localizer: str | None = None,
    calls_per_turn: int,
    mode: str,
    max_turns: int | None,
) -> Searcher:
    """The searcher the options ask for; lexical when they name neither a model nor a localizer."""
    changes: dict[str, Any] = {"mode": mode} | ({"max_turns": max_turns} if max_turns else {})
    if checkpoint is not None:
        return _from_checkpoint(localizer or "fusesearch", checkpoint, changes)
    if model is not None and base_url is not None:
        return _from_endpoint(localizer or "fusesearch", model, base_url, settings, changes)
    return Searcher(localizer or "lexical", None, Agent.model_validate(changes | {"max_calls_per_turn": calls_per_turn}), Tools())


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


def _from_checkpoint(localizer: str, checkpoint: Path, changes: dict[str, Any]) -> Searcher:
    if not (checkpoint / "config.json").is_file():
        raise ArtifactError(
            f"{checkpoint} holds no checkpoint (no config.json): train one with `make reproduce`, or name another"
        )
    from transformers.utils import logging

    from tasks.agents.models.transformers import TransformersModel

    logging.disable_progress_bar()  # loading takes a second; its bar would stand between stderr and who reads errors there
    logging.set_verbosity_error()
    tools, agent = settings_of(checkpoint)
    return Searcher(localizer, TransformersModel.load(checkpoint), _changed(agent, changes), tools)


def _from_endpoint(localizer: str, model: str, base_url: str, settings: Path | None, changes: dict[str, Any]) -> Searcher:
    """The endpoint with few tries: a person waits for the answer."""
    from tasks.agents.models.openai_compatible import OpenAICompatibleModel

    if settings is not None and not (settings / SETTINGS).is_file():
        raise ArtifactError(f"{settings} holds no {SETTINGS}: name the directory of the checkpoint that the endpoint serves")
    tools, agent = settings_of(settings) if settings else (Tools(), Agent())
    endpoint = OpenAICompatibleModel(model, base_url, api_key=os.environ.get("OPENAI_API_KEY"), retries=3)
    return Searcher(localizer, endpoint, _changed(agent, changes), tools)


def _changed(agent: Agent, changes: dict[str, Any]) -> Agent:
    return Agent.model_validate(agent.model_dump() | changes)
