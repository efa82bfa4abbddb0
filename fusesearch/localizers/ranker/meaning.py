"""How near a sentence encoder puts an issue and a candidate, as columns (``WITH_MEANING``).

Only the first files and functions by the sum set by hand are compared, since an encoder is slow. Vectors are kept in the index
under what was encoded.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fusesearch.localizers.ranker.columns import SIMILARITIES, Candidate
from fusesearch.localizers.ranker.encoder import Encoder
from fusesearch.localizers.ranker.features import Candidates
from fusesearch.localizers.ranker.index import Index

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FILES, FUNCTIONS = 20, 40
"""Candidates that are compared: of 1,041 issues and messages 97% have a right file among them, of 912 93% a right function."""

TITLE_CHARS, TEXT_CHARS, BODY_CHARS, COMMENT_CHARS, NAMES_CHARS = 300, 1200, 900, 150, 500
ISSUE_TOKENS, SUMMARY_TOKENS, BODY_TOKENS = 160, 128, 96

_COMMENT = re.compile(r"\s*(?:'''|\"\"\"|/\*\*?|#|//)(.{0,200})", re.DOTALL)
_FENCED = re.compile(r"```.*?```", re.DOTALL)
_BETWEEN = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_./:]+")


def add_meaning(found: Candidates, issue: str, index: Index, encoder: Encoder) -> None:
    """Give the candidates of an issue the columns of meaning."""
    files, functions = found.files[:FILES], found.functions[:FUNCTIONS]
    sources = {path: index.source(path) for path in {candidate.path for candidate in (*files, *functions)}}
    names = {path: [span.name for span in facts.functions] for path, facts in index.facts([file.path for file in files])}
    summaries = [summary(file.path, sources[file.path], names.get(file.path, ())) for file in files]
    bodies = [body(function, sources[function.path]) for function in functions]
    by_file, by_function = _vectors(summaries, SUMMARY_TOKENS, index, encoder), _vectors(bodies, BODY_TOKENS, index, encoder)
    asked = encoder.encode([encoder.query + text for text in queries(issue)], ISSUE_TOKENS)
    for view, query in zip(("title", "text"), asked, strict=True):
        near: dict[str, float] = {}
        own = dict(zip([function.entity for function in functions], (by_function @ query).tolist(), strict=True))
        for function in functions:
            near[function.path] = max(own[function.entity], near.get(function.path, -1.0))
        _put(found.functions, f"body_{view}", own)
        _put(found.files, f"inside_{view}", near)
        _put(found.files, f"summary_{view}", dict(zip([file.path for file in files], (by_file @ query).tolist(), strict=True)))
    by_path = {file.path: file.columns for file in found.files}
    for function in found.functions:
        function.columns |= {name: by_path[function.path][name] for name in (f"summary_{form}" for form in SIMILARITIES)}


def queries(issue: str) -> tuple[str, str]:
    """The title, and title and text without fenced blocks, as far as they are encoded."""
    title, _, rest = issue.partition("\n")
    return title[:TITLE_CHARS], f"{title}\n{_FENCED.sub('', rest[: 20 * TEXT_CHARS])}"[:TEXT_CHARS]


def summary(path: str, source: str, names: Sequence[str]) -> str:
    """What stands for a file: its path, its first comment and the names of its functions, in words."""
    comment = _COMMENT.match(source)
    said = " ".join((comment[1] if comment else "").split())[:COMMENT_CHARS]
    return f"{in_words(path)}. {said} {' '.join(map(in_words, dict.fromkeys(names)))[:NAMES_CHARS]}"


def body(function: Candidate, source: str) -> str:
    """What stands for a function: its name in words, and its first lines."""
    assert function.span is not None  # noqa: S101
    lines = source.splitlines()[function.span.start - 1 : function.span.end]
    return f"{in_words(function.span.name)} " + "\n".join(lines)[:BODY_CHARS]


def in_words(name: str) -> str:
    """A path or qualified name with blanks between its parts."""
    return _BETWEEN.sub(" ", name)


def _put(candidates: Sequence[Candidate], column: str, values: Mapping[str, float]) -> None:
    """Give every candidate a similarity in its three forms, from values by entity."""
    count, top = max(1, len(values)), max(values.values(), default=0.0)
    mean = sum(values.values()) / count
    deviation = math.sqrt(sum((value - mean) ** 2 for value in values.values()) / count) + 1e-6
    ranks = {entity: place for place, entity in enumerate(sorted(values, key=lambda entity: -values[entity]), 1)}
    for candidate in candidates:
        value = values.get(candidate.entity, math.nan)
        candidate.columns[column] = value
        candidate.columns[f"{column}_gap"] = (top - value) / deviation
        candidate.columns[f"{column}_rank"] = 1 / ranks.get(candidate.entity, math.nan)


def _vectors(texts: Sequence[str], tokens: int, index: Index, encoder: Encoder) -> NDArray[np.float32]:
    """The vectors of the texts, from the index where it has them: (texts, dimensions)."""
    import numpy as np

    keys = [encoder.key(text, tokens) for text in texts]
    kept = {key: data for key, data in index.vectors(list(dict.fromkeys(keys))).items() if len(data) == 2 * encoder.dimensions}
    missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in kept}
    if missing:
        made = encoder.encode(list(missing.values()), tokens).astype(np.float16)
        new = {key: vector.tobytes() for key, vector in zip(missing, made, strict=True)}
        index.keep_vectors(new)
        kept |= new
    data = b"".join(kept[key] for key in keys)
    return np.frombuffer(data, np.float16).reshape(len(keys), encoder.dimensions).astype(np.float32)
