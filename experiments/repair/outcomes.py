"""What came of one order of trying on one fault."""

from __future__ import annotations

from typing import NamedTuple

from pydantic import Field

from fusesearch.core.schema import Record


class Spent(NamedTuple):
    """Under a budget: whether the fault was resolved, whether something was submitted, candidates run, processor seconds."""

    resolved: bool
    submitted: bool
    candidates: int
    seconds: float


class Outcome(Record):
    """One order of trying on one fault, to the largest budget.

    ``traced``: the repairer saw which lines the failing example runs and left out candidates elsewhere. ``place`` is where the
    true function stands in the order, from 0. ``submitted_at`` counts the candidates up to the one that was submitted, which
    is a change of kind ``change`` in ``function``. ``candidates`` and ``seconds`` are what the order took; ``seconds_at`` is
    what it would have taken under each budget.
    """

    instance_id: str
    repo: str
    kind: str
    system: str
    configuration: str
    traced: bool
    place: int | None = None
    candidates: int = 0
    seconds: float = 0.0
    submitted_at: int | None = None
    function: str = ""
    change: str = ""
    resolved: bool = False
    seconds_at: dict[int, float] = Field(default_factory=dict)
    error: None = None

    def under(self, budget: int) -> Spent:
        """What it would have come to with a smaller budget of candidates, one of those in ``seconds_at``."""
        submitted = self.submitted_at is not None and self.submitted_at <= budget
        return Spent(submitted and self.resolved, submitted, min(self.candidates, budget), self.seconds_at[budget])
