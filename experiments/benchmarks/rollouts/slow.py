"""Fusesearch's tools, of which one call in twenty is slow. Importing this module makes the environment ``slow`` known."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

from fusesearch.agents.specs import FUSESEARCH
from fusesearch.core.schema import Instance
from fusesearch.evaluation.environments import ENVIRONMENTS
from fusesearch.localizers.episodes import SPECS
from fusesearch.search.repository import Repository
from fusesearch.search.snapshots import SnapshotStore, instance_snapshot
from fusesearch.search.tools import Toolbox, ToolResult

SHARE, SECONDS = 0.05, 5.0


class SlowToolbox(Toolbox):
    """Tools that now and then keep their caller waiting."""

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolResult:
        """As in :class:`Toolbox`."""
        if random.random() < SHARE:
            await asyncio.sleep(SECONDS)
        return await super().call(name, arguments)


SPECS["slow"] = replace(FUSESEARCH, open=lambda repository, agent, limits: SlowToolbox(repository, limits))
ENVIRONMENTS["slow"] = replace(ENVIRONMENTS["fusesearch"], spec=SPECS["slow"])


def snapshot(store: SnapshotStore, repos: Path, instance: Instance) -> Repository:
    """:func:`instance_snapshot`; a process that is sent this function imports the module, and so knows the environment."""
    return instance_snapshot(store, repos, instance)
