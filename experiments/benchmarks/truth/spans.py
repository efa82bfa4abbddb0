"""Function spans of this project beside those of Universal Ctags, over files of real repositories.

A span agrees when Ctags has a tag of its name, without qualifiers, on one of its lines. Tags within another span are nested
functions, which belong to the outer one here. Declarations, which have no body, do not count as functions; their tags are
counted separately. Where Ctags gives a function's last line, it is compared too.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from tasks.code.functions import function_spans, is_python
from tasks.code.languages import language_of
from tasks.code.spans import FunctionSpan
from tasks.search.git import Git

MAX_BYTES = 300_000
"""Larger files are generated."""

DIALECTS = {
    "python": ("Python", "function member"),
    "javascript": ("JavaScript", "function generator method getter setter"),
    "typescript": ("TypeScript", "function generator method"),
    "tsx": ("TypeScript", "function generator method"),
    "java": ("Java", "method"),
    "go": ("Go", "func"),
    "rust": ("Rust", "function method"),
    "c": ("C", "function"),
    "cpp": ("C++", "function"),
    "csharp": ("C#", "method"),
    "ruby": ("Ruby", "method singletonMethod"),
    "php": ("PHP", "function"),
    "kotlin": ("Kotlin", "method"),
}
"""Ctags' name of each language, and its kinds that are functions."""

_ANONYMOUS = ("AnonymousFunction", "anonymousFunction", "__anon", "<lambda>")
_HEADER_LINES = 20


@dataclass
class Comparison:
    """Counts over all files of a language; ``differences`` has a row for each function not in ``both``."""

    language: str
    files: int = 0
    both: int = 0
    ours: int = 0
    theirs: int = 0
    declarations: int = 0
    ends: int = 0
    same_ends: int = 0
    differences: list[dict[str, Any]] = field(default_factory=list)


def compare(language: str, repositories: list[Path], files: int, ctags: str) -> Comparison:
    """Compare up to ``files`` files of a language, as evenly spread over the repositories as possible."""
    result = Comparison(language)
    with tempfile.TemporaryDirectory() as folder:
        written = list(_written(language, repositories, files, Path(folder)))
        tags = _tags(language, [path for path, _, _ in written], ctags)
        for path, name, source in written:
            _compare_file(result, name, source, function_spans(source, name), tags.get(str(path), []))
            result.files += 1
    return result


def as_row(result: Comparison) -> str:
    """One row of the table in ``RESULTS.md``."""
    agreement = result.both / max(1, result.both + result.ours + result.theirs)
    ends = f"{result.same_ends / result.ends:.2%}" if result.ends else "not given"
    numbers = (result.files, result.both, result.ours, result.theirs, result.declarations)
    return f"| {result.language} | {' | '.join(f'{number:,}' for number in numbers)} | {agreement:.2%} | {ends} |"


def _compare_file(result: Comparison, name: str, source: str, spans: list[FunctionSpan], tags: list[dict[str, Any]]) -> None:
    kinds = set(DIALECTS[result.language][1].split())
    lines = source.split("\n")
    for span in spans:
        tag = _tag_of(span, tags)
        if tag is None:
            result.ours += 1
            _note(result, "ours", name, lines, span.start, span.name)
            continue
        result.both += 1
        if tag.get("end") and tag["kind"] in kinds:
            result.ends += 1
            result.same_ends += tag["end"] == span.end
            if tag["end"] != span.end:
                _note(result, "end", name, lines, span.end, f"{span.name} {span.start}-{span.end}, not {tag['end']}")
    covered = {line for span in spans for line in range(span.start, span.end + 1)}
    for tag in tags:
        if tag["kind"] not in kinds or tag["line"] in covered or tag["name"].startswith(_ANONYMOUS):
            continue
        if _is_declaration(result.language, lines[tag["line"] - 1 : tag["line"] + _HEADER_LINES]):
            result.declarations += 1
            continue
        result.theirs += 1
        _note(result, "theirs", name, lines, tag["line"], tag["name"])


def _tag_of(span: FunctionSpan, tags: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The first tag of the span's last name on one of its lines."""
    simple = _simple(span.name)
    found = [tag for tag in tags if span.start <= tag["line"] <= span.end and _simple(tag["name"]) == simple]
    return min(found, key=lambda tag: tag["line"]) if found else None


def _simple(name: str) -> str:
    last = name.rpartition(".")[2]
    return re.sub(r"\W", "", last) or last


def _is_declaration(language: str, lines: list[str]) -> bool:
    """Whether the text starts a function without a body: by the first brace, arrow or semicolon after its parameters."""
    header = "\n".join(lines)
    for _ in range(4):  # nested parentheses
        header = re.sub(r"\([^()]*\)", "", header)
    if language == "kotlin":
        return not re.search(r"[{=]", header.partition("\n")[0])
    first = re.search(r"[{;]|=>|=\s*(?:0|default|delete)\s*;", header)
    return first is not None and first[0] not in ("{", "=>")


def _note(result: Comparison, kind: str, name: str, lines: list[str], line: int, what: str) -> None:
    text = lines[line - 1].strip()[:160] if line <= len(lines) else ""
    row = {"language": result.language, "difference": kind, "file": name, "line": line, "name": what, "text": text}
    result.differences.append(row)


def _written(language: str, repositories: list[Path], files: int, folder: Path) -> Iterator[tuple[Path, str, str]]:
    """Files written for Ctags: path, name in the repository, text."""
    share = {repository: _names(language, repository) for repository in repositories}
    counts: dict[Path, int] = defaultdict(int)
    while sum(counts.values()) < files and any(counts[one] < len(names) for one, names in share.items()):
        for one, names in share.items():
            if counts[one] < len(names) and sum(counts.values()) < files:
                counts[one] += 1
    for number, (repository, names) in enumerate(share.items()):
        step = len(names) / max(1, counts[repository])
        with Git(repository) as git:
            for index in range(counts[repository]):
                name = names[int(index * step)]
                source = git.read("HEAD", name) or ""
                path = folder / f"{number}-{index}{PurePosixPath(name).suffix}"
                path.write_text(source, encoding="utf-8", newline="")
                yield path, name, source


def _names(language: str, repository: Path) -> list[str]:
    """Files of a language at HEAD of at most :data:`MAX_BYTES`, by name."""
    with Git(repository) as git:
        entries = git.entries(git.resolve("HEAD")[1])
        wanted = [entry for entry in entries if _is(language, entry.path) and entry.mode.startswith("100")]
        blobs = list(dict.fromkeys(entry.blob for entry in wanted))
        sizes = {}
        for blob, size, stream in git.contents(blobs):
            stream.read(size)
            sizes[blob] = size
    return sorted(entry.path for entry in wanted if 0 < sizes[entry.blob] <= MAX_BYTES)


def _is(language: str, path: str) -> bool:
    return is_python(path) if language == "python" else not path.endswith(".h") and language_of(path) == language


def _tags(language: str, paths: list[Path], ctags: str) -> dict[str, list[dict[str, Any]]]:
    """Tags of each file, in order of their lines."""
    dialect = DIALECTS[language][0]
    options = ["--options=NONE", f"--language-force={dialect}", "--fields=+neK", "--output-format=json", "--sort=no", "-L", "-"]
    names = "".join(f"{path}\n" for path in paths).encode()
    done = subprocess.run([ctags, *options, "-f", "-"], input=names, capture_output=True, check=True)
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in filter(None, done.stdout.decode("utf-8", "replace").split("\n")):
        tag = json.loads(line)
        if tag.get("_type") == "tag":
            found[tag["path"]].append(tag)
    return found
