"""What ``truth`` says of real commits beside what ``git diff`` and Universal Ctags say of them.

The other side: a function of Ctags is modified if a hunk of git (without context, and not of comments alone) removes one of its
lines or adds lines between two of them. Where Ctags tells no end, indentation does. Names are compared by file, without what
contains them.
"""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from experiments.spans.bodies import code_lines, has_body
from experiments.spans.ctags import Tag, plain, tags_of
from fusesearch.code.languages import language_of
from fusesearch.code.spans import is_python
from fusesearch.core.schema import Truth
from fusesearch.data.truth import truth_from_patch
from fusesearch.search.git import Git, git_command, reading_environment

HISTORIES = {
    "c": ("redis/redis", "jqlang/jq"), "cpp": ("fmtlib/fmt", "gabime/spdlog"), "csharp": ("serilog/serilog", "App-vNext/Polly"),
    "go": ("spf13/cobra", "cli/cli"), "java": ("google/gson", "apache/commons-lang"),
    "javascript": ("eslint/eslint", "expressjs/express"), "kotlin": ("square/okio", "square/moshi"),
    "php": ("Seldaek/monolog", "composer/composer"), "python": ("scrapy/scrapy", "psf/black"),
    "ruby": ("rubocop/rubocop", "rack/rack"), "rust": ("BurntSushi/ripgrep", "tokio-rs/tokio"),
    "typescript": ("vitejs/vite", "trpc/trpc"),
}  # fmt: skip
"""The repositories of each language; their newest commits are those of repositories.csv."""
PER_REPOSITORY = 50
MOST_FILES = 10
_HEADERS = {"c": ("c", "cpp"), "cpp": ("c", "cpp"), "typescript": ("typescript", "tsx")}
_DRIVERS = {
    "c": "cpp", "h": "cpp", "cc": "cpp", "cpp": "cpp", "hpp": "cpp", "cs": "csharp", "go": "golang", "java": "java",
    "kt": "kotlin", "kts": "kotlin", "php": "php", "py": "python", "pyi": "python", "rb": "ruby", "rs": "rust",
}  # fmt: skip
"""Git's own drivers, by suffix; it has none for JavaScript and TypeScript."""
_COMMENT = dict.fromkeys(HISTORIES, r"^[[:blank:]]*(//|/[*]|[*][ /])") | dict.fromkeys(("python", "ruby"), r"^[[:blank:]]*#")
"""Lines that git ignores."""
_DIFF = ("diff", "--no-ext-diff", "--no-textconv", "-M")
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@ ?(.*)")
_CLOSING = re.compile(r"[)\]}{>]|(?:where|else|catch|finally)\b")


@dataclass
class Commit:
    """A commit: its id, its parent's, and the path before and after of each source file of the language that it changes."""

    id: str
    parent: str
    files: list[tuple[str, str]] = field(default_factory=list)
    patch: str = ""


class Hunk(NamedTuple):
    """Old lines ``start`` to ``start + lines - 1``, or what is added after line ``start``; the heading that git gives it."""

    start: int
    lines: int
    heading: str
    removed: list[str]

    def touches(self, first: int, last: int) -> bool:
        """Whether it removes one of these lines or adds a line between two of them."""
        if self.lines:
            return self.start <= last and first < self.start + self.lines
        return first <= self.start < last


@dataclass
class Touched:
    """The functions of one file that a commit modifies, by both readings: ours as in the truth, theirs as Ctags names them."""

    path: str
    ours: set[str] = field(default_factory=set)
    theirs: set[str] = field(default_factory=set)
    perhaps: set[str] = field(default_factory=set)
    """Properties and variables of Ctags, which may be functions of ours."""
    hunks: list[Hunk] = field(default_factory=list)

    @property
    def only_ours(self) -> list[str]:
        """Qualified names."""
        return sorted(name for name in self.ours if plain(name) not in self.theirs | self.perhaps)

    @property
    def only_theirs(self) -> list[str]:
        """Names without scopes."""
        return sorted(self.theirs - {plain(name) for name in self.ours})

    @property
    def both(self) -> int:
        """How many functions both name."""
        return len(self.ours) - len(self.only_ours)

    def git_names(self, name: str) -> bool:
        """Whether a heading or a removed line of the hunks has the name: git's own word on it."""
        word = re.compile(rf"(?<!\w){re.escape(plain(name))}(?!\w)")
        return any(word.search(line) for hunk in self.hunks for line in (hunk.heading, *hunk.removed))


def commits(clone: Path, head: str, language: str, most: int = PER_REPOSITORY) -> list[Commit]:
    """The newest commits from ``head`` that are not merges and change one to :data:`MOST_FILES` source files of the language."""
    found: list[Commit] = []
    log = _lines(clone, "log", "--no-merges", "--topo-order", "-M", "--name-status", "--format=%x01%H %P", "-n", "1000", head)
    current: Commit | None = None
    for line in [*log, "\x01"]:
        if line.startswith("\x01"):
            if current and 0 < len(current.files) <= MOST_FILES:
                with suppress(subprocess.CalledProcessError):  # a snapshot may lack large files
                    current.patch = "\n".join(_lines(clone, *_DIFF, current.parent, current.id))
                    found.append(current)
            if len(found) == most:
                break
            ids = line[1:].split()
            current = Commit(ids[0], ids[1]) if len(ids) == 2 else None
        elif current and line and line[0] in "MDRT":
            names = line.split("\t")[1:]
            if _speaks(names[0], language):
                current.files.append((names[0], names[-1]))
    return found


def fix_of(clone: Path, number: str) -> tuple[str, str] | None:
    """The newest commit that names a pull request as GitHub does (`(#1)` at the end, or its merge): its parent and its patch."""
    for line in _lines(clone, "log", "--format=%H %s", "HEAD"):
        if line.endswith(f"(#{number})") or f" Merge pull request #{number} " in line:
            commit = line.split()[0]
            return f"{commit}^", "\n".join(_lines(clone, *_DIFF, f"{commit}^", commit))
    return None


def _speaks(path: str, language: str) -> bool:
    found = "python" if is_python(path) else language_of(path)
    return found in _HEADERS.get(language, (language,))


def compared_commits(clone: Path, language: str, chosen: list[Commit]) -> Iterator[tuple[Commit, Truth, list[Touched], float]]:
    """Truth of each commit, what both readings say of its source files, and the seconds that the truth took."""
    with Git(clone) as git, TemporaryDirectory() as folder:
        root = Path(folder)
        texts = {
            f"{number}/{old}": git.read(commit.parent, old) or ""
            for number, commit in enumerate(chosen)
            for old, _ in commit.files
        }
        tags: dict[str, list[Tag]] = {}
        spoken: dict[str, list[str]] = {}
        for name, text in texts.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(text.encode())
            spoken.setdefault("python" if is_python(name) else str(language_of(name, text)), []).append(name)
        for dialect, names in spoken.items():
            plainer = "typescript" if dialect == "tsx" else dialect
            for name, found in tags_of(root, plainer, names).items():
                lines = code_lines(texts[name], plainer)
                tags[name] = outermost([
                    tag._replace(end=tag.end or end_of(lines, tag.line))
                    for tag in found
                    if not tag.function or has_body(lines, tag.line, tag.name, plainer)
                ])  # fmt: skip
        attributes = root / "attributes"
        attributes.write_text("".join(f"*.{suffix} diff={driver}\n" for suffix, driver in _DRIVERS.items()))
        for number, commit in enumerate(chosen):
            started = time.perf_counter()
            truth = truth_from_patch(commit.patch, partial(git.read, commit.parent))
            seconds = time.perf_counter() - started
            touched = []
            for old, new in commit.files:
                one = Touched(old, {name.partition("::")[2] for name in truth.functions if name.startswith(f"{old}::")})
                one.hunks = hunks(clone, commit, old, new, language, attributes)
                for tag in tags[f"{number}/{old}"]:
                    if any(hunk.touches(tag.line, tag.end or tag.line) for hunk in one.hunks):
                        (one.theirs if tag.function else one.perhaps).add(plain(tag.name))
                touched.append(one)
            yield commit, truth, touched, seconds


def outermost(tags: list[Tag]) -> list[Tag]:
    """Functions that lie in no other, and what may be one."""
    functions = [tag for tag in tags if tag.function]
    return [
        tag
        for tag in tags
        if not any(other.line < tag.line and tag.line <= (other.end or 0) for other in functions if other is not tag)
    ]


def end_of(lines: list[str], line: int) -> int:
    """The last line of a function by indentation: that before the next one that is not deeper and closes nothing."""
    margin = _margin(lines[line - 1])
    last = line
    for number, text in enumerate(lines[line:], line + 1):
        if not text.strip():
            continue
        if _margin(text) <= margin and not (_margin(text) == margin and _CLOSING.match(text.strip())):
            break
        last = number
        if _margin(text) == margin and re.match(r"\}[;,)]*$", text.strip()):
            break
    return last


def _margin(text: str) -> int:
    expanded = text.expandtabs(4)
    return len(expanded) - len(expanded.lstrip())


def hunks(clone: Path, commit: Commit, old: str, new: str, language: str, attributes: Path) -> list[Hunk]:
    """The hunks of one file that are not of comments alone, without context, with headings by git's drivers of languages."""
    found: list[Hunk] = []
    paths = [old] if old == new else [old, new]
    diff = (*_DIFF, "-U0", "-I", _COMMENT[language], "--ignore-blank-lines", commit.parent, commit.id, "--", *paths)
    for line in _lines(clone, "-c", f"core.attributesFile={attributes}", *diff):
        if match := _HUNK.match(line):
            found.append(Hunk(int(match[1]), int(match[2] or 1), match[3], []))
        elif line.startswith("-") and found:
            found[-1].removed.append(line[1:])
    return found


def _lines(clone: Path, *arguments: str) -> list[str]:
    command = git_command(clone, "-c", "core.quotePath=false", *arguments)
    done = subprocess.run(command, env=reading_environment(), capture_output=True, check=True)
    return done.stdout.decode("utf-8", "replace").split("\n")
