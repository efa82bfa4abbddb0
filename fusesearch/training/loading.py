"""Search tasks from files: for a script of your own, and for the engines of others."""

from __future__ import annotations

from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from fusesearch.core.config import Agent, Tools
from fusesearch.core.schema import Instance
from fusesearch.core.storage import read_instances
from fusesearch.evaluation.rewards import make_reward
from fusesearch.localizers.searcher import settings_of
from fusesearch.search.snapshots import SnapshotStore, instance_snapshot
from fusesearch.training.environment import SearchTasks


def load_tasks(
    instances: Path | str, repos: Path | str, cache: Path | str, settings: Path | str | None = None, reward: str = "fusesearch"
) -> SearchTasks:
    """The tasks of a Parquet file of instances, those with an exact truth; the other arguments are :func:`open_tasks`'.

    Raises besides :class:`ArtifactError` for a file that cannot be read, and :class:`DataError` without any task.
    """
    return open_tasks(repos, cache, settings, reward).of(read_instances(Path(instances)))


def open_tasks(
    repos: Path | str, cache: Path | str, settings: Path | str | None = None, reward: str = "fusesearch", **weights: float
) -> SearchTasks:
    """Tasks without instances yet: :meth:`~fusesearch.training.environment.SearchTasks.of` adds them.

    ``repos`` has a bare repository ``OWNER__NAME.git`` for each, and ``cache`` is where snapshots of their commits are kept.
    ``settings`` is the folder of a checkpoint whose ``fusesearch.json`` has the limits of an episode; without it, the usual ones
    apply. ``weights`` are those of the reward: ``alpha``, ``beta``, ``gamma``. Raises :class:`ConfigError` for an unknown reward
    and :class:`ArtifactError` for malformed settings.
    """
    tools, agent = settings_of(Path(settings)) if settings is not None else (Tools(), Agent())
    snapshot = partial(instance_snapshot, SnapshotStore(Path(cache)), Path(repos))
    return SearchTasks({}, snapshot, agent, tools, make_reward(reward, **weights))


@lru_cache(maxsize=1024)
def task_of(instance: str, **where: Any) -> SearchTasks:
    """The task of one instance in JSON, for engines that hand over a row at a time; ``where`` are the arguments of
    :func:`open_tasks`. Raises :class:`DataError` if its truth is not exact.
    """
    return _opened(**where).of([Instance.model_validate_json(instance)])


_opened = lru_cache(open_tasks)
