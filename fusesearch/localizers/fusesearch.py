"""FuseSearch: a model with tools, several calls per turn (FuseSearch section 3.1)."""

from __future__ import annotations

from dataclasses import replace

from fusesearch.agents.loop import run_episode
from fusesearch.core.schema import Instance, Trajectory
from fusesearch.localizers.base import BaseLocalizer, Setup
from fusesearch.localizers.episodes import make_episode
from fusesearch.search.repository import Repository


class FuseSearchLocalizer(BaseLocalizer):
    """The multi-turn parallel loop around any model, with the tools and instructions of ``agent.toolset``."""

    name = "fusesearch"

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        if self.name == "fusesearch" and self.agent.mode == "sequential":
            self.name = SequentialLocalizer.name

    async def localize(self, instance: Instance, repository: Repository, seed: int | None = None) -> Trajectory:
        """One episode; see :func:`fusesearch.agents.loop.run_episode` for failures."""
        episode = make_episode(
            instance, repository, self.model, self.agent, self.tools, self.sampling.seeded(seed),
            localizer=self.name, on_event=self.on_event,
        )  # fmt: skip
        return await run_episode(episode)


class SequentialLocalizer(FuseSearchLocalizer):
    """FuseSearch with one call per turn."""

    name = "fusesearch-sequential"
    mode = "sequential"


class RepoSearcherLocalizer(FuseSearchLocalizer):
    """RepoSearcher (ToolTrain 3.1): its six tools in the loop in which students of them are trained, one call per turn."""

    name = "reposearcher"
    mode = "sequential"

    def __init__(self, setup: Setup) -> None:
        super().__init__(replace(setup, agent=setup.agent.model_copy(update={"toolset": "reposearcher"})))
