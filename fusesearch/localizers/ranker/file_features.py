"""The columns of files, from words, paths, names, frames, literals and history."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence

from fusesearch.core.stopping import checked
from fusesearch.localizers.ranker.columns import SCORES, Candidate, is_common, kind_weight
from fusesearch.localizers.ranker.evidence import LEAST_STEM, is_word, squashed
from fusesearch.localizers.ranker.facts import words_of
from fusesearch.localizers.ranker.history import History
from fusesearch.localizers.ranker.matching import Matches, bare, module_parts, path_words, spread
from fusesearch.localizers.ranker.reasons import Reason

MAX_FILES = 100
"""Candidates of an issue."""

BY_CHANCE = 0.3
"""What a definition counts whose name is a word of running text."""
_PRIOR = {
    "path_title": 0.3, "stem_title": 0.2, "defines_unique": 0.4, "frame": 0.5, "path_named": 0.6, "module_share": 0.1,
    "phrase": 0.2,
}  # fmt: skip
"""Weights, set by hand, of the sum that chooses candidates; those of words and of the history are with it."""


class WholeTree:
    """What is known of every file before any function is looked at. Sparse: column -> number of the file -> value."""

    def __init__(self, matches: Matches, history: History | None) -> None:
        self.matches = matches
        self.columns: dict[str, dict[int, float]] = defaultdict(dict)
        self.reasons: dict[int, list[Reason]] = defaultdict(list)
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
        """Numbers of files, those that may be candidates first: the best by the hand-made sum, and by the words of the title."""
        by_title = sorted(self._ranks["title"], key=self._ranks["title"].__getitem__)[: MAX_FILES // 5]
        touched = {*self._ranks["all"], *self._ranks["title"], *(file for column in self.columns.values() for file in column)}
        best = sorted(touched, key=lambda file: (-self._prior(file), file))
        return list(dict.fromkeys([*by_title, *best]))

    def candidate(self, file: int) -> Candidate:
        """The columns known so far."""
        matches, history, path = self.matches, self.history, self.matches.paths[file]
        idf = {word: matches.idf(word) for word in matches.words if _contains(matches.hits[word].files, file)}
        columns = {name: matches.scores[name][file] / self._tops[name] for name in SCORES}
        columns |= {name: column[file] for name, column in self.columns.items() if file in column}
        columns |= self._issue | {
            "rank": _reciprocal(self._ranks["all"].get(file)),
            "title_rank": _reciprocal(self._ranks["title"].get(file)),
            "coverage": sum(idf.values()) / (sum(map(matches.idf, matches.words)) or 1.0),
            "words": math.log1p(matches.lengths[file]),
            "depth": path.count("/") + 1,
            "history_recent": history.recent.get(path, 0.0) if history else math.nan,
            "history_words": history.words.get(path, 0.0) if history else math.nan,
            "history_often": history.often.get(path, 0.0) if history else math.nan,
            "prior": self._prior(file),
        }
        if history and history.words.get(path, 0.0) > 0.5:
            self.reasons[file].append(Reason(history.words[path], "history", history.similar[path]))
        return Candidate(path, None, columns, self.reasons[file])

    def _prior(self, file: int) -> float:
        """The sum set by hand, which chooses candidates; the trees see it, too."""
        everything, title = (self.matches.scores[name][file] / self._tops[name] for name in ("all", "title"))
        words = self.history.words.get(self.matches.paths[file], 0.0) if self.history else 0.0
        named = sum(weight * self.columns[name].get(file, 0.0) for name, weight in _PRIOR.items())
        return everything + 0.2 * title + named + 0.2 * words

    def _put(self, column: str, file: int, value: float) -> None:
        found = self.columns[column]
        found[file] = max(found.get(file, 0.0), value)

    def _add(self, column: str, file: int, value: float) -> None:
        found = self.columns[column]
        found[file] = found.get(file, 0.0) + value

    def _add_paths(self) -> None:
        matches, evidence = self.matches, self.matches.evidence
        words = [path_words(path) & matches.words.keys() for path in checked(matches.paths)]
        having, count = spread(words), len(words)
        idf = {word: math.log(1 + count / times) for word, times in having.items()}
        total = sum(idf.get(word, 0.0) for word in evidence.title) or 1.0
        top = max((math.fsum(idf[word] for word in found) for found in words), default=0.0) or 1.0
        for file, found in enumerate(checked(words)):
            parts = module_parts(matches.paths[file].split("/"))
            own = words_of(parts[-1]) if parts else ()
            in_title = bool(parts) and squashed(parts[-1]) in evidence.stems
            if found:
                self._put("path_words", file, math.fsum(idf[word] for word in found) / top)
                self._put("path_title", file, math.fsum(idf[word] for word in found if word in evidence.title) / total)
            if in_title or (own and own[0] in evidence.title):
                self._put("stem_title", file, 1.0)
                whole = in_title or len(squashed(parts[-1])) < LEAST_STEM
                self.reasons[file].append(Reason(1.0, "stem" if whole else "like", parts[-1]))
        for file, share in matches.named.items():
            self._put("path_named", file, share)
        for mentioned, line, link in evidence.paths:
            files = matches.resolve.files(mentioned, link)
            for file in files:
                self._put("path_named", file, 1 / len(files))
                self.reasons[file].append(Reason(4.0 / len(files), "path", where=f" and line {line}" if line else ""))
        for dotted in evidence.modules:
            length, files = matches.resolve.modules(dotted)
            for file in files:
                self._put("module_share", file, 1 / len(files))
                if length > 1:
                    self.reasons[file].append(Reason(1.5 / len(files), "module", dotted))

    def _add_names(self) -> None:
        matches = self.matches
        for name, mention in matches.evidence.names.items():
            files = matches.defining(name)
            share = 1 / len(files) if files else 0.0
            sure = share * (BY_CHANCE if is_word(name, mention) else 1.0)
            for file in files:
                for kind in mention.kinds:
                    self._put(f"defines_{kind}", file, share)
                self._put("defines_unique", file, sure)
                self._add("defines_count", file, sure)
                weight = 3 * sure * kind_weight(mention.kinds)
                self.reasons[file].append(Reason(weight, "defines", name, matches.named_where(name)))

    def _add_frames(self) -> None:
        """Only frames in files of the repository count, from the innermost."""
        matches = self.matches
        for depth, (_, files) in enumerate(matches.frames):
            for file in files:
                value = 1 / (1 + depth) / len(files)
                self._put("frame", file, value)
                if depth == 0:
                    self._put("frame_last", file, 1 / len(files))
                self.reasons[file].append(Reason(4.0 * value, "frame", "a" if depth else "the last"))
        for frame in matches.evidence.frames:
            if frame.name and not is_common(frame.name):
                files = sorted(set(matches.hits[f"d:{bare(frame.name)}"].files))
                for file in files:
                    self._put("defines_frame", file, 1 / len(files))

    def _add_literals(self) -> None:
        matches = self.matches
        for text in matches.evidence.literals:
            idf = matches.idf(text)
            for file in matches.hits[text].files:
                self._add("literal" if text.startswith("l:") else "phrase", file, idf)
                if idf > 3:
                    self.reasons[file].append(literal_reason(text, idf))
        _to_one(self.columns["literal"])
        _to_one(self.columns["phrase"])


def literal_reason(text: str, idf: float) -> Reason:
    """That a file or function has a term of a literal: the whole of one, or three words of one."""
    return Reason(0.3 * idf, "literal" if text.startswith("l:") else "message", text[2:])


def _ranks(scores: array[float]) -> dict[int, int]:
    """Rank of each file with a score above 0, the best 1,000."""
    best = sorted((file for file, score in enumerate(scores) if score > 0), key=lambda file: (-scores[file], file))
    return {file: rank for rank, file in enumerate(best[:1000], 1)}


def _reciprocal(rank: int | None) -> float:
    return 1 / rank if rank else 0.0


def _contains(files: Sequence[int], file: int) -> bool:
    place = bisect_left(files, file)
    return place < len(files) and files[place] == file


def _to_one(column: dict[int, float]) -> None:
    top = max(column.values(), default=0.0)
    for file in column:
        column[file] = column[file] / top if top else 0.0
