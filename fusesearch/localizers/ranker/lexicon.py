"""A learned lexicon: how much each word that an issue and a text of code share says about where the fault is.

The score of a text for an issue, whose words are those of identifiers' parts too::

    sum over shared words: weight(word) * shared[place in the issue][place in the text]
    ----------------------------------------------------------------------------------- - length * log(words of the text)
               (sum over words of the issue: weight(word) * place[place]) ** power

Learned weights of words are an old remedy where words occur more often than they tell (DeepCT: Dai and Callan, 2020); here they
come from fixes in public histories (``experiments/lexicon``).

A lexicon is a text file. Its first line is JSON: ``version``, ``shared`` (in the title and elsewhere in the issue, by the name,
the path and the rest of a text), ``place`` (of the title, elsewhere), ``power``, ``length``, ``rare`` (the weight of a word that
it lacks) and ``provenance``. Each other line is a word and its weight.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

from fusesearch.core.errors import ArtifactError
from fusesearch.localizers.ranker.columns import FORMS, Candidate
from fusesearch.localizers.ranker.evidence import WIDE
from fusesearch.localizers.ranker.facts import HUMP, PART, same_letters
from fusesearch.localizers.ranker.index import Index

VERSION = 1
LEXICON = Path(__file__).with_name("lexicon.txt")
FILES, FUNCTIONS = 20, 40
"""Candidates of an issue that are scored: the first by the sum set by hand."""
BODY_CHARS, COMMENT_CHARS, NAMES_CHARS, ISSUE_CHARS, PROSE_CHARS, TITLE_CHARS = 1000, 160, 600, 1600, 900, 300
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_COMMENT = re.compile(r"\s*(?:#![^\n]*\n\s*)?(?:'''|\"\"\"|/\*\*?|#|//)(.{0,240})", re.DOTALL)
_LICENCE = re.compile(r"copyright|licen[cs]e|spdx|all rights", re.IGNORECASE)
_FENCED = re.compile(r"```.*?```", re.DOTALL)
_HIDDEN = re.compile(r"<!--.*?-->", re.DOTALL)


@dataclass(frozen=True)
class Lexicon:
    """Weights by word, and what holds for all of them."""

    weights: Mapping[str, float]
    shared: list[list[float]]
    place: list[float]
    power: float
    length: float
    rare: float

    @classmethod
    def read(cls, path: Path = LEXICON) -> Lexicon:
        """Raises :class:`ArtifactError` for a file that is missing, damaged or of another version."""
        try:
            head, _, rest = path.read_text("utf-8").partition("\n")
            about = json.loads(head)
            if about["version"] != VERSION:
                raise ValueError("it is of another version")
            shared = [[float(value) for value in row] for row in about["shared"]]
            place = [float(value) for value in about["place"]]
            if [*map(len, shared), len(place)] != [3, 3, 2]:
                raise ValueError("it lacks places")
            parts = rest.split()
            weights = dict(zip(parts[::2], map(float, parts[1::2]), strict=True))
            return cls(weights, shared, place, *(float(about[name]) for name in ("power", "length", "rare")))
        except OSError as error:
            raise ArtifactError(f"{path} cannot be read: {error.strerror or error}") from None
        except (ValueError, TypeError, KeyError) as error:
            raise ArtifactError(f"{path} holds no lexicon of this version: {error}") from None

    def scores(self, issue: str, texts: Sequence[str]) -> list[float | None]:
        """How well each text fits the issue; all None if the issue has no words. A text begins with a line of path and name."""
        asked = [(word, place, self.weights.get(word, self.rare)) for word, place in issue_words(issue).items()]
        total = math.fsum(weight * self.place[place] for _, place, weight in asked)
        if total <= 0:
            return [None] * len(texts)
        found: list[float | None] = []
        for text in texts:
            inside = text_words(text)
            value = math.fsum(weight * self.shared[place][inside[word]] for word, place, weight in asked if word in inside)
            found.append(value / total**self.power - self.length * math.log(max(1, len(inside))))
        return found


@lru_cache(maxsize=1)
def lexicon() -> Lexicon:
    """The lexicon of the package."""
    return Lexicon.read()


def words_in(text: str) -> list[str]:
    """The words of a text in lower case, identifiers by their parts; single letters do not count.

    Scripts that put no blanks between words give their pairs of letters.
    """
    if text.isascii():
        return [word.lower() for word in _WORD.findall(text) if len(word) > 1]
    words = [word.lower() for part in PART.findall(WIDE.sub(r" \g<0> ", same_letters(text))) for word in HUMP.split(part)]
    pieces = (map("".join, pairwise(word)) if WIDE.match(word) else [word] for word in words if not word.isdigit())
    return [piece for some in pieces for piece in some if len(piece) > 1]


def issue_words(issue: str) -> dict[str, int]:
    """The words of an issue: 0 in its title, 1 elsewhere."""
    title, _, rest = issue.partition("\n")
    return {**dict.fromkeys(words_in(rest), 1), **dict.fromkeys(words_in(title), 0)}


def text_words(text: str) -> dict[str, int]:
    """The words of a text: 0 in the name of its function or file, 1 in its path, 2 elsewhere."""
    head, _, rest = text.partition("\n")
    path, _, name = head.partition("::")
    name = name or path.rpartition("/")[2]
    return {**dict.fromkeys(words_in(rest), 2), **dict.fromkeys(words_in(path), 1), **dict.fromkeys(words_in(name), 0)}


def issue_text(issue: str) -> str:
    """Title and prose first, then what stands in fenced blocks, within :data:`ISSUE_CHARS`."""
    title, _, rest = issue.replace("\r\n", "\n").partition("\n")
    rest = _HIDDEN.sub("", rest[: 40 * ISSUE_CHARS])
    prose = re.sub(r"\n\s*\n+", "\n", _FENCED.sub("\n", rest)).strip()
    blocks = "\n".join(block.strip("`\n ") for block in _FENCED.findall(rest))
    prose = prose[:PROSE_CHARS] if blocks else prose
    return f"{title.strip()[:TITLE_CHARS]}\n{prose}\n{blocks}".strip()[:ISSUE_CHARS]


def function_text(path: str, name: str, lines: Sequence[str], start: int, end: int) -> str:
    """``path::name`` and the first characters of the lines ``start`` to ``end`` (from 1), without the first one's indentation."""
    own = [line for line in lines[start - 1 : end] if line.strip()][:BODY_CHARS]
    first = lines[start - 1] if own else ""
    indent = len(first) - len(first.lstrip()) if first.strip() else 0
    body = "\n".join(line[indent if line[:indent].isspace() else 0 :].rstrip() for line in own)
    return f"{path}::{name}\n{body[:BODY_CHARS]}"


def file_text(path: str, source: str, names: Sequence[str]) -> str:
    """Path, first comment unless it is a licence, and the names of the file's functions."""
    comment = _COMMENT.match(source)
    said = " ".join((comment[1] if comment else "").split())[:COMMENT_CHARS]
    said = "" if _LICENCE.search(said) else said
    return f"{path}\n{said}\n{' '.join(dict.fromkeys(names))[:NAMES_CHARS]}"


UNKNOWN = (math.nan, math.nan, math.nan)


def forms(values: Sequence[float | None]) -> list[tuple[float, float, float]]:
    """Of each score its value, its distance from the highest in standard deviations, and its reciprocal rank; NaN without one."""
    known = sorted((value for value in values if value is not None), reverse=True)
    if not known:
        return [UNKNOWN] * len(values)
    mean = math.fsum(known) / len(known)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in known) / len(known)) + 1e-6
    return [
        UNKNOWN if value is None else (value, (known[0] - value) / deviation, 1 / (1 + known.index(value))) for value in values
    ]


def add_lexicon(issue: str, files: Sequence[Candidate], functions: Sequence[Candidate], index: Index) -> None:
    """Add the columns :data:`FORMS` to candidates, which are best first by the sum set by hand; only the first are scored.

    A file has those of its own text and of its best function, a function its own and those of its file's text.
    """
    lines = {path: index.source(path).split("\n") for path in {one.path for one in [*files[:FILES], *functions[:FUNCTIONS]]}}
    names = {path: [span.name for span in facts.functions] for path, facts in index.facts(file.path for file in files[:FILES])}
    texts = [file_text(file.path, "\n".join(lines[file.path]), names.get(file.path, ())) for file in files[:FILES]]
    first = len(texts)
    for function in functions[:FUNCTIONS]:
        span = function.lines
        texts.append(function_text(function.path, span.name, lines[function.path], span.start, span.end))
    scores = lexicon().scores(issue_text(issue), texts)
    bodies = [*scores[first:], *[None] * (len(functions) - len(texts) + first)]
    best: dict[str, float] = {}
    for function, score in zip(functions, bodies, strict=True):
        if score is not None:
            best[function.path] = max(score, best.get(function.path, -math.inf))
    of_file = dict(zip([file.path for file in files], forms(scores[:first]), strict=False))
    for file, found in zip(files, forms([best.get(file.path) for file in files]), strict=True):
        _put(file, "", of_file.get(file.path, UNKNOWN))
        _put(file, "function_", found)
    for function, found in zip(functions, forms(bodies), strict=True):
        _put(function, "", found)
        _put(function, "file_", of_file.get(function.path, UNKNOWN))


def _put(candidate: Candidate, prefix: str, values: Sequence[float]) -> None:
    candidate.columns |= {f"{prefix}{name}": value for name, value in zip(FORMS, values, strict=True)}
