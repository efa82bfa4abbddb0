"""Files and locations in the fenced lines that Agentless and CoSIL ask models for.

After a line with a path, lines ``class: Name``, ``function: Name.name``, ``variable: name`` and ``line: 12`` refer to that file;
``path::Name`` on one line works too. The text is untrusted: it is read in one pass with limits on lines and characters, and
nothing it names is assumed to exist. :mod:`fusesearch.code.names` resolves the names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from fusesearch.agents.parsing import visible
from fusesearch.code.names import SPAN, Kind, Named
from fusesearch.code.naming import read_name

MAX_LINES = 400
MAX_LINE_CHARS = 500
MAX_TEXT_CHARS = 200_000

_FENCE = "```"
_PATH = re.compile(r"[^\s:*?\"<>|`;]{1,400}")
_PLAIN = re.compile(r"[^',()\[\]{}]*")
_BULLET = re.compile(r"(?:[-*+•>]|\d{1,3}[.):]|[Tt]op_?\d{1,2} ?:)\s+")
_KIND = re.compile(r"(class|function|method|variable|line)s? ?: ?(.*)", re.IGNORECASE)


def fenced_lines(text: str) -> list[str]:
    """Lines inside all fences, or all lines if there is no fence, without bullets, backticks and bold marks."""
    parts = visible(text)[:MAX_TEXT_CHARS].split(_FENCE)
    inside = parts[1::2]
    lines = (line for block in (inside or parts[:1]) for line in block.split("\n"))
    return list(islice(filter(None, map(_without_marks, lines)), MAX_LINES))


def read_paths(text: str, most: int) -> list[str]:
    """Distinct lines that look like paths, in order. Folders end in ``/``."""
    paths = (line.split()[0].rstrip(",;:") for line in fenced_lines(text))
    return list(islice(dict.fromkeys(path for path in paths if _is_path(path)), most))


def read_named(text: str, most: int) -> list[Named]:
    """Distinct locations in order. A line counts only after a line that names its file."""
    return list(islice(dict.fromkeys(_named(fenced_lines(text))), most))


def _without_marks(line: str) -> str:
    line = line[:MAX_LINE_CHARS].strip()
    bullet = _BULLET.match(line)
    line = line[bullet.end() :] if bullet else line
    return line.replace("**", "").strip("` \t#*")


def _is_path(text: str) -> bool:
    """Whether a word looks like a path. Brackets count inside a path with folders: ``app/[slug]/page.tsx``."""
    if not _PATH.fullmatch(text):
        return False
    if _PLAIN.fullmatch(text):
        return "/" in text or "." in text.strip(".")
    wrapped = text[0] in "([{'" and text[-1] in ")]}'"
    return "/" in text and not wrapped and all(text.count(left) == text.count(right) for left, right in ("()", "[]", "{}"))


def _named(lines: Iterable[str]) -> Iterator[Named]:
    path = ""
    for line in lines:
        kind = _KIND.fullmatch(line)
        head, mark, name = line.partition("::")
        if kind and path:
            yield from _of_kind(path, kind[1].lower(), kind[2])
        elif mark and _is_path(head.strip()) and (found := read_name(name.strip(), head.strip())):
            yield Named(head.strip(), "any", found[0])
        elif not kind:
            word = line.removeprefix("### ").removeprefix("File:").strip().rstrip(",;:")
            path = word if _is_path(word) else path


def _of_kind(path: str, kind: str, rest: str) -> Iterator[Named]:
    for item in rest.split(",")[:20]:
        if kind == "line":
            if match := SPAN.match(item.strip()):
                yield Named(path, "line", match[0].replace(" ", ""))
        elif found := read_name(item.strip(), path):
            known: Kind = "class" if kind == "class" else "variable" if kind == "variable" else "function"
            yield Named(path, known, found[0])
