"""The seam every localizer meets: an instance and its snapshot in, a trajectory with a ranked answer out."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, cast

from tasks.agents.loop import OnEvent
from tasks.agents.models.base import Model, Sampling
from tasks.core.config import Agent, Tools
from tasks.core.schema import Instance, Mode, Trajectory
from tasks.search.repository import Repository


class Localizer(Protocol):
    """Anything that answers where the code of an instance's issue is."""

    name: str

    async def localize(self, instance: Instance, repository: Repository, seed: int | None = None) -> Trajectory:
        """One episode. Infrastructure failures are in ``Trajectory.error``, never raised and never an empty answer.

        The harness gives :meth:`Instance.task`, without truth; only a bound whose ``sees_truth`` is set gets everything.
        ``seed`` is all in which two runs on one instance differ.
        """
        ...


@dataclass(frozen=True)
class Setup:
    """What a localizer works with.

    ``model`` is None for those that ask none. ``sampling`` is greedy if not given. ``graphs`` is the folder that keeps what code
    graphs are made of; without one, every process builds them again.
    """

    model: Model | None = None
    agent: Agent = field(default_factory=Agent)
    tools: Tools = field(default_factory=Tools)
    sampling: Sampling | None = None
    on_event: OnEvent | None = None
    graphs: Path | None = None


class BaseLocalizer:
    """The constructor of all localizers. A subclass has a ``name``, and ``mode`` if it works in one mode whatever the agent's."""

    name: str
    mode: Mode | None = None

    def __init__(self, setup: Setup) -> None:
        self.model = cast(Model, setup.model)  # make_localizer refuses to make one that asks a model without it
        self.agent = setup.agent.model_copy(update={"mode": self.mode}) if self.mode else setup.agent
        self.tools = setup.tools
        self.sampling = setup.sampling or Sampling(max_new_tokens=setup.agent.max_new_tokens)
        self.on_event = setup.on_event
        self.graphs = setup.graphs
