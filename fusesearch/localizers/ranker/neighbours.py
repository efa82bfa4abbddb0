"""What functions call and which functions call them, in every language of the index.

Calls of Python are followed (:mod:`fusesearch.code.calls`). Other calls are matched by name: with a function of the same class,
else of the same file, else with the only one of that name in the tree. What stays ambiguous is left out.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from fusesearch.code.calls import CallGraph
from fusesearch.code.modules import outlines_of
from fusesearch.code.plain import (
    CONSTRUCTORS,
    CONSTRUCTORS_OF,
    RUBY,
    SCALA,
    callable_name,
    opening,
    ruby_calls,
    without_text,
    without_types,
)
from fusesearch.code.spans import FunctionSpan, is_python
from fusesearch.localizers.ranker.columns import is_common
from fusesearch.localizers.ranker.facts import term, words_of
from fusesearch.localizers.ranker.index import Index
from fusesearch.localizers.ranker.paths import family

CALLEES, CALLERS = 8, 5
"""Most callees and callers of one function."""

MAX_NAMES = 200
"""Names that one function calls, of which the first are followed."""

MAX_SAME = 200
"""Functions of one name, and callers of one name, that are kept; where there are more, none is sure."""

MAX_FOLLOWED = 30
"""Python functions whose calls are followed to tell who calls a function."""

_NAME = r"([^\W\d]\w*)"
_NEED_OBJECTS = (".py", ".go", ".php", ".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts")
_TYPED = (
    ".cs", ".kt", ".kts", ".swift", ".scala", ".sc", ".ts", ".tsx", ".mts", ".cts", ".rs", ".java", ".cc", ".cpp", ".cxx",
    ".h", ".hh", ".hpp", ".hxx",
)  # fmt: skip
"""Suffixes of languages with calls that have type arguments or a block before their brackets, which the index has as words."""

_CORE_OF_RUBY = frozenset(
    (
        "all?", "any?", "append", "call", "clear", "close", "collect", "count", "delete", "delete_if", "detect", "dup",
        "each", "each_with_index", "empty?", "fetch", "find", "first", "flatten", "freeze", "hash", "include?", "inject",
        "inspect", "key?", "keys", "last", "length", "lines", "map", "max", "merge", "min", "name", "new", "none?", "open",
        "pop", "puts", "push", "read", "reject", "replace", "reverse", "select", "send", "shift", "size", "sleep", "sort",
        "split", "strip", "sum", "tap", "to_a", "to_h", "to_i", "to_s", "to_sym", "uniq", "update", "values", "write", "zip",
    )
)  # fmt: skip
"""Methods of Ruby's own classes: a call of one in another file says nothing of whose it is."""

_MADE = (*CONSTRUCTORS, *(name for names in CONSTRUCTORS_OF.values() for name in names))


class Spot(NamedTuple):
    """A function, or a class of Python without a constructor, and its lines."""

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


class Neighbours:
    """Callees and callers of ``functions``; ``lines`` gives those of a file. Reads the facts of all files once."""

    def __init__(self, index: Index, functions: Sequence[Spot], lines: Callable[[str], Sequence[str]]) -> None:
        self._graph = CallGraph(outlines_of(index.repository))
        self._lines = lines
        self._names = {spot: list(self._called(spot)) for spot in functions}
        own = [spot.called for spot in functions]
        self._defined: dict[str, list[Spot]] = defaultdict(list)
        self._calling: dict[str, list[Spot]] = defaultdict(list)
        self._mentioning: dict[str, list[Spot]] = defaultdict(list)
        self._scan(index, list(dict.fromkeys([*own, *(name for names in self._names.values() for name in names)])), own)

    def callees(self, spot: Spot) -> list[Spot]:
        """What a function calls, in the order of the calls, what is sure before what fits by name."""
        followed = [found for entity in self._followed(spot) if (found := self._spot(entity))]
        known = {found.span.name.rpartition(".")[2] for found in followed}
        named = (
            found
            for name in self._names[spot]
            if name not in known and (found := self._by_name(name, spot)) and self._can_mean(name, spot, found)
        )
        return [found for found in dict.fromkeys([*followed, *named]) if found != spot][:CALLEES]

    def callers(self, spot: Spot) -> list[Spot]:
        """Functions that call this one: those of its file first, then those nearest in the tree."""
        name = spot.called
        calling = sorted(
            (
                other
                for other in dict.fromkeys([*self._calling[name], *self._mentioning[name]])
                if other != spot and family(other.path) == family(spot.path)
            ),
            key=lambda other: (*_distance(spot.path, other.path), other.path, other.span),
        )
        found: list[Spot] = []
        for tried, other in enumerate(calling):
            if len(found) == CALLERS:
                break
            followed = is_python(other.path) and tried < MAX_FOLLOWED and spot.entity in self._followed(other)
            if (followed or self._by_name(name, other) == spot) and self._calls(other, name):
                found.append(other)
        return found

    def _scan(self, index: Index, names: Sequence[str], own: Sequence[str]) -> None:
        """Where the names are defined, and which functions may call those of ``own``."""
        defined = {term(key): name for name in names for key in (f"d:{name}", *(f"q:{name}.{made}" for made in _MADE))}
        calling = {term(f"k:{name}"): name for name in own}
        words = {term(words[0]): name for name in own if (words := words_of(name))}
        for path, facts in index.facts(index.paths):
            calls = calling | words if path.endswith(RUBY) else calling
            mentions = words if path.endswith(_TYPED) else {}
            here = {**defined, **calls, **mentions}.keys() & facts.terms
            spans = facts.functions if here else []
            for key in here:
                for number, _ in facts.functions_with(facts.find(key)):
                    spot = Spot(path, spans[number])
                    if (name := defined.get(key)) and spot.called == name and not self._is_of_instance(spot):
                        self._keep(self._defined[name], spot)
                    if name := calls.get(key):
                        self._keep(self._calling[name], spot)
                    if name := mentions.get(key):
                        self._keep(self._mentioning[name], spot)

    def _keep(self, found: list[Spot], spot: Spot) -> None:
        if len(found) < MAX_SAME:
            found.append(spot)

    def _called(self, spot: Spot) -> Iterator[str]:
        """Names that a function calls, in Ruby those that may be calls."""
        names = self._names_called(spot)
        yield from [name for name in names if name != spot.span.name.rpartition(".")[2] and not is_common(name)][:MAX_NAMES]

    def _names_called(self, spot: Spot) -> list[str]:
        text = self._text(spot)
        if spot.path.endswith(RUBY):
            return ruby_calls(text)
        text = without_types(without_text(text, spot.path), spot.path)
        if spot.path.endswith(SCALA):  # `new Cart(1)` calls no function, unlike `Cart(1)`
            text = re.sub(r"\bnew[ \t]+[\w.]+", "new", text)
        return list(dict.fromkeys(re.findall(_NAME + opening(spot.path), text)))

    def _is_of_instance(self, spot: Spot) -> bool:
        """Whether it is Scala's ``apply`` of a class, which ``Name(x)`` does not mean as it does that of an object."""
        if not spot.path.endswith(SCALA) or not spot.span.name.endswith(".apply"):
            return False
        holder = re.compile(rf"\b(class|trait|object|val|given)\s+{re.escape(spot.called)}\b")
        above = (holder.search(line) for line in reversed(self._lines(spot.path)[: spot.span.start]))
        return next((match[1] in ("class", "trait") for match in above if match), False)

    def _calls(self, caller: Spot, name: str) -> bool:
        """Whether the text of a caller has a call: the hash of a name may be that of another, and a word may be no call."""
        return self._mentions(caller, name) and (is_python(caller.path) or name in self._names_called(caller))

    def _text(self, spot: Spot) -> str:
        return "\n".join(self._lines(spot.path)[spot.span.start - 1 : spot.span.end])

    def _can_mean(self, name: str, caller: Spot, found: Spot) -> bool:
        """Whether a call can mean ``found``: in some languages a method of another file needs an object before it."""
        if found.path == caller.path or "." not in found.span.name or not caller.path.endswith(_NEED_OBJECTS):
            return True
        return found.called != found.span.name.rpartition(".")[2] or self._mentions(caller, name, r"(?<=[.>:])")

    def _mentions(self, caller: Spot, name: str, before: str = "") -> bool:
        """Whether the text of a caller has the name."""
        return re.search(rf"{before}(?<!\w){re.escape(name)}(?!\w)", self._text(caller)) is not None

    def _followed(self, spot: Spot) -> Iterable[str]:
        return self._graph.callees(spot.entity) if is_python(spot.path) else ()

    def _spot(self, entity: str) -> Spot | None:
        path, _, name = entity.partition("::")
        outline = self._graph.outlines.get(path)
        found = (outline.function(name) or outline.class_(name)) if outline else None
        return Spot(path, FunctionSpan(found.start, found.end, name)) if found else None

    def _by_name(self, name: str, caller: Spot) -> Spot | None:
        """The function that a call of ``name`` means."""
        options = [spot for spot in self._defined[name] if family(spot.path) == family(caller.path)]
        holder = caller.span.name.rpartition(".")[0]
        here = [spot for spot in options if spot.path == caller.path]
        if name in _CORE_OF_RUBY and caller.path.endswith(RUBY):
            options = here
        member = [spot for spot in here if spot.span.name == f"{holder}.{name}"]
        fitting = member or here or options
        return fitting[0] if len(fitting) == 1 else None


def _distance(one: str, other: str) -> tuple[bool, int]:
    folders = [path.split("/")[:-1] for path in (one, other)]
    shared = next((number for number, (a, b) in enumerate(zip(*folders, strict=False)) if a != b), min(map(len, folders)))
    return one != other, sum(map(len, folders)) - 2 * shared
