"""``oracle`` and ``random``: upper and lower bounds for every localizer."""

from __future__ import annotations

import random

from tasks.code.functions import spans_of
from tasks.code.kinds import is_code
from tasks.core.errors import DataError
from tasks.core.schema import Answer, Instance, Trajectory
from tasks.localizers.base import BaseLocalizer
from tasks.localizers.direct import FILES, FUNCTIONS, answered, as_answer, readable_source
from tasks.search.repository import Repository

MAX_FILE_BYTES = 1_000_000


class OracleLocalizer(BaseLocalizer):
    """Answers with the truth of the instance."""

    name = "oracle"
    sees_truth = True

    async def localize(self, instance: Instance, repository: Repository, seed: int | None = None) -> Trajectory:
        """The truth. Raises :class:`DataError` where the instance has none, such as an issue of yours."""
        truth = instance.truth
        if truth is None:
            raise DataError(f"{instance.instance_id} has no truth, which oracle answers with: use another localizer")
        return await answered(
            instance, self.name, lambda: as_answer(truth.files, truth.functions),
            agent=self.agent, seed=seed, on_event=self.on_event,
        )  # fmt: skip


class RandomLocalizer(BaseLocalizer):
    """Files of code drawn by chance, and functions drawn from those in them."""

    name = "random"
    files = FILES
    functions = FUNCTIONS

    async def localize(self, instance: Instance, repository: Repository, seed: int | None = None) -> Trajectory:
        """Chance: the same for the same instance and ``seed``."""

        def find() -> Answer:
            draw = random.Random(f"{seed}/{instance.instance_id}")
            code = [path for path in repository.files() if is_code(path)]
            files = draw.sample(code, min(self.files, len(code)))
            inside = list(dict.fromkeys(entity for path in files for entity in _functions(repository, path)))
            return as_answer(files, draw.sample(inside, min(self.functions, len(inside))))

        return await answered(instance, self.name, find, agent=self.agent, seed=seed, on_event=self.on_event)


def _functions(repository: Repository, path: str) -> list[str]:
    source = readable_source(repository, path, MAX_FILE_BYTES)
    return [f"{path}::{span.name}" for span in spans_of(source, path)] if source is not None else []
