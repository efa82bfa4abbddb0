"""Where a name is defined and who calls it, in other languages than Python: by the name alone, from the ranker's index.

One definition of the name is an answer. A call of the name may be one of something else that has it, so callers are candidates.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from fusesearch.code.spans import FunctionSpan, is_python
from fusesearch.core.schema import Location
from fusesearch.localizers.answerers.asked import Asked
from fusesearch.localizers.answerers.certain import Finding
from fusesearch.localizers.ranker.facts import Facts, term, words_of
from fusesearch.localizers.ranker.index import Index
from fusesearch.search.repository import Repository

RUBY = (".rb", ".rake")
"""Files whose calls may have no brackets."""

_MARKS = "?!="  # at the end of names in Ruby
_DEFINING = r"(?:def|function|func|fn)[ \t]+"
_CLASS = (
    r"^[ \t]*(?:[\w@]+(?:\([\w ]*\))?[ \t]+){0,5}?"
    r"(?:class|struct|interface|trait|enum|union|record|object|protocol|module|type)[ \t]+"
)


def by_name(asked: Asked, repository: Repository, folder: Path | None) -> Finding | None:
    """The finding in files of other languages than Python; None if none of them defines or calls the name.

    ``folder`` is where the index lies. Tests are not searched.
    """
    name = asked.names.get("name", "").rpartition("::")[2]
    if not words_of(name.rpartition(".")[2]):  # such as `_`, or a question about code without a name
        return None
    with Index(repository, folder) as index:
        tree = _Named(index, *name.rpartition(".")[::2])
        defined = list(tree.defined())
        if asked.kind == "callers" and (calling := list(tree.calling())):
            said = f"These call something named `{tree.last}`, by its name alone; tests are not searched:"
            return Finding(False, said, [], _lines(calling), calling)
    if not defined:
        return None
    if asked.kind == "exported" and len(defined) == 1:
        return Finding(True, "", [f"{defined[0].path}::{defined[0].function}"], _lines(defined))
    said = {
        "exported": f"`{name}` has {len(defined)} definitions:",
        "callers": f"Nothing calls `{name}` by its name, except perhaps tests, which are not searched. It is defined here:",
    }.get(asked.kind, f"This question has answers in Python alone. `{name}` is defined here:")
    return Finding(False, said, [], _lines(defined), defined)


class _Named:
    """The functions and classes of a tree that are called ``last`` (in something called ``owner``), and their calls."""

    def __init__(self, index: Index, owner: str, last: str) -> None:
        self._index, self._paths = index, [path for path in index.paths if not is_python(path)]
        self.last, self._whole = last, f"{owner}.{last}" if owner else last

    def defined(self) -> Iterator[Location]:
        """Functions, nested ones by the outermost function around them, then classes, in path order."""
        for path, facts in self._having(words_of(self.last)[0]):
            for span in _functions(facts, *(f"d:{self.last}{mark}" for mark in ("", *_MARKS))):
                name = span.name.rstrip(_MARKS)
                if f".{name}".endswith(f".{self._whole}"):
                    yield from self._lines_with("", path, span)[:1]
                elif self._whole == self.last != name.rpartition(".")[2]:
                    yield from self._lines_with(_DEFINING, path, span)[:1]
            if self._whole == self.last:
                yield from self._lines_with(_CLASS, path, FunctionSpan(1, sys.maxsize, self.last))

    def calling(self) -> Iterator[Location]:
        """Functions with a call of the name; in Ruby with the name."""
        word = words_of(self.last)[0]
        for path, facts in self._having(f"k:{self.last}", word):
            ruby = path.endswith(RUBY)
            for span in _functions(facts, word if ruby else f"k:{self.last}"):
                below = span.name.rstrip(_MARKS).rpartition(".")[2] == self.last  # its own head is not a call
                body = FunctionSpan(span.start + below, span.end, span.name)
                yield from self._lines_with("", path, body, r"[?!]?" if ruby else r"[?!]?[ \t]?\(")[:1]

    def _having(self, *terms: str) -> Iterator[tuple[str, Facts]]:
        wanted = {*map(term, terms)}
        found = ((path, facts) for path, facts in self._index.facts(self._paths) if not wanted.isdisjoint(facts.terms))
        yield from sorted(found, key=lambda pair: pair[0])

    def _lines_with(self, before: str, path: str, span: FunctionSpan, after: str = "") -> list[Location]:
        """The lines of a span that have the name between ``before`` and ``after``."""
        pattern = re.compile(rf"{before}(?<!\w){re.escape(self.last)}(?!\w){after}")
        lines = self._index.source(path).split("\n")[span.start - 1 : span.end]
        numbers = [number for number, line in enumerate(lines, span.start) if pattern.search(line)]
        return [Location(path=path, function=span.name, lines=(number, number)) for number in numbers]


def _functions(facts: Facts, *texts: str) -> list[FunctionSpan]:
    """The functions that have one of some terms."""
    places, spans = [place for text in texts if (place := facts.find(term(text))) >= 0], facts.functions
    return [spans[number] for number in sorted({number for place in places for number, _ in facts.functions_with(place)})]


def _lines(found: list[Location]) -> list[str]:
    return [f"{one.path}:{one.lines[0]}  {one.function or ''}".rstrip() for one in found if one.lines]
