"""Files and functions ranked by how well the evidence fits the clues.

A function scores for its name, for tracebacks, for its callers and for words of the issue inside it. A file gets the score of
its best function, plus points for its path and its matching lines.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import defaultdict

from fusesearch.localizers.lexical.callees import callees
from fusesearch.localizers.lexical.clues import Clues, Frame, Name, stem, subwords
from fusesearch.localizers.lexical.evidence import Call, Definition, Evidence, relative

FRAME_SCORES = (10.0, 4.0, 3.0, 2.0)
OUTLINE = r"^\s*(async def|def|class) "
NAME_CAP = 8.0
SIZE = "def "
CALLEE_SHARE = 0.6
PATH_WORD = 1.5
NOT_SOURCE = re.compile(
    r"(^|/)(tests?|testing|docs?|examples?|doc|benchmarks?|\.github|build)/|(^|/)(test_[^/]*|conftest|setup|[^/]*_test)\.py$"
)


class Ranking:
    """Scores of all files and definitions seen so far."""

    def __init__(self, clues: Clues, evidence: Evidence) -> None:
        self.clues = clues
        self.evidence = evidence
        self.owners = {name.text: name.owner for name in clues.names}
        self.outlined = [relative(str(c.arguments["path"])) for c in evidence.calls if c.arguments.get("pattern") == OUTLINE]
        counts = {word_of(call): evidence.hits[call.key] for call in evidence.calls if is_count(call)}
        self.sizes = counts.pop(SIZE, {})
        self.counts = counts
        self.words = self._word_weights()
        self.functions = self._function_scores()
        self.files = self._file_scores()

    def best_files(self, count: int) -> list[str]:
        """Python files by score, best first."""
        return sorted(self.files, key=lambda path: (-self.files[path], path))[:count]

    def best_functions(self, path: str | None = None) -> list[Definition]:
        """Definitions by score (functions of one file, if given), best first."""
        chosen = [d for d in self.functions if path is None or d.path == path]
        return sorted(chosen, key=lambda d: (-self.functions[d], d.path, d.line))

    def _function_scores(self) -> dict[Definition, float]:
        scores: dict[Definition, float] = defaultdict(float)
        for score, definition in self._named():
            scores[definition] = max(scores[definition], score)
        for i, frame in enumerate(reversed(self.clues.frames)):
            if (place := self._at(frame)) is not None:
                scores[place] += FRAME_SCORES[min(i, len(FRAME_SCORES) - 1)]
        for mentioned, line in self.clues.paths:
            if line and (place := self._around(mentioned, line)) is not None:
                scores[place] += FRAME_SCORES[1]
        for score, definition in self._called(dict(scores)):
            scores[definition] = max(scores[definition], score)
        for definition, score in self._worded().items():
            scores[definition] += score
        return {d: s * _source_factor(d.path) for d, s in scores.items() if not d.is_class}

    def _named(self) -> list[tuple[float, Definition]]:
        """Definitions whose name the issue mentions. The more definitions share a name, the less each counts."""
        found = []
        for name in self.clues.names:
            definitions = [d for d in self.evidence.defined(name.text) if not NOT_SOURCE.search(d.path)]
            for definition in definitions:
                fit = 2.0 if self._fits(name, definition) else 1.0
                found.append((min(name.weight, NAME_CAP) * fit / (1 + math.log(len(definitions))), definition))
        return found

    def _fits(self, name: Name, definition: Definition) -> bool:
        """Whether the definition is in the class or module that the issue names."""
        if name.owner and name.owner in self.evidence.qualified(definition).split(".")[:-1]:
            return True
        parts = set(definition.path.removesuffix(".py").split("/"))
        used = {part for module in self.clues.modules for part in module.split(".")} | {name.owner}
        return definition.indent == 0 and definition.path.removesuffix(".py").rpartition("/")[2] in used & parts

    def _at(self, frame: Frame) -> Definition | None:
        """The seen definition that a traceback frame is in."""
        if not frame.name or frame.name.startswith("<"):
            return self._around(frame.path, frame.line)
        name = frame.name.rpartition(".")[2]
        here = [d for d in self.evidence.defined(name) if same_file(frame.path, d.path) and not d.is_class]
        above = [d for d in here if d.line <= frame.line]
        return max(above, key=lambda d: d.line) if above else (here[0] if here else None)

    def _around(self, mentioned: str, line: int) -> Definition | None:
        """The outermost definition around a line, in a file whose definitions were listed."""
        for path in self.outlined:
            if same_file(mentioned, path):
                return next((d for d in reversed(outermost(self.evidence, path)) if d.line <= line), None)
        return None

    def _called(self, scores: dict[Definition, float]) -> list[tuple[float, Definition]]:
        """Definitions called in the bodies that were read, with a share of the caller's score."""
        found = []
        for caller, score in scores.items():
            names = callees(self.evidence, caller)
            for name in names:
                targets = [d for d in self.evidence.defined(name) if d != caller]
                near = [d for d in targets if d.path == caller.path] or targets
                found += [(score * CALLEE_SHARE / (len(near) * math.sqrt(len(names))), d) for d in near]
        return found

    def _worded(self) -> dict[Definition, float]:
        """Scores for words of the issue in a function's seen lines and in its name; rare words count more."""
        inside = words_of_functions(self.evidence)
        spread: dict[str, int] = defaultdict(int)
        for words in inside.values():
            for word in words:
                spread[word] += 1
        weights = {**{n.text.lower(): n.weight for n in self.clues.names}, **self.words}
        scores = {}
        for definition, words in inside.items():
            known = [weights[word] / (1 + math.log(spread[word])) for word in words if word in weights]
            named = [weights.get(part, 0.0) for part in set(map(stem, subwords(definition.name)))]
            scores[definition] = 0.5 * sum(known) + 0.5 * sum(named)
        return scores

    def _file_scores(self) -> dict[str, float]:
        scores: dict[str, float] = defaultdict(float)
        for definition, score in self.functions.items():
            scores[definition.path] = max(scores[definition.path], score)
        for path, score in self._counted().items():
            scores[path] += score
        paths = set(scores) | {path for hits in self.evidence.hits.values() for path in hits}
        for path in paths:
            scores[path] += self._path_score(path)
        return {p: s * _source_factor(p) for p, s in scores.items() if p.endswith(".py")}

    def _counted(self) -> dict[str, float]:
        """Word counts over files, weighted by rarity and saturating in the count (as BM25 does)."""
        scores: dict[str, float] = defaultdict(float)
        average = sum(self.sizes.values()) / max(len(self.sizes), 1)
        for word, hits in self.counts.items():
            for path, count in hits.items():
                relative_size = self.sizes.get(path, average) / average if average else 1.0
                scores[path] += self.words.get(word, 1.0) * count / (count + 0.5 + 1.5 * relative_size)
        return scores

    def _word_weights(self) -> dict[str, float]:
        """Weights of the issue's words. The fewer files have a counted word, the more it weighs."""
        weights = dict(self.clues.words)
        total = max([1, len(self.sizes), *map(len, self.counts.values())])
        rarity = {word: math.log(1 + total / max(len(hits), 1)) / math.log(1 + total) for word, hits in self.counts.items()}
        return {word: weight * rarity.get(word, 1.0) for word, weight in weights.items()}

    def _path_score(self, path: str) -> float:
        """Score of a path from traceback frames, mentioned paths and words."""
        score = 0.0
        for i, frame in enumerate(reversed(self.clues.frames)):
            if same_file(frame.path, path):
                score = max(score, FRAME_SCORES[min(i, len(FRAME_SCORES) - 1)] / 2)
        score += sum(4.0 for mentioned, _ in self.clues.paths if same_file(mentioned, path))
        base = path.removesuffix(".py").rpartition("/")[2]
        modules = {part for module in self.clues.modules for part in module.split(".")}
        score += 2.0 * (base in modules and base != "__init__")
        return score + sum(self.words.get(part, 0.0) * PATH_WORD for part in set(map(stem, subwords(base))))


def words_of_functions(evidence: Evidence) -> dict[Definition, set[str]]:
    """Words of the lines seen inside each outermost function, for files whose definitions are known."""
    found: dict[Definition, set[str]] = {}
    for path, lines in evidence.lines.items():
        spans = outermost(evidence, path)
        starts = [d.line for d in spans]
        for number, text in lines.items():
            index = bisect_right(starts, number) - 1
            if index >= 0 and not spans[index].is_class:
                words = {word.lower() for word in re.findall(r"[A-Za-z_]\w+", text)}
                found.setdefault(spans[index], set()).update(words, *(map(stem, subwords(word)) for word in words))
    return found


def outermost(evidence: Evidence, path: str) -> list[Definition]:
    """Classes and outermost functions of a file, in order of lines."""
    kept: list[Definition] = []
    stack: list[Definition] = []
    for definition in sorted((d for d in evidence.definitions if d.path == path), key=lambda d: d.line):
        while stack and stack[-1].indent >= definition.indent:
            stack.pop()
        if all(outer.is_class for outer in stack):
            kept.append(definition)
        stack.append(definition)
    return kept


def same_file(mentioned: str, path: str) -> bool:
    """Whether a path from the issue, which may be of another machine, can be this file of the repository."""
    parts, own_parts = mentioned.strip("/").split("/"), path.split("/")
    shared = 0
    while shared < min(len(parts), len(own_parts)) and parts[-1 - shared] == own_parts[-1 - shared]:
        shared += 1
    return shared >= min(2, len(parts), len(own_parts))


def is_count(call: Call) -> bool:
    """Whether a call counted matches per file."""
    return call.name == "grep" and call.arguments.get("output_mode") == "count"


def word_of(call: Call) -> str:
    """The word that a call counted."""
    return str(call.arguments.get("pattern", "")).removeprefix("(?i)").replace("\\", "")


def _source_factor(path: str) -> float:
    return 0.1 if NOT_SOURCE.search(path) else 1.0
