"""In place of FuseSearch's model: search for the issue's names, read around the best hits, answer from them."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from tests.fakes.policies.parts import called, names_in, nonsense, overlap, paths_in, said, texts, turns_before

__all__ = ["nonsense", "sensible"]

_HIT = re.compile(r"^/repo/(\S+?\.py):(\d+):(\s*)(?:async )?(def|class) (\w+)", re.MULTILINE)
_FILE = re.compile(r"^/repo/(\S+\.py)$", re.MULTILINE)
_NAMES, _READS, _ANSWERS = 5, 3, 3


def sensible(request: dict[str, Any]) -> dict[str, Any]:
    """Three turns: greps and globs at once, reads at once, the answer."""
    issue = "\n".join(texts(request, "user")[:1])
    seen = "\n".join(texts(request, "tool"))
    turn = turns_before(request)
    if turn == 0:
        return called(*_searches(issue), text="I look for what the issue names.")
    hits = _ranked(issue, seen)
    if turn == 1 and hits:
        return called(*[_read(path, line) for path, line, _ in hits[:_READS]])
    return said("## Locations to Modify\n" + "\n".join(_entries(issue, seen, hits)))


def _searches(issue: str) -> list[tuple[str, dict[str, Any]]]:
    names = list(dict.fromkeys(name.rpartition(".")[2] for name in names_in(issue)))[:_NAMES]
    calls: list[tuple[str, dict[str, Any]]] = [
        ("grep", {"pattern": rf"(def|class) {re.escape(name)}\b", "glob": "*.py", "output_mode": "content"}) for name in names
    ]
    calls += [("glob", {"pattern": f"**/{path.rpartition('/')[2]}"}) for path in paths_in(issue)[:2]]
    return calls or [("glob", {"pattern": "*.py"})]


def _ranked(issue: str, seen: str) -> list[tuple[str, int, str]]:
    """Definitions seen, as path, line and, for top-level functions, name; those in paths that the issue names come first."""
    words = names_in(issue)[:60]
    found = {
        (path, int(line)): "" if indent or kind == "class" else name for path, line, indent, kind, name in _HIT.findall(seen)
    }
    rows = [(path, line, name) for (path, line), name in found.items()]
    return sorted(rows, key=lambda row: (_is_test(row[0]), -overlap(row[0], words), row))


def _read(path: str, line: int) -> tuple[str, dict[str, Any]]:
    return "read_file", {"path": f"/repo/{path}", "start_line": max(1, line - 5), "end_line": line + 40}


def _entries(issue: str, seen: str, hits: list[tuple[str, int, str]]) -> list[str]:
    entries = [f"- /repo/{path}{'::' + name if name else ''}" for path, _, name in hits[:_ANSWERS]]
    if entries:
        return entries
    files = Counter(path for path in _FILE.findall(seen) if not _is_test(path))
    words = names_in(issue)[:60]
    return [f"- /repo/{path}" for path in sorted(files, key=lambda path: -overlap(path, words))[:1]]


def _is_test(path: str) -> bool:
    return bool(re.search(r"(^|/)tests?(/|_)|_test\.py$|conftest", path))
