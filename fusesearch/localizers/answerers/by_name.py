"""Where a name is defined and who calls it, in other languages than Python: by the name alone, from the ranker's index.

One definition of the name is an answer: a function, a class, else a line that declares it
(:mod:`fusesearch.localizers.answerers.declared`). A class and its constructors are one definition; a declaration whose
definition follows does not count. A call of the name may be one of something else that has it, so callers are candidates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path

from fusesearch.code.kinds import is_code, is_foreign
from fusesearch.code.plain import C_FAMILY, RUBY, SCRIPTS, callable_name, opening, without_text, without_types
from fusesearch.code.spans import FunctionSpan, is_python
from fusesearch.core.errors import OutsideRootError, ToolError
from fusesearch.core.schema import Location
from fusesearch.core.stopping import checked
from fusesearch.localizers.answerers import declared
from fusesearch.localizers.answerers.asked import Asked
from fusesearch.localizers.answerers.certain import Finding
from fusesearch.localizers.ranker.copies import BUNDLED, copies_among
from fusesearch.localizers.ranker.facts import Facts, term, words_of
from fusesearch.localizers.ranker.index import Index
from fusesearch.search.repository import Repository

_MARKS = "?!="  # at the end of names in Ruby
_MARK = re.compile(r"(?<=\w)[?!=]$")
_OPERATOR = re.compile(r"\[\]=?|[-+*/%^&|~!=<>]{1,3}")
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


def by_name(asked: Asked, repository: Repository, folder: Path | None) -> Finding | None:
    """The finding in files of other languages than Python; None if none of them defines or calls the name.

    ``folder`` is where the index lies. Tests are not searched.
    """
    name = asked.names.get("name", "").rpartition("::")[2]
    owner, last = _parts(name)
    if not words_of(last) and not _OPERATOR.fullmatch(last):  # such as `_`, or a question about code without a name
        return None
    with Index(repository, folder) as index:
        tree = _Named(index, owner, last)
        found = tree.found()
        if owner and found and not found[0].path.endswith(RUBY):
            last = callable_name(found[0].path, f"{owner}.{last}")
        tree = _Named(index, "", last) if last != tree.last else tree
        if asked.kind == "callers" and (calling := list(chain(*_without_copies(list(tree.calling()), index)))):
            said = f"These call something named `{tree.last}`, by its name alone; tests are not searched:"
            return Finding(False, said, [], _lines(calling), calling)
        other = [] if found or not owner else _Named(index, "", last).found()
        prototypes = [] if found or other else list(tree.prototypes())
        if not found:
            found = [one for one in other if _is_in(owner.rpartition(".")[2], one.path, index.source(one.path))]
            found = [one for one in found if one.function == last] or found  # of a package, not of a class in it
        found, copies = _without_copies(found, index)
    if other and not found:
        return Finding(False, f"`{name}` is not defined here. `{last}` is:", [], _lines(other), other)
    if prototypes:
        return Finding(
            False, f"`{name}` has no definition here, perhaps a macro's. It is declared:", [], _lines(prototypes), prototypes
        )
    if not found:
        return None
    if asked.kind == "exported" and len(found) == 1:
        return Finding(True, "", [f"{found[0].path}::{found[0].function}"], [*_lines(found), *_copied(copies)])
    said = {
        "exported": f"`{name}` has {len(found)} definitions:",
        "callers": f"Uses of operators are not searched. `{name}` is defined here:"
        if tree.is_operator
        else f"Nothing calls `{name}` by its name, except perhaps tests, which are not searched. It is defined here:",
    }.get(asked.kind, f"This question has answers in Python alone. `{name}` is defined here:")
    return Finding(False, said, [], [*_lines(found), *_copied(copies)], [*found, *copies])


def _without_copies(found: list[Location], index: Index) -> tuple[list[Location], list[Location]]:
    """Places in sources, then places in their copies. If all are in copies, they count as sources."""
    paths = dict.fromkeys(one.path for one in found if one.path.endswith(BUNDLED))
    if len({one.path for one in found}) < 2 or not paths:
        return found, []
    bundled = (path for path in index.paths if path.endswith(BUNDLED))
    copies = copies_among(
        paths, {path: (facts.raw, list(facts.lengths)) for path, facts in index.facts(bundled)}, index.repository
    )
    own = [one for one in found if one.path not in copies]
    return (own, [one for one in found if one.path in copies]) if own else (found, [])


def _copied(copies: list[Location]) -> list[str]:
    return [f"{line}  (a copy that a program wrote)" for line in _lines(copies)]


def beside(asked: Asked, finding: Finding, repository: Repository, folder: Path | None) -> Finding:
    """A finding in Python with the definitions of the same name in other languages: without its module, a name can mean either.

    Files that are vendored or generated by their path do not count, nor do calls of a name that only Python defines.
    """
    name = asked.names.get("name", "")
    owner, last = _parts(name)
    if asked.kind not in ("exported", "callers") or "::" in name or not words_of(last) or not _is_written(last, repository):
        return finding
    with Index(repository, folder) as index:
        tree = _Named(index, owner, last)
        found = [one for one in tree.found() if not is_foreign(one.path)]
        calling = [one for one in tree.calling() if not is_foreign(one.path)] if found and asked.kind == "callers" else []
    if not found:
        return finding
    pairs = (value.partition("::") for value in finding.values)
    known = finding.candidates or [Location(path=path, function=function) for path, _, function in pairs]
    if asked.kind == "exported":
        said, others = f"`{name}` has {len(known) + len(found)} definitions:", found
    else:
        said = f"{finding.said}\n" if finding.said else ""
        said = f"{said}`{name}` is defined in other languages, too. Callers in Python, and of the name `{last}` in those:"
        others = calling
    return Finding(False, said, [], [*finding.lines, *_lines(others)], [*known, *others])


def _is_written(name: str, repository: Repository) -> bool:
    """Whether code in another language than Python has the name: without it, no index is needed."""
    wanted = name.encode()
    for path in checked(repository.files()):
        if not is_python(path) and is_code(path) and not is_foreign(path):
            with suppress(ToolError, OutsideRootError):
                if wanted in repository.read_listed(path):
                    return True
    return False


def _parts(name: str) -> tuple[str, str]:
    """What holds a name, and its last part: an operator may have a dot."""
    owner, dot, operator = name.rpartition(".operator")
    if dot:
        return owner, f"operator{operator}"
    owner, _, last = name.rpartition(".")
    return owner, last


def _is_in(space: str, path: str, source: str) -> bool:
    """Whether a file is of a package, namespace, module or crate: by its name, its folder's name, or what it says."""
    *_, folder, name = ["", *path.lower().replace("-", "_").split("/")]
    says = rf"^[ \t]*(?:namespace|package|module|defmodule|pub mod|mod)[ \t]+(?:[\w.\\:]*[.\\:])?{re.escape(space)}\b"
    crate = f"/{space.lower()}/src/" in f"/{path.lower().replace('-', '_')}" and path.endswith(".rs")
    return crate or space.lower() in (folder, name.partition(".")[0]) or re.search(says, source, re.MULTILINE) is not None


class _Named:
    """The functions, classes and other declarations of a tree that are called ``last`` (in something called ``owner``)."""

    def __init__(self, index: Index, owner: str, last: str) -> None:
        self._index, self._paths = index, [path for path in index.paths if not is_python(path)]
        self.last, self._owner, self._whole = last, owner, f"{owner}.{last}" if owner else last
        self._operator = f"operator{last}" if _OPERATOR.fullmatch(last) else ""  # as C++ names it
        self.is_operator = bool(self._operator)
        self._wholes = tuple(f".{owner}.{one}" if owner else f".{one}" for one in (last, self._operator) if one)
        self._word = words_of(last)[0] if words_of(last) else f"d:{last}"

    def found(self) -> list[Location]:
        """The definitions; if there are none, lines that declare the name."""
        classes, functions = list(self._classes()), list(self._functions())
        if classes:
            functions = [one for one in functions if not f".{one.function}".endswith(f".{self.last}.{self.last}")]
        exported = [] if classes or self._owner else list(self._declared(declared.exporting))
        found = [*functions, *classes, *exported] or list(self._declared(declared.declaring))
        return found if self._owner else sorted(found, key=lambda one: one.function != self.last)  # members last

    def prototypes(self) -> Iterator[Location]:
        """Lines outside functions that declare a function of C or C++."""
        return self._declared(declared.prototyping)

    def calling(self) -> Iterator[Location]:
        """Functions with a call of the name, in Ruby with the name, and lines outside functions with one."""
        for path, facts in self._having(f"k:{self.last}", self._word):
            lines = without_types(without_text(self._index.source(path), path), path).split("\n")
            call = self._call(path)
            for span in _with_terms(facts, self._word, f"k:{self.last}"):
                below = span.name.rstrip(_MARKS).rpartition(".")[2] == self.last  # its own head is not a call
                numbers = range(span.start + below, min(span.end, len(lines)) + 1)
                number = next((number for number in numbers if call.search(lines[number - 1])), None)
                if number is not None:
                    yield Location(path=path, function=span.name, lines=(number, number))
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
        terms = [*(f"d:{self.last}{mark}" for mark in ("", *_MARKS)), f"d:{self._operator}"]
        for path, facts in self._having(self._word, terms[-1]):
            for span in _with_terms(facts, *terms):
                name = _MARK.sub("", span.name)
                if f".{name}".endswith(self._wholes) or f".{span.name}".endswith(self._wholes):
                    yield from self._lines_with("", path, span)[:1]
                elif not self._owner and self.last != name.rpartition(".")[2]:
                    yield from self._lines_with(_DEFINING, path, span)[:1]

    def _classes(self) -> Iterator[Location]:
        """Classes; in C and C++ those with a body, not what is declared ahead of it."""
        for path, facts in self._having(self._word):
            source = self._index.source(path)
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

    def _declared(self, found_by: declared.Finder) -> Iterator[Location]:
        """Lines outside functions that declare the name."""
        last = self._owner.rpartition(".")[2]
        for path, facts in self._having(self._word):
            source = self._index.source(path)
            lines = (source if path.endswith(".php") else without_text(source, path)).split("\n")  # define('NAME', 1)
            numbers = list(found_by(path, lines, facts.functions, self.last))
            for number in declared.within(lines, numbers, last) if last else numbers:
                yield Location(path=path, function=self._whole, lines=(number, number))

    def _having(self, *terms: str) -> Iterator[tuple[str, Facts]]:
        wanted = {*map(term, terms)}
        found = ((path, facts) for path, facts in self._index.facts(self._paths) if not wanted.isdisjoint(facts.terms))
        yield from sorted(found, key=lambda pair: pair[0])

    def _lines_with(self, before: str, path: str, span: FunctionSpan, after: str = "") -> list[Location]:
        """The lines of a span that have the name between ``before`` and ``after``."""
        edge = "" if self._operator else r"(?<!\w)"
        pattern = re.compile(rf"{before}{edge}{re.escape(self.last)}(?!\w){after}")
        lines = self._index.source(path).split("\n")[span.start - 1 : span.end]
        numbers = [number for number, line in enumerate(lines, span.start) if self.last in line and pattern.search(line)]
        return [Location(path=path, function=span.name, lines=(number, number)) for number in numbers]


def _with_terms(facts: Facts, *texts: str) -> list[FunctionSpan]:
    """The functions that have one of some terms."""
    places, spans = [place for text in texts if (place := facts.find(term(text))) >= 0], facts.functions
    return [spans[number] for number in sorted({number for place in places for number, _ in facts.functions_with(place)})]


def _lines(found: list[Location]) -> list[str]:
    return [f"{one.path}:{one.lines[0]}  {one.function or ''}".rstrip() for one in found if one.lines]
