"""Locations as models name them (a file, a class, a method, a line) turned into function entities of a snapshot.

A function is what the metrics call one (DESIGN.md section 2): what is nested in a function is that function, and a class by
itself is none, so that naming one names its file.
"""

from __future__ import annotations

from tasks.code.spans import FunctionSpan, function_at
from tasks.code.structure import function_spans
from tasks.core.errors import RepositoryError
from tasks.core.schema import Location
from tasks.search.repository import Repository

MAX_FILES = 50
"""Files whose functions are looked up for one answer; names in further ones are taken as they are."""

_MAX_PARTS = 20


class Namer:
    """Looks names up in the files of one snapshot; each file is read once."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._spans: dict[str, list[FunctionSpan]] = {}

    def file(self, text: str) -> str | None:
        """The file a path means: below ``/repo``, relative, or with folders before it that are not there."""
        path = text.strip().strip("`'\"*").removeprefix("/repo/").strip("/").removeprefix("./")
        parts = path.split("/")
        for count in range(min(len(parts), _MAX_PARTS)):
            candidate = "/".join(parts[count:])
            if self._repository.is_visible(candidate):
                return candidate
        return None

    def function(self, path: str, name: str, holder: str = "") -> Location | None:
        """The function ``name`` of a file, looked for in the class ``holder`` first; ``None`` if there is none.

        A last name alone will do where only one function has it.
        """
        name = ".".join(filter(None, name.strip().strip("`").partition("(")[0].replace("::", ".").split(".")))
        if not name:
            return None
        spans = {span.name: span for span in self._functions(path)}
        for full in filter(None, (f"{holder}.{name}" if holder else "", name)):
            parts = full.split(".")[:_MAX_PARTS]
            for count in range(len(parts), 0, -1):
                span = spans.get(".".join(parts[:count]))
                if span is not None:
                    return _location(path, span)
        same = [span for span in spans.values() if span.name.endswith(f".{name}")]
        return _location(path, same[0]) if len(same) == 1 else None

    def at(self, path: str, line: int) -> Location | None:
        """The function that holds a line."""
        span = function_at(self._functions(path), line)
        return _location(path, span) if span else None

    def _functions(self, path: str) -> list[FunctionSpan]:
        if path not in self._spans:
            if len(self._spans) >= MAX_FILES:
                return []
            try:
                self._spans[path] = function_spans(self._repository.read_text(path), path)
            except RepositoryError:
                self._spans[path] = []
        return self._spans[path]


def _location(path: str, span: FunctionSpan) -> Location:
    return Location(path=path, function=span.name, lines=(span.start, span.end))


def distinct(locations: list[Location]) -> list[Location]:
    """The first location of each entity, in their order; a file by itself only where none of its functions is named."""
    named = {location.path for location in locations if location.function}
    first: dict[str, Location] = {}
    for location in locations:
        if location.function or location.path not in named:
            first.setdefault(location.entity, location)
    return list(first.values())
