"""In place of OrcaLoca's model: reply to each kind of request with the object it asks for, by the names of the issue."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.fakes.policies.parts import chance, names_in, overlap, paths_in, said, texts
from tests.fakes.policies.parts import nonsense as any_nonsense

_ISSUE = re.compile(r"<issue>\n(.*?)\n</issue>", re.DOTALL)
_NODE = re.compile(r"^(function|class) (/repo/\S+?\.py)::([\w.]+)", re.MULTILINE)
_PIECE = re.compile(r"^Piece \d+: (/repo/\S+)$", re.MULTILINE)
_NAMES, _ASKED, _ANSWERS = 6, 2, 4


def sensible(request: dict[str, Any]) -> dict[str, Any]:
    """The object the last message asks for."""
    prompt = texts(request, "user")[-1]
    issue = "\n".join(_ISSUE.findall(prompt)[:1])
    words = names_in(issue)[:60]
    if '{"scores"' in prompt:
        return _json({"scores": [_score(piece, words) for piece in _PIECE.findall(prompt)]})
    if '{"code_info_list"' in prompt:
        return _json({"code_info_list": _names(issue)})
    best = _ranked(prompt.rpartition("</issue>")[2], words)
    if '{"bug_locations"' in prompt:
        return _json({"bug_locations": [_location(*node) for node in best[:_ANSWERS]] or _guess(issue)})
    return _json(
        {
            "observation_feedback": f"{_new(prompt)}: {len(best)} places known, first {best[0][1:] if best else 'unknown'}.",
            "potential_bug_locations": [_location(*node) for node in best[:_ASKED]],
            "new_search_actions": [_action(*node) for node in best[:_ASKED]] or _look_around(issue, prompt),
        }
    )


def nonsense(request: dict[str, Any]) -> dict[str, Any]:
    """Output of any broken model, or objects of the right form with useless content."""
    draw = chance(request)
    useless: Any = draw.choice([None, [], {}, [None], [[]], [{"action": "search_class"}], [{"file_path": "../x"}], "x", 1e308])
    keys = ("scores", "code_info_list", "bug_locations", "potential_bug_locations", "new_search_actions", "observation_feedback")
    known = {"action": "search_callable", "action_input": {"query_name": draw.choice(["x", "get", "__init__", "../", ""])}}
    names = [{"keyword": name, "file_path": "/etc/passwd"} for name in ("get", "__init__", "run", "x")] * 9
    asking = {"new_search_actions": [known] * 30, "code_info_list": names, "scores": [100] * 60}
    objects = [dict.fromkeys(keys, useless), asking, asking, {"scores": [100] * 60}]
    return draw.choice([any_nonsense(request), *map(_json, objects)])


def _json(value: dict[str, Any]) -> dict[str, Any]:
    return said(json.dumps(value))


def _names(issue: str) -> list[dict[str, str]]:
    paths = paths_in(issue)[:1] or [""]
    names = list(dict.fromkeys(name.rpartition(".")[2] for name in names_in(issue)))
    return [{"keyword": name, "file_path": paths[0] if number == 0 else ""} for number, name in enumerate(names[:_NAMES])]


def _score(piece: str, words: list[str]) -> int:
    return min(100, 60 + 3 * overlap(piece.rpartition(".")[2], words))


def _ranked(seen: str, words: list[str]) -> list[tuple[str, str, str]]:
    found = list(dict.fromkeys(_NODE.findall(seen)))
    return sorted(found, key=lambda node: (-overlap(node[2], words), node))


def _location(kind: str, path: str, name: str) -> dict[str, str]:
    holder, _, last = name.rpartition(".")
    if kind == "class":
        return {"file_path": path, "class_name": name, "method_name": ""}
    return {"file_path": path, "class_name": holder, "method_name": last}


def _new(prompt: str) -> str:
    return (re.findall(r"<new_result>\n(.{1,200})", prompt) or ["nothing"])[-1]


def _look_around(issue: str, prompt: str) -> list[dict[str, Any]]:
    if "<waiting_searches>" in prompt:
        return []
    files = [{"file_name": path.rpartition("/")[2]} for path in paths_in(issue)[:2]]
    found: list[dict[str, Any]] = [{"action": "search_file_contents", "action_input": file} for file in files]
    return [*found, {"action": "search_file_tree", "action_input": {"max_depth": 2}}]


def _guess(issue: str) -> list[dict[str, str]]:
    return [{"file_path": path, "class_name": "", "method_name": ""} for path in paths_in(issue)[:1]]


def _action(kind: str, path: str, name: str) -> dict[str, Any]:
    holder, _, last = name.rpartition(".")
    if kind == "class":
        return {"action": "search_class", "action_input": {"class_name": last or name, "file_path": path}}
    if holder:
        return {
            "action": "search_method_in_class",
            "action_input": {"class_name": holder, "method_name": last, "file_path": path},
        }
    return {"action": "search_callable", "action_input": {"query_name": last, "file_path": path}}
