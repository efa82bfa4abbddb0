"""Which lines of an issue are read: of a long one traces, errors and what is rare; of any, no line that says nothing.

Versions, the system, what a crash report prints around itself and what the forms of the tree ask say nothing of where a fault is.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from itertools import accumulate, groupby, islice, takewhile

from fusesearch.code.other.languages import SUFFIXES as READ_SUFFIXES
from fusesearch.core.errors import FusesearchError
from fusesearch.search.repository import Repository

MAX_CHARS = 60_000
"""Most characters of an issue that are read; of a longer one its beginning, for a sixth its end, and for a third the rarest
lines between that are of a trace or an error."""
MAX_LINE_CHARS = 20_000
LOGGED = 20
"""Lines that differ in numbers alone, from which they are a log's; of frames, which recursion repeats, two are kept."""
MOST_OF_NOISE = 120
"""A longer line is kept."""
MANY = 5
"""Lines with a name and a value, one below the other, from which they are a table that a program printed."""

SUFFIXES = "|".join(["pyi?", "pyx", *(suffix[1:] for suffix in READ_SUFFIXES), "lua", "pl", "pm", "sh", "sql", "vue", "svelte"])
"""Of code that an issue may name, without the dot: a part of a pattern."""

_BEFORE = r"[\s>*|`•-]*+"
_NAME = r"[\w@/+.-]{1,60}(?: [\w@/+.()-]{1,40}){0,3}"
_NUMBER = r"[vV^~=<>]*\s?\d+(?:\.\d+)+[\w.+~-]*"
_VERSION = re.compile(rf"{_BEFORE}{_NAME}[\s*`]*(?:[:=|@]{{1,3}}|[ \t])[\s*`]*{_NUMBER}(?: ?\([^)]{{0,80}}\))?[\s*|`]*")
_SYSTEM = re.compile(
    rf"{_BEFORE}(?:os|operating system|platform|browser|device|arch(?:itecture)?|kernel|cpu|shell|terminal|environment"
    r"|(?:\w+ )?versions?(?: of \w+)?)[\s*`]*(?:\([^)\n]{0,40}\))?[:=|][^\n]{0,100}",
    re.IGNORECASE,
)
_BANNER = re.compile(r"[\s>]*+[=*#-]\s?[=*#-]{2,}+[^\n]*[=*#-]{2}\s*")
_REQUEST = re.compile(r"[^\n]*\bplease (?:report|include|open an? (?:new )?issue|file an? (?:issue|bug))\b[^\n]*", re.IGNORECASE)
_VALUE = re.compile(r"\s{0,8}[\w.-]{1,60}[:=]\S{0,60}")

_ESCAPED = re.compile(r"^.*\\n(?:\\t| )*(?:File \\\"|at |#\d).*$", re.MULTILINE)
"""A line of a log in JSON that has a trace."""
_ESCAPE, _ESCAPES = re.compile(r"\\([nt\"\\])"), {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}
_LOG = re.compile(r"\W{0,3}(?:\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d|(?:DEBUG|INFO|WARN(?:ING)?|ERROR)\b)|[\[{]{1,2}\"[\w@-]+\": ?")
"""What a log's line begins with."""
_SIGNAL = re.compile(
    rf"\.(?:{SUFFIXES})\b[^\n]{{0,12}}?\d|^\s*at [\w.$]|Traceback|(?i:error|exception|panic|fatal|caused by|assert)", re.ASCII
)
"""A line of a trace or of an error."""
_FRAME = re.compile(r"\s*(?:File \"|at |#\d|from )")
LABEL = re.compile(r"\A[\s#*]*(?:issue\s+)?title[ \t*]*[:\n][\s*:]*", re.IGNORECASE)
"""What forms have before the title: alone on the first line, as in 28% of SWE-bench Pro, it would be taken for the title."""

FORMS = {".github/ISSUE_TEMPLATE": r".*\.(?:md|ya?ml)", ".github": r"issue_template\.md"}
"""The files that are forms, by their folders."""
MAX_FORMS = 30
LEAST_CHARS = 4
_KEY = re.compile(r"^[\s-]*(?:label|value|placeholder|description|options)\s*:\s*")
_MARKS = re.compile(r"^[\s#>*_-]*(?:\[[ xX]?\])?[\s\"'|]*|[\s\"'*_:]*$")


def readable(issue: str) -> str:
    """The text that is read of an issue: traces of a log in JSON have lines, and a log, which has no title, begins with its
    first error.

    A long one lacks lines that a log repeats; if that is long, of its middle only traces and errors, rare ones first.
    """
    text = _ESCAPED.sub(lambda line: _ESCAPE.sub(lambda one: _ESCAPES[one[1]], line[0]), issue)
    text = _shortened(text.replace("\r\n", "\n")) if len(text) > MAX_CHARS else text
    if not _LOG.match(text):
        return text
    lines = text.split("\n")
    first = next((number for number, line in enumerate(lines) if _SIGNAL.search(line)), 0)
    return "\n".join([*lines[first:], *lines[:first]])


def _shortened(text: str) -> str:
    rows = (re.split(r"\\n|(?<=\}), ?", line) if len(line) > MAX_LINE_CHARS else [line] for line in text.split("\n"))  # JSON
    lines = [line[:MAX_LINE_CHARS] for row in rows for line in row]
    forms = [re.sub(r"\d+", "0", line) for line in lines]
    times, seen = Counter(forms), Counter[str]()
    kept = []
    for line, form in zip(lines, forms, strict=True):
        seen[form] += 1
        if times[form] < LOGGED or not form or (seen[form] < 3 and _FRAME.match(line)):
            kept.append((line, times[form]))
    ends = _until(kept, MAX_CHARS // 2), len(kept) - _until(kept[::-1], MAX_CHARS // 6)
    chosen = {*range(ends[0]), *range(ends[1], len(kept))}
    signals = [number for number in range(*ends) if _SIGNAL.search(kept[number][0])]
    room = MAX_CHARS // 3
    for number in sorted(signals, key=lambda number: kept[number][1]):
        fresh = {*range(max(0, number - 1), min(number + 2, len(kept)))} - chosen
        room -= sum(len(kept[one][0]) + 1 for one in fresh)
        if room < 0:
            break
        chosen |= fresh
    return "\n".join(kept[number][0] for number in sorted(chosen))


def _until(rows: Sequence[tuple[str, int]], room: int) -> int:
    """How many of the lines fit into that many characters."""
    sizes = accumulate(len(line) + 1 for line, _ in rows)
    return sum(1 for _ in takewhile(lambda size: size <= room, sizes))


def without_noise(text: str) -> str:
    """The text without these lines."""
    kept = [line for line in text.split("\n") if not _is_noise(line)]
    groups = [(table, [*lines]) for table, lines in groupby(kept, key=lambda line: _VALUE.fullmatch(line) is not None)]
    return "\n".join(line for table, lines in groups if not (table and len(lines) >= MANY) for line in lines)


def _is_noise(line: str) -> bool:
    return 3 < len(line) <= MOST_OF_NOISE and any(pattern.fullmatch(line) for pattern in (_VERSION, _SYSTEM, _BANNER, _REQUEST))


def without_forms(issue: str, repository: Repository) -> str:
    """The issue without the lines after its title that the forms of the tree have, too."""
    rows = [row for text in _forms(repository) for row in text.splitlines()]
    known = {_plain(line) for row in rows for line in (row, _KEY.sub("", row))}
    if not known:
        return issue
    title, *rest = issue.strip().splitlines() or [""]
    return "\n".join([title, *(line for line in rest if len(plain := _plain(line)) < LEAST_CHARS or plain not in known)])


def _plain(line: str) -> str:
    return _MARKS.sub("", line).lower()


def _forms(repository: Repository) -> list[str]:
    found: list[str] = []
    for folder, pattern in FORMS.items():
        with suppress(OSError):
            names = sorted(row.name for row in islice(os.scandir(repository.root / folder), 1000))
            forms = [name for name in names if re.fullmatch(pattern, name, re.IGNORECASE)][:MAX_FORMS]
            for name in forms:
                with suppress(FusesearchError):  # a link to outside, a folder
                    found.append(repository.read_text(f"{folder}/{name}")[:MAX_CHARS])
    return found
