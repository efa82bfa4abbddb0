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
from fusesearch.code.functions import spans_of
from fusesearch.code.heads import printable_lines
from fusesearch.code.modules import outlines_of
from fusesearch.code.other.plain import CONSTRUCTORS, callable_name, calls_in, unnamed, uses_in
from fusesearch.code.spans import FunctionSpan, is_python
from fusesearch.localizers.ranker.columns import is_common
from fusesearch.localizers.ranker.facts import term, term_of
from fusesearch.localizers.ranker.index import Index
from fusesearch.localizers.ranker.paths import family

CALLEES, MAX_SAME, MAX_FILES, MAX_FOLLOWED = 8, 200, 1000, 30
"""Callees of a function; definitions of one name that are kept (where there are more, none is sure); files that are searched for
uses of a name, the likeliest first; files of Python whose calls are followed for that."""
_NEED_OBJECTS = (".py", ".go", ".php", ".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts")
"""Suffixes of languages in which a call of a method has its object before it."""


class Spot(NamedTuple):
    """A function, class or variable, or a line in none, and its lines."""

    path: str
    span: FunctionSpan

    @property
    def entity(self) -> str:
        """``path::Qualified.name``."""
        return f"{self.path}::{self.span.name}"

    @property
    def called(self) -> str:
        """The name by which it is called."""
        return callable_name(self.path, self.span.name)

    @property
    def holder(self) -> str:
        """What has it: its class or the like, else its file without the suffix."""
        return self.span.name.removesuffix(self.called).strip(".").rpartition(".")[2] or re.split(r"[/.]", self.path)[-2]

    def lies_in(self, other: Spot) -> bool:
        """Whether it is a part of another, such as the constructor of a class."""
        return self.path == other.path and other.span.start < self.span.start <= other.span.end


class Use(NamedTuple):
    """A line (from 1) that uses a name, and the function around it, else the line. ``sure``: nothing else can be meant."""

    spot: Spot
    line: int
    sure: bool = True


class Neighbours:
    """Lines and functions of the files of a tree, tests among them, and what the functions call and are called by.

    :meth:`learn` comes before :meth:`callees` and :meth:`uses`.
    """

    def __init__(self, index: Index) -> None:
        self.index = index
        self.lines = lru_cache(maxsize=256)(lambda path: printable_lines(index.source(path)))
        self.functions = lru_cache(maxsize=1024)(self._functions)
        self.words = lru_cache(maxsize=4096)(self._words)
        self._graph = CallGraph(outlines_of(index.repository))
        self._called: dict[Spot, list[str]] = {}
        self._defined: dict[str, dict[Spot, None]] = defaultdict(dict)
        self._naming: dict[str, list[str]] = defaultdict(list)

    def learn(self, spots: Iterable[Spot], callees: bool = True) -> None:
        """Where these are used and, unless ``callees`` are not wanted, what they call. Reads the facts of all files."""
        fresh = {spot: calls_in(self._text(spot), spot.path) if callees else [] for spot in spots}
        own = {spot.called for spot in fresh} - self._naming.keys()
        names = own | ({name for some in fresh.values() for name in some if not is_common(name)} - self._defined.keys())
        defined = {term(key): name for name in names for key in (f"d:{name}", *(f"q:{name}.{made}" for made in CONSTRUCTORS))}
        for spot in fresh:
            self._defined[spot.called].setdefault(spot)
        for path, facts in self.index.facts(self.index.paths if names else ()):
            for key in defined.keys() & facts.terms:
                spans, same = facts.functions, self._defined[defined[key]]
                for spot in (Spot(path, spans[number]) for number, _ in facts.functions_with(facts.find(key))):
                    if spot.called == defined[key] and len(same) < MAX_SAME and not any(spot.lies_in(one) for one in same):
                        same.setdefault(spot)
            for name in own:
                self._naming[name] += [path] if facts.find(term_of(name)) >= 0 else []
        self._called |= fresh

    def callees(self, spot: Spot) -> list[Spot]:
        """What a function calls, in the order of the calls."""
        found = dict.fromkeys(self._followed(spot))
        known = {one.called for one in found}
        for name in self._called[spot]:
            found |= dict.fromkeys([] if name in known or is_common(name) else self._by_name(name, spot))
        return [one for one in found if one != spot][:CALLEES]

    def uses(self, spot: Spot) -> Iterator[Use]:
        """Calls of a function, or uses of what is none, without those that certainly mean another one.

        Those in its own file come first, then those in files that name what holds it, the nearest first.
        """
        name, followed, calls = spot.called, 0, spot.span in self.functions(spot.path)
        several = len({one.entity for one in self._defined[name]}) > 1
        files = [path for path in self._naming[name] if family(path) == family(spot.path)]
        having = {path for path in files if spot.holder in self.index.source(path)}
        files.sort(key=lambda path: (path != spot.path, path not in having, -len(commonpath([path, spot.path])), path))
        for path in files[:MAX_FILES]:
            found = self.words(path, name, calls)
            followed += bool(found)
            for use in found:
                targets = self._followed(use.spot) if several and followed <= MAX_FOLLOWED else ()
                meant = [one for one in targets if one.called == name] or self._by_name(name, use.spot)
                inside = use.spot.span.name and use.spot.lies_in(spot)  # a method of a class uses it
                own = path == spot.path and use.line in spot.span and not inside
                if not own and (not meant or any(one.entity == spot.entity or one.lies_in(spot) for one in meant)):
                    yield use._replace(sure=bool(meant))

    def _words(self, path: str, name: str, calls: bool = False) -> list[Use]:
        """Lines of a file that have a name in their code, or call it: the first of each function, and those in none."""
        found = uses_in(path, self.lines(path), name, self.functions(path), calls) if name in self.index.source(path) else ()
        return [Use(Spot(path, around or FunctionSpan(line, line, "")), line) for line, around in found]

    def _functions(self, path: str) -> Sequence[FunctionSpan]:
        known = [facts.functions for _, facts in self.index.facts([path])]  # none of a test
        return known[0] if known else spans_of(self.index.source(path), path)

    def _text(self, spot: Spot) -> str:
        """The lines of a definition, with its own name made unknown."""
        return unnamed("\n".join(self.lines(spot.path)[spot.span.start - 1 : spot.span.end]), spot.span.name)

    def _followed(self, caller: Spot) -> Iterator[Spot]:
        """What a function of Python calls, as far as imports and types tell."""
        for entity in self._graph.callees(caller.entity) if is_python(caller.path) else ():
            path, _, name = entity.partition("::")
            outline = self._graph.outlines.get(path)
            if span := outline and (outline.function(name) or outline.class_(name)):
                yield Spot(path, FunctionSpan(span.start, span.end, name))

    def _by_name(self, name: str, caller: Spot) -> list[Spot]:
        """The definition that a name means in a function, if only one can be meant."""
        options = [spot for spot in self._defined[name] if family(spot.path) == family(caller.path)]
        here = [spot for spot in options if spot.path == caller.path]
        holder = caller.span.name.rpartition(".")[0]
        fitting = [spot for spot in here if spot.span.name == f"{holder}.{name}"] or here or options
        if len({spot.entity for spot in fitting}) != 1:  # overloads have one name
            return []
        method = fitting[0].span.name.endswith(f".{name}") and caller.path.endswith(_NEED_OBJECTS)
        fits = here or not method or re.search(rf"(?<=[.>:]){re.escape(name)}(?!\w)", self._text(caller))
        return fitting[:1] if fits else []
