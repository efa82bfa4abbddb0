"""The six tools of RepoSearcher (ToolTrain, table 1) over the outlines of a snapshot."""

from __future__ import annotations

import ast
import asyncio
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from typing import Any

from fusesearch.agents.prompts import render, render_issue
from fusesearch.agents.recording import Instructions
from fusesearch.agents.specs import EpisodeSpec
from fusesearch.code.functions import parse
from fusesearch.code.modules import outlines_of
from fusesearch.code.naming import spelled
from fusesearch.code.outline import Outline
from fusesearch.code.spans import is_python
from fusesearch.code.tree import source_files, tree_text
from fusesearch.core.config import Agent, Tools
from fusesearch.core.errors import OutsideRootError, ToolError
from fusesearch.search.repository import Repository, clipped, virtual_path
from fusesearch.search.results import Outcome, cut, excerpt, shorten
from fusesearch.search.tool import function_schema

EXIT = "Exit"
ANSWERS = 5
"""Functions to ask for, as in the published code."""
LAST_TURNS = 2
"""Turns of ``agent.max_turns`` reserved for the answer."""
_MAX_NAME_CHARS = 500
_IMPORT_CHARS = 400
_MAX_NAMES = 8
_FOLDER = re.compile(r"(.*)/(?: \(\d+ more files below\))?")
_IMPORT = re.compile(
    r"\s*(?:import|from|include|use|using|require|require_once|package|mod|extern crate)\b|\s*#\s*include|.*\brequire\("
)

_FILE = ("file", "path of a file below /repo, such as /repo/package/module.py")
_CLASS = ("class", "name of the class, as Outer.Inner where it is nested")
_TOOLS: dict[str, tuple[str, tuple[tuple[str, str], ...]]] = {
    "GetRepoStructure": ("The files of the repository as a tree of folders.", ()),
    "GetImportOfFile": ("The import statements of a file.", (_FILE,)),
    "SearchClass": ("The code of a class in a file.", (_FILE, _CLASS)),
    "SearchFunction": ("The code of a function at module level in a file.", (_FILE, ("function", "name of the function"))),
    "SearchClassMethod": ("The code of a method of a class in a file.", (_FILE, _CLASS, ("method", "name of the method"))),
    EXIT: ("End the search: everything needed to answer has been seen.", ()),
}


def schemas() -> list[dict[str, Any]]:
    """The tools as OpenAI's API takes them; every argument is required."""
    found = []
    for name, (description, arguments) in _TOOLS.items():
        properties = {key: {"type": "string", "description": what} for key, what in arguments}
        found.append(function_schema(name, description, properties, list(properties)))
    return found


class SearchTools:
    """The tools over a snapshot, within ``limits``. The result of Exit asks for the answer."""

    def __init__(self, repository: Repository, limits: Tools) -> None:
        self.chars = limits.output_chars
        self._line_chars = limits.line_chars
        self._repository = repository
        self._outlines = outlines_of(repository)

    async def call(self, name: str, arguments: dict[str, Any]) -> Outcome:
        """Run one call. A model's fault is a result with ``error``."""
        try:
            return await asyncio.to_thread(self.run, name, arguments)
        except (ToolError, OutsideRootError) as error:
            return Outcome.failed(shorten(str(error), 1000))

    def run(self, name: str, arguments: dict[str, Any]) -> Outcome:
        """What one call gives. A model's fault raises :class:`ToolError` or :class:`OutsideRootError`."""
        if name not in _TOOLS:
            raise ToolError(f"there is no tool {clipped(name)!r}: use one of {', '.join(_TOOLS)}")
        values = _checked(name, arguments)
        if name == EXIT:
            return Outcome(render(__package__, "answer", most=ANSWERS))
        run: dict[str, Callable[..., Outcome]] = {
            "GetRepoStructure": self._structure,
            "GetImportOfFile": self._imports,
            "SearchClass": self._class,
            "SearchFunction": self._function,
            "SearchClassMethod": self._method,
        }
        return run[name](*values)

    def _structure(self) -> Outcome:
        text = tree_text(source_files(self._repository.files()), self.chars)
        return Outcome(text or "The repository has no source files.", list(files_of(text)))

    def _imports(self, file: str) -> Outcome:
        found = self._outline(file)
        numbers = sorted(set(_import_lines(found)))
        return self._shown(found, numbers) if numbers else Outcome(f"{virtual_path(found.path)} imports nothing.")

    def _class(self, file: str, name: str) -> Outcome:
        found = self._outline(file)
        span = found.class_(spelled(name, [one.name for one in found.classes], found.path))
        if span is None:
            raise _missing(found, "class", name, (one.name for one in found.classes))
        return self._shown(found, range(span.start, span.end + 1))

    def _function(self, file: str, name: str) -> Outcome:
        found = self._outline(file)
        name = spelled(name, [one.name for one in found.functions], found.path)
        span = found.function(name)
        if span is None or "." in name:
            raise _missing(found, "function at module level", name, (one.name for one in found.functions))
        return self._shown(found, range(span.start, span.end + 1))

    def _method(self, file: str, class_name: str, name: str) -> Outcome:
        found = self._outline(file)
        method = spelled(f"{class_name}.{name}", [one.name for one in found.functions], found.path)
        spans = [one for one in found.functions if one.name == method]
        if not spans:
            members = [one.name for one in found.members(class_name)]
            names = members or [one.name for one in found.functions]
            raise _missing(found, "method", f"{class_name}.{name}", names, members)
        # the getter and setter of a property have one name
        return self._shown(found, [line for one in spans for line in range(one.start, one.end + 1)])

    def _outline(self, file: str) -> Outline:
        found = self._outlines.get(self._repository.relative(file))
        if found is None:
            self._repository.resolve(file)  # raises an error that explains the path and lists similar ones
            raise ToolError(f"{clipped(file)} is not a file of source code that can be searched")
        return found

    def _shown(self, found: Outline, numbers: Sequence[int]) -> Outcome:
        """Lines of a file below a heading, as many as fit."""
        heading = f"{virtual_path(found.path)}, lines {numbers[0]} to {numbers[-1]}:"
        lines = [(number, cut(found.lines[number - 1], self._line_chars)) for number in numbers]
        return excerpt(found.path, heading, lines, self.chars, "(... {} more lines are not shown)")


def _checked(name: str, arguments: dict[str, Any]) -> list[str]:
    """The arguments in order. Raises :class:`ToolError` if one is missing, unknown or not a name."""
    wanted = [key for key, _ in _TOOLS[name][1]]
    right = f"right would be {name}({', '.join(wanted)})"
    if unknown := [key for key in arguments if key not in wanted]:
        raise ToolError(f"{name} has no argument {clipped(unknown[0])!r}: {right}")
    values = [arguments.get(key) for key in wanted]
    for key, value in zip(wanted, values, strict=True):
        if not isinstance(value, str) or not value.strip() or len(value) > _MAX_NAME_CHARS:
            raise ToolError(f"{name} needs {key!r} as a text of at most {_MAX_NAME_CHARS} characters: {right}")
    return [str(value).strip().strip("`'\"") for value in values]


def _missing(found: Outline, kind: str, name: str, names: Iterable[str], first: Sequence[str] = ()) -> ToolError:
    """An error that lists names of the file: the same name elsewhere, or similar names, or the first names."""
    known = list(dict.fromkeys(names))
    last = name.rpartition(".")[2]
    same = [one for one in known if one.rpartition(".")[2] == last]
    close = same or get_close_matches(name[:100], known[:5000], _MAX_NAMES) or list(first) or known
    listed = f"; it has {', '.join(clipped(one) for one in close[:_MAX_NAMES])}" if close else ""
    return ToolError(f"{virtual_path(found.path)} has no {kind} {clipped(name)!r}{listed}")


def files_of(tree: str) -> Iterator[str]:
    """Paths of the files shown in the text of a tree."""
    folders: list[str] = []
    for line in tree.split("\n"):
        name = line.lstrip(" ")
        level = (len(line) - len(name)) // 2
        if folder := _FOLDER.fullmatch(name):
            folders[level:] = [folder[1]]
        elif name and not name.startswith("(... "):
            yield "/".join([*folders[:level], name])


def _import_lines(found: Outline) -> Iterator[int]:
    """Line numbers of import statements: from the syntax tree in Python, from how lines begin in other languages."""
    tree = parse("\n".join(found.lines)) if is_python(found.path) else None
    if tree is None:
        yield from (number for number, line in enumerate(found.lines, 1) if _IMPORT.match(line[:_IMPORT_CHARS]))
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from range(node.lineno, min(node.end_lineno or node.lineno, len(found.lines)) + 1)


def _instruct(agent: Agent, problem_statement: str, guidance: int | None) -> Instructions:
    """Guidance on parallel calls does not apply: each turn runs one call."""
    issue = render_issue(agent, problem_statement)
    return Instructions(render(__package__, "system", calls=max(agent.max_turns - LAST_TURNS, 0)), issue, schemas())


REPOSEARCHER = EpisodeSpec(
    open=lambda repository, agent, limits: SearchTools(repository, limits), instruct=_instruct, schemas=schemas, mode="sequential"
)
"""The tools in the one loop, for models that ask and models that are trained (ToolTrain, section 3.3).

Exit's result asks for the answer, and the first message without a call is the answer: nobody reminds the model. No turn is ever
left out of the conversation; an episode ends at the limit of its context.
"""
