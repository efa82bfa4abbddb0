"""The words of questions, and how a script reads them back.

The paths of the code are never named; names are those that a user of the package knows.
"""

from __future__ import annotations

import re

TEMPLATES = {
    "default": ("Which default value does the parameter `{parameter}` of `{name}` have?",
                "What is the default of `{parameter}` in `{name}`?"),
    "exported": ("In which file is `{name}` defined, and under which name?",
                 "Where does `{name}` come from: in which file, and what is it called there?"),
}  # fmt: skip
"""Two ways to ask for each kind of truth."""

_LITERAL = r"(?P<value>'[^']*'|\"[^\"]*\"|-?(?=\.?\d)(?:[eE][-+]|[\w.])+)"


def ask(kind: str, draw: str, **names: str) -> str:
    """The question; ``draw`` (hex digits) chooses its words."""
    return TEMPLATES[kind][int(draw[:4], 16) % 2].format(**names) + "\n"


def read_back(text: str) -> tuple[str, dict[str, str]] | None:
    """The kind of a question in these words, and its names; None for other texts."""
    first = text.strip().partition("\n")[0].strip()
    matches = ((kind, pattern.fullmatch(first)) for kind, pattern in _PATTERNS)
    return next(((kind, match.groupdict()) for kind, match in matches if match), None)


def default_pattern(parameter: str) -> re.Pattern[str]:
    """What a parameter with a literal as its default looks like; the group ``value`` is the literal."""
    return re.compile(rf"\b{re.escape(parameter)}\b\s*(?::[^=]*)?=\s*{_LITERAL}")


def _pattern(template: str) -> re.Pattern[str]:
    parts = re.split(r"\{(\w+)\}", template)
    return re.compile("".join(f"(?P<{part}>[^`]+)" if number % 2 else re.escape(part) for number, part in enumerate(parts)))


_PATTERNS = [(kind, _pattern(template)) for kind, templates in TEMPLATES.items() for template in templates]
