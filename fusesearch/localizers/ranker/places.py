"""The answer for people and coding agents: a few files with their best functions, how likely each is, and what speaks for it."""

from __future__ import annotations

from dataclasses import replace

from fusesearch.localizers.ranker.answer import (
    CHANCE,
    EXACT,
    FUNCTION_WORTH,
    Fields,
    Ranked,
    Ranking,
    location,
    names_any,
)
from fusesearch.localizers.ranker.facts import IDENTIFIER, words_of

FILES, FUNCTIONS = 5, 3
"""Files of an answer by default, and functions of each."""

ACT_NAMED, ACT_WORDS = 0.7, 0.8
"""Probability from which the first file is likely enough to act on, where the issue names something of it and where they only
share words. Chosen on 149 issues of SWE-bench Pro (five repositories that nothing learned from), whole, as a title and as one
sentence: 81 of 85 such files were right. On 131 others: 25 of 28 for whole issues, 21 of 22 for titles, 20 of 25 for sentences;
of all that had 0.5 or more, 76, 73 and 77 in a hundred."""

BY_CHANCE = 0.5
"""The most probability where running text may have by chance what the issue shares with a file."""

LEAST = 0.01
"""Probability below which a file's best function is not worth showing."""

LEAST_WORDS = 3
"""Words of an issue that the tree has, below which the issue says too little if it names nothing exactly."""

LEAST_SHARE = 0.5
"""The same for the share of the issue's words that the tree has: a text in another language has few."""

FEW_FILES = 20
"""In a tree of fewer files the missing ones count, unless the issue names something: to be first of five says little."""


def says_little(ranking: Ranking, issue: str) -> bool:
    """Whether an issue names nothing that the tree has and shares few words with it."""
    return _few_words(ranking, issue) and not names_any((one.candidate for one in ranking.files), (*EXACT, *CHANCE))


def _few_words(ranking: Ranking, issue: str) -> bool:
    written = words_in(issue)  # `TypeError` is one word, though it has the stems of three
    words, known = ({written.get(stem, stem) for stem, files in ranking.words.items() if files >= least} for least in (0, 1))
    return len(known) < LEAST_WORDS or len(known) < LEAST_SHARE * len(words)


def fields_for_people(ranking: Ranking, issue: str, top: int | None = None) -> Fields:
    """The set that is scored, and as ``places`` at most ``top`` files, by default five: an :class:`Answer` as plain data."""
    named = names_any(one.candidate for one in ranking.files)
    if _few_words(ranking, issue) and not named:  # a name among running text may be chance
        files, functions = (
            [Ranked(one.candidate, min(one.probability, BY_CHANCE)) for one in part]
            for part in (ranking.files, ranking.functions)
        )
        ranking = replace(ranking, files=files, functions=functions)
    places = [_place(file, ranking) for file in ranking.files[: top or FILES]]
    places.sort(key=lambda place: not place["reasons"])
    for first in ranking.files[:1]:
        enough = first.probability >= (ACT_NAMED if names_any([first.candidate]) else ACT_WORDS)
        places[0]["likely"] = enough and places[0]["path"] == first.candidate.path
    return ranking.best_fields() | {"places": places}


def _place(file: Ranked, ranking: Ranking) -> Fields:
    """A file with its best functions; those that something speaks for stand first."""
    own = [one for one in ranking.functions if one.candidate.path == file.candidate.path]
    worth = [one for one in own if one.probability >= FUNCTION_WORTH] or [one for one in own[:1] if one.probability >= LEAST]
    functions = [
        location(one.candidate.entity, one.probability, ranking.reasons(one.candidate), lines_of(one))
        for one in worth[:FUNCTIONS]
    ]
    return {
        "path": file.candidate.path,
        "confidence": round(file.probability, 3),
        "likely": False,
        "reasons": ranking.reasons(file.candidate),
        "functions": sorted(functions, key=lambda one: "reasons" not in one),
    }


def words_in(issue: str) -> dict[str, str]:
    """The words of an issue as they are written, by their stems."""
    found: dict[str, str] = {}
    for word in sorted(IDENTIFIER.findall(issue), key=lambda word: len(words_of(word)) > 1):  # a word before a name that holds it
        for stem in words_of(word):
            found.setdefault(stem, word)
    return found


def lines_of(ranked: Ranked) -> tuple[int, int] | None:
    """First and last line of a function; None for a file."""
    return (ranked.candidate.span.start, ranked.candidate.span.end) if ranked.candidate.span else None
