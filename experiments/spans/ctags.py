"""What Universal Ctags finds in the files of a folder."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import NamedTuple

from fusesearch.code.spans import FunctionSpan

KINDS = {
    "c": ("C", "f", ""), "cpp": ("C++", "f", ""), "csharp": ("C#", "m", "pE"), "go": ("Go", "f", "v"), "java": ("Java", "m", ""),
    "javascript": ("JavaScript", "fmgGS", "pvCM"), "kotlin": ("Kotlin", "m", "vC"), "php": ("PHP", "f", "v"),
    "python": ("Python", "fm", ""), "ruby": ("Ruby", "fS", ""), "rust": ("Rust", "fP", ""),
    "typescript": ("TypeScript", "fmG", "pvC"),
}  # fmt: skip
"""Ctags' name of each language, its kinds that are functions, and those that may be one of ours too (properties, variables)."""
_NO_FUNCTION = frozenset({"property", "variable", "var", "constant", "event", "field"})


class Tag(NamedTuple):
    """What Ctags found; ``end`` where it tells."""

    name: str
    line: int
    end: int | None
    function: bool


def same(name: str, span: FunctionSpan) -> bool:
    """Whether a name of Ctags is that of a span, but for what contains it and for a conversion's type."""
    return plain(span.name) == plain(name)


def plain(name: str) -> str:
    """A name without scopes, blanks and backticks."""
    if re.search(r"\boperator\s+(?!new|delete)\w", name):
        return "conversion"
    short = re.sub(r"[\s`]", "", name).rpartition("::")[2]
    return short if short.startswith("operator") else short.rpartition(".")[2] or short


def tags_of(root: Path, language: str, paths: list[str]) -> dict[str, list[Tag]]:
    """What Ctags has in each file, functions and what may be one."""
    forced, functions, others = KINDS[language]
    command = [
        "ctags", "--options=NONE", "--output-format=json", "--fields={name}{input}{line}{end}{kind}", "--sort=no",
        f"--language-force={forced}", f"--kinds-{forced}={functions}{others}", "-L", "-", "-f", "-",
    ]  # fmt: skip
    done = subprocess.run(command, cwd=root, input="\n".join(paths), capture_output=True, text=True, errors="replace", check=True)
    found: dict[str, list[Tag]] = {path: [] for path in paths}
    for line in done.stdout.splitlines():
        tag = json.loads(line)
        name = tag["name"]
        if not re.match(r"AnonymousFunction|__anon|anonFunc|<lambda>", name):
            found[tag["path"]].append(Tag(name, tag["line"], tag.get("end"), tag["kind"] not in _NO_FUNCTION))
    return found
