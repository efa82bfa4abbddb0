"""A search: the places for a text that is no issue, such as a question, a phrase or one word. Best first, without a probability.

The score of a file is a sum with the weights :data:`WEIGHTS`. A share of the text's words counts each by how rare it is in the
tree, as BM25 does:

============  =============================================================================================================
``words``     BM25 of the words in the file, as a share of the most that it could be
``name``      the share of the words of its name that the text has: all of ``JsonWriter`` for "streaming JSON writer"
``named``     the share of the text's words that its name has
``folder``    the same for its folders, for words that its name lacks
``class``     the same for the best name of a class, times the share of the words of that name that the text has
``function``  the same for the best name of a function
``whole``     1 if a class is called like a word of the text
``odds``      the log-odds that the ranker gives
``aside``     1 for examples, tests, benchmarks, vendored and generated files and the like, unless the text asks for them
============  =============================================================================================================

The weights were chosen on questions about 15 repositories and tried on those about others (experiments/search).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from fusesearch.code.kinds import is_foreign
from fusesearch.localizers.lexical.clues import stem
from fusesearch.localizers.lexical.stopwords import SHORT_WORDS, STOPWORDS, word_set
from fusesearch.localizers.ranker.answer import Fields, Ranking
from fusesearch.localizers.ranker.facts import HUMP, IDENTIFIER, Facts, term
from fusesearch.localizers.ranker.index import Index
from fusesearch.localizers.ranker.matching import module_parts

WEIGHTS = {
    "words": 0.6, "name": 0.35, "named": 0.3, "folder": 0.3, "class": 0.4, "function": 0.3, "whole": 0.2, "odds": 0.1,
    "aside": -0.2,
}  # fmt: skip
K1, B = 1.5, 0.4
"""BM25's constants. Length counts for less than usual: a search is for the file that has most about a subject."""

MAX_ASKED, MAX_PHRASE, MAX_CHARS = 24, 8, 300
"""Most words of a question and of a phrase, and characters of either: titles of issues are longer than most phrases."""

CLOSELY = 200
"""Files whose definitions are looked at: those with the highest sum of the other parts."""

FILES, FUNCTIONS = 5, 3
"""Files of an answer by default, and functions of each."""

FUNCTION_SHARE = 0.5
"""The least share of the best function's score that another one needs to be shown."""

_LEAST = 1e-4  # probability of a file that the ranker does not consider
_PART = re.compile(r"[^\W\d_]+|\d+")
_QUESTION = re.compile(r"\s*(?:how|where|what|which|who|find|show|list|search)\b", re.IGNORECASE)
_MARKS = re.compile(r"[`\"<=>|{}\[\]$]|(?<!\w)'|:\s|\w\([^)]|\.\w+:\d|->|\d{3}")
"""What messages, code and titles of issues have, and phrases have not."""
_NEGATED = re.compile("(?<=n)['\u2019](?=t\\b)")
_ASIDE = re.compile(
    r"(?:^|/)(examples?|samples?|demos?|docs?|bench(?:mark)?s?|legacy|compat|deprecated|internal|fixtures?|mocks?|testing)/|(test)",
    re.IGNORECASE,
)
_QUIET = SHORT_WORDS | word_set(
    "about after all also any anything are be been before being between can class classes code could did does done during each"
    " every explain file files find from function functions had has have having help how into list may might must nor onto over"
    " per please search shall should show some something such than that their them then there these they this those through under"
    " use used user uses using via was were what when where which while who why with without work working works would"
)
"""Words that say nothing of a place, unless there are no others."""
_COMPLAINT = word_set(
    "not never cannot cant dont doesnt didnt isnt wont arent wasnt fail fails failed failing broken breaks crash crashes crashed"
    " wrong wrongly incorrect incorrectly bug bugs unexpected unexpectedly should instead expected returns raises throws hangs"
    " leaks regression please help unable"
)
_REQUEST = word_set(
    "fix fixes fixed add adds added allow remove removes make support handle improve update avoid prevent bump ensure implement"
    " enable disable rename replace revert change"
)
"""Words that begin a request, or the message of a commit."""


def is_search(text: str) -> bool:
    """Whether a text is no issue: a question, a phrase or one word, on one line, that neither complains nor asks for a change."""
    words = re.findall(r"\w+", _NEGATED.sub("", text.lower()))
    if not words or "\n" in text.strip() or len(words) > MAX_ASKED or len(text) > MAX_CHARS:
        return False
    if _QUESTION.match(text):
        return True
    complains = words[0] in _REQUEST or not _COMPLAINT.isdisjoint(words)
    return len(words) <= MAX_PHRASE and not complains and not _MARKS.search(text)


class Word(NamedTuple):
    """A word of a text in lower case, and the forms that count as the same."""

    text: str
    forms: frozenset[str]


def words_of_search(text: str) -> list[Word]:
    """The words that count, in order; of an identifier the whole and its parts. If none would be left, all words."""
    written = IDENTIFIER.findall(text[:MAX_CHARS])
    chosen = [word for word in written if len(word) > 1 and word.lower() not in _QUIET] or written
    found: dict[str, Word] = {}
    for word in chosen:
        parts = parts_of(word)
        if len(parts) > 1:
            whole = word.lower().strip("_")
            found.setdefault(whole, Word(whole, frozenset([whole])))
        for part in parts:
            if len(chosen) == 1 or (len(part) > 1 and part not in _QUIET):
                found.setdefault(part, Word(part, forms_of(part)))
    return list(found.values())


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


def search(text: str, index: Index, ranking: Ranking, top: int | None = None) -> Fields:
    """The fields of an answer: at most ``top`` files, best first, with their best functions; no place if no word says anything.

    ``ranking`` is the ranker's, of the same text and index.
    """
    found = Search(text, index, ranking)
    if not found.usable:
        return {"modify": []}
    places = [found.place(path) for path in found.best(top or FILES)]
    modify = [{"path": place["path"], "function": None, "lines": None} for place in places]
    return {"kind": "search", "modify": modify, "places": places}


class Search:
    """The scores of the files of an index for the words of a text, and the places in them.

    ``usable``: a word says something. One that most texts have does so only where a file is called so.
    """

    def __init__(self, text: str, index: Index, ranking: Ranking) -> None:
        self._index = index
        self._words = words_of_search(text)
        self._forms = frozenset[str]().union(*(word.forms for word in self._words))
        self._written = {word.lower() for word in IDENTIFIER.findall(text)} - _QUIET
        self._odds = {one.candidate.path: _log_odds(one.probability) for one in ranking.files}
        self._names = {path: _names_in(path) for path in index.paths}
        self._numbers = [[term(form) for form in word.forms] for word in self._words]
        self._counts: dict[str, list[int]] = {}
        self._lengths: dict[str, int] = {}
        for path, facts in index.facts(index.paths):
            self._counts[path] = [_times(facts, numbers) for numbers in self._numbers]
            self._lengths[path] = facts.code + facts.text
        called = frozenset[str]().union(*(part for name, _ in self._names.values() for part in name))
        total, self._worth, self.usable = len(index.paths), list[float](), False
        for place, word in enumerate(self._words):
            having = sum(row[place] > 0 for row in self._counts.values())
            named = not called.isdisjoint(word.forms)
            self._worth.append(math.log(1 + (total - having + 0.5) / (having + 0.5)) if having or named else 0.0)
            self.usable |= named or (having > 0 and word.text not in STOPWORDS | _QUIET)
        self._total = sum(self._worth) or 1.0

    def best(self, top: int) -> list[str]:
        """The ``top`` files with the highest scores; of equal ones the first by path."""
        mean = sum(self._lengths.values()) / max(1, len(self._lengths)) or 1.0
        scores = {path: self._of_file(path, mean) for path in filter(self._index.repository.allowed, self._names)}
        near = sorted(scores, key=lambda path: -scores[path])[: max(top, CLOSELY)]
        for path, facts in self._index.facts(near):
            scores[path] += self._of_definitions(facts)
        return sorted(near, key=lambda path: (-scores[path], path))[:top]

    def place(self, path: str) -> Fields:
        """A file, what speaks for it, and its best functions."""
        shared = [part for part in _stem_parts(path) if self._shares([forms_of(part)])[0]]
        reasons = [f"its name has {', '.join(dict.fromkeys(shared))}"] if shared else []
        functions: list[Fields] = []
        for _, facts in self._index.facts([path]):
            whole = [f"`{name}`" for name in _classes(facts) if self._shares(_forms(name))[0] == 1]
            reasons += [f"defines {', '.join(whole[:FUNCTIONS])}"] if whole else []
            functions = self._functions(path, facts)
        has = sum(times > 0 for times in self._counts.get(path, ()))
        reasons += [f"has {has} of the {len(self._words)} words"] if has and len(self._words) > 1 else []
        return {"path": path, "likely": False, "reasons": reasons, "functions": functions}

    def _of_file(self, path: str, mean: float) -> float:
        length = K1 * (1 - B + B * self._lengths.get(path, 0) / mean)
        pairs = zip(self._worth, self._counts.get(path, [0] * len(self._worth)), strict=True)
        words = sum(worth * times / (times + length) for worth, times in pairs) / self._total
        name, folders = self._names[path]
        own, named = self._shares(name)
        found = _ASIDE.search(path)
        aside = is_foreign(path) or (
            found is not None and all(self._forms.isdisjoint(forms_of(part.lower())) for part in found.groups("-"))
        )
        return (
            WEIGHTS["words"] * words + WEIGHTS["name"] * own + WEIGHTS["named"] * named
            + WEIGHTS["folder"] * (self._shares([*name, *folders])[1] - named)
            + WEIGHTS["odds"] * self._odds.get(path, _log_odds(0.0)) + WEIGHTS["aside"] * aside
        )  # fmt: skip

    def _of_definitions(self, facts: Facts) -> float:
        classes, functions = _classes(facts), {span.name.rpartition(".")[2] for span in facts.functions}
        by_class, by_function = (
            max((math.prod(self._shares(_forms(name))) for name in names), default=0.0) for names in (classes, functions)
        )
        whole = any(name.lower() in self._written for name in classes)
        return WEIGHTS["class"] * by_class + WEIGHTS["function"] * by_function + WEIGHTS["whole"] * whole

    def _shares(self, name: Sequence[frozenset[str]]) -> tuple[float, float]:
        """The share of a name's parts that the text has, and the share of the text's words that the name has."""
        had = [part for part in name if not part.isdisjoint(self._forms)]
        if not had:
            return 0.0, 0.0
        pairs = zip(self._words, self._worth, strict=True)
        worth = sum(worth for word, worth in pairs if any(not part.isdisjoint(word.forms) for part in had))
        return len(had) / len(name), worth / self._total

    def _functions(self, path: str, facts: Facts) -> list[Fields]:
        """The best functions of a file, by the text's words in them and in their names."""
        spans = facts.functions
        scores = [self._shares(_forms(span.name))[1] for span in spans]
        for worth, numbers in zip(self._worth, self._numbers, strict=True):
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
    probability = min(max(probability, _LEAST), 1 - _LEAST)
    return math.log(probability / (1 - probability))


def _classes(facts: Facts) -> list[str]:
    """Names of classes, and of what holds methods."""
    outer = (part for span in facts.functions for part in span.name.split(".")[:-1])
    return list(dict.fromkeys([*facts.classes, *outer]))


def _forms(name: str) -> list[frozenset[str]]:
    return [forms_of(part) for part in parts_of(name)]


def _stem_parts(path: str) -> tuple[str, ...]:
    return parts_of(module_parts(path.split("/"))[-1].partition(".")[0])


def _names_in(path: str) -> tuple[list[frozenset[str]], list[frozenset[str]]]:
    """The forms of the parts of a file's name, and of its folders'."""
    folders = module_parts(path.split("/"))[:-1]
    return [forms_of(part) for part in _stem_parts(path)], [one for folder in folders for one in _forms(folder)]
