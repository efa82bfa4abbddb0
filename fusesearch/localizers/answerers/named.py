"""What a tree has under a name, in other languages than Python: by the name alone, from the ranker's index."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fusesearch.code.plain import C_FAMILY, RUBY, SCRIPTS, opening, without_text, without_types
from fusesearch.code.spans import FunctionSpan, is_python
from fusesearch.core.schema import Location
from fusesearch.localizers.answerers import declared
from fusesearch.localizers.answerers.inline_tests import without_tests
from fusesearch.localizers.answerers.operators import defines, every_spelling, spellings, written
from fusesearch.localizers.ranker.facts import Facts, term, words_of
from fusesearch.localizers.ranker.index import Index

_MARKS = "?!="  # at the end of names in Ruby
_MARK = re.compile(r"(?<=\w)[?!=]$")
_DEFINING = r"(?:def|function|func|fn)[ \t]+"
_CLASS = (
    r"^[ \t]*(?:[\w@]+(?:\([\w ]*\))?[ \t]+){0,5}?"
    r"(?:class|struct|interface|trait|enum|union|record|object|protocol|module|type)[ \t]+"
)
_C_CLASS = r"^[^;()#\n]*\b(?:class|struct|enum|union)\b(?:[ \t]+\w+(?:\([^()]*\))?)*?[ \t]+"
_C_HEAD = re.compile(r"\s*(?:final\s*)?(?::(?!:)[^;{]*)?\{")
_IMPORTED = re.compile(r"\s*(?:,|\}|as\b|from\b)")  # what follows `type Name` in an import or export of TypeScript
_DECLARES = re.compile(r"\b(?:fun|func|def|fn|function)\b[^=]*$")
_BEFORE_CALL = re.compile(
    r"(?:^|[^\w\s>\])*&?]|=>|->|\b(?:return|new|await|yield|throw|else|in|not|and|or|do|then|case|when|if|unless|try|go|defer))\s*$"
)
"""What stands before a call outside functions, and not before a declaration: no type."""


class Named:
    """The functions, classes and other declarations of a tree that are called ``last`` (in something called ``owner``)."""

    def __init__(self, index: Index, owner: str, last: str) -> None:
        self._index, self._paths = index, [path for path in index.paths if not is_python(path)]
        self.last, self._owner, self._whole = last, owner, f"{owner}.{last}" if owner else last
        self._word = words_of(last)[0] if words_of(last) else f"d:{last}"

    def found(self) -> list[Location]:
        """The definitions; if there are none, lines that declare the name."""
        classes, functions = list(self._classes()), list(self._functions())
        if classes:
            functions = [one for one in functions if not f".{one.function}".endswith(f".{self.last}.{self.last}")]
        exported = [] if classes or self._owner else list(self.declared_by(declared.exporting))
        found = [*functions, *classes, *exported] or list(self.declared_by(declared.declaring))
        return found if self._owner else sorted(found, key=lambda one: one.function != self.last)  # members last

    def declared_by(self, form: declared.Finder) -> Iterator[Location]:
        """Lines outside functions that declare the name in a form."""
        last = self._owner.rpartition(".")[2]
        for path, facts in self._having(self._word):
            source = self._source(path)
            lines = (source if path.endswith(".php") else without_text(source, path)).split("\n")  # define('NAME', 1)
            numbers = list(form(path, lines, facts.functions, self.last))
            for number in declared.within(lines, numbers, last) if last else numbers:
                yield Location(path=path, function=self._whole, lines=(number, number))

    def calling(self) -> Iterator[Location]:
        """Functions with a call of the name, in Ruby with the name, and lines outside functions with one."""
        for path, facts in self._having(f"k:{self.last}", self._word):
            lines = without_types(without_text(self._source(path), path), path).split("\n")
            call = self._call(path)
            for span in _with_terms(facts, self._word, f"k:{self.last}"):
                below = span.name.rstrip(_MARKS).rpartition(".")[2] == self.last  # its own head is not a call
                yield from _first(call, path, lines, span, below)
            if path.lower().endswith(C_FAMILY):  # there a prototype has the form of a call
                continue
            for number in declared.outside(lines, facts.functions):
                match = call.search(lines[number - 1])
                before = lines[number - 1][: match.start()] if match else ""
                if match and _BEFORE_CALL.search(before) and not _DECLARES.search(before):
                    yield Location(path=path, lines=(number, number))

    def _call(self, path: str) -> re.Pattern[str]:
        name = rf"(?<!\w)(?<!def )(?<!self\.def ){re.escape(self.last)}(?!\w)"
        if path.endswith(RUBY):
            return re.compile(rf"(?<![:@$])(?<!\bdef self\.){name}[?!]?(?!:(?!:)|[ \t]*(?:\|\|)?=(?![=~>]))")
        return re.compile(rf"(?<!\bfun )(?<!\bfunc )(?<!\bfunction )(?<!\bfn ){name}{opening(path)}")

    def _functions(self) -> Iterator[Location]:
        """Functions, nested ones by the outermost function around them, in path order."""
        terms = [f"d:{one}{mark}" for one in every_spelling(self.last) for mark in ("", *_MARKS)]
        nested = re.compile(rf"{_DEFINING}{re.escape(self.last)}(?!\w)")
        for path, facts in self._having(self._word, *terms):
            names, lines = spellings(self.last, path), self._source(path).split("\n")
            wholes = tuple(f".{self._owner}.{one}" if self._owner else f".{one}" for one in names)
            wanted = re.compile("|".join(rf"(?<!\w){written(one)}(?!\w)" for one in names))
            for span in _with_terms(facts, *terms):
                name = _MARK.sub("", span.name)
                if f".{name}".endswith(wholes) or f".{span.name}".endswith(wholes):
                    yield from _first(wanted, path, lines, span) if defines(self.last, path, lines, span) else ()
                elif not self._owner and self.last != name.rpartition(".")[2]:
                    yield from _first(nested, path, lines, span)

    def _classes(self) -> Iterator[Location]:
        """Classes; in C and C++ those with a body, not what is declared ahead of it."""
        for path, facts in self._having(self._word):
            source = self._source(path)
            if self.last not in source:
                continue
            in_c = path.lower().endswith(C_FAMILY)
            pattern = re.compile(rf"{_C_CLASS if in_c else _CLASS}(?<!\w){re.escape(self.last)}(?!\w)", re.MULTILINE)
            text = without_text(source, path)
            starts = [match.end() for match in pattern.finditer(text) if not in_c or _C_HEAD.match(text, match.end())]
            if path.endswith(SCRIPTS):
                starts = [start for start in starts if not _IMPORTED.match(text, start)]
            numbers = [text.count("\n", 0, start) + 1 for start in starts]
            if self._owner and numbers:
                numbers = self._owned(text.split("\n"), facts, numbers)
            yield from (Location(path=path, function=self._whole, lines=(number, number)) for number in numbers)

    def _owned(self, lines: list[str], facts: Facts, numbers: list[int]) -> list[int]:
        """The lines of those classes that stand in the owner: by the names of their functions, or by indentation."""
        starts = [span.start for span in facts.functions if f".{self._whole}." in f".{span.name}"]
        before = [number for number in numbers if starts and number <= starts[0]][-1:]
        return before or declared.within(lines, numbers, self._owner.rpartition(".")[2])

    def _source(self, path: str) -> str:
        return without_tests(self._index.source(path), path)

    def _having(self, *terms: str) -> Iterator[tuple[str, Facts]]:
        wanted = {*map(term, terms)}
        found = ((path, facts) for path, facts in self._index.facts(self._paths) if not wanted.isdisjoint(facts.terms))
        yield from sorted(found, key=lambda pair: pair[0])


def _first(wanted: re.Pattern[str], path: str, lines: list[str], span: FunctionSpan, skipped: int = 0) -> Iterator[Location]:
    """The first line of a function that has ``wanted``, if one has it after the ``skipped``."""
    numbers = range(span.start + skipped, min(span.end, len(lines)) + 1)
    yield from [Location(path=path, function=span.name, lines=(n, n)) for n in numbers if wanted.search(lines[n - 1])][:1]


def _with_terms(facts: Facts, *texts: str) -> list[FunctionSpan]:
    """The functions that have one of some terms."""
    places, spans = [place for text in texts if (place := facts.find(term(text))) >= 0], facts.functions
    return [spans[number] for number in sorted({number for place in places for number, _ in facts.functions_with(place)})]
