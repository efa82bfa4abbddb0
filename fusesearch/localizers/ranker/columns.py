"""The features of candidates as named columns, and candidates with what speaks for them.

Scores are divided by the highest of the snapshot and ranks are reciprocal, so that columns mean the same in repositories of any
size. A feature that cannot be known, such as history without git, is NaN.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from fusesearch.code.spans import FunctionSpan
from fusesearch.localizers.ranker.reasons import Reason

SCORES = ("all", "title", "prose", "block", "code", "text")
"""BM25 of the issue's words with their weights; of the words of its title, prose and code alone; and of all words against the
code alone and against comments and strings alone."""

NAMED = ("title", "inline", "outer", "block", "prose", "dotted", "imported", "owner", "plain")
"""How a name is mentioned: in the title; alone between backticks; as the outermost call of a line of code; otherwise in code; in
running text, where it looks like code; after a dot; in an import; before a dot; as a word of the title or with a capital."""

FORMS = ("lexicon", "lexicon_gap", "lexicon_rank")
"""What the lexicon says (:mod:`fusesearch.localizers.ranker.lexicon`): score, distance from the highest, reciprocal rank."""

FILE_COLUMNS = (
    *SCORES, "rank", "title_rank", "best_function", "best_function_rank", "top_functions", "coverage",
    "path_words", "path_title", "stem_title",
    *(f"defines_{kind}" for kind in NAMED), "defines_frame",
    "defines_count", "defines_unique", "literal", "phrase", "frame", "frame_last", "path_named", "module_share",
    "words", "functions", "depth", "history_recent", "history_words", "history_often",
    "files", "issue_chars", "issue_names", "issue_frames", "prior", "prior_rank", "prior_gap",
    *FORMS, *(f"function_{name}" for name in FORMS),
)  # fmt: skip
"""Columns of a file. ``issue_`` columns and ``files`` are the same for all candidates of an issue."""

OF_FILE = (
    "all", "title", "rank", "path_title", "defines_unique", "frame", "path_named", "functions",
    "prior", "prior_rank", "prior_gap", "history_recent", "history_words", "best_function",
)  # fmt: skip
OF_ISSUE = ("issue_chars",)

FUNCTION_COLUMNS = (
    "all", "title", "prose", "block", "rank", "rank_in_file", "coverage",
    "name_words", "name_title", "name_share",
    *(f"named_{kind}" for kind in NAMED), "named_unique", "class_named", "class_title_named", "owner_fits",
    "literal", "phrase", "frame", "frame_last", "line", "line_near", "dunder", "lines", "depth",
    *(f"file_{name}" for name in OF_FILE), *OF_ISSUE, "prior", "prior_rank",
    *FORMS, *(f"file_{name}" for name in FORMS),
)  # fmt: skip
"""Columns of a function; ``file_`` columns are those of its file."""

_COMMON = ("get", "set", "run", "main", "append", "join", "format", "items", "update", "copy")


@dataclass
class Candidate:
    """A file, or a function with its lines: its columns by name, and what speaks for it."""

    path: str
    span: FunctionSpan | None = None
    columns: dict[str, float] = field(default_factory=dict)
    reasons: list[Reason] = field(default_factory=list)

    @property
    def lines(self) -> FunctionSpan:
        """The lines of a function; a file has none."""
        assert self.span is not None  # noqa: S101
        return self.span

    @property
    def entity(self) -> str:
        """``path`` or ``path::Qualified.name``."""
        return f"{self.path}::{self.span.name}" if self.span else self.path

    def row(self, names: Iterable[str] = ()) -> list[float]:
        """The named columns, by default in the order of :data:`FILE_COLUMNS` or :data:`FUNCTION_COLUMNS`."""
        return [self.columns.get(name, 0.0) for name in names or (FUNCTION_COLUMNS if self.span else FILE_COLUMNS)]


WHERE = {
    "title": "named in the title",
    "frame": "named in a frame of the traceback",
    "outer": "called in an example",
    "inline": "named as code",
    "imported": "imported in an example",
    "block": "named in an example",
}
"""In words, where a name is mentioned, the most telling first; elsewhere it is in running text."""


def kind_weight(kinds: Iterable[str]) -> float:
    """How much the most telling way in which a name is mentioned weighs among reasons."""
    return 1 - min(map(NAMED.index, kinds)) / 10


def is_common(name: str) -> bool:
    """Whether half of all classes have a function of that name, or a traceback gives no name."""
    return name.startswith(("<", "__")) or name in _COMMON
