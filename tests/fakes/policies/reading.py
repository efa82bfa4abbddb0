"""Reads a prompt: sections, trees, and how closely a name relates to an issue."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tests.fakes.policies.parts import names_in, parts_of, paths_in

_INDENT = 2


def section(text: str, heading: str, following: str = "") -> str:
    """The text between ``### heading ###`` and the last ``### following ###``, or the end."""
    start = text.find(f"### {heading} ###")
    start = text.find("\n", start) if start >= 0 else len(text)
    end = text.rfind(f"### {following} ###") if following else -1
    return text[start : end if end > start else len(text)].strip("\n")


def tree_paths(text: str) -> Iterator[str]:
    """Paths of the files of a tree: folders end in a slash, and their contents are indented by two more blanks."""
    folders: list[str] = []
    for line in text.split("\n"):
        name, depth = line.strip(), (len(line) - len(line.lstrip())) // _INDENT
        folders = folders[:depth]
        if name.partition(" (")[0].endswith("/"):
            folders.append(name.partition("/")[0])
        elif name and not name.startswith("("):
            yield "/".join([*folders, name])


class Interest:
    """How closely paths and names relate to an issue: by those it names, and by their words."""

    def __init__(self, issue: str) -> None:
        names = names_in(issue)[:200]
        self._paths = tuple(paths_in(issue)[:50])
        self._names = {part for name in names for part in name.split(".")}
        self._dotted = {name for name in names if "." in name}
        self._parts = {part for name in names[:80] for part in parts_of(name)}

    def in_path(self, path: str) -> float:
        """Of a file."""
        stem = path.removesuffix(".py").removesuffix("/__init__")
        module = stem.replace("/", ".")
        named = any(path.endswith(other) or other.endswith(path) for other in self._paths)
        dotted = any(f".{module}".endswith(f".{name}") or name.startswith(f"{module}.") for name in self._dotted)
        words = parts_of(stem.rpartition("/")[2]) or parts_of(stem)
        return 100 * named + 50 * dotted + 20 * (stem.rpartition("/")[2] in self._names) + self._share(words) * 10

    def in_name(self, name: str) -> float:
        """Of a class, function or method, by its last part above all."""
        *holders, last = name.split(".")
        return 40 * (last in self._names) + 10 * self._share(parts_of(last)) + 5 * sum(one in self._names for one in holders)

    def in_text(self, text: str) -> int:
        """Number of the issue's names in a text."""
        return len(self._names.intersection(re.findall(r"[A-Za-z_]\w{3,}", text[:50_000])))

    def best(self, entries: Iterable[str], most: int, *, paths: bool = False) -> list[str]:
        """The most closely related entries, in order."""
        of = (
            self.in_path
            if paths
            else lambda entry: self.in_name(entry.rpartition("::")[2]) + self.in_path(entry.split("::")[0]) / 20
        )
        return sorted(dict.fromkeys(entries), key=lambda entry: (-of(entry), entry.count("/"), entry))[:most]

    def _share(self, words: list[str]) -> float:
        return sum(len(word) for word in words if word in self._parts) / max(sum(map(len, words)), 1)
