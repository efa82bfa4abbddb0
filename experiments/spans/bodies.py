"""Whether a function that Ctags names has a body: Ctags lists abstract methods and signatures, too."""

from __future__ import annotations

import re

_PART = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|=>|->|[(){}\[\];=\n]|[^\s(){}\[\];=]+", re.DOTALL
)
_LINES = 60
_HEREDOC = re.compile(r"<<[~-]?['\"]?([A-Z_]{2,})['\"]?")
_MISTAKES = {
    "python": re.compile(r"=\s*lambda\b"),
    "java": re.compile(r"\brecord\s+\w+\s*[(<]|^\s*[A-Z][A-Z0-9_]*\s*[({]"),
    "csharp": re.compile(r"\b(?:class|struct|record)\s+\w+\s*[(<]"),
    "ruby": re.compile(r"^\s*(?:RSpec\.)?(?:describe|context|it)\b"),
    "kotlin": re.compile(r"`|\bfor\s*\(|^\s*(?:val|var)\s*\("),
}
"""Lines that Ctags 5.9 takes for a function, or where it garbles the name: values that are lambdas; records and constants of an
enum; primary constructors; blocks of RSpec; names in backticks and variables of loops."""


def code_lines(text: str, language: str) -> list[str]:
    """The lines of a source; those of Ruby's texts in heredocs, which may be code of tests, are empty."""
    lines = text.split("\n")
    if language != "ruby":
        return lines
    ends: list[str] = []
    kept = []
    for line in lines:
        if ends and line.strip() == ends[0]:
            ends.pop(0)
        kept.append("" if ends else line)
        ends += [] if ends else _HEREDOC.findall(line)
    return kept


def has_body(lines: list[str], line: int, name: str, language: str) -> bool:
    """Whether a block, or what stands for one, follows the header at ``line`` (from 1)."""
    mistake = _MISTAKES.get(language)
    if mistake and mistake.search(lines[line - 1]):
        return False
    if language in ("python", "ruby"):
        return bool(lines[line - 1].strip())
    text = "\n".join(lines[line - 1 : line - 1 + _LINES])
    position = text.find(name.rpartition("::")[2].strip("~`"))
    depth, closed = 0, False
    tokens = [match[0] for match in _PART.finditer(text, max(position, 0))]
    for index, part in enumerate(tokens):
        if part in "([":
            depth += 1
        elif part in ")]":
            depth -= 1
            closed = closed or depth <= 0
        elif depth > 0:
            continue
        elif part == "{":
            return True
        elif part == ";":
            return False
        elif part in ("=>", "=") and closed and language in ("csharp", "kotlin", "typescript", "javascript"):
            return True
        elif part == "\n" and closed and language in ("kotlin", "typescript", "javascript"):
            following = next((later for later in tokens[index:] if later != "\n"), "")
            goes_on = index > 0 and tokens[index - 1].endswith((":", ",", "<", "|", "&", ">"))
            if following not in ("{", "=", "=>", "where", ":") and not goes_on:
                return False
    return False
