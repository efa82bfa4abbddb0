"""The features of candidate files and functions for an issue, as named columns, and what they mean in words.

Scores are divided by the highest of the snapshot and ranks are reciprocal, so that columns mean the same in repositories of any
size. A feature that cannot be known, such as history without git, is NaN.
"""

from __future__ import annotations

import math
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tasks.code.spans import FunctionSpan
from tasks.localizers.ranker.evidence import draw_evidence
from tasks.localizers.ranker.facts import Facts, words_of
from tasks.localizers.ranker.history import History, history_of
from tasks.localizers.ranker.index import Index
from tasks.localizers.ranker.matching import K1, SCORES, B, Matches, bare, module_parts, path_words, spread

MAX_FILES, MAX_FUNCTIONS = 100, 150
"""Candidates of an issue."""
MAX_CALLERS = 6
MAX_EXPORTS = 6
"""Definitions of one name whose packages are read."""

NAMED = ("title", "inline", "outer", "block", "prose", "dotted", "imported", "owner", "frame")

FILE_COLUMNS = (
    *SCORES, "rank", "title_rank", "best_function", "best_function_rank", "top_functions", "coverage",
    "path_words", "path_title", "path_share", "stem_title", "stem_named", "stem_word",
    *(f"defines_{kind}" for kind in NAMED), "defines_exported", "defines_class", "defines_variable",
    "defines_count", "defines_unique",
    "calls", "called_by_named", "literal", "phrase", "frame", "frame_last", "frame_share",
    "path_named", "path_line", "module", "module_share",
    "words", "functions", "depth", "init", "private", "history_recent", "history_words", "history_often",
    "files", "issue_chars", "issue_names", "issue_frames", "prior", "prior_rank", "prior_gap",
)  # fmt: skip
"""Columns of a file. ``issue_`` columns and ``files`` are the same for all candidates of an issue."""

_OF_FILE = (
    "all", "title", "rank", "path_title", "defines_unique", "frame", "path_named", "module", "literal", "functions", "prior",
    "prior_rank", "prior_gap", "history_recent", "history_words", "best_function",
)  # fmt: skip
_OF_ISSUE = ("issue_chars", "issue_names", "issue_frames")

FUNCTION_COLUMNS = (
    "all", "title", "prose", "block", "rank", "rank_in_file", "coverage",
    "name_words", "name_title", "name_share", "class_words", "class_title",
    *(f"named_{kind}" for kind in NAMED), "named_unique", "exported", "class_named", "class_title_named", "pair", "owner_fits",
    "calls", "called_by_named", "literal", "phrase", "frame", "frame_last", "line", "line_near",
    "constructor", "private", "dunder", "lines", "depth", "defines_nested",
    *(f"file_{name}" for name in _OF_FILE), *_OF_ISSUE, "prior", "prior_rank",
)  # fmt: skip
"""Columns of a function; ``file_`` columns are those of its file."""

_CONSTRUCTORS = ("__init__", "__new__", "constructor", "initialize", "__construct")
_COMMON = ("get", "set", "run", "main", "append", "join", "format", "items", "update", "copy")
_FROM = re.compile(r"from\s+([\w.]+)\s+import\s+(\([^)]*\)|[^\n]*)")
_CALLED = re.compile(r"([^\W\d]\w*)[ \t]?\(")


@dataclass
class Candidate:
    """A file, or a function with its lines: its columns by name, and what speaks for it, each with a weight."""

    path: str
    span: FunctionSpan | None = None
    columns: dict[str, float] = field(default_factory=dict)
    reasons: list[tuple[float, str]] = field(default_factory=list)

    @property
    def entity(self) -> str:
        """``path`` or ``path::Qualified.name``."""
        return f"{self.path}::{self.span.name}" if self.span else self.path

    def row(self) -> list[float]:
        """The columns in the order of :data:`FILE_COLUMNS` or :data:`FUNCTION_COLUMNS`."""
        return [self.columns.get(name, 0.0) for name in (FUNCTION_COLUMNS if self.span else FILE_COLUMNS)]


@dataclass(frozen=True)
class Candidates:
    """The candidates of an issue, best first by the column ``prior``: a sum with weights set by hand."""

    files: list[Candidate]
    functions: list[Candidate]


def candidates_of(issue: str, index: Index) -> Candidates:
    """The candidates for an issue with their columns."""
    matches = Matches(draw_evidence(issue), index)
    history = history_of(index, matches.words)
    whole = _WholeTree(matches, history)
    whole.add_exports(index)
    files = {number: whole.candidate(number) for number in whole.chosen()}
    functions = _functions(matches, index, files)
    for function in functions:
        function.columns["exported"] = whole.exports.get((function.path, bare(function.entity)), 0.0)
        function.columns["prior"] += 0.2 * function.columns["exported"]
    _add_functions(list(files.values()), functions)
    ranked = sorted(files.values(), key=lambda file: -file.columns["prior"])
    _add_ranks(ranked)
    by_path = {file.path: file for file in ranked}
    functions.sort(key=lambda function: -function.columns["prior"] - 0.5 * by_path[function.path].columns["prior"])
    for rank, function in enumerate(functions[:MAX_FUNCTIONS], 1):
        file = by_path[function.path].columns
        function.columns |= {f"file_{name}": file.get(name, 0.0) for name in _OF_FILE}
        function.columns |= {name: file[name] for name in _OF_ISSUE}
        function.columns["prior"] += 0.5 * file["prior"]
        function.columns["prior_rank"] = 1 / rank
    return Candidates(ranked, functions[:MAX_FUNCTIONS])


class _WholeTree:
    """What is known of every file before any function is looked at. Sparse: column -> number of the file -> value."""

    def __init__(self, matches: Matches, history: History | None) -> None:
        self.matches = matches
        self.columns: dict[str, dict[int, float]] = defaultdict(dict)
        self.reasons: dict[int, list[tuple[float, str]]] = defaultdict(list)
        self.exports: dict[tuple[str, str], float] = {}
        self._tops = {name: max(scores, default=0.0) or 1.0 for name, scores in matches.scores.items()}
        self._ranks = {name: _ranks(matches.scores[name]) for name in ("all", "title")}
        self.history = history
        self._add_paths()
        self._add_names()
        self._add_frames()
        self._add_literals()
        self._issue = {
            "files": math.log1p(len(matches.paths)),
            "issue_chars": math.log1p(matches.evidence.chars),
            "issue_names": math.log1p(len(matches.evidence.names)),
            "issue_frames": math.log1p(len(matches.evidence.frames)),
        }

    def chosen(self) -> list[int]:
        """Numbers of the candidates: the best by the hand-made sum, and by the words of the title."""
        by_title = sorted(self._ranks["title"], key=self._ranks["title"].__getitem__)[: MAX_FILES // 5]
        touched = {*self._ranks["all"], *self._ranks["title"], *(file for column in self.columns.values() for file in column)}
        best = sorted(touched, key=lambda file: (-self._prior(file), file))
        return list(dict.fromkeys([*by_title, *best]))[:MAX_FILES]

    def candidate(self, file: int) -> Candidate:
        """The columns known so far."""
        matches, history, path = self.matches, self.history, self.matches.paths[file]
        parts = path.split("/")
        idf = {word: matches.idf(word) for word in self._has(file)}
        rare = sorted(idf, key=lambda word: -idf[word] * matches.words[word])[:3]
        columns = {name: matches.scores[name][file] / self._tops[name] for name in SCORES}
        columns |= {name: column[file] for name, column in self.columns.items() if file in column}
        columns |= self._issue | {
            "rank": _reciprocal(self._ranks["all"].get(file)),
            "title_rank": _reciprocal(self._ranks["title"].get(file)),
            "coverage": sum(idf.values()) / (sum(map(matches.idf, matches.words)) or 1.0),
            "words": math.log1p(matches.lengths[file]),
            "depth": len(parts),
            "init": float(parts[-1].startswith(("__init__.", "index.", "mod.rs"))),
            "private": float(any(part.startswith("_") and not part.startswith("__") for part in parts)),
            "history_recent": history.recent.get(path, 0.0) if history else math.nan,
            "history_words": history.words.get(path, 0.0) if history else math.nan,
            "history_often": history.often.get(path, 0.0) if history else math.nan,
            "prior": self._prior(file),
        }
        if history and history.words.get(path, 0.0) > 0.5:
            self.reasons[file].append((history.words[path], f"changed with similar words in {history.similar[path]}"))
        if rare:
            self.reasons[file].append((0.1, f"shares the words {', '.join(rare)} with the issue"))
        return Candidate(path, None, columns, self.reasons[file])

    def _has(self, file: int) -> list[str]:
        hits = self.matches.hits
        return [word for word in self.matches.words if _contains(hits[word].files, file)]

    def _prior(self, file: int) -> float:
        value = {name: column.get(file, 0.0) for name, column in self.columns.items()}
        scores = self.matches.scores
        return (
            scores["all"][file] / self._tops["all"]
            + 0.2 * scores["title"][file] / self._tops["title"]
            + 0.3 * value.get("path_title", 0.0)
            + 0.2 * value.get("stem_title", 0.0)
            + 0.4 * value.get("defines_unique", 0.0)
            + 0.2 * value.get("defines_exported", 0.0)
            + 0.5 * value.get("frame", 0.0)
            + 0.6 * value.get("path_named", 0.0)
            + 0.1 * value.get("module_share", 0.0)
            + 0.2 * value.get("phrase", 0.0)
            + 0.2 * (self.history.words.get(self.matches.paths[file], 0.0) if self.history else 0.0)
        )

    def _put(self, column: str, file: int, value: float) -> None:
        found = self.columns[column]
        found[file] = max(found.get(file, 0.0), value)

    def _add_paths(self) -> None:
        matches, evidence = self.matches, self.matches.evidence
        words = [path_words(path) & matches.words.keys() for path in matches.paths]
        having, count = spread(words), len(words)
        idf = {word: math.log(1 + count / times) for word, times in having.items()}
        total = sum(idf.get(word, 0.0) for word in evidence.title) or 1.0
        top = max((sum(idf[word] for word in found) for found in words), default=0.0) or 1.0
        names = {part.lower() for name in [*evidence.names, *evidence.modules] for part in name.split(".")}
        for file, found in enumerate(words):
            parts = module_parts(matches.paths[file].split("/"))
            own = words_of(parts[-1]) if parts else ()
            if found:
                self._put("path_words", file, sum(idf[word] for word in found) / top)
                self._put("path_title", file, sum(idf[word] for word in found if word in evidence.title) / total)
                self._put("path_share", file, len(found.intersection(own)) / max(1, len(set(own))))
            if own and own[0] in matches.words:
                self._put("stem_word", file, 1.0)
                if own[0] in evidence.title:
                    self._put("stem_title", file, 1.0)
                    self.reasons[file].append((1.0, f"its name is in the title: `{parts[-1]}`"))
            if own and parts[-1].lower() in names:
                self._put("stem_named", file, 1.0)
        for mentioned, line in evidence.paths:
            files = matches.resolve.files(mentioned)
            for file in files:
                self._put("path_named", file, 1 / len(files))
                self.reasons[file].append((4.0 / len(files), "named by its path" + (f" and line {line}" if line else "")))
                if line:
                    self._put("path_line", file, 1 / len(files))
        for dotted in evidence.modules:
            length, files = matches.resolve.modules(dotted)
            for file in files:
                self._put("module", file, length)
                self._put("module_share", file, 1 / len(files))
                if length > 1:
                    self.reasons[file].append((1.5 / len(files), f"the module of `{dotted}`"))

    def _add_names(self) -> None:
        matches = self.matches
        classes = {name: set(matches.hits[f"c:{name}"].files) for name in matches.evidence.names}
        for name, mention in matches.evidence.names.items():
            files = matches.defining(name)
            share = 1 / len(files) if files else 0.0
            variable = files and not {*matches.hits[f"d:{name}"].files, *classes[name]}
            for file in files:
                for kind in mention.kinds:
                    self._put(f"defines_{kind}", file, share)
                if variable or file in classes[name]:
                    self._put("defines_variable" if variable else "defines_class", file, share)
                self._put("defines_unique", file, share)
                count = self.columns["defines_count"]
                count[file] = count.get(file, 0.0) + share
                said = f"defines `{name}`, {named_where(mention.kinds)}"
                self.reasons[file].append((3 * share * _kind_weight(mention.kinds), said))
            calls = matches.hits[f"k:{name}"]
            for file in calls.files:
                column = self.columns["calls"]
                column[file] = column.get(file, 0.0) + (matches.idf(f"k:{name}") if files else 0.0)
        _to_one(self.columns["calls"])

    def add_exports(self, index: Index) -> None:
        """Of several definitions of a name, the one that packages export is what users call."""
        for name, mention in self.matches.evidence.names.items():
            files = self.matches.defining(name)
            if len(files) > MAX_EXPORTS or not mention.kinds & {"title", "inline", "outer", "imported"}:
                continue
            for file in files:
                share = exported(index, self.matches.paths[file], name)
                if share:
                    self._put("defines_exported", file, share)
                    self.exports[self.matches.paths[file], name] = share

    def _add_frames(self) -> None:
        """Only frames in files of the repository count, from the innermost."""
        matches, depth = self.matches, 0
        frames = [(frame, matches.resolve.files(frame.path)) for frame in matches.evidence.frames[::-1]]
        inside = [(frame, files) for frame, files in frames if files]
        for depth, (_, files) in enumerate(inside):
            for file in files:
                value = 1 / (1 + depth) / len(files)
                self._put("frame", file, value)
                column = self.columns["frame_share"]
                column[file] = column.get(file, 0.0) + 1 / len(inside)
                if depth == 0:
                    self._put("frame_last", file, 1 / len(files))
                where = "in the last frame" if depth == 0 else "in a frame"
                self.reasons[file].append((4.0 * value, f"named {where} of the traceback"))
        for frame in matches.evidence.frames:
            if frame.name and not is_common(frame.name):
                files = sorted(set(matches.hits[f"d:{bare(frame.name)}"].files))
                for file in files:
                    self._put("defines_frame", file, 1 / len(files))

    def _add_literals(self) -> None:
        matches = self.matches
        for text in matches.evidence.literals:
            column = self.columns["literal" if text.startswith("l:") else "phrase"]
            idf = matches.idf(text)
            for file in matches.hits[text].files:
                column[file] = column.get(file, 0.0) + idf
                if idf > 3:
                    shown = text[2:]
                    said = f"has the literal `{shown}`" if text.startswith("l:") else f"has a message with “{shown}”"
                    self.reasons[file].append((0.3 * idf, said))
        _to_one(self.columns["literal"])
        _to_one(self.columns["phrase"])


def _functions(matches: Matches, index: Index, files: dict[int, Candidate]) -> list[Candidate]:
    """Functions of the candidate files, with all columns but those that need the others."""
    numbers = {matches.paths[number]: number for number in files}
    found: list[Candidate] = []
    parts = {"title": matches.evidence.title, "prose": matches.evidence.prose, "block": matches.evidence.block}
    scores: dict[str, list[float]] = {name: [] for name in ("all", *parts, "coverage", "literal", "phrase", "calls")}
    average = max(1, matches.function_words) / max(1, matches.functions)
    from tasks.localizers.ranker.facts import term

    keys = {text: term(text) for text in matches.hits}
    idfs = {text: matches.function_idf(text) for text in matches.hits}
    total_idf = sum(idfs[word] for word in matches.words) or 1.0
    for path, facts in index.facts(numbers):
        first = len(found)
        spans = facts.functions
        found += [Candidate(path, span) for span in spans]
        for values in scores.values():
            values += [0.0] * len(spans)
        norms = [K1 * (1 - B + B * length / average) for length in facts.lengths]
        for word, weight in matches.words.items():
            place = facts.find(keys[word])
            if place < 0:
                continue
            targets = [scores[name] for name, words in parts.items() if word in words]
            for number, times in facts.functions_with(place):
                value = idfs[word] * times / (times + norms[number])
                scores["all"][first + number] += weight * value
                scores["coverage"][first + number] += idfs[word] / total_idf
                for target in targets:
                    target[first + number] += value
        _add_exact(matches, facts, keys, idfs, scores, first, found)
        files[numbers[path]].columns["functions"] = math.log1p(len(spans))
    tops = {name: max(values, default=0.0) or 1.0 for name, values in scores.items() if name != "coverage"}
    for name, values in scores.items():
        for candidate, value in zip(found, values, strict=True):
            candidate.columns[name] = value / tops.get(name, 1.0)
    _add_function_names(matches, found)
    _add_places(matches, found)
    _add_callees(matches, index, found)
    for candidate in found:
        assert candidate.span is not None  # noqa: S101
        columns, lines = candidate.columns, candidate.span.end - candidate.span.start + 1
        columns["lines"] = math.log(max(1, lines))
        columns["prior"] = _function_prior(columns)
    return found


def _add_exact(
    matches: Matches,
    facts: Facts,
    keys: dict[str, int],
    idfs: dict[str, float],
    scores: dict[str, list[float]],
    first: int,
    found: list[Candidate],
) -> None:
    """Literals and calls inside the functions of one file, and names that they define, also nested ones."""
    for text in [*matches.evidence.literals, *(f"k:{name}" for name in matches.evidence.names if matches.defining(name))]:
        place = facts.find(keys[text])
        if place >= 0:
            target = scores[{"l": "literal", "t": "phrase", "k": "calls"}[text[0]]]
            for number, _ in facts.functions_with(place):
                target[first + number] += idfs[text]
                if text[0] != "k" and idfs[text] > 3:
                    said = f"has the literal `{text[2:]}`" if text[0] == "l" else f"has a message with “{text[2:]}”"
                    found[first + number].reasons.append((0.3 * idfs[text], said))
    for name in matches.evidence.names:
        place = facts.find(keys[f"d:{name}"])
        if place >= 0:
            for number, _ in facts.functions_with(place):
                found[first + number].columns["defines_nested"] = 1.0


def _add_function_names(matches: Matches, found: list[Candidate]) -> None:
    evidence, names = matches.evidence, matches.evidence.names
    words = [frozenset(words_of(bare(candidate.entity))) for candidate in found]
    having = spread(words)
    idf = {word: math.log(1 + len(found) / times) for word, times in having.items()}
    total = sum(idf.get(word, 0.0) for word in evidence.title) or 1.0
    frame_names = {bare(frame.name) for frame in evidence.frames if frame.name}
    for candidate, own in zip(found, words, strict=True):
        assert candidate.span is not None  # noqa: S101
        *holders, name = candidate.span.name.split(".")
        columns = candidate.columns
        known = own & matches.words.keys()
        columns["name_words"] = sum(idf[word] for word in known)
        columns["name_title"] = sum(idf[word] for word in own if word in evidence.title) / total
        columns["name_share"] = len(known) / max(1, len(own))
        class_words = {word for holder in holders for word in words_of(holder)}
        columns["class_words"] = len(class_words & matches.words.keys()) / max(1, len(class_words))
        columns["class_title"] = len(class_words & evidence.title.keys()) / max(1, len(class_words))
        columns["constructor"] = float(name in _CONSTRUCTORS or name in holders)
        columns["dunder"] = float(name.startswith("__") and name.endswith("__"))
        columns["private"] = float(name.startswith("_") and not name.startswith("__"))
        columns["depth"] = len(holders)
        if mention := names.get(name):
            share = 1 / max(1, matches.hits[f"d:{name}"].functions)
            for kind in mention.kinds:
                columns[f"named_{kind}"] = share
            columns["named_unique"] = share
            columns["owner_fits"] = float(bool(mention.owners & {*holders, *module_parts(candidate.path.split("/"))}))
            weight = 3 * share * _kind_weight(mention.kinds) + columns["owner_fits"]
            candidate.reasons.append((weight, f"`{name}` is {named_where(mention.kinds)}"))
        if name in frame_names:
            columns["named_frame"] = 1 / max(1, matches.hits[f"d:{name}"].functions)
        for holder in holders:
            if mention := names.get(holder):
                columns["class_named"] = 1 / max(1, len(set(matches.hits[f"c:{holder}"].files)))
                columns["class_title_named"] = float("title" in mention.kinds)
                columns["pair"] = float(name in names)
                candidate.reasons.append((columns["class_named"], f"its class `{holder}` is {named_where(mention.kinds)}"))


def _add_places(matches: Matches, found: list[Candidate]) -> None:
    """Frames of the traceback, and lines that the issue links to."""
    by_path: dict[str, list[Candidate]] = defaultdict(list)
    for candidate in found:
        by_path[candidate.path].append(candidate)
    frames = [(frame, matches.resolve.files(frame.path)) for frame in matches.evidence.frames[::-1]]
    for depth, (frame, files) in enumerate((frame, files) for frame, files in frames if files):
        for candidate in (candidate for file in files for candidate in by_path[matches.paths[file]]):
            assert candidate.span is not None  # noqa: S101
            same = frame.name is not None and bare(frame.name) == candidate.span.name.rpartition(".")[2]
            near = abs((candidate.span.start + candidate.span.end) / 2 - frame.line) < 300
            if same or (frame.line in candidate.span and not frame.name):
                value = (1.0 if near else 0.5) / (1 + depth) / len(files)
                columns = candidate.columns
                columns["frame"] = max(columns.get("frame", 0.0), value)
                columns["frame_last"] = max(columns.get("frame_last", 0.0), float(depth == 0) * value)
                where = "in the last frame" if depth == 0 else "in a frame"
                candidate.reasons.append((4 * value, f"named {where} of the traceback"))
    for mentioned, line in matches.evidence.paths:
        files = matches.resolve.files(mentioned) if line else []
        for candidate in (candidate for file in files for candidate in by_path[matches.paths[file]]):
            assert candidate.span is not None  # noqa: S101
            assert line is not None  # noqa: S101
            if line in candidate.span:
                candidate.columns["line"] = 1 / len(files)
                candidate.reasons.append((4.0 / len(files), f"line {line} is linked"))
            distance = min(abs(candidate.span.start - line), abs(candidate.span.end - line))
            candidate.columns["line_near"] = max(candidate.columns.get("line_near", 0.0), 1 / (1 + distance / 10) / len(files))


def _add_callees(matches: Matches, index: Index, found: list[Candidate]) -> None:
    """What the functions that the issue names call: the fault is often one step further."""
    columns = ("named_title", "named_inline", "named_outer", "frame_last", "frame")
    named = [(max(candidate.columns.get(name, 0.0) for name in columns), candidate) for candidate in found]
    callers = sorted((row for row in named if row[0] >= 0.3), key=lambda row: (-row[0], row[1].entity))[:MAX_CALLERS]
    defined = Counter(candidate.span.name.rpartition(".")[2] for candidate in found if candidate.span)
    called: dict[str, tuple[float, str]] = {}
    for value, caller in callers:
        assert caller.span is not None  # noqa: S101
        lines = index.source(caller.path).split("\n")[caller.span.start - 1 : caller.span.end]
        own = caller.span.name.rpartition(".")[2]
        for name in set(_CALLED.findall("\n".join(lines))) - {own}:
            if name in defined and not is_common(name):
                called[name] = max(called.get(name, (0.0, "")), (value / defined[name], own))
    for candidate in found:
        assert candidate.span is not None  # noqa: S101
        if hit := called.get(candidate.span.name.rpartition(".")[2]):
            candidate.columns["called_by_named"] = hit[0]
            candidate.reasons.append((hit[0], f"called by `{hit[1]}`"))


def _function_prior(columns: dict[str, float]) -> float:
    def get(name: str) -> float:
        return columns.get(name, 0.0)

    return (
        get("all")
        + 0.2 * get("title")
        + 0.5 * get("name_title")
        + 0.5 * max(get("named_title"), get("named_outer"), get("named_inline"))
        + 0.3 * get("named_unique")
        + 0.3 * get("owner_fits")
        + 0.5 * get("frame")
        + 0.8 * get("line")
        + 0.2 * get("class_named")
        + 0.2 * get("phrase")
        + 0.15 * get("called_by_named")
    )


def _add_functions(files: list[Candidate], functions: list[Candidate]) -> None:
    """Columns of files that come from their functions, and ranks of functions."""
    inside: dict[str, list[Candidate]] = defaultdict(list)
    for rank, function in enumerate(sorted(functions, key=lambda function: -function.columns["all"]), 1):
        function.columns["rank"] = 1 / rank if function.columns["all"] > 0 else 0.0
        inside[function.path].append(function)
        function.columns["rank_in_file"] = 1 / len(inside[function.path])
    for file in files:
        own = inside[file.path]
        file.columns["best_function"] = own[0].columns["all"] if own else 0.0
        file.columns["best_function_rank"] = own[0].columns["rank"] if own else 0.0
        file.columns["top_functions"] = sum(function.columns["all"] for function in own[:5]) / 5
        file.columns["called_by_named"] = max((function.columns.get("called_by_named", 0.0) for function in own), default=0.0)
        file.columns["prior"] += 0.4 * file.columns["best_function"] + 0.3 * max((f.columns["prior"] for f in own), default=0.0)


def _add_ranks(ranked: list[Candidate]) -> None:
    for rank, file in enumerate(ranked):
        other = ranked[1] if rank == 0 and len(ranked) > 1 else ranked[0]
        file.columns["prior_rank"] = 1 / (1 + rank)
        file.columns["prior_gap"] = file.columns["prior"] - other.columns["prior"]


def exported(index: Index, path: str, name: str) -> float:
    """The share of the packages around a Python module that import a name from it, from the inside out."""
    *packages, module = module_parts(path.split("/")) or ("",)
    passed = total = 0
    for depth in range(len(packages), -1, -1):
        init = "/".join([*packages[:depth], "__init__.py"])
        if init not in index.digests:
            break
        total += 1
        imports = _FROM.findall(index.source(init)) if init != path else [("", "*")]
        if passed == total - 1 and any(
            source.rpartition(".")[2] in (module, "") and re.search(rf"\*|\b{re.escape(name)}\b", names)
            for source, names in imports
        ):
            passed += 1
        module = packages[depth - 1] if depth else ""
    return passed / total if total else 0.0


def named_where(kinds: Iterable[str]) -> str:
    """In words, where a name is mentioned."""
    for kind, said in _WHERE.items():
        if kind in kinds:
            return said
    return "named in the issue"


_WHERE = {
    "title": "named in the title",
    "outer": "called in an example",
    "inline": "named as code",
    "imported": "imported in an example",
    "block": "named in an example",
}
_WEIGHTS = {"title": 1.0, "outer": 0.9, "inline": 0.8, "block": 0.5, "prose": 0.6, "imported": 0.5, "dotted": 0.5, "owner": 0.3}


def _kind_weight(kinds: Iterable[str]) -> float:
    return max(_WEIGHTS[kind] for kind in kinds)


def is_common(name: str) -> bool:
    """Whether half of all classes have a function of that name, or a traceback gives no name."""
    return name.startswith(("<", "__")) or name in _COMMON


def _ranks(scores: array[float]) -> dict[int, int]:
    """Rank of each file with a score above 0, the best 1,000."""
    best = sorted((file for file, score in enumerate(scores) if score > 0), key=lambda file: (-scores[file], file))
    return {file: rank for rank, file in enumerate(best[:1000], 1)}


def _reciprocal(rank: int | None) -> float:
    return 1 / rank if rank else 0.0


def _contains(files: Sequence[int], file: int) -> bool:
    from bisect import bisect_left

    place = bisect_left(files, file)
    return place < len(files) and files[place] == file


def _to_one(column: dict[int, float]) -> None:
    top = max(column.values(), default=0.0)
    for file in column:
        column[file] = column[file] / top if top else 0.0
