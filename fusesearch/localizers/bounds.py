"""``oracle`` and ``random``: upper and lower bounds for every localizer."""

from __future__ import annotations

import random

from fusesearch.code.functions import spans_of
from fusesearch.code.kinds import is_code
from fusesearch.core.errors import DataError
from fusesearch.core.schema import Answer, Instance
from fusesearch.localizers.direct import DirectLocalizer, as_answer, readable_source
from fusesearch.localizers.order import FILES, FUNCTIONS
from fusesearch.search.repository import Repository


class OracleLocalizer(DirectLocalizer):
    """Answers with the truth of the instance."""

    name = "oracle"
    sees_truth = True

    def find(self, instance: Instance, repository: Repository, seed: int | None) -> Answer:
        """The truth. Raises :class:`DataError` if the instance has no truth, as with a user's own issue."""
        truth = instance.truth
        if truth is None:
            raise DataError(f"{instance.instance_id} has no truth for oracle to answer with: use another localizer")
        if truth.expected is not None:
            return Answer(values=truth.expected.values, text="\n".join(truth.expected.values))
        return as_answer(truth.files, truth.functions)


class RandomLocalizer(DirectLocalizer):
    """Random code files, and random functions from those files."""

    name = "random"
    files = FILES
    functions = FUNCTIONS

    def find(self, instance: Instance, repository: Repository, seed: int | None) -> Answer:
        """A random answer, the same for the same instance and ``seed``."""
        draw = random.Random(f"{seed}/{instance.instance_id}")
        code = [path for path in repository.files() if is_code(path)]
        files = draw.sample(code, min(self.files, len(code)))
        sources = {path: readable_source(repository, path) or "" for path in files}
        spans = {path: spans_of(source, path) for path, source in sources.items()}
        inside = list(dict.fromkeys(f"{path}::{span.name}" for path in files for span in spans[path]))
        return as_answer(files, draw.sample(inside, min(self.functions, len(inside))))
