"""The protocol of every localizer: an instance and its snapshot in, a trajectory with a ranked answer out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, cast

from fusesearch.agents.models.base import Model, Sampling
from fusesearch.agents.recording import OnEvent
from fusesearch.core.caches import Caches
from fusesearch.core.config import Agent, Tools
from fusesearch.core.schema import Instance, Mode, Trajectory
from fusesearch.search.repository import Repository


class Localizer(Protocol):
    """Anything that finds the code an issue is about."""

    name: str

    async def localize(self, instance: Instance, repository: Repository, seed: int | None = None) -> Trajectory:
        """One episode. An infrastructure failure goes into ``Trajectory.error``: never raised, never an empty answer.

        The harness passes :meth:`Instance.task`, which lacks the truth; only a bound that sets ``sees_truth`` gets everything.
        Two runs on one instance differ only by ``seed``.
        """
        ...


@dataclass(frozen=True)
class Setup:
    """What a localizer works with.

    ``model`` is None for localizers that ask no model. ``sampling`` defaults to greedy. ``caches`` has code graphs and the
    ranker's index, by default the user's. ``top`` asks the ranker for an
    answer for people with that many files.
    """

    model: Model | None = None
    agent: Agent = field(default_factory=Agent)
    tools: Tools = field(default_factory=Tools)
    sampling: Sampling | None = None
    on_event: OnEvent | None = None
    caches: Caches = field(default_factory=Caches)
    top: int | None = None


class BaseLocalizer:
    """The constructor of all localizers. A subclass sets ``name``, and ``mode`` if it overrides the agent's."""

    name: str
    mode: Mode | None = None

    def __init__(self, setup: Setup) -> None:
        self.model = cast(Model, setup.model)  # make_localizer() checks that it is there when needed
        self.agent = setup.agent.model_copy(update={"mode": self.mode}) if self.mode else setup.agent
        self.tools = setup.tools
        self.sampling = setup.sampling or Sampling(max_new_tokens=setup.agent.max_new_tokens)
        self.on_event = setup.on_event
        self.caches = setup.caches
        self.top = setup.top
