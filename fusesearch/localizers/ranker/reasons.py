"""What speaks for a candidate, in words that stand in its file.

Terms of the index are hashes of stems in lower case, and two words can have one: so what an answer says of a file or function is
looked up in its text, quoted as it stands there, and left out if it does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from fusesearch.localizers.lexical.clues import stem
from fusesearch.localizers.lexical.stopwords import SHORT_WORDS, STOPWORDS, word_set
from fusesearch.localizers.ranker.facts import HUMP, IDENTIFIER, PART, same_letters, words_of

MOST = 3
"""Reasons of a place."""
MAX_SHARED = 3
"""Words of one reason."""
WEAK = 0.1
"""The least weight of a reason; to share words has this."""

SAID = {
    "path": "named by its path{where}",
    "module": "the module of `{what}`",
    "stem": "its name is in the title: `{what}`",
    "like": "its name is like a word of the title: `{what}`",
    "history": "changed with similar words in {what}",
    "defines": "defines `{what}`, {where}",
    "frame": "named in {what} frame of the traceback",
    "name": "`{what}` is {where}",
    "class": "its class `{what}` is {where}",
    "line": "line {what} is named",
    "literal": "has the literal `{what}`",
    "message": "has a message with “{what}”",
    "words": "in common with the issue: {what}",
    "folder": "its path has, in common with the issue: {what}",
}
"""What is said by kind."""
_IN_CODE = ("defines", "name")
"""Kinds whose ``what`` is a name that the file must have."""


class Reason(NamedTuple):
    """What speaks for a candidate, by its kind: a key of :data:`SAID`; ``what`` and ``where`` fill its gaps."""

    weight: float
    kind: str
    what: str = ""
    where: str = ""


@dataclass(frozen=True)
class Text:
    """Of what reasons are true: the path of a candidate and its lines."""

    path: str
    lines: str

    def said(self, reasons: Iterable[Reason], words: Mapping[str, int]) -> list[str]:
        """The most telling reasons that are true. ``words`` are those of the issue, with the number of files that have each."""
        best = sorted(joined(reasons), key=lambda reason: -reason.weight)
        told = dict.fromkeys(filter(None, (self._one(reason) for reason in best if reason.weight >= WEAK)))
        fresh = {word: files for word, files in words.items() if not any(word in text.lower() for text in told)}
        shared = self._shared(IDENTIFIER.findall(self.lines), fresh)
        in_path = [] if told or shared else self._shared(IDENTIFIER.findall(self.path), words)
        for kind, found in (("words", shared), ("folder", in_path)):
            if found:
                told[SAID[kind].format(what=", ".join(found))] = None
        return list(told)[:MOST]

    def _one(self, reason: Reason) -> str:
        what = reason.what
        if reason.kind in _IN_CODE:
            common = what.lower() in _STOP and reason.where == "named in the issue"
            if common or not re.search(rf"(?<!\w)(?<!namespace ){re.escape(what)}(?!\w|::)", same_letters(self.lines)):
                return ""
        if reason.kind in ("literal", "message"):
            pattern = re.escape(what) if reason.kind == "literal" else r"\W{1,9}".join(map(re.escape, what.split()))
            match = re.search(pattern, self.lines, re.IGNORECASE)
            what = " ".join(match[0].split()) if match else ""
        return SAID[reason.kind].format(what=what, where=reason.where) if what or not reason.what else ""

    def _shared(self, identifiers: Iterable[str], words: Mapping[str, int]) -> list[str]:
        """The rarest words of the issue that stand there, a whole identifier before its parts."""
        found: dict[str, str] = {}
        for identifier in dict.fromkeys(identifiers):
            whole, *parts = words_of(identifier) or ("",)
            if parts and whole in words:
                found.setdefault(whole, identifier)
            for part in (part for piece in PART.findall(identifier) for part in HUMP.split(piece)):
                counts = part.lower() not in _STOP and (len(part) > 2 or part == identifier)
                if counts and (key := stem(same_letters(part).lower())) in words:
                    found.setdefault(key, part)
        rarest = sorted(found, key=lambda key: (words[key], key))
        told: list[str] = []
        for key in rarest:
            if len(told) < MAX_SHARED and not any(found[key].lower() in other.lower() for other in told):
                told.append(found[key])
        return told


_STOP = STOPWORDS | SHORT_WORDS | word_set("all be don may non one per re two up us were")


def joined(reasons: Iterable[Reason]) -> list[Reason]:
    """The reasons, a message that goes on with the last two words of the one before put to it. They are in the issue's order."""
    found: dict[Reason, None] = {}
    last = Reason(0.0, "")
    for reason in reasons:
        if reason.kind == last.kind == "message" and last.what.split()[-2:] == reason.what.split()[:2]:
            del found[last]
            reason = Reason(max(last.weight, reason.weight), "message", f"{last.what} {' '.join(reason.what.split()[2:])}")
        found[reason] = None
        last = reason
    return list(found)
