"""In place of LocAgent's model: search the names of the issue, read the best nodes and their neighbours, answer the best."""

from __future__ import annotations

import re
from typing import Any

from tests.fakes.policies.parts import called, names_in, nonsense, overlap, said, texts, turns_before

__all__ = ["nonsense", "sensible"]

_NODE = re.compile(r"(?:^|(?:function|class) )(/repo/\S+?\.py)::([\w.]+)", re.MULTILINE)
_FILE = re.compile(r"^(?:file )?(/repo/\S+?\.py)\b", re.MULTILINE)
_NAMES, _READ, _ANSWERS = 5, 3, 4


def sensible(request: dict[str, Any]) -> dict[str, Any]:
    """Three turns: search and look around, read and walk, the answer."""
    issue = "\n".join(texts(request, "user")[:1])
    turn = turns_before(request)
    if turn == 0:
        look = {"start": ["/repo"], "edge_types": ["contains"], "hops": 2}
        return called(("search_entity", {"terms": _terms(issue)}), ("traverse_graph", look), text="I look for the names.")
    best = _ranked(issue, "\n".join(texts(request, "tool")))
    if turn == 1 and best:
        ids = [f"{path}::{name}" for path, name in best[:_READ]]
        walk = {"start": ids[:1], "direction": "both", "hops": 1}
        return called(("retrieve_entity", {"entities": ids}), ("traverse_graph", walk))
    return said(f"These have to change:\n\n```\n{_answer(issue, best, texts(request, 'tool'))}\n```")


def _terms(issue: str) -> list[str]:
    return list(dict.fromkeys(name.rpartition(".")[2] for name in names_in(issue)))[:_NAMES] or ["main"]


def _ranked(issue: str, seen: str) -> list[tuple[str, str]]:
    """Nodes that were shown, those whose names the issue holds first."""
    words = names_in(issue)[:60]
    found = list(dict.fromkeys(_NODE.findall(seen)))
    return sorted(found, key=lambda node: (-overlap(node[1], words), -overlap(node[0], words), node))


def _answer(issue: str, best: list[tuple[str, str]], seen: list[str]) -> str:
    if best:
        return "\n\n".join(f"{path}\nfunction: {name}" for path, name in best[:_ANSWERS])
    words = names_in(issue)[:60]
    files = dict.fromkeys(_FILE.findall("\n".join(seen)))
    return "\n".join(sorted(files, key=lambda path: (-overlap(path, words), path))[:1])
