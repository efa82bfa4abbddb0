"""Every localizer by its name, made from the same few things; the imports of one cost nothing while another is used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tasks.core.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from tasks.agents.loop import OnEvent
    from tasks.agents.models.base import Model, Sampling
    from tasks.core.config import Agent, Tools
    from tasks.localizers.base import Localizer


def _agent() -> Agent:
    from tasks.core.config import Agent

    return Agent()


def _tools() -> Tools:
    from tasks.core.config import Tools

    return Tools()


@dataclass(frozen=True)
class Equipment:
    """What a localizer may need. ``model`` is None for those that use none; ``sampling`` holds temperature and length.

    ``graphs`` is the folder that keeps what code graphs are made of; without one they are built again in every process.
    """

    model: Model | None = None
    agent: Agent = field(default_factory=_agent)
    tools: Tools = field(default_factory=_tools)
    sampling: Sampling | None = None
    on_event: OnEvent | None = None
    graphs: Path | None = None


@dataclass(frozen=True)
class Entry:
    """A localizer's maker, what makes it itself in one line, and whether it asks a model."""

    make: Callable[[Equipment], Localizer]
    says: str
    asks_model: bool = True


def make_localizer(name: str, equipment: Equipment) -> Localizer:
    """The localizer called ``name``. Raises :class:`ConfigError` for an unknown name, and where it needs a model and has none."""
    if name not in LOCALIZERS:
        raise ConfigError(f"localizer {name!r} is unknown: use one of {', '.join(LOCALIZERS)}")
    return LOCALIZERS[name].make(equipment)


def _asked(equipment: Equipment) -> Model:
    if equipment.model is None:
        raise ConfigError("this localizer asks a model: give --model and --base-url, or --checkpoint")
    return equipment.model


def _fusesearch(equipment: Equipment) -> Localizer:
    from tasks.localizers.fusesearch import FuseSearchLocalizer

    name = "fusesearch" if equipment.agent.mode == "parallel" else "fusesearch-sequential"
    return FuseSearchLocalizer(
        _asked(equipment), equipment.agent, equipment.tools,
        sampling=equipment.sampling, name=name, on_event=equipment.on_event,
    )  # fmt: skip


def _sequential(equipment: Equipment) -> Localizer:
    agent = equipment.agent.model_copy(update={"mode": "sequential"})
    return _fusesearch(Equipment(equipment.model, agent, equipment.tools, equipment.sampling, equipment.on_event))


def _lexical(equipment: Equipment) -> Localizer:
    from tasks.localizers.lexical import LexicalLocalizer

    return LexicalLocalizer(equipment.agent, equipment.tools, on_event=equipment.on_event)


def _locagent(equipment: Equipment) -> Localizer:
    from tasks.localizers.locagent import LocAgentLocalizer

    return LocAgentLocalizer(
        _asked(equipment), equipment.agent, equipment.tools,
        sampling=equipment.sampling, cache=equipment.graphs, on_event=equipment.on_event,
    )  # fmt: skip


def _agentless(equipment: Equipment, *, folders: bool = False) -> Localizer:
    from tasks.localizers.agentless import AgentlessLocalizer, Settings

    return AgentlessLocalizer(
        _asked(equipment), equipment.agent, Settings(irrelevant_folders=folders), sampling=equipment.sampling,
        name="agentless-folders" if folders else "agentless", on_event=equipment.on_event,
    )  # fmt: skip


def _agentless_folders(equipment: Equipment) -> Localizer:
    return _agentless(equipment, folders=True)


def _cosil(equipment: Equipment) -> Localizer:
    from tasks.localizers.cosil import CoSilLocalizer

    return CoSilLocalizer(
        _asked(equipment), equipment.agent, equipment.tools, sampling=equipment.sampling, on_event=equipment.on_event
    )


def _orcaloca(equipment: Equipment) -> Localizer:
    from tasks.localizers.orcaloca import OrcaLocaLocalizer

    return OrcaLocaLocalizer(
        _asked(equipment), equipment.agent, equipment.tools,
        sampling=equipment.sampling, cache=equipment.graphs, on_event=equipment.on_event,
    )  # fmt: skip


def _reposearcher(equipment: Equipment) -> Localizer:
    from tasks.localizers.reposearcher import RepoSearcherLocalizer

    return RepoSearcherLocalizer(
        _asked(equipment), equipment.agent, equipment.tools, sampling=equipment.sampling, on_event=equipment.on_event
    )


def _bm25(equipment: Equipment) -> Localizer:
    from tasks.localizers.bm25 import Bm25Localizer

    return Bm25Localizer(equipment.agent, on_event=equipment.on_event)


def _oracle(equipment: Equipment) -> Localizer:
    from tasks.localizers.bounds import OracleLocalizer

    return OracleLocalizer(equipment.agent, on_event=equipment.on_event)


def _random(equipment: Equipment) -> Localizer:
    from tasks.localizers.bounds import RandomLocalizer

    return RandomLocalizer(equipment.agent, on_event=equipment.on_event)


LOCALIZERS: dict[str, Entry] = {
    "fusesearch": Entry(_fusesearch, "three tools, several calls per turn at once (FuseSearch section 3.1)"),
    "fusesearch-sequential": Entry(_sequential, "the same with one call per turn (FuseSearch table 3)"),
    "lexical": Entry(_lexical, "no model: clues of the issue, searched and ranked; the scripted teacher", asks_model=False),
    "locagent": Entry(_locagent, "a graph of the code, walked by three tools (Chen et al., 2025)"),
    "orcaloca": Entry(_orcaloca, "searches scheduled by priority and scored by the model (Yu et al., 2025)"),
    "agentless": Entry(
        _agentless, "no agent: tree, suspicious files, elements from skeletons, places to edit (Agentless section 3.1)"
    ),
    "agentless-folders": Entry(_agentless_folders, "the same, after asking which folders do not matter"),
    "cosil": Entry(
        _cosil, "files from the tree and their imports, then functions along the call graph, pruned (CoSIL section 3)"
    ),
    "reposearcher": Entry(_reposearcher, "six tools that look up definitions by file and name, ranked functions (ToolTrain 3.1)"),
    "bm25": Entry(_bm25, "no model: words of the issue against those of every file and function", asks_model=False),
    "oracle": Entry(_oracle, "no model: the truth of the instance, the upper bound", asks_model=False),
    "random": Entry(_random, "no model: files and functions drawn by chance, the lower bound", asks_model=False),
}
