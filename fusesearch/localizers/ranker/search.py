"""A search: the places for a text that is no issue, such as a question, a phrase or one word. Best first, without a probability.

The score of a file is a sum of the parts of :data:`WEIGHTS`. A share of the text's words counts each by how rare it is in the
tree, as BM25 does. The weights were chosen on questions about 15 repositories and tried on those about 17 others
(experiments/search).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from fusesearch.code.kinds import is_foreign
from fusesearch.localizers.lexical.clues import stem
from fusesearch.localizers.lexical.stopwords import SHORT_WORDS, STOPWORDS, word_set
from fusesearch.localizers.ranker.answer import Fields, Ranking
from fusesearch.localizers.ranker.evidence import WIDE
from fusesearch.localizers.ranker.facts import HUMP, IDENTIFIER, Facts, term
from fusesearch.localizers.ranker.index import Index
from fusesearch.localizers.ranker.matching import module_parts
from fusesearch.localizers.ranker.places import FILES, FUNCTIONS

WEIGHTS = {
    "words": 0.6,  # BM25 of the text's words in the file, as a share of the most that it could be
    "name": 0.35,  # share of the words of its name that the text has: all of `JsonWriter` for "streaming JSON writer"
    "named": 0.3,  # share of the text's words that its name has
    "folder": 0.3,  # the same for its folders, for words that its name lacks
    "class": 0.4,  # both shares, multiplied, of the best name of a class
    "function": 0.3,  # the same of a function
    "whole": 0.2,  # a class is called like a word of the text
    "odds": 0.1,  # the log-odds that the ranker gives
    "aside": -0.2,  # examples, tests, benchmarks, vendored and generated files and the like, unless the text asks for them
}
K1, B = 1.5, 0.4
"""BM25's constants. Length counts for less than usual: a search is for the file that has most about a subject."""

MAX_ASKED, MAX_PHRASE, MAX_CHARS = 24, 8, 300
"""Most words of a question and of a phrase, and characters of either: titles of issues are longer than most phrases."""

CLOSELY = 200
"""Files whose definitions are looked at: those with the highest sum of the other parts."""

LEAST, FUNCTION_SHARE = 1e-4, 0.5
"""Probability of a file that the ranker does not consider; share of the best function's score that another needs to be shown."""

_PART = re.compile(r"[^\W\d_]+|\d+")
_QUESTION = re.compile(r"\s*(?:how|where|what|which|who|find|show|list|search)\b", re.IGNORECASE)
_MARKS = re.compile(r"[`\"<=>|{}\[\]$~]|(?<!\w)'|:\s|://|--|\w\([^)]|\.\w+:\d|\d{3}|\d\.\d|\w[.?!]\s")
"""What messages, code and titles of issues have, and phrases have not."""
_APOSTROPHE = re.compile("(?<=n)['\u2019](?=t\\b)")
_ASIDE = re.compile(
    r"(?:^|/)(examples?|samples?|demos?|docs?|bench(?:mark)?s?|legacy|compat|deprecated|internal|fixtures?|mocks?|testing)/|(test)",
    re.IGNORECASE,
)
_TOLD = word_set(
    "not never cannot cant dont doesnt didnt isnt wont arent wasnt is are was were has have had does did should i my me we fail"
    " fails failed failing broken breaks crash crashes crashed wrong wrongly incorrect incorrectly bug bugs unexpected"
    " instead expected returns raises throws hangs leak leaks regression please help unable"
)
"""Words of a sentence about what happens, which no phrase has."""
_REQUEST = word_set(
    "fix fixes fixed add adds added allow remove removes make support handle improve update avoid prevent bump ensure implement"
    " enable disable rename replace revert change"
)
"""Words that begin a request, or the message of a commit."""


def is_search(text: str) -> bool:
    """Whether a text is no issue: a question, a phrase or one word, on one line, that neither complains nor asks for a change.

    In scripts without blanks words cannot be counted.
    """
    words = re.findall(r"\w+", _APOSTROPHE.sub("", text.lower()))
    if not words or "\n" in text.strip() or len(words) > MAX_ASKED or len(text) > MAX_CHARS or WIDE.search(text):
        return False
    told = words[0] in _REQUEST or not _TOLD.isdisjoint(words) or _MARKS.search(text)
    return _QUESTION.match(text) is not None or (len(words) <= MAX_PHRASE and not told)


def words_in_search(text: str, called: frozenset[str]) -> dict[str, frozenset[str]]:
    """The words that count, in order, with their forms; of an identifier the whole, too.

    Words that most texts have count only if a file is called so, which ``called`` tells, or where the text has only such words.
    """
    written = IDENTIFIER.findall(text[:MAX_CHARS])
    found: dict[str, frozenset[str]] = {}
    for word in written:
        parts = parts_of(word)
        if len(parts) > 1:
            whole = word.lower().strip("_")
            found[whole] = frozenset([whole])
        for part in parts:
            short, named = len(part) < 2 or part in SHORT_WORDS, not called.isdisjoint(forms_of(part))
            if len(written) == 1 or not (short or (part in STOPWORDS and not named)):
                found[part] = forms_of(part)
    return found or {part: forms_of(part) for word in written for part in parts_of(word)}


@lru_cache(maxsize=100_000)
def parts_of(name: str) -> tuple[str, ...]:
    """The parts of an identifier in lower case: at underscores, inner capitals and digits."""
    return tuple(part.lower() for piece in _PART.findall(name) for part in HUMP.split(piece))


@lru_cache(maxsize=100_000)
def forms_of(word: str) -> frozenset[str]:
    """The stems that the index can have of a word in lower case: of ``retrying`` also that of ``retry``."""
    found = stem(word)
    forms = {found, again if len(again := stem(found)) > 3 else found}
    if word.endswith(("ation", "ations")) and not found.endswith("at"):  # validation, validate
        forms.add(f"{found}at")
    elif found.endswith("at") and len(found) > 5:
        forms.add(found[:-2])
    if word.endswith("ies"):  # cookies, cookie
        forms.add(f"{found}i")
    elif word.endswith("ie"):
        forms.add(found[:-1])
    if found != word and len(found) > 3 and found[-1] == found[-2]:  # logging, log
        forms.add(found[:-1])
    elif len(word) == 3:
        forms.add(word + word[-1])
    return frozenset(forms)


def search_in(text: str, index: Index, ranking: Ranking, top: int | None = None) -> Fields:
    """The fields of an answer: at most ``top`` files, best first, with their best functions; no place if no word says anything.

    ``ranking`` is the ranker's, of the same text and index.
    """
    found = Search(text, index, ranking)
    if not found.usable:
        return {"modify": []}
    places = [found.place(path) for path in found.best(top or FILES)]
    found_in = [one["functions"] or [{"path": one["path"], "function": None, "lines": None}] for one in places]
    return {"kind": "search", "modify": [location for locations in found_in for location in locations], "places": places}


class Search:
    """The scores of the files of an index for the words of a text, and the places in them.

    ``usable``: the tree has a word; of a text that reads as an issue, a file is called so.
    """

    def __init__(self, text: str, index: Index, ranking: Ranking) -> None:
        self._index = index
        self._names = {path: [_forms(part) for part in _named(path)] for path in index.paths}  # folders, then the file
        called = frozenset[str]().union(*(part for names in self._names.values() for part in names[-1]))
        self._words = words_in_search(text, called)
        self._forms = frozenset[str]().union(*self._words.values())
        self._odds = {one.candidate.path: _log_odds(one.probability) for one in ranking.files}
        self._numbers = [[term(form) for form in forms] for forms in self._words.values()]
        self._counts: dict[str, list[int]] = {}
        self._lengths: dict[str, int] = {}
        for path, facts in index.facts(index.paths):
            self._counts[path] = [_times(facts, numbers) for numbers in self._numbers]
            self._lengths[path] = facts.code + facts.text
        total, asks, self._worth, self.usable = len(index.paths), is_search(text), dict[str, float](), False
        for place, (word, forms) in enumerate(self._words.items()):
            having = sum(row[place] > 0 for row in self._counts.values())
            named = not called.isdisjoint(forms)
            self._worth[word] = math.log(1 + (total - having + 0.5) / (having + 0.5)) if having or named else 0.0
            self.usable |= named or (asks and having > 0)
        self._total = sum(self._worth.values()) or 1.0

    def best(self, top: int) -> list[str]:
        """The ``top`` files with the highest scores of those that have a word; of equal ones the first by path."""
        mean = sum(self._lengths.values()) / max(1, len(self._lengths)) or 1.0
        having = (path for path in self._names if any(self._counts.get(path, ())) or self._shares(self._names[path][-1])[0])
        scores = {path: self._of_file(path, mean) for path in filter(self._index.repository.allowed, having)}
        near = sorted(scores, key=lambda path: -scores[path])[: max(top, CLOSELY)]
        for path, facts in self._index.facts(near):
            scores[path] += self._of_definitions(facts)
        return sorted(near, key=lambda path: (-scores[path], path))[:top]

    def place(self, path: str) -> Fields:
        """A file, what speaks for it, and its best functions."""
        shared = dict.fromkeys(part for part in parts_of(_named(path)[-1]) if not self._forms.isdisjoint(forms_of(part)))
        reasons = [f"its name has {', '.join(shared)}"] if shared else []
        functions: list[Fields] = []
        for _, facts in self._index.facts([path]):
            whole = [f"`{name}`" for name in _classes(facts) if self._shares(_forms(name))[0] == 1]
            reasons += [f"defines {', '.join(whole[:FUNCTIONS])}"] if whole else []
            functions = self._functions(path, facts)
        has = [word for word, times in zip(self._words, self._counts.get(path, ()), strict=False) if times]
        reasons += [f"in common with the search: {', '.join(has)}"] if has else []
        return {"path": path, "likely": False, "reasons": reasons, "functions": functions}

    def _of_file(self, path: str, mean: float) -> float:
        length = K1 * (1 - B + B * self._lengths.get(path, 0) / mean)
        pairs = zip(self._worth.values(), self._counts.get(path, ()), strict=False)  # a file too large to read has no counts
        words = sum(worth * times / (times + length) for worth, times in pairs) / self._total
        *folders, name = self._names[path]
        own, named = self._shares(name)
        found = _ASIDE.search(path)
        asked = found is not None and any(not self._forms.isdisjoint(forms_of(part.lower())) for part in found.groups("-"))
        return (
            WEIGHTS["words"] * words + WEIGHTS["name"] * own + WEIGHTS["named"] * named
            + WEIGHTS["folder"] * (self._shares([*name, *(part for folder in folders for part in folder)])[1] - named)
            + WEIGHTS["odds"] * self._odds.get(path, _log_odds(0.0))
            + WEIGHTS["aside"] * (is_foreign(path) or (found is not None and not asked))
        )  # fmt: skip

    def _of_definitions(self, facts: Facts) -> float:
        classes, functions = _classes(facts), {span.name.rpartition(".")[2] for span in facts.functions}
        by_class, by_function = (
            max((math.prod(self._shares(_forms(name))) for name in names), default=0.0) for names in (classes, functions)
        )
        whole = any(name.lower() in self._words for name in classes)
        return WEIGHTS["class"] * by_class + WEIGHTS["function"] * by_function + WEIGHTS["whole"] * whole

    def _shares(self, name: Sequence[frozenset[str]]) -> tuple[float, float]:
        """The share of a name's parts that the text has, and the share of the text's words that the name has."""
        had = [part for part in name if not part.isdisjoint(self._forms)]
        if not had:
            return 0.0, 0.0
        every = frozenset[str]().union(*had)
        worth = sum(self._worth[word] for word, forms in self._words.items() if not every.isdisjoint(forms))
        return len(had) / len(name), worth / self._total

    def _functions(self, path: str, facts: Facts) -> list[Fields]:
        """The best functions of a file, by the text's words in them and in their names."""
        spans = facts.functions
        scores = [self._shares(_forms(span.name))[1] for span in spans]
        for worth, numbers in zip(self._worth.values(), self._numbers, strict=True):
            for place in {facts.find(number) for number in numbers} - {-1}:
                for number, times in facts.functions_with(place):
                    scores[number] += worth / self._total * times / (times + K1)
        best = sorted(range(len(spans)), key=lambda number: -scores[number])[:FUNCTIONS]
        shown = [spans[number] for number in best if scores[number] > 0 and scores[number] >= FUNCTION_SHARE * scores[best[0]]]
        return [{"path": path, "function": span.name, "lines": (span.start, span.end)} for span in shown]


def _times(facts: Facts, numbers: Iterable[int]) -> int:
    """How often a file has one of several terms."""
    places = {facts.find(number) for number in numbers} - {-1}
    return sum(facts.in_code[place] + facts.in_text[place] for place in places)


def _log_odds(probability: float) -> float:
    probability = min(max(probability, LEAST), 1 - LEAST)
    return math.log(probability / (1 - probability))


def _classes(facts: Facts) -> list[str]:
    """Names of classes, and of what holds methods."""
    return list(dict.fromkeys([*facts.classes, *(part for span in facts.functions for part in span.name.split(".")[:-1])]))


def _forms(name: str) -> list[frozenset[str]]:
    return [forms_of(part) for part in parts_of(name)]


def _named(path: str) -> list[str]:
    """Names of the folders of a file, and its own."""
    *folders, name = module_parts(path.split("/"))
    return [*folders, name.partition(".")[0]]
