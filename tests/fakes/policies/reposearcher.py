"""In place of RepoSearcher's model: the tree, the best files' imports and definitions, Exit, and the code shown."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.fakes.policies.parts import called, names_in, nonsense, overlap, paths_in, said, texts, turns_before

__all__ = ["nonsense", "sensible"]

_HAS = re.compile(r"^Error: /repo/(\S+) has no [\w ]+ '[^']*'; it has (.+)$")
_SHOWN = re.compile(r"^/repo/(\S+), lines \d+ to \d+:$", re.MULTILINE)
_CALLS = 8


def sensible(request: dict[str, Any]) -> dict[str, Any]:
    """One call per message, chosen from earlier results; the answer when the prompt asks for it."""
    if "## Locations to Modify" in texts(request, "user")[-1]:
        return said("## Locations to Modify\n" + "\n".join(_answer(request)))
    issue = texts(request, "user")[0]
    made, results = _calls(request), texts(request, "tool")
    if not made:
        return called(("GetRepoStructure", {}), text="First, the files.")
    if turns_before(request) >= _CALLS or not results:
        return called(("Exit", {}))
    for call in _next(issue, results):
        if call not in made:
            return called(call, text="This may be the place.")
    return called(("Exit", {}), text="That is enough.")


def _next(issue: str, results: list[str]) -> list[tuple[str, dict[str, str]]]:
    """Calls worth making, best first."""
    words = names_in(issue)[:80]
    calls: list[tuple[str, dict[str, str]]] = []
    for file in _best_files(issue, results[0])[:2]:
        calls.append(("GetImportOfFile", {"file": f"/repo/{file}"}))
        # a name that hardly is in the file: the error tells what is
        calls += [("SearchFunction", {"file": f"/repo/{file}", "function": word}) for word in words[:1]]
        for path, names in _offered(results):
            if path == file:
                best = sorted(names, key=lambda name: -overlap(name, words))[:2]
                calls += [_search(file, name) for name in best]
    return calls


def _search(file: str, name: str) -> tuple[str, dict[str, str]]:
    owner, _, last = name.rpartition(".")
    if owner:
        return "SearchClassMethod", {"file": f"/repo/{file}", "class": owner, "method": last}
    return ("SearchClass" if last[:1].isupper() else "SearchFunction"), {
        "file": f"/repo/{file}",
        "class" if last[:1].isupper() else "function": last,
    }


def _best_files(issue: str, tree: str) -> list[str]:
    """Files of the tree, those the issue names first, then those whose name shares most with it."""
    files, words, named = _files(tree), names_in(issue)[:80], paths_in(issue)
    return sorted(files, key=lambda file: (not any(file.endswith(path) for path in named), -overlap(file, words)))


def _files(tree: str) -> list[str]:
    folders: list[str] = []
    files = []
    for line in tree.split("\n"):
        name = line.lstrip(" ")
        level = (len(line) - len(name)) // 2
        if name.partition(" (")[0].endswith("/"):
            folders[level:] = [name.partition("/")[0]]
        elif name and not name.startswith("("):
            files.append("/".join([*folders[:level], name]))
    return files


def _offered(results: list[str]) -> list[tuple[str, list[str]]]:
    return [(found[1], found[2].split(", ")) for result in results if (found := _HAS.match(result))]


def _answer(request: dict[str, Any]) -> list[str]:
    """Definitions whose code was shown; else the best file."""
    shown = set(_SHOWN.findall("\n".join(texts(request, "tool"))))
    entries = []
    for name, arguments in _calls(request):
        file = arguments.get("file", "").removeprefix("/repo/")
        function = ".".join(arguments[key] for key in ("class", "method", "function") if key in arguments)
        if file in shown and name in ("SearchFunction", "SearchClassMethod"):
            entries.append(f"- /repo/{file}::{function}")
        elif file in shown and name == "SearchClass":
            entries.append(f"- /repo/{file}")
    tree = texts(request, "tool")[:1]
    return entries or [f"- /repo/{file}" for file in _best_files(texts(request, "user")[0], "\n".join(tree))[:1]]


def _calls(request: dict[str, Any]) -> list[tuple[str, dict[str, str]]]:
    calls = [call["function"] for message in request["messages"] for call in message.get("tool_calls") or []]
    return [(call["name"], json.loads(call["arguments"])) for call in calls]
