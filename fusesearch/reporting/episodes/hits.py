"""The truth in the observations of an episode."""

from __future__ import annotations

from typing import Literal

from fusesearch.core.schema import Observation, Truth
from fusesearch.reporting.episodes.observed import Line, Sources, Span, place

Mark = Literal["", "file", "function", "change"]


class Hits:
    """Marks rows that show truth: a line the patch changes, a line of a function it changes, or a file it changes.

    Functions are found in the observed lines alone (:meth:`fusesearch.reporting.episodes.observed.Sources.spans`), because
    only the episode is available. Without a truth nothing is marked.
    """

    def __init__(self, truth: Truth | None, sources: Sources) -> None:
        self._truth = truth or Truth()
        self._files = frozenset(self._truth.files)
        self._spans: dict[str, list[tuple[Span, str]]] = {}
        for entity in self._truth.functions:
            path, _, function = entity.partition("::")
            self._spans.setdefault(path, []).extend((span, entity) for span in sources.spans(path, function))

    def mark(self, row: Line) -> Mark:
        """The strongest mark of a row."""
        if row.path not in self._files or row.path is None:
            return ""
        if row.line is None:
            return "file"
        if any(first <= row.line <= last for first, last in self._truth.lines.get(row.path, [])):
            return "change"
        return "function" if self._functions(row.path, row.line) else "file"

    def entities_in(self, observation: Observation) -> list[str]:
        """Files and functions of the truth that an observation shows, functions first, in the truth's order."""
        places = [place(entity) for entity in observation.entities]
        functions = {name for path, line in places if line is not None for name in self._functions(path, line)}
        files = {path for path, _ in places}
        return [name for name in self._truth.functions if name in functions] + [
            name for name in self._truth.files if name in files
        ]

    def _functions(self, path: str, line: int) -> list[str]:
        return [entity for (first, last), entity in self._spans.get(path, []) if first <= line <= last]
