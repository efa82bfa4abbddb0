"""Parts of policies: messages, words of an issue, chance, and every known kind of a model's nonsense."""

from __future__ import annotations

import json
import random
import re
import zlib
from collections.abc import Iterable
from typing import Any

_CODE = re.compile(r"`([^`\n]{1,200})`")
_PATH = re.compile(r"[\w./-]*\w\.py\b")
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_COMMON = frozenset(
    ("self", "None", "True", "False", "class", "return", "import", "from", "with", "this", "that", "when", "which", "should",
     "would", "there")
)  # fmt: skip


def said(text: str) -> dict[str, Any]:
    """An assistant message without calls."""
    return {"role": "assistant", "content": text}


def fenced(rows: list[str]) -> str:
    """Rows between fences, after a line of prose."""
    return "\n".join(["I go by the names of the issue.", "```", *rows, "```"])


def called(*calls: tuple[str, dict[str, Any]], text: str | None = None) -> dict[str, Any]:
    """An assistant message with native tool calls."""
    rows = [
        {"id": f"call_{index}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for index, (name, arguments) in enumerate(calls)
    ]
    return {"role": "assistant", "content": text, "tool_calls": rows}


def texts(request: dict[str, Any], *roles: str) -> list[str]:
    """Contents of the messages of these roles, in order."""
    return [message.get("content") or "" for message in request["messages"] if message["role"] in roles]


def turns_before(request: dict[str, Any]) -> int:
    """Number of the model's messages so far."""
    return sum(message["role"] == "assistant" for message in request["messages"])


def chance(request: dict[str, Any]) -> random.Random:
    """Random numbers that are the same for the same request."""
    return random.Random(zlib.crc32(json.dumps(request, sort_keys=True).encode("utf-8", "replace")))


def paths_in(text: str) -> list[str]:
    """Paths of Python files in order, relative to the root."""
    return list(dict.fromkeys(path.removeprefix("/repo/").lstrip("./") for path in _PATH.findall(text)))


def names_in(text: str) -> list[str]:
    """Names an issue is likely about, best first: in backticks, with an underscore or an inner capital, then the rest."""
    quoted = [name for part in _CODE.findall(text) for name in _NAME.findall(part)]
    plain = _NAME.findall(text[:20_000])
    telling = [name for name in plain if "_" in name or "." in name or re.search(r"[a-z][A-Z]", name)]
    rest = [name for name in plain if len(name) > 4]
    known = dict.fromkeys([*quoted, *telling, *rest])
    return [name for name in known if len(name) > 2 and name not in _COMMON]


def overlap(entry: str, words: Iterable[str]) -> int:
    """Number of letters in the parts that ``entry`` (a path, a qualified name) shares with the words."""
    parts = set(parts_of(entry))
    return sum(len(part) for part in parts.intersection(part for word in words for part in parts_of(word)))


def parts_of(name: str) -> list[str]:
    """Lower-case words of an identifier or a path: at underscores, dots, slashes and inner capitals."""
    return [part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name) if len(part) > 2]


def nonsense(request: dict[str, Any]) -> dict[str, Any]:
    """Output of a broken model: nothing, prose, calls of unknown tools or with useless arguments, loops."""
    draw = chance(request)
    tools = [tool["function"]["name"] for tool in request.get("tools") or []]
    kinds = [_empty, _prose, _code, _answer, _again]
    return draw.choice(kinds + ([_unknown, _wrong, _malformed, _outside, _many] * 2 if tools else []))(draw, tools)


def _empty(draw: random.Random, tools: list[str]) -> dict[str, Any]:
    return {"role": "assistant", "content": draw.choice([None, "", " \n", "<think>\nhm"])}


def _prose(draw: random.Random, tools: list[str]) -> dict[str, Any]:
    words = ["the", "bug", "is", "in", "ümläut", "```", "::", "{", "}", "</think>", "/repo", "class", "None", "1e999", "\u202e"]
    return said(" ".join(draw.choices(words, k=draw.choice([3, 30, 3000]))))


def _code(draw: random.Random, tools: list[str]) -> dict[str, Any]:
    body = draw.choice(
        ["../../etc/passwd", "a/b/c.py\nd.py", '{"files": [[[1]]]}', "[]", "x" * 5000, "class: A\nfunction: a.b.c"]
    )
    return said(f"```\n{body}\n```")


def _answer(draw: random.Random, tools: list[str]) -> dict[str, Any]:
    entries = [
        f"- /repo/{draw.choice(['no', 'such', '..', 'a b'])}/{index}.py::f.{index}" for index in range(draw.randint(0, 300))
    ]
    return said("\n".join(["## Locations to Modify", *entries]))


def _again(draw: random.Random, tools: list[str]) -> dict[str, Any]:
    return said("I will look at it again.") if not tools else called((tools[0], {}))


def _unknown(draw: random.Random, tools: list[str]) -> dict[str, Any]:
    return called((draw.choice(["bash", "", "search web", "os.system", "x" * 200]), {"command": "ls"}))


def _wrong(draw: random.Random, tools: list[str]) -> dict[str, Any]:
    value: Any = draw.choice([None, -1, 1e300, [], {"a": {"b": []}}, "", "\x00", "(" * 500, "nothing_is_called_this"])
    keys = ["path", "pattern", "file", "file_name", "class_name", "function_name", "query", "x"]
    return called((draw.choice(tools), dict.fromkeys(draw.sample(keys, 4), value)))


def _malformed(draw: random.Random, tools: list[str]) -> dict[str, Any]:
    message = called((draw.choice(tools), {}))
    message["tool_calls"][0]["function"]["arguments"] = draw.choice(['{"a":', "null", "[1]", '"text"', "NaN", "{" * 5000])
    return message


def _outside(draw: random.Random, tools: list[str]) -> dict[str, Any]:
    path = draw.choice(["/etc/passwd", "/repo/../../etc/passwd", "~/.ssh/id_rsa", "/repo/.git/config"])
    return called((draw.choice(tools), {"path": path, "pattern": "root", "file": path, "file_name": path}))


def _many(draw: random.Random, tools: list[str]) -> dict[str, Any]:
    return called(*[(draw.choice(tools), {"pattern": "x"})] * draw.choice([2, 20, 100]))
