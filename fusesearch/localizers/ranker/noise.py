"""Lines of an issue that say nothing about where a fault is: versions, the system, what a crash report prints around itself."""

from __future__ import annotations

import re
from itertools import groupby

MAX_CHARS = 120
"""A longer line is kept."""
MANY = 5
"""Lines with a name and a value, one below the other, from which they are a table that a program printed."""

_MARKS = r"[\s>*|`•-]*+"
_NAME = r"[\w@/+.-]{1,60}(?: [\w@/+.()-]{1,40}){0,3}"
_NUMBER = r"[vV^~=<>]*\s?\d+(?:\.\d+)+[\w.+~-]*"
_VERSION = re.compile(rf"{_MARKS}{_NAME}[\s*`]*(?:[:=|@]{{1,3}}|[ \t])[\s*`]*{_NUMBER}(?: ?\([^)]{{0,80}}\))?[\s*|`]*")
_SYSTEM = re.compile(
    rf"{_MARKS}(?:os|operating system|platform|browser|device|arch(?:itecture)?|kernel|cpu|shell|terminal|environment"
    r"|(?:\w+ )?versions?(?: of \w+)?)[\s*`]*(?:\([^)\n]{0,40}\))?[:=|][^\n]{0,100}",
    re.IGNORECASE,
)
_BANNER = re.compile(r"[\s>]*+[=*#-]\s?[=*#-]{2,}+[^\n]*[=*#-]{2}\s*")
_REQUEST = re.compile(r"[^\n]*\bplease (?:report|include|open an? (?:new )?issue|file an? (?:issue|bug))\b[^\n]*", re.IGNORECASE)
_VALUE = re.compile(r"\s{0,8}[\w.-]{1,60}[:=]\S{0,60}")


def without_noise(text: str) -> str:
    """The text without these lines."""
    kept = [line for line in text.split("\n") if not _is_noise(line)]
    groups = [(table, [*lines]) for table, lines in groupby(kept, key=lambda line: _VALUE.fullmatch(line) is not None)]
    return "\n".join(line for table, lines in groups if not (table and len(lines) >= MANY) for line in lines)


def _is_noise(line: str) -> bool:
    return 3 < len(line) <= MAX_CHARS and any(pattern.fullmatch(line) for pattern in (_VERSION, _SYSTEM, _BANNER, _REQUEST))
