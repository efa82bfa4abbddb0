"""What tests of training share."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from fusesearch.core.schema import Instance
from fusesearch.search.repository import Repository
from fusesearch.search.snapshots import SnapshotStore, instance_snapshot


class Killed(Exception):
    """Stands for a kill at a certain row of the log."""


def stop_at(step: int) -> Callable[[dict[str, float]], None]:
    """A listener that ends training when the step is logged."""

    def stop(row: dict[str, float]) -> None:
        if row["step"] == step:
            raise Killed

    return stop


def snapshots_in(folder: Path) -> Callable[[Instance], Repository]:
    """Snapshots of the clones in ``folder``/repos."""
    return partial(instance_snapshot, SnapshotStore(folder / "snapshots"), folder / "repos")
