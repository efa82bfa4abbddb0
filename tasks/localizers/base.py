"""The seam every localizer meets: an instance and its snapshot in, a trajectory with a ranked answer out."""

from __future__ import annotations

from typing import Protocol

from tasks.core.schema import Instance, Trajectory
from tasks.search.repository import Repository


class Localizer(Protocol):
    """Anything that answers where an instance's issue has to be mended."""

    name: str

    async def localize(self, instance: Instance, repository: Repository, seed: int | None = None) -> Trajectory:
        """One episode. Infrastructure failures are in ``Trajectory.error``, never raised and never an empty answer.

        The harness gives :meth:`Instance.task`, without truth; only a bound whose ``sees_truth`` is set gets everything.
        ``seed`` is all in which two runs on one instance differ.
        """
        ...
