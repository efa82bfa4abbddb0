"""What a model may ask: the schemas of the three tools, and the check of arguments against them.

A request that passed is a frozen record, so that equal requests are recognized as equal (``"12"`` and ``12``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tasks.core.errors import ToolError
from tasks.search.repository import shown

OUTPUT_MODES = ("files_with_matches", "content", "count")
_MAX_CHARS = 2000
_PATH = "folder or file below /repo to look in"


@dataclass(frozen=True)
class Grep:
    """Search file contents."""

    pattern: str
    path: str = ""
    glob: str = ""
    output_mode: str = "files_with_matches"
    context: int | None = None


@dataclass(frozen=True)
class Glob:
    """Find files by name."""

    pattern: str
    path: str = ""


@dataclass(frozen=True)
class ReadFile:
    """Show lines of one file."""

    path: str
    start_line: int | None = None
    end_line: int | None = None


Request = Grep | Glob | ReadFile

_TOOLS: dict[str, tuple[type[Grep] | type[Glob] | type[ReadFile], str, dict[str, dict[str, Any]], list[str]]] = {
    "grep": (
        Grep,
        "Search file contents with a regular expression (ripgrep).",
        {
            "pattern": {"type": "string", "description": "regular expression, matched line by line"},
            "path": {"type": "string", "description": _PATH},
            "glob": {"type": "string", "description": "only files that match, such as *.py or src/**/*.py"},
            "output_mode": {"type": "string", "enum": list(OUTPUT_MODES), "description": f"{OUTPUT_MODES[0]} by default"},
            "context": {"type": "integer", "description": "content mode: lines shown around each match, at most 20"},
        },
        ["pattern"],
    ),
    "glob": (
        Glob,
        "Find files by name. A pattern without a slash matches names at any depth.",
        {
            "pattern": {"type": "string", "description": "such as *.py, test_*.py or src/**/models.py"},
            "path": {"type": "string", "description": "folder below /repo to look in"},
        },
        ["pattern"],
    ),
    "read_file": (
        ReadFile,
        "Read a file with line numbers, whole or a range of lines.",
        {
            "path": {"type": "string", "description": "file below /repo"},
            "start_line": {"type": "integer", "description": "first line, from 1"},
            "end_line": {"type": "integer", "description": "last line, inclusive"},
        },
        ["path"],
    ),
}


def schemas() -> list[dict[str, Any]]:
    """The three tools in OpenAI's form: ``{"type": "function", "function": {name, description, parameters}}``."""
    return [_schema(name) for name in _TOOLS]


def parse_request(name: str, arguments: object) -> Request:
    """Check a call. Raises :class:`ToolError` that names the tools there are, or the arguments of this one.

    Numbers written as strings are accepted for integers, and null for an optional argument; nothing else is guessed.
    """
    if not isinstance(name, str) or name not in _TOOLS:
        raise ToolError(f"there is no tool {shown(str(name), 40)}; the tools are {', '.join(_TOOLS)}")
    kind, _, properties, required = _TOOLS[name]
    if not isinstance(arguments, dict):
        raise ToolError(f"{name}: arguments must be a JSON object; {_usage(name)}")
    given = {key: value for key, value in arguments.items() if value is not None}
    if unknown := [key for key in given if key not in properties]:
        raise ToolError(f"{name}: unknown argument {shown(str(unknown[0]), 40)}; {_usage(name)}")
    if missing := [key for key in required if key not in given]:
        raise ToolError(f"{name}: {missing[0]} is missing; {_usage(name)}")
    if empty := [key for key in required if given[key] == ""]:
        raise ToolError(f"{name}: {empty[0]} is empty; {_usage(name)}")
    return kind(**{key: _checked(name, key, properties[key], value) for key, value in given.items()})


def _schema(name: str) -> dict[str, Any]:
    _, description, properties, required = _TOOLS[name]
    parameters = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def _usage(name: str) -> str:
    _, _, properties, required = _TOOLS[name]
    return f"use {name}({', '.join(key if key in required else key + '?' for key in properties)})"


def _checked(name: str, key: str, rule: dict[str, Any], value: object) -> Any:
    if rule["type"] == "integer":
        return _integer(name, key, value)
    if not isinstance(value, str):
        raise ToolError(f"{name}: {key} must be a string, not {shown(repr(value), 40)}; {_usage(name)}")
    if "enum" in rule and value not in rule["enum"]:
        raise ToolError(f"{name}: {key} must be one of {', '.join(rule['enum'])}, not {shown(value, 40)}")
    if problem := _malformed(value):
        raise ToolError(f"{name}: {key} {problem}")
    return value


def _integer(name: str, key: str, value: object) -> int:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and len(value) <= 20 and value.strip().removeprefix("-").isdecimal():
        return int(value)
    raise ToolError(f"{name}: {key} must be an integer, not {shown(repr(value), 40)}")


def _malformed(value: str) -> str | None:
    if len(value) > _MAX_CHARS:
        return f"has {len(value)} characters; at most {_MAX_CHARS} are possible"
    if "\0" in value or "\n" in value or "\r" in value:
        return "must be one line of text; search for the lines one by one"
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return "holds characters that are no valid Unicode"
    return None
