"""The tools of CoSIL's search over one snapshot, how a call is read from a reply, and the lists that its prompts show."""

from __future__ import annotations

import re
from asyncio import to_thread
from collections.abc import Iterable, Sequence
from typing import Any

from fusesearch.agents.parsing import MAX_CALL_CHARS, OPEN, parse_turn, visible
from fusesearch.code.calls import CallGraph
from fusesearch.code.modules import Outlines
from fusesearch.code.names import match_path, qualified
from fusesearch.code.naming import spelled
from fusesearch.code.outline import Outline
from fusesearch.code.tree import cut
from fusesearch.core.schema import ToolCall
from fusesearch.search.repository import clipped
from fusesearch.search.results import Outcome, excerpt

PARAMETERS = {
    "get_functions_of_class": ("file_name", "class_name"),
    "get_code_of_class": ("file_name", "class_name"),
    "get_code_of_class_function": ("file_name", "class_name", "func_name"),
    "get_code_of_file_function": ("file_name", "func_name"),
    "exit": (),
}
MAX_NAMES = 40
MAX_ARGUMENT_CHARS = 400
LINE_CHARS = 400
MAX_OUTSIDE = 20
NONE = "none"

_CALL = re.compile(rf"\b({'|'.join(PARAMETERS)})\s*\(([^()]{{0,2000}})\)")
_KEYWORD = re.compile(r"(file_name|class_name|func_name)\s*[=:]\s*")
_EXAMPLE = "get_code_of_file_function('first/path.py', 'name')"


def read_call(text: str, call_id: str) -> ToolCall | None:
    """The first call in a reply, call_text like Python or as a Hermes block, or None.

    The text is parsed, never evaluated. A known function with the wrong number of arguments is a call with ``error``.
    """
    text = visible(text)[:MAX_CALL_CHARS]
    if OPEN in text and (calls := parse_turn(text)[1]):
        return calls[0].model_copy(update={"id": call_id})
    match = _CALL.search(text)
    if match is None:
        return None
    name, names = match[1], PARAMETERS[match[1]]
    arguments: dict[str, Any] = {}
    for position, value in enumerate(part for part in match[2].split(",") if part.strip()):
        keyword = _KEYWORD.match(value.strip())
        key = keyword[1] if keyword else names[position] if position < len(names) else f"argument_{position + 1}"
        value = value.strip()[keyword.end() :] if keyword else value
        arguments[key] = value.strip(" \t\n'\"`")[:MAX_ARGUMENT_CHARS]
    return ToolCall(id=call_id, name=name, arguments=arguments, error=_fault(name, arguments))


def call_text(call: ToolCall) -> str:
    """A call as the prompts show it."""
    values = ", ".join(repr(str(value)) for value in call.arguments.values())
    return clipped(f"{call.name}({values})", 2 * MAX_ARGUMENT_CHARS)


class SearchTools:
    """Code by file, class and function, from any file. One object serves one search.

    ``chars`` limits one result. Files that are asked for join the call graph. A repeated call is refused.
    """

    def __init__(self, outlines: Outlines, graph: CallGraph, files: Sequence[str], chars: int) -> None:
        self.outlines = outlines
        self.graph = graph
        self.files = files
        self.chars = chars
        self._known = frozenset(files)
        self._made: set[str] = set()
        self.found: list[str] = []

    async def call(self, name: str, arguments: dict[str, Any]) -> Outcome:
        """Run one call. A fault in it becomes the result. ``found`` gets the functions that the result shows."""
        self.found = []
        if fault := _fault(name, arguments):
            return Outcome.failed(fault)
        key = repr((name, sorted(arguments.items())))
        if key in self._made:
            return Outcome.failed("this call was made before; its result is above. Make another one, or exit()")
        self._made.add(key)
        return await to_thread(self._answer, name, arguments)

    def neighbours(self) -> tuple[list[str], list[str]]:
        """What the functions of the last result call, and what calls them in the files opened so far."""
        inside = set(self.found)
        callees = dict.fromkeys(entity for function in self.found for entity in self.graph.callees(function))
        callers = dict.fromkeys(entity for function in self.found for entity in self.graph.callers(function))
        return [item for item in callees if item not in inside], [item for item in callers if item not in inside]

    def _answer(self, name: str, arguments: dict[str, Any]) -> Outcome:
        path = match_path(arguments["file_name"], self.files, self._known)
        outline = self.outlines.get(path) if path else None
        if outline is None:
            return Outcome.failed(
                f"no file {clipped(arguments['file_name'])}; file_name is one of those listed, with its whole path"
            )
        self.graph.open(outline.path)
        if name == "get_code_of_file_function":
            return self._function(outline, arguments["func_name"])
        classes = [span.name for span in outline.classes]
        class_name = qualified(spelled(arguments["class_name"], classes, outline.path), classes)
        if class_name is None:
            return _missing("class", arguments["class_name"], outline, classes)
        if name == "get_code_of_class_function":
            return self._method(outline, class_name, arguments["func_name"])
        return self._class(outline, class_name, names_only=name == "get_functions_of_class")

    def _function(self, outline: Outline, name: str) -> Outcome:
        free = _outside_classes(outline)
        functions = [span.name for span in outline.functions]
        # also show a method or class asked for as a function, such as a node of the call graph
        found = qualified(spelled(name, free, outline.path), free) or qualified(spelled(name, functions, outline.path), functions)
        if found:
            return self._code(outline, found)
        class_name = qualified(name, [span.name for span in outline.classes])
        return self._class(outline, class_name) if class_name else _missing("function", name, outline, free)

    def _method(self, outline: Outline, class_name: str, name: str) -> Outcome:
        members = [span.name for span in outline.members(class_name)]
        found = f"{class_name}.{name.rpartition('.')[2]}"
        if found not in members:
            found = spelled(f"{class_name}.{name}", members, outline.path)
        if found in members:
            return self._code(outline, found)
        return _missing(f"method of {class_name}", name, outline, [member.rpartition(".")[2] for member in members])

    def _class(self, outline: Outline, class_name: str, *, names_only: bool = False) -> Outcome:
        members = outline.members(class_name)
        span = outline.class_(class_name)
        self.found = [f"{outline.path}::{member.name}" for member in members]
        if names_only or span is None:
            listed = ", ".join(member.name.rpartition(".")[2] for member in members) or "none"
            entities = [f"{outline.path}:{member.start}" for member in members]
            return Outcome(cut(f"methods of {class_name} in {outline.path}: {listed}", self.chars, "of the list"), entities)
        return self._lines(outline, span.start, span.end)

    def _code(self, outline: Outline, name: str) -> Outcome:
        spans = [span for span in outline.functions if span.name == name]
        self.found = [f"{outline.path}::{name}"]
        parts = [self._lines(outline, span.start, span.end) for span in spans[:MAX_NAMES]]
        return Outcome(
            cut("\n".join(part.output for part in parts), self.chars, "of it"), [line for part in parts for line in part.entities]
        )

    def _lines(self, outline: Outline, start: int, end: int) -> Outcome:
        """Lines of a file below its path, as many as fit. Only these lines are entities."""
        lines = [(number, line[:LINE_CHARS]) for number, line in enumerate(outline.lines[start - 1 : end], start)]
        heading = f"{outline.path}, lines {start}-{end}"
        return excerpt(outline.path, heading, lines, self.chars, "({} more lines are not shown)")


def _fault(name: str, arguments: dict[str, Any]) -> str | None:
    if name not in PARAMETERS:
        return f"there is no function {clipped(name)}. Functions are {', '.join(PARAMETERS)}"
    names = PARAMETERS[name]
    if set(arguments) != set(names) or not all(isinstance(value, str) and value for value in arguments.values()):
        wanted = ", ".join(f"'{parameter}'" for parameter in names)
        return f"{name} takes ({wanted}), each in quotes, as in {_EXAMPLE}"
    return None


def _missing(what: str, name: str, outline: Outline, names: Sequence[str]) -> Outcome:
    known = first_names(list(dict.fromkeys(names)), NONE)
    return Outcome.failed(f"no {what} {clipped(name)} in {outline.path}; there is: {known}")


def first_names(names: Sequence[str], none: str) -> str:
    """The first :data:`MAX_NAMES` of a list in words; ``none`` stands for an empty one."""
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return (", ".join(names[:MAX_NAMES]) or none) + more


def structure_list(outlines: Outlines, paths: Sequence[str], chars: int) -> str:
    """Classes, functions outside classes and methods of each class, per file. Files share ``chars`` evenly."""
    share = max(chars // max(len(paths), 1), 300)
    blocks = (_structure(path, outlines.get(path)) for path in paths)
    return "\n".join(cut(block, share, "of this file") for block in blocks)


def import_list(outlines: Outlines, paths: Sequence[str], chars: int) -> str:
    """Imports of each file from the project and from outside, and which of the other files import it."""
    inside = {}
    for path in paths:
        outline = outlines.get(path)
        found = (outlines.module_of(path, item) for item in (outline.imports if outline else ()))
        inside[path] = list(dict.fromkeys(target for target in found if target and target != path))
    share = max(chars // max(len(paths), 1), 300)
    return "\n".join(cut(_imports(outlines, path, inside), share, "of this file") for path in paths)


def _structure(path: str, outline: Outline | None) -> str:
    if outline is None:
        return f"file: {path}\n  (cannot be read)"
    classes = [span.name for span in outline.classes]
    functions = _names(_outside_classes(outline))
    rows = [f"file: {path}", f"  classes: {_names(classes)}", f"  functions outside of classes: {functions}"]
    for name in dict.fromkeys(classes):
        rows.append(f"  methods of {name}: {_names(member.name.rpartition('.')[2] for member in outline.members(name))}")
    return "\n".join(rows)


def _outside_classes(outline: Outline) -> list[str]:
    methods = {member.name for span in outline.classes for member in outline.members(span.name)}
    return [span.name for span in outline.functions if span.name not in methods]


def _imports(outlines: Outlines, path: str, inside: dict[str, list[str]]) -> str:
    outline = outlines.get(path)
    items = outline.imports if outline else ()
    others = (item.module for item in items if not item.level and item.module and not outlines.module_of(path, item))
    outside = list(dict.fromkeys(name.partition(".")[0] for name in others))[:MAX_OUTSIDE]
    users = [other for other, targets in inside.items() if path in targets]
    return (
        f"file: {path}\n  imports of the project: {_names(inside[path])}\n  imports from outside: {_names(outside)}"
        f"\n  imported by, of these files: {_names(users)}"
    )


def _names(names: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(names)) or NONE
