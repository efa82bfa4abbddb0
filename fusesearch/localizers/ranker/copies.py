"""Files that a program wrote from other files: installed and built copies, generated code, bundles. Their sources are elsewhere.

A path tells some of them (:func:`~fusesearch.localizers.ranker.paths.is_copy`), a banner, a bundler's first lines or a source map
others. A *bundle* is told by what it repeats: most of its code stands in functions of smaller files with the same names and about
the same lengths.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from fusesearch.code.plain import C_FAMILY, SCRIPTS
from fusesearch.core.errors import OutsideRootError, ToolError
from fusesearch.core.stopping import checked
from fusesearch.localizers.ranker.index import MAX_FILE_BYTES
from fusesearch.localizers.ranker.paths import family, is_copy
from fusesearch.search.repository import Repository

BUNDLED = (*SCRIPTS, *C_FAMILY)
"""Suffixes of the languages that have bundlers, or amalgamations."""

LEAST_FUNCTIONS, LEAST_FILES = 10, 3
"""Functions that a bundle repeats, and files that have them."""

REPEATED = 0.6
"""The least share of what a bundle repeats, in words, of its functions with a name that no other has there."""

WHOLE = 0.5
"""The least share of a file's words in functions that a bundle has of it."""

PART = 0.6
"""The most words in functions that a file has which a bundle repeats, as a share of the bundle's."""

SLACK, SLACK_WORDS = 0.15, 2
"""By how much a function and its copy differ in length: bundlers rename, and compilers rewrite for older engines."""

HEAD_BYTES, TAIL_CHARS = 2048, 300

_COMMENT = re.compile(r"[ \t]*(?://|#|/?\*|--|;|%|<!--|\"\"\"|\(\*|<\?php|['\"]use strict['\"]|$)")
_BANNER = re.compile(
    r"@generated\b|<auto-?generated\b|\bauto(?:matically)?[ -]?generated\s+(?:by|from|with|using)\b"
    r"|\bgenerated\b.{0,200}?\bdo not (?:hand-?)?(?:edit|modify|change)\b"
    r"|\bdo not (?:hand-?)?(?:edit|modify|change)\b.{0,200}?\bgenerated\b",
    re.IGNORECASE | re.DOTALL,
)
_SOURCE_MAP = re.compile(r"^//[#@] sourceMappingURL=\S+\s*\Z", re.MULTILINE)
_ROLLUP = re.compile(r"^\(function \(global, factory\) \{\n(?:[^\n]*\n){1,3}\s*\(global = [^\n]*\|\| self, ", re.MULTILINE)
"""How Rollup begins a bundle for browsers and for Node alike; nobody writes it so by hand."""
_RENAMED = re.compile(r"\$\d+$")
"""What Rollup adds to a name that two modules have."""


Functions = tuple[bytes, Sequence[int]]
"""The functions of a file: :attr:`Facts.raw`, and how many words each has."""


def copies_among(paths: Iterable[str], functions: Mapping[str, Functions], repository: Repository) -> frozenset[str]:
    """Those of the files that a program wrote. ``functions`` are those of all files with a suffix of :data:`BUNDLED`."""
    told, others = set(), []
    for path in checked(paths):
        if is_copy(path) or has_banner(path, repository):
            told.add(path)
        elif path in functions and len(functions[path][1]) >= LEAST_FUNCTIONS:
            others.append(path)
    return frozenset(told | _bundles(others, functions))


def has_banner(path: str, repository: Repository) -> bool:
    """Whether a comment at the top of a file says that a program wrote it, or its first lines or its last are a bundler's."""
    script = path.lower().endswith(SCRIPTS)
    try:
        text = repository.read_listed(path, MAX_FILE_BYTES if script else HEAD_BYTES).decode("utf-8", "replace")
    except (ToolError, OutsideRootError):
        return False
    if script and _SOURCE_MAP.search(text[-TAIL_CHARS:]):
        return True
    head = text[:HEAD_BYTES]
    if script and _ROLLUP.search(head):
        return True
    return "generated" in head.lower() and _BANNER.search(" ".join(_opening(head))) is not None


def _opening(text: str) -> Iterator[str]:
    """The lines of the comments at the top of a file, without their marks."""
    inside = False  # a comment of several lines
    for line in text.split("\n"):
        if not inside and not _COMMENT.match(line):
            return
        inside = (inside or "/*" in line) and "*/" not in line
        yield line.strip('/*#-;%!()" \t\r')


def _bundles(paths: Sequence[str], functions: Mapping[str, Functions]) -> set[str]:
    """Those of the files that repeat others."""
    wanted: dict[str, list[tuple[int, int]]] = defaultdict(list)  # bare name -> number of a file in ``paths``, words
    sizes = [0] * len(paths)
    for number, path in enumerate(paths):
        own = list(_named(functions[path]))
        times = Counter(name for name, _ in own)
        for name, words in own:
            if times[name] == 1:  # one that many classes have says little
                wanted[name].append((number, words))
                sizes[number] += words
    families = [family(path) for path in paths]
    repeated: list[dict[tuple[str, int], str]] = [{} for _ in paths]  # of each file: name and words of a function -> where else
    for path, found in checked(functions.items() if paths else ()):
        size, kind = sum(found[1]), family(path)
        parts: dict[int, list[tuple[str, int, int]]] = defaultdict(list)
        for name, words in _named(found):
            for number, length in wanted.get(name, ()):
                alike = abs(words - length) <= max(SLACK_WORDS, SLACK * length)
                if alike and kind == families[number] and size <= PART * sizes[number]:
                    parts[number].append((name, length, words))
        for number, same in parts.items():
            if sum(words for _, _, words in same) >= WHOLE * size:
                for name, length, _ in same:
                    repeated[number].setdefault((name, length), path)
    return {
        path
        for path, where, size in zip(paths, repeated, sizes, strict=True)
        if len(where) >= LEAST_FUNCTIONS
        and len(set(where.values())) >= LEAST_FILES
        and sum(words for _, words in where) >= REPEATED * size
    }


def _named(functions: Functions) -> Iterator[tuple[str, int]]:
    """The bare names of functions with their lengths in words."""
    raw, lengths = functions
    for (_, _, name), words in zip(json.loads(raw)[0], lengths, strict=True):
        bare = name.rpartition(".")[2]
        yield _RENAMED.sub("", bare) if "$" in bare else bare, words
