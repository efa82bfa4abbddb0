"""What an issue says about where to look: frames of tracebacks and modules. Everything here is a function of the text alone."""

from __future__ import annotations

import re
from dataclasses import dataclass

IDENTIFIER = r"[A-Za-z_][A-Za-z0-9_]*"
_FRAME = re.compile(r'File "(?P<path>[^"\n]+)", line (?P<line>\d+)(?:, in (?P<name>[\w<>.]+))?')
_PYTEST_FRAME = re.compile(
    r"^\s*(?P<path>[\w./\\-]+\.py):(?P<line>\d+): (?:in (?P<name>[\w<>]+)|\w+(?:Error|Exception|Warning))", re.M
)
URL = re.compile(r"https?://\S+")
_DOTTED = re.compile(rf"(?<![\w./\\@-])(?:{IDENTIFIER}\.)+{IDENTIFIER}(?![\w/\\])")
_IMPORT = re.compile(
    rf"from\s+(?P<module>[\w.]+)\s+import\s+(?P<names>[\w, *()]+)|import\s+(?P<plain>[\w.]+)(?:\s+as\s+{IDENTIFIER})?"
)
_STANDARD_LIBRARY = re.compile(r"(?:lib/python[\d.]+|Python[\d.]+/[Ll]ib)/(?!site-packages|dist-packages)|^<|(?:^|/)pluggy/")
_ENDINGS = {
    "s": ("ations", "ings", "ions", "ies", "ors", "ers", "es", "s"),
    "n": ("ation", "ion"),
    "g": ("ing",),
    "d": ("ied", "ed"),
    "r": ("or", "er"),
    "y": ("ly", "y"),
    "e": ("e",),
}
"""Endings of words by their last letter, the longest first."""


@dataclass(frozen=True)
class Frame:
    """One traceback frame, with the path as the issue gives it."""

    path: str
    line: int
    name: str | None


def stem(word: str) -> str:
    """A word without the most frequent English endings, as a prefix to search for."""
    if "-" in word or len(word) < 5:
        return word
    for ending in _ENDINGS.get(word[-1], ()):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word.removesuffix(ending)
    return word


def frames_of(text: str) -> list[Frame]:
    """Traceback frames, outermost first, without those of the standard library and pluggy."""
    found = [*_FRAME.finditer(text), *_PYTEST_FRAME.finditer(text)]
    found.sort(key=lambda match: match.start())
    frames = [Frame(m["path"].replace("\\", "/"), int(m["line"]), m["name"]) for m in found]
    return [frame for frame in frames if not _STANDARD_LIBRARY.search(frame.path)]


def modules_of(text: str) -> list[str]:
    """Dotted modules of import statements and of dotted names, in order."""
    modules = [m["module"] or m["plain"] for m in _IMPORT.finditer(text)]
    modules += [m.group().rpartition(".")[0] for m in _DOTTED.finditer(URL.sub(" ", text))]
    return list(dict.fromkeys(module for module in modules if module))
