"""The words of questions, and how a script reads them back.

The paths of the code are never named; names are those that a user of the package knows.
"""

from __future__ import annotations

import re

TEMPLATES = {
    "default": ("Which default value does the parameter `{parameter}` of `{name}` have?",
                "What is the default of `{parameter}` in `{name}`?"),
    "constant": ("`{name}` uses one constant that is defined at the top of a module. What is its value?",
                 "What is the value of the module-level constant that `{name}` uses?"),
    "exported": ("In which file is `{name}` defined, and under which name?",
                 "Where does `{name}` come from: in which file, and what is it called there?"),
    "callers": ("Which functions and methods call `{name}` directly?",
                "From which functions and methods is `{name}` called?"),
    "overrides": ("Which subclasses of `{name}`, direct or not, define their own `{method}`?",
                  "Which classes override the method `{method}` of `{name}`?"),
    "inherited": ("Which definition of `{method}` runs for an instance of `{name}`?",
                  "`{name}` inherits `{method}`. Where is the method that it gets?"),
    "raises": ("Which exception does this raise, and in which function is it raised?",
               "This ends in an exception. Which one is it, and which function raises it?"),
}  # fmt: skip
"""Two ways to ask for each kind of truth; ``inherited`` belongs to the family ``overrides``."""


def ask(kind: str, draw: str, code: str = "", **names: str) -> str:
    """The question; ``draw`` (hex digits) chooses its words."""
    text = TEMPLATES[kind][int(draw[:4], 16) % 2].format(**names)
    return f"{text}\n\n```python\n{code}\n```\n" if code else f"{text}\n"


def read_back(text: str) -> tuple[str, dict[str, str]] | None:
    """The kind of a question in these words, and its names (``code`` for the block below it); None for other texts."""
    first, _, rest = text.strip().partition("\n")
    for kind, pattern in _PATTERNS:
        if match := pattern.fullmatch(first.strip()):
            return kind, {**match.groupdict(), "code": rest.strip().removeprefix("```python").removesuffix("```").strip()}
    return None


def _pattern(template: str) -> re.Pattern[str]:
    parts = re.split(r"\{(\w+)\}", template)
    return re.compile("".join(f"(?P<{part}>[^`]+)" if number % 2 else re.escape(part) for number, part in enumerate(parts)))


_PATTERNS = [(kind, _pattern(template)) for kind, templates in TEMPLATES.items() for template in templates]
