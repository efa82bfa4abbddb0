"""Fusesearch's tools, of which one call in twenty is slow. Importing this module makes the toolset ``slow`` known."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

from fusesearch.agents.toolsets import FUSESEARCH, TOOLSETS
from fusesearch.core.schema import Instance
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


SLOW = replace(FUSESEARCH, open=lambda repository, agent, limits: SlowToolbox(repository, limits))
TOOLSETS["slow"] = f"{__name__}:SLOW"


def snapshot(store: SnapshotStore, repos: Path, instance: Instance) -> Repository:
    """:func:`instance_snapshot`; a process that is sent this function imports the module, and so knows the toolset."""
    return instance_snapshot(store, repos, instance)
