"""What a function calls and where it is used, in every language of the index.

Calls of Python are followed (:mod:`fusesearch.code.calls`). Other calls are matched by name: with a function of the same class,
else of the same file, else with the only one of that name in the tree. What stays ambiguous is no callee, and an unsure use.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from os.path import commonpath
from typing import NamedTuple

from fusesearch.code.calls import CallGraph
from fusesearch.code.functions import function_spans, spans_without_tree
from fusesearch.code.heads import LINE_CHARS
from fusesearch.code.modules import outlines_of
from fusesearch.code.other.plain import BRACED, CONSTRUCTORS, callable_name, calls_in, use_of, without_text
from fusesearch.code.spans import FunctionSpan, is_python
from fusesearch.core.text import printable
from fusesearch.localizers.ranker.columns import is_common
from fusesearch.localizers.ranker.facts import term, words_of
from fusesearch.localizers.ranker.index import Index
from fusesearch.localizers.ranker.paths import family

CALLEES = 8
MAX_SAME = 200
"""Functions of one name that are kept; where there are more, none is sure."""

MAX_FILES, MAX_FOLLOWED = 1000, 30
"""Files that are searched for uses of a name, the nearest first; files of Python whose calls are followed for that."""

_NEED_OBJECTS = (".py", ".go", ".php", ".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts")
"""Suffixes of languages in which a call of a method has its object before it."""


class Spot(NamedTuple):
    """A function, class or variable, and its lines."""

    path: str
    span: FunctionSpan

    @property
    def entity(self) -> str:
        """``path::Qualified.name``."""
        return f"{self.path}::{self.span.name}"

    def lies_in(self, other: Spot) -> bool:
        """Whether it is a part of another, such as the constructor of a class."""
        return self.path == other.path and other.span.start < self.span.start <= other.span.end


class Use(NamedTuple):
    """A line (from 1) that uses a name, and the function around it. ``sure``: nothing else can be meant."""

    path: str
    line: int
    function: FunctionSpan | None
    sure: bool = True


class Sources:
    """Lines and functions of the files of a tree, those that the index leaves out among them."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self.lines = lru_cache(maxsize=256)(self._lines)
        self.functions = lru_cache(maxsize=1024)(self._functions)

    def text(self, spot: Spot) -> str:
        """The lines of a definition, with its own name made unknown."""
        name = spot.span.name.rpartition(".")[2]
        return "\n".join(self.lines(spot.path)[spot.span.start - 1 : spot.span.end]).replace(name, "_" * len(name), 1)

    def uses(self, path: str, name: str, calls: bool = False) -> Iterator[Use]:
        """Lines of a file that call a name, or have it as a word of its code: the first of each function, and those in none."""
        word = use_of(name)
        outside = list(self.lines(path))
        pieces: list[tuple[FunctionSpan | None, int, str]] = []
        for span in self.functions(path) if name in self.index.source(path) else ():
            own = outside[span.start - 1 : span.end]
            outside[span.start - 1 : span.end] = [""] * len(own)
            pieces.append((span, span.start, self.text(Spot(path, span)) if any(name in line for line in own) else ""))
        if not (calls and path.endswith(BRACED)):
            pieces.append((None, 1, "\n".join(outside)))
        for function, first, text in pieces:
            if name not in text:
                continue
            rows = enumerate(() if calls else without_text(text, path).split("\n"))
            found = [number for number, row in rows if word.match(row)]
            found += [number for called, number in calls_in(text, path).items() if called == name] if calls else []
            yield from (Use(path, first + number, function) for number in (found[:1] if function else found))

    def _lines(self, path: str) -> list[str]:
        """Lines of a file without what could steer a terminal; long ones end with ``…``."""
        source = self.index.source(path).removesuffix("\n")
        lines = [line.removesuffix("\r") for line in source.split("\n")] if source else []
        cut = (line if len(line) <= LINE_CHARS else f"{line[:LINE_CHARS]}…" for line in lines)
        return [line if line.isprintable() else "\t".join(map(printable, line.split("\t"))) for line in cut]

    def _functions(self, path: str) -> list[FunctionSpan]:
        found = next((facts.functions for _, facts in self.index.facts([path])), None)
        if found is None:  # a test
            source = self.index.source(path)
            found = spans_without_tree(source) if is_python(path) else function_spans(source, path)
        return found


class Neighbours:
    """What ``spots`` call and where they are used. Reads the facts of all files once."""

    def __init__(self, sources: Sources, spots: Sequence[Spot]) -> None:
        self._graph = CallGraph(outlines_of(sources.index.repository))
        self._sources = sources
        called = {spot: calls_in(sources.text(spot), spot.path) for spot in spots}
        self._called = {spot: [name for name in names if not is_common(name)] for spot, names in called.items()}
        self._defined: dict[str, list[Spot]] = defaultdict(list)
        self._naming: dict[str, list[str]] = defaultdict(list)
        for spot in self._called:
            self._defined[callable_name(spot.path, spot.span.name)].append(spot)
        self._scan([*self._defined], {name for names in self._called.values() for name in names})

    def callees(self, spot: Spot) -> list[Spot]:
        """What a function calls, in the order of the calls, what is sure before what fits by name."""
        followed = [found for entity in self._followed(spot) if (found := self._spot(entity))]
        known = {found.span.name.rpartition(".")[2] for found in followed}
        named = (found for name in self._called[spot] if name not in known and (found := self._by_name(name, spot)))
        return [found for found in dict.fromkeys([*followed, *named]) if found != spot][:CALLEES]

    def uses(self, spot: Spot, calls: bool = True) -> Iterator[Use]:
        """Uses of a definition, calls alone or any: those in its own file first, then the nearest.

        A use that certainly means another definition is left out, and so is an unsure one in a file that does not have the name
        of what holds the definition: its class, else its file.
        """
        name, followed = callable_name(spot.path, spot.span.name), 0
        holder = spot.span.name.removesuffix(name).strip(".").rpartition(".")[2] or re.split(r"[/.]", spot.path)[-2]
        several = len({one.entity for one in self._defined[name]}) > 1
        files = sorted(self._naming[name], key=lambda path: (path != spot.path, -len(commonpath([path, spot.path])), path))
        for path in [path for path in files if family(path) == family(spot.path)][:MAX_FILES]:
            found = list(self._sources.uses(path, name, calls))
            followed += bool(found)
            for use in found:
                caller = Spot(path, use.function or FunctionSpan(use.line, use.line, ""))
                targets = self._followed(caller) if several and followed <= MAX_FOLLOWED else ()
                meant = [one for one in targets if callable_name(*one.split("::", 1)) == name]
                by_name = None if meant else self._by_name(name, caller)
                if by_name is None and not meant:
                    fits = holder in self._sources.index.source(path)
                else:
                    fits = spot.entity in meant or (by_name is not None and by_name.entity == spot.entity)
                if fits and caller != spot and not (path == spot.path and use.line in spot.span and use.function is None):
                    yield use._replace(sure=bool(meant or by_name))

    def _scan(self, own: Sequence[str], names: Iterable[str]) -> None:
        """Where the names are defined, and which files have those of ``own`` in any form."""
        keys = {name: [f"d:{name}", *(f"q:{name}.{made}" for made in CONSTRUCTORS)] for name in [*own, *names]}
        defined = {term(key): name for name, some in keys.items() for key in some}
        words = {name: word_of(name) for name in own}
        for path, facts in self._sources.index.facts(self._sources.index.paths):
            for key in defined.keys() & facts.terms:
                spans, name = facts.functions, defined[key]
                for number, _ in facts.functions_with(facts.find(key)):
                    spot, same = Spot(path, spans[number]), self._defined[name]
                    if callable_name(spot.path, spot.span.name) == name and len(same) < MAX_SAME:
                        known = spot in self._called or any(spot.lies_in(one) for one in same)
                        same += [] if known else [spot]
            for name, word in words.items():
                if facts.find(word) >= 0:
                    self._naming[name].append(path)

    def _followed(self, spot: Spot) -> Iterable[str]:
        return self._graph.callees(spot.entity) if is_python(spot.path) else ()

    def _spot(self, entity: str) -> Spot | None:
        path, _, name = entity.partition("::")
        outline = self._graph.outlines.get(path)
        found = (outline.function(name) or outline.class_(name)) if outline else None
        return Spot(path, FunctionSpan(found.start, found.end, name)) if found else None

    def _by_name(self, name: str, caller: Spot) -> Spot | None:
        """The definition that a name means in a function, if only one can be meant."""
        options = [spot for spot in self._defined[name] if family(spot.path) == family(caller.path)]
        here = [spot for spot in options if spot.path == caller.path]
        holder = caller.span.name.rpartition(".")[0]
        fitting = [spot for spot in here if spot.span.name == f"{holder}.{name}"] or here or options
        if len({spot.entity for spot in fitting}) != 1:  # overloads have one name
            return None
        found = fitting[0]
        if here or not caller.path.endswith(_NEED_OBJECTS) or not found.span.name.endswith(f".{name}"):
            return found
        return found if re.search(rf"(?<=[.>:]){re.escape(name)}(?!\w)", self._sources.text(caller)) else None


def word_of(name: str) -> int:
    """The term that a file has whose text contains a name."""
    return term((*words_of(name), name)[0])
