"""What a broken model writes: nothing, prose, calls of unknown tools or with useless arguments, malformed or endless replies."""

from __future__ import annotations

import json
import random
import zlib
from typing import Any

_WORDS = ["the", "bug", "is", "in", "ümläut", "```", "::", "{", "}", "</think>", "/repo", "class", "None", "1e999", "\u202e"]
_BLOCKS = ["../../etc/passwd", "a/b/c.py\nd.py", '{"files": [[[1]]]}', "[]", "x" * 5000, "class: A\nfunction: a.b.c", "True"]
_KEYS = ("scores", "code_info_list", "bug_locations", "potential_bug_locations", "new_search_actions", "observation_feedback")
"""The keys of the objects that OrcaLoca asks for."""
_USELESS: list[Any] = [None, -1, 1e300, [], {"a": {"b": []}}, "", "\x00", "(" * 500, "nothing_is_called_this", [None], 1e308]


def nonsense(request: dict[str, Any]) -> dict[str, Any]:
    """The assistant message for the body of a chat-completions request; the same for the same request.

    Sometimes names a file that the conversation shows, to reach a localizer's later questions.
    """
    draw = random.Random(zlib.crc32(json.dumps(request, sort_keys=True).encode("utf-8", "replace")))
    tools = [tool["function"]["name"] for tool in request.get("tools") or []]
    if tools and draw.random() < 0.6:
        calls = [_call(draw, tools) for _ in range(draw.choice([1, 1, 2, 20]))]
        return {"role": "assistant", "content": None, "tool_calls": calls}
    words = (word for message in request["messages"] for word in (message["content"] or "").split())
    shown = [word.strip("\"'`,") for word in words if ".py" in word]
    entries = [f"- /repo/{draw.choice(['no', '..', 'a b'])}/{index}.py::f.{index}" for index in range(draw.randint(0, 300))]
    known = {"action": "search_callable", "action_input": {"query_name": draw.choice(["x", "get", "../", ""])}}
    objects = [dict.fromkeys(_KEYS, draw.choice(_USELESS)), {"new_search_actions": [known] * 30, "scores": [100] * 60}]
    text = draw.choice(
        [
            *(None, "", " \n", "<think>\nhm", "I will look at it again."),
            " ".join(draw.choices(_WORDS, k=draw.choice([3, 30, 3000]))),
            f"```\n{draw.choice(_BLOCKS)}\n```",
            "\n".join(["```", *draw.choices([*shown, "no/such/file.py", "../x.py"], k=7), "```"]),
            "\n".join(["## Locations to Modify", *entries]),
            f"get_code_of_file_function({draw.choice(shown or ['x'])!r}, {draw.choice(_USELESS)!r})",
            *map(json.dumps, objects),
        ]
    )
    return {"role": "assistant", "content": text}


def _call(draw: random.Random, tools: list[str]) -> dict[str, Any]:
    """A native call of a tool, which may not exist, with arguments that may not be JSON."""
    path = draw.choice(["/etc/passwd", "/repo/../../etc/passwd", "~/.ssh/id_rsa", "/repo/.git/config"])
    keys = draw.sample(["path", "pattern", "file", "file_name", "class_name", "function_name", "query", "x"], 4)
    arguments = draw.choice(
        [
            json.dumps({"path": path, "pattern": "root", "file": path, "file_name": path}),
            json.dumps(dict.fromkeys(keys, draw.choice(_USELESS))),
            *("{}", '{"a":', "null", "[1]", '"text"', "NaN", "{" * 5000),
        ]
    )
    name = draw.choice([*tools * 3, "bash", "", "search web", "x" * 200])
    return {"id": f"call_{draw.random()}", "type": "function", "function": {"name": name, "arguments": arguments}}
