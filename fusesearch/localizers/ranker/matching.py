"""Where in a snapshot the evidence of an issue is found: scores of words, definitions of names, files of paths and modules."""

from __future__ import annotations

import math
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from fusesearch.core.stopping import checked
from fusesearch.localizers.lexical.clues import Frame
from fusesearch.localizers.ranker.columns import SCORES, WHERE, is_common
from fusesearch.localizers.ranker.evidence import LEAST_STEM, Evidence, Marked, Mention, Mentioned, is_word, squashed
from fusesearch.localizers.ranker.facts import HUMP, Facts, term, words_of
from fusesearch.localizers.ranker.index import Index

K1, B = 1.5, 0.75
"""BM25's constants, as in Lucene."""

EVERYBODY = 12
"""Files that call a function from which it says little that a trace ran through it: it reports errors, or serves all."""

_INSTALLED = re.compile(r"/(?:site|dist)-packages/|/node_modules/")
_PACKAGE = re.compile(
    r"(?:(?:.*/)?registry/src/[^/]+/|(?:.*/)?gems/|(?:.*/)?pkg/mod/(?:[^@]*/)?|\A)"
    r"(?P<name>[\w.+-]+?)(?:-|@v)\d+\.\d+[^/]*/(?P<inside>.+\.(?:rs|go|rb))"
)
"""The path of a file of a package that Cargo, Go or RubyGems put beside its version."""


@dataclass
class Hits:
    """Where one term occurs: numbers of files, how often in their code and text, and in how many functions in all."""

    files: array[int]
    code: array[int]
    text: array[int]
    functions: int = 0


class Matches:
    """The evidence in all files of an index, by the number of the file in ``paths``."""

    def __init__(self, evidence: Evidence, index: Index) -> None:
        self.evidence = evidence
        self.paths = index.paths
        self.resolve = Resolver(self.paths)
        found = ((frame, self.resolve.files(frame.path)) for frame in evidence.frames[::-1])
        self.frames = [(frame, files) for frame, files in found if files]
        """Frames in files of the snapshot, from the innermost, with the files; those that everybody passes come last."""
        self._in_frames = {bare(frame.name) for frame in evidence.frames if frame.name}
        self.words = evidence.words
        wanted: dict[int, Hits] = {}
        terms = _terms(evidence, self.words)
        self.hits = {text: wanted.setdefault(term(text), Hits(array("I"), array("B"), array("B"))) for text in terms}
        self.lengths = array("I", [0]) * len(self.paths)  # in words, code and text
        self.code_lengths = array("I", [0]) * len(self.paths)
        self.functions = 0
        self.function_words = 0
        numbers = {path: number for number, path in enumerate(self.paths)}
        for path, facts in index.facts(self.paths):
            self._add(numbers[path], facts, wanted)
        self.frames.sort(key=lambda row: self._serves_all(row[0]))
        self.named = _named_in(evidence.stems, self.paths)
        defined = [part for part in evidence.parts if self.defining(part)]
        longest = [part for part in defined if not any(part in other and part != other for other in defined)]
        spelled = self._spelled(evidence.names | {part: evidence.parts[part] for part in longest}, evidence.marked)
        if self.named:  # then the other words of the title are about this file
            spelled = {name: mention for name, mention in spelled.items() if not is_word(name, mention)}
        title = {stem: 1 for word in longest for stem in words_of(word)} | evidence.title
        self.evidence = replace(evidence, paths=self._paths(evidence), names=spelled, title=title)
        self.words = self.evidence.words
        self.scores = self._scores()

    def idf(self, text: str) -> float:
        """How rare a term is among files, as BM25 weighs it."""
        return _idf(len(self.hits[text].files), len(self.paths))

    def function_idf(self, text: str) -> float:
        """How rare a term is among functions."""
        return _idf(self.hits[text].functions, self.functions)

    def defining(self, name: str) -> list[int]:
        """Files that define a name, as a function, class or variable; functions and classes come before variables."""
        for prefixes in (("d:", "c:"), ("v:",)):
            found = sorted({file for prefix in prefixes for file in self.hits[prefix + name].files})
            if found:
                return found
        return []

    def _serves_all(self, frame: Frame) -> bool:
        name = bare(frame.name or "")
        return bool(name) and not is_common(name) and len(self.hits[f"k:{name}"].files) >= EVERYBODY

    def named_where(self, name: str) -> str:
        """In words, where the issue mentions a name."""
        kinds = {*self.evidence.names[name].kinds, *(["frame"] if name in self._in_frames else [])}
        return next((said for kind, said in WHERE.items() if kind in kinds), "named in the issue")

    def _paths(self, evidence: Evidence) -> list[Mentioned]:
        """The paths that the issue names. One with brackets or blanks counts if a file has it whole, and then no part of it."""
        whole = [path for path in evidence.unusual if any(f"/{own}".endswith(f"/{path}") for own in self.paths)]
        parts = [named for named in evidence.paths if not any(path.endswith(named.path) for path in whole)]
        return [*(Mentioned(path, None) for path in whole), *parts] if whole else evidence.paths

    def _spelled(self, names: Mapping[str, Mention], marked: Mapping[str, Marked]) -> dict[str, Mention]:
        """Names as the snapshot defines them, where it has one only in other case, with other separators or with a mark."""
        found: dict[str, Mention] = {}
        for name, mention in names.items():
            other = next((other for other in _variants(name) if self.defining(other)), name) if not self.defining(name) else name
            found[other] = found[other] | mention if other in found else mention
        for name, (mention, plain) in marked.items():
            if self.hits[f"d:{name}"].files:
                found[name] = mention | found.pop(plain) if plain in found else mention
        return found

    def _add(self, number: int, facts: Facts, wanted: dict[int, Hits]) -> None:
        self.lengths[number] = facts.code + facts.text
        self.code_lengths[number] = facts.code
        self.functions += len(facts.lengths)
        self.function_words += sum(facts.lengths)
        for key in wanted.keys() & facts.terms:
            place = facts.find(key)
            hits = wanted[key]
            hits.files.append(number)
            hits.code.append(facts.in_code[place])
            hits.text.append(facts.in_text[place])
            hits.functions += facts.starts[place + 1] - facts.starts[place]

    def _scores(self) -> dict[str, array[float]]:
        count = len(self.paths)
        scores = {name: array("d", [0.0]) * count for name in SCORES}
        total, code_total = (max(1, sum(lengths)) / max(1, count) for lengths in (self.lengths, self.code_lengths))
        shares = array("d", (K1 * (1 - B + B * length / total) for length in self.lengths))
        code_shares = array("d", (K1 * (1 - B + B * length / code_total) for length in self.code_lengths))
        parts = [(scores[name], getattr(self.evidence, name)) for name in ("title", "prose", "block")]
        everything, in_code, in_text = (scores[name] for name in ("all", "code", "text"))
        for word, weight in checked(self.words.items()):
            hits, idf = self.hits[word], self.idf(word)
            targets = [score for score, words in parts if word in words]
            for file, code, text in zip(hits.files, hits.code, hits.text, strict=True):
                times = code + text
                value = idf * times / (times + shares[file])
                everything[file] += weight * value
                for score in targets:
                    score[file] += value
                in_code[file] += weight * idf * code / (code + code_shares[file])
                in_text[file] += weight * idf * text / (text + code_shares[file])
        for file in self.named:  # a file that the title names has the words of its name
            for word in path_words(self.paths[file].rpartition("/")[2]) & self.evidence.title.keys():
                if word in self.words and file not in self.hits[word].files:
                    value = self.idf(word) / (1 + shares[file])
                    everything[file] += self.words[word] * value
                    scores["title"][file] += value
        return scores


class Resolver:
    """Files of a snapshot that a path or a dotted module of an issue can mean."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._by_name: dict[str, list[int]] = defaultdict(list)
        self._by_module: dict[tuple[str, ...], list[int]] = defaultdict(list)
        self._parts = [path.split("/") for path in paths]
        for number, parts in enumerate(checked(self._parts)):
            self._by_name[parts[-1]].append(number)
            module = module_parts(parts)
            for length in range(1, min(4, len(module)) + 1):
                self._by_module[module[-length:]].append(number)

    def files(self, mentioned: str, link: bool = False) -> list[int]:
        """Files that share the most trailing parts with a path, which can be of another machine; at least two where both have.

        Where a package is installed, all parts below that folder; of a ``link``, which can be of another repository, all but one.
        A file of a package with a version is in a folder of its name, or this is the package.
        """
        if package := _PACKAGE.fullmatch(mentioned):
            inside = tuple(package["inside"].split("/"))
            ends = ((package["name"], *inside), (package["name"].replace("_", "-"), *inside))
            own = [(number, tuple(self._parts[number])) for number in self._by_name.get(inside[-1], [])]
            return [number for number, parts in own if parts == inside or parts[-len(inside) - 1 :] in ends]
        *_, below = _INSTALLED.split(mentioned)
        parts = [part for part in below.split("/") if part not in ("", ".", "..", "~")]
        least = len(parts) - 1 if link else len(parts) if below != mentioned else min(2, len(parts))
        best = 0
        found: list[int] = []
        for number in self._by_name.get(parts[-1], []) if parts else []:
            there = self._parts[number]
            shared = 0
            while shared < min(len(parts), len(there)) and parts[-1 - shared] == there[-1 - shared]:
                shared += 1
            if shared >= max(best, min(least, len(there)), 1):
                found = [*found, number] if shared == best else [number]
                best = shared
        return found

    def modules(self, dotted: str) -> tuple[int, list[int]]:
        """The most parts of a dotted name that are the end of a file's path, and the files; one part only if it is all."""
        parts = tuple(dotted.split("."))
        for length in range(min(4, len(parts)), 0, -1):
            if length == 1 and len(parts) > 2:
                break
            for start in range(len(parts) - length + 1):
                if found := self._by_module.get(parts[start : start + length]):
                    return length, found
        return 0, []


def module_parts(parts: Sequence[str]) -> tuple[str, ...]:
    """Parts of the module at a path: without suffix, ``__init__`` and ``index``."""
    stem = parts[-1].rpartition(".")[0] or parts[-1]
    return tuple(parts[:-1]) if stem in ("__init__", "index", "mod") and parts[1:] else (*parts[:-1], stem)


def path_words(path: str) -> frozenset[str]:
    """Words of a path without its suffix."""
    return frozenset(word for part in module_parts(path.split("/")) for word in words_of(part))


def spread(words: Iterable[frozenset[str]]) -> Counter[str]:
    """In how many of the sets each word is."""
    return Counter(word for found in words for word in found)


def _idf(having: int, total: int) -> float:
    return math.log(1 + (total - having + 0.5) / (having + 0.5))


def _terms(evidence: Evidence, words: Iterable[str]) -> Iterable[str]:
    yield from words
    yield from evidence.literals
    yield from (stem for word in evidence.parts for stem in words_of(word))
    names = {other for name in evidence.names for other in (name, *_variants(name))}
    names |= {*evidence.marked, *evidence.parts}
    yield from (f"{prefix}{name}" for name in sorted(names) for prefix in ("d:", "c:", "v:"))
    yield from (f"{kind}:{bare(frame.name)}" for frame in evidence.frames if frame.name for kind in "dk")


def _named_in(stems: Container[str], paths: Sequence[str]) -> dict[int, float]:
    """Files whose name has several words and is in a title, which is as good as a path: with their share of that name."""
    found: dict[str, list[int]] = {}
    for file, path in enumerate(paths):
        stem = module_parts(path.split("/"))[-1]
        if (name := squashed(stem)) in stems and len(words_of(stem)) > 1:
            found.setdefault(name, []).append(file)
    return {file: 1 / len(files) for files in found.values() for file in files}


def _variants(name: str) -> Iterator[str]:
    """``parse_args`` and ``ParseArgs`` for ``parseArgs``, ``Apply`` for ``apply``; nothing for the short names of examples."""
    parts = HUMP.sub("_", name.strip("_")).lower().split("_")
    if len(name) >= LEAST_STEM:
        capital = "".join(part.capitalize() for part in parts)
        yield from sorted({"_".join(parts), capital, capital[:1].lower() + capital[1:]} - {name})


def bare(name: str) -> str:
    """The last part of a name in a traceback: ``f`` of ``pkg.(*Type).f``, ``Class#f`` or ``Class::f``, with Ruby's marks."""
    return name.replace("::", ".").replace("#", ".").replace("->", ".").rpartition(".")[2].strip("()<>")
