"""A tool: a class whose objects are validated calls, with the schema that models see and the code that answers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Self

from fusesearch.core.errors import ToolError
from fusesearch.core.text import printable
from fusesearch.search.repository import Repository, clipped
from fusesearch.search.results import Outcome
from fusesearch.search.ripgrep import RipgrepRun

if TYPE_CHECKING:
    from fusesearch.core.config import Tools

MAX_CHARS = 2000
MAX_ITEMS = 10
"""Items of one argument that is a list."""


@dataclass(frozen=True)
class Tool:
    """One validated call of a tool; equal calls are equal objects (``"12"`` and ``12``).

    A subclass is a tool. Its fields are the arguments (required without a default), and ``properties`` describes them in JSON
    Schema.
    """

    name: ClassVar[str]
    description: ClassVar[str]
    properties: ClassVar[Mapping[str, Mapping[str, Any]]]
    quick: ClassVar[bool] = False
    """Whether a call takes less time than passing it to a thread."""

    def run(self, repository: Repository, limits: Tools, search: RipgrepRun) -> Outcome:
        """The observation. Other threads may stop ``search``, the ripgrep run. Raises :class:`ToolError`."""
        raise NotImplementedError

    @classmethod
    def required(cls) -> list[str]:
        """Names of the required arguments."""
        return [field.name for field in fields(cls) if field.default is MISSING]

    @classmethod
    def schema(cls) -> dict[str, Any]:
        """The tool in OpenAI's form."""
        return function_schema(cls.name, cls.description, cls.properties, cls.required(), additionalProperties=False)

    @classmethod
    def parse(cls, arguments: object) -> Self:
        """Check the arguments of a call. Raises :class:`ToolError` with a message that says what would be right.

        Numbers written as strings are accepted for integers, one item for a list, and null for an optional argument; nothing
        else is guessed.
        """
        if not isinstance(arguments, dict):
            raise ToolError(f"{cls.name}: arguments must be a JSON object; {cls._usage()}")
        given = {key: value for key, value in arguments.items() if value is not None}
        if unknown := [key for key in given if key not in cls.properties]:
            raise ToolError(f"{cls.name}: unknown argument {clipped(str(unknown[0]), 40)}; {cls._usage()}")
        for key in cls.required():
            if key not in given:
                raise ToolError(f"{cls.name}: {key} is missing; {cls._usage()}")
        for key in cls.required():
            if given[key] == "":
                raise ToolError(f"{cls.name}: {key} is empty; {cls._usage()}")
        return cls(**{key: cls._checked(key, cls.properties[key], value) for key, value in given.items()})

    @classmethod
    def _usage(cls) -> str:
        required = cls.required()
        return f"use {cls.name}({', '.join(key if key in required else key + '?' for key in cls.properties)})"

    @classmethod
    def _checked(cls, key: str, rule: Mapping[str, Any], value: object) -> Any:
        if rule["type"] == "array":
            items = value if isinstance(value, list) else [value]
            if not items and key in cls.required():
                raise ToolError(f"{cls.name}: {key} is missing; {cls._usage()}")
            if len(items) > MAX_ITEMS:
                raise ToolError(f"{cls.name}: {key} has {len(items)} items; at most {MAX_ITEMS} are taken in one call")
            return tuple(dict.fromkeys(cls._checked(key, rule["items"], item) for item in items))
        if rule["type"] == "integer":
            if (number := whole_number(value)) is None:
                raise ToolError(f"{cls.name}: {key} must be an integer, not {clipped(repr(value), 40)}")
            return number
        if not isinstance(value, str):
            raise ToolError(f"{cls.name}: {key} must be a string, not {clipped(repr(value), 40)}; {cls._usage()}")
        if "enum" in rule and value not in rule["enum"]:
            raise ToolError(f"{cls.name}: {key} must be one of {', '.join(rule['enum'])}, not {clipped(value, 40)}")
        if problem := _malformed(value):
            raise ToolError(f"{cls.name}: {key} {problem}")
        return value


def whole_number(value: object) -> int | None:
    """A whole number as clients and models write it, ``5``, ``5.0`` or ``"5"``; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return int(value)
    if isinstance(value, str) and len(value) <= 20 and value.strip().removeprefix("-").isdecimal():
        return int(value)
    return None


def function_schema(
    name: str, description: str, properties: Mapping[str, Mapping[str, Any]], required: Sequence[str], **more: bool
) -> dict[str, Any]:
    """A tool in OpenAI's form: ``{"type": "function", "function": {name, description, parameters}}``."""
    arguments = {key: dict(rule) for key, rule in properties.items()}
    parameters = {"type": "object", "properties": arguments, "required": list(required), **more}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def describe(arguments: Mapping[str, Any]) -> str:
    """The arguments of a call on one line, for people."""
    return printable(" ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items()))


def _malformed(value: str) -> str | None:
    if len(value) > MAX_CHARS:
        return f"has {len(value)} characters; at most {MAX_CHARS} are possible"
    if "\0" in value or "\n" in value or "\r" in value:
        return "must be one line of text; search for the lines one by one"
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return "holds characters that are not valid Unicode"
    return None
