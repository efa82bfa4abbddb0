"""Who searches, and with which limits: what ``fusesearch localize``, the MCP server and the Python API choose from."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, make_dataclass, replace
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from fusesearch.agents.models.base import Model, Sampling
from fusesearch.agents.recording import OnEvent
from fusesearch.core.config import Agent, Tools
from fusesearch.core.errors import (
    ArtifactError,
    ConfigError,
    DataError,
    InfrastructureError,
    OptionError,
    first_fault,
)
from fusesearch.core.schema import Answer, Instance, Trajectory
from fusesearch.core.storage import read_json
from fusesearch.localizers.base import Setup
from fusesearch.localizers.located import with_lines
from fusesearch.localizers.order import FILES
from fusesearch.localizers.registry import LOCALIZERS, OWN, WITHOUT_MODEL, asks_model, entry_of, make_localizer, refusals
from fusesearch.search.repository import Repository

if TYPE_CHECKING:
    from fusesearch.agents.models.dialect import ToolFormat

T = TypeVar("T")
SETTINGS = "fusesearch.json"
"""Written beside a checkpoint by training: the tool limits and loop settings it was trained with."""
_WITHIN, _FILTERS = "fusesearch.localizers.ranker.within:within", "fusesearch.localizers.ranker.within:FILTERS"
"""Imported when used: GRPO reads settings here, and the ranker's code decides nothing of what it trains."""
GONE = {"sure", "timeout_seconds", "encoder", "query_prefix"}
"""Settings that the file of an older checkpoint can have and that mean nothing any more."""

_Own: Any = make_dataclass("_Own", [(name, "str | None", None) for name in OWN], frozen=True)


@dataclass(frozen=True)
class SearchOptions(_Own):
    """A localizer and its model, checked when made; ``WITHOUT_MODEL`` if neither is named.

    ``model`` is one that ``base_url`` serves (``OPENAI_BASE_URL`` if empty; ``OPENAI_API_KEY`` is its key), ``checkpoint``
    a folder. ``settings`` is the folder of the checkpoint that an endpoint serves: its prompt and limits. ``tool_format`` is how
    the endpoint gets tools (:class:`~fusesearch.agents.models.openai_compatible.OpenAICompatibleModel`), else what it takes.
    ``top`` is the ranker's, what :data:`~fusesearch.localizers.registry.OWN` names is other localizers'; ``pre_search``,
    ``max_turns`` and ``max_new_tokens`` are by default those of the checkpoint.

    Raises :class:`OptionError` for an unknown localizer, two models, a model where none is asked or none where one is, an option
    of models without one, and a model without the address of its endpoint.
    """

    model: str | None = None
    base_url: str | None = None
    settings: Path | None = None
    checkpoint: str | Path | None = None
    localizer: str | None = None
    max_turns: int | None = None
    max_new_tokens: int | None = None
    top: int | None = None
    pre_search: str | None = None
    tool_format: ToolFormat | None = None

    def __post_init__(self) -> None:
        try:
            asked = asks_model(self.localizer) if self.localizer else None
        except ConfigError as error:
            raise OptionError("localizer", str(error)) from None
        if self.localizer in LOCALIZERS and LOCALIZERS[self.localizer].bound:
            raise OptionError("localizer", f"{self.localizer} is a bound, for measuring others: only evaluate runs it")
        if self.model and self.checkpoint:
            raise OptionError("checkpoint", "a model and a checkpoint exclude each other: choose one")
        given = "model" if self.model else "checkpoint" if self.checkpoint else None
        if asked and not given:
            raise OptionError("localizer", f"{self.localizer} asks a model: name a model or a checkpoint")
        if given and asked is False:
            raise OptionError("localizer", f"{self.localizer} asks no model: leave out the {given}")
        kinds = {"endpoint", "model"} if self.model else {"model"} if self.checkpoint else set()
        for option, said in refusals(self.chosen, kinds, vars(self)):
            raise OptionError(option.replace("_", "-"), said)
        if self.model and not self.address.startswith(("http://", "https://")):
            raise OptionError("base-url", "a model needs the address of its endpoint, for example http://localhost:8000/v1")

    @property
    def chosen(self) -> str:
        """The localizer that is named, or else the one for a model, or for none."""
        return self.localizer or ("fusesearch" if self.model or self.checkpoint else WITHOUT_MODEL)

    @property
    def address(self) -> str:
        """Where the model is served."""
        return self.base_url or os.environ.get("OPENAI_BASE_URL", "")


@dataclass(frozen=True)
class Searcher:
    """A localizer by its name, the model it asks if it asks one, and the limits under which it searches."""

    name: str
    model: Model | None
    agent: Agent
    tools: Tools
    top: int | None = None

    async def run(self, instance: Instance, repository: Repository, on_event: OnEvent | None = None) -> Trajectory:
        """One episode; the model is closed afterwards, also when it is interrupted."""
        try:
            return await self.search(instance, repository, on_event)
        finally:
            await self.close()

    async def search(self, instance: Instance, repository: Repository, on_event: OnEvent | None = None) -> Trajectory:
        """One episode; the model stays open for others, which may run at the same time."""
        sampling = Sampling(max_new_tokens=self.agent.max_new_tokens)
        setup = Setup(
            self.model,
            self.agent,
            self.tools,
            sampling,
            on_event,
            top=(self.top or FILES) if self.name == WITHOUT_MODEL else None,
        )
        return await make_localizer(self.name, setup).localize(instance, repository)

    def answering(self, toolset: str = "questions") -> Searcher:
        """The same model and limits for questions."""
        return replace(self, name="fusesearch", agent=self.agent.model_copy(update={"toolset": toolset}))

    async def close(self) -> None:
        """Close the model, if there is one."""
        if self.model is not None:
            await self.model.close()


def choose(options: SearchOptions) -> Searcher:
    """The searcher for issues; ``WITHOUT_MODEL`` if neither a model nor a localizer is named.

    Raises :class:`OptionError` for a localizer that answers questions alone.
    """
    if options.localizer in LOCALIZERS and not LOCALIZERS[options.localizer].issues:
        raise OptionError("localizer", f"{options.localizer} answers questions alone: see `fusesearch ask`")
    return _chosen(options)


def _chosen(options: SearchOptions) -> Searcher:
    given = {name: getattr(options, name) for name in ("max_turns", "pre_search", "max_new_tokens")}
    changes: dict[str, Any] = {name: value for name, value in given.items() if value}
    if own := {name: value for name in entry_of(options.chosen).needs if (value := getattr(options, name))}:
        changes["options"] = own
    model: Model | None = None
    if options.checkpoint is not None:
        from fusesearch.agents.models.transformers import TransformersModel

        tools, agent = settings_of(Path(options.checkpoint))
        model = TransformersModel.load(options.checkpoint)
    elif options.model is not None:
        from fusesearch.agents.models.openai_compatible import OpenAICompatibleModel

        if options.settings is not None and not (options.settings / SETTINGS).is_file():
            raise ArtifactError(f"{options.settings} holds no {SETTINGS}: name the directory of the checkpoint that is served")
        tools, agent = settings_of(options.settings) if options.settings else (Tools(), Agent(reminder=True))
        key = os.environ.get("OPENAI_API_KEY")
        form = options.tool_format or "auto"
        model = OpenAICompatibleModel(options.model, options.address, key, tool_format=form, retries=3)  # few: a person waits
    else:
        tools, agent = Tools(), Agent(max_calls_per_turn=4)
    agent = Agent.model_validate(agent.model_dump() | changes)
    return Searcher(options.chosen, model, agent, tools, options.top)


def choose_answerer(options: SearchOptions, toolset: str = "questions") -> Searcher:
    """As :func:`choose`, for questions. Raises :class:`OptionError` without a model, or for a localizer that answers none."""
    answerers = [name for name, entry in LOCALIZERS.items() if entry.questions and entry.asks_model]
    if options.localizer and options.localizer not in answerers:
        raise OptionError("localizer", f"{options.localizer} answers no questions: use one of {', '.join(answerers)}")
    if not (options.model or options.checkpoint):
        instead = "`fusesearch context NAME` shows where a name is defined, who calls it and which tests name it"
        raise OptionError("model", f"a question needs a model or a checkpoint; without one, {instead}")
    searcher = _chosen(options).answering(toolset)
    return replace(searcher, name=options.localizer) if options.localizer else searcher


def instance_of(name: str, issue: str, what: str = "issue") -> Instance:
    """The task of ``issue``, or of another text, in the tree called ``name``. Raises :class:`DataError` when it is empty."""
    if not issue.strip():
        raise DataError(f"the {what} is empty")
    return Instance(instance_id=name, repo=name, base_commit="", problem_statement=issue)


def settings_of(checkpoint: Path) -> tuple[Tools, Agent]:
    """Tool limits and loop settings saved beside a checkpoint; the full profile's where none are.

    Raises :class:`ArtifactError` when they are malformed, saying what to do.
    """
    from fusesearch.localizers.episodes import spec_named

    path = checkpoint / SETTINGS
    advice = "get the checkpoint again, or delete the file to search with the usual limits"
    try:
        data = read_json(path) if path.is_file() else {}
        tools, agent = Tools.model_validate(_known(data, "tools")), Agent.model_validate(_known(data, "agent"))
        spec_named(agent.toolset)
    except (ArtifactError, ConfigError) as error:
        raise ArtifactError(f"{error}: {advice}" if str(path) in str(error) else f"{path}: {error}: {advice}") from None
    except (AttributeError, ValidationError) as error:
        reason = first_fault(error) if isinstance(error, ValidationError) else "it is not a JSON object"
        raise ArtifactError(f"{path} does not hold tool limits and loop settings ({reason}): {advice}") from None
    return tools, agent


def _known(data: Any, section: str) -> dict[str, Any]:
    """The settings of a section that have a value, without those of older versions."""
    return {name: value for name, value in data.get(section, {}).items() if value is not None and name not in GONE}


def localize(repo: str | Path, issue: str, **options: Any) -> Answer:
    """The files and functions of ``issue`` (its text) in the directory ``repo``, most likely first, as on the command line.

    ``options`` are those of :class:`SearchOptions`: ``localizer``, ``model`` with ``base_url``, ``checkpoint``, ``top``, ...;
    and those that say which files may be named: ``path``, ``lang``, ``since``, ``no_tests``
    (:func:`fusesearch.localizers.ranker.within.within`).
    ``answer.places`` has the ranker's files, at most five or ``top`` of them, each with its best functions; it is empty where the
    issue says too little to go on. ``answer.modify`` is the set to modify. Of a question, a phrase or one word ``answer.kind`` is
    ``search``: the best places, without a confidence.
    Nothing in the directory is changed or run. :func:`localize_async` is the same for programs with an event loop.

    Raises:
        OptionError: an unknown localizer, or a model that it does not ask or lacks.
        RepositoryError: the directory cannot be read.
        InfrastructureError: the model's endpoint failed.
    """
    return _finished(localize_async(repo, issue, **options))


async def localize_async(repo: str | Path, issue: str, **options: Any) -> Answer:
    """:func:`localize` for programs with an event loop; a model may answer several at once."""
    filters = {name: options.pop(name) for name in resolve_name(_FILTERS) if name in options}
    searcher = choose(SearchOptions(**options))
    repository = resolve_name(_WITHIN)(Repository(Path(repo)), **filters)
    return with_lines(await _answer(searcher, repository, issue, "issue"), repository)


async def _answer(searcher: Searcher, repository: Repository, text: str, what: str) -> Answer:
    trajectory = await searcher.run(instance_of(repository.root.name, text, what), repository)
    if trajectory.error is not None:
        raise InfrastructureError(trajectory.error)
    return trajectory.answer or Answer()


def _finished(work: Coroutine[Any, Any, T]) -> T:
    """The result of ``work``, also inside an event loop, such as a notebook's: then another thread runs it."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


def ask(repo: str | Path, question: str, **options: Any) -> Answer:
    """The answer of a model to ``question`` about the directory ``repo``, as on the command line; see :func:`localize`.

    ``answer.values`` are its entries, ``answer.text`` says it in words. Raises :class:`OptionError` without a model.
    """
    searcher = choose_answerer(SearchOptions(**options))
    return _finished(_answer(searcher, Repository(Path(repo)), question, "question"))
