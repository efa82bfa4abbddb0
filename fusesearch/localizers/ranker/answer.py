"""From scores to an answer: probabilities, as many locations as they warrant, and reasons in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from fusesearch.code.spans import is_python
from fusesearch.localizers.order import FILES, FUNCTIONS, in_order
from fusesearch.localizers.ranker.columns import NAMED, Candidate
from fusesearch.localizers.ranker.features import Candidates
from fusesearch.localizers.ranker.paths import is_copy
from fusesearch.localizers.ranker.reasons import Text
from fusesearch.localizers.ranker.trees import GROUPS, Model, group_of, log_odds

if TYPE_CHECKING:
    from fusesearch.core.schema import Answer

Fields = dict[str, Any]
"""An :class:`Answer`, or a part of one, as plain data: the command line prints it without pydantic, which is slow to import."""

FILES_EXPECTED, FUNCTIONS_EXPECTED = 0.5, 1.25
"""How many files and functions a fix modifies, for each that the probabilities of all candidates add up to."""

FURTHER_EXPECTED = 0.5
"""How many functions more for each file of the answer after the first."""

FURTHER_FILE, FURTHER_FUNCTION = 0.15, 0.05
"""The least probability of what an answer names after the first.

These five numbers were chosen on issues of repositories that nothing learned from: 148 of SWE-bench Pro, whose fixes modify 3.7
files on average, and 86 with one file. Pro gains 5 points of mean F1 at both levels, the others keep it; pooled over those with
one file, where long answers weigh more, F1 loses 2 points."""

FUNCTION_WORTH = 0.2
"""Probability from which a function stands under its file when people ask."""

INNERMOST = 3.0
"""What the innermost frame of a trace adds to the score of its file and function outside Python. The trees learned from traces of
Python alone, where they say it better; elsewhere, words of an error outweighed where it was raised."""

DOTTED = 1.5
"""What the one module gains that the issue names before a name which it defines, as in ``pkg.part.name``: no tree splits by that.
The file was right in 9 of 11 texts of issues, 4 of them of repositories that nothing learned from."""

COPY = 5.0
"""What a file loses that a program wrote (:mod:`fusesearch.localizers.ranker.copies`) and that the issue does not name by its
path: its source is elsewhere. Of those that their path tells, no patch of 1,285 real issues and of 363 fixes in public
histories modifies one."""

NAMED_PATH, NAMED_BELOW = 0.8, 0.55
"""The least probability of the one file that an issue names by its path, where it comes first and where it did not: on issues
that nothing learned from, 48 of 60 and 5 of 9 were right, and one of the nine files above them."""

WEAK = 0.02  # the least probability of the first function that an answer names


_DEFINES = tuple(f"defines_{kind}" for kind in NAMED if kind != "plain")
EXACT = ("path_named", "module_share", "frame", "literal", "defines_frame", *_DEFINES)
"""Columns of a file that the issue names: by a path, module, frame, literal or definition."""

CHANCE = ("phrase", "defines_plain")
"""Columns of three words in a row of a message and of a plain word that is a name: running text has them by chance too."""


@dataclass(frozen=True)
class Ranked:
    """A candidate with the probability that a fix modifies it."""

    candidate: Candidate
    probability: float


@dataclass(frozen=True)
class Ranking:
    """Candidate files and functions, the most probable first."""

    files: list[Ranked]
    functions: list[Ranked]
    words: dict[str, int] = field(default_factory=dict)
    """The words of the issue, and how many files have each."""
    lines: Callable[[str], Sequence[str]] = lambda path: ()
    """The lines of a file, for reasons."""

    def best(self) -> Answer:
        """As many files, and functions in them, as promise the highest F1."""
        return as_answer(self.best_fields())

    def best_fields(self) -> Fields:
        """As :meth:`best`, as plain data."""
        files = _worth(self.files, FILES_EXPECTED * math.fsum(one.probability for one in self.files), FURTHER_FILE)
        paths = {file.candidate.path for file in files}
        likely = [one for one in self.functions if one.candidate.path in paths and one.probability >= WEAK]
        expected = FUNCTIONS_EXPECTED * math.fsum(one.probability for one in self.functions)
        functions = _worth(likely, expected + FURTHER_EXPECTED * (len(files) - 1), FURTHER_FUNCTION)
        return self._answer(files, functions)

    def listed(self, files: int = FILES, functions: int = FUNCTIONS) -> Answer:
        """The first files, and the first functions in them."""
        chosen = self.files[:files]
        paths = {file.candidate.path for file in chosen}
        inside = [function for function in self.functions if function.candidate.path in paths]
        return as_answer(self._answer(chosen, inside[:functions]))

    def _answer(self, files: Sequence[Ranked], functions: Sequence[Ranked]) -> Fields:
        by_entity = {ranked.candidate.entity: ranked for ranked in [*files, *functions]}
        entities = in_order(
            [file.candidate.entity for file in files], dict.fromkeys(function.candidate.entity for function in functions)
        )

        def said(entity: str) -> Fields:
            ranked = by_entity[entity]
            return location(entity, ranked.probability, self.reasons(ranked.candidate))

        return {"modify": list(map(said, entities)), "confidence": round(self.files[0].probability, 3) if self.files else None}

    def reasons(self, candidate: Candidate) -> list[str]:
        """What speaks for a candidate itself, the most telling first."""
        lines, span = self.lines(candidate.path), candidate.span
        own = "\n".join(lines[span.start - 1 : span.end] if span else lines)
        return Text(candidate.path, own).said(candidate.reasons, self.words)


def location(entity: str, probability: float, reasons: list[str], lines: tuple[int, int] | None = None) -> Fields:
    """The fields of a :class:`Location`."""
    path, _, function = entity.partition("::")
    fields = {"path": path, "function": function or None, "lines": lines, "confidence": round(probability, 3)}
    return fields | ({"reasons": reasons} if reasons else {})


def as_answer(fields: Fields) -> Answer:
    """The answer that has these fields."""
    from fusesearch.core.schema import Answer

    return Answer.model_validate(fields)


def _worth(found: Iterable[Ranked], expected: float, least: float) -> list[Ranked]:
    """The most probable ones, as long as one more of at least ``least`` raises the F1 to hope for if a fix modifies ``expected``.

    With k of them that is about twice the sum of their probabilities over k + ``expected``, and the next one raises it if it has
    half of that (Lipton et al., 2014).
    """
    chosen: list[Ranked] = []
    total = 0.0
    for one in sorted(found, key=lambda one: -one.probability):
        if chosen and (one.probability < least or one.probability * (len(chosen) + expected) < total):
            break
        chosen.append(one)
        total += one.probability
    return chosen


def names_any(files: Iterable[Candidate], columns: Iterable[str] = EXACT) -> bool:
    """Whether one of the columns of any file is above 0."""
    names = tuple(columns)
    return any(file.columns.get(name, 0.0) > 0 for file in files for name in names)


def rank(candidates: Candidates, file: Model, function: Model, least: int = 0) -> Ranking:
    """The candidates by the scores of the models; equal ones keep their order.

    Where there are fewer files than ``least`` and the issue names none of what they have, those that are missing count as files
    that score as the mean of the others.
    """
    copies = _unnamed(candidates)
    scores = {found.path: _score(found, file, copies) for found in candidates.files}
    functions = _ranked(
        candidates.functions, function, lambda found: _score(found, function, copies) + function.file_share * scores[found.path]
    )
    files = _ranked(candidates.files, file, lambda found: scores[found.path], 0 if names_any(candidates.files) else least)
    files = by_probability(files, functions)
    named = [place for place, found in enumerate(files) if found.candidate.columns.get("path_named", 0.0) >= 1]
    if len(named) == 1 and files[0].probability < NAMED_PATH:
        found = files.pop(named[0])
        most = max(found.probability, NAMED_BELOW if named[0] else NAMED_PATH)
        files, functions = ([replace(one, probability=min(one.probability, most)) for one in part] for part in (files, functions))
        files = [replace(found, probability=most), *files]
    return Ranking(files, functions, candidates.words)


def by_probability(files: Iterable[Ranked], functions: Iterable[Ranked]) -> list[Ranked]:
    """The files, the most probable first; equal ones keep their order.

    None is less probable than its best function: where the trees of files say less, those of functions are nearer to the truth.
    """
    best: dict[str, float] = {}
    for one in functions:
        best[one.candidate.path] = max(best.get(one.candidate.path, 0.0), one.probability)
    raised = [replace(one, probability=max(one.probability, best.get(one.candidate.path, 0.0))) for one in files]
    return sorted(raised, key=lambda one: -one.probability)


def _unnamed(candidates: Candidates) -> set[str]:
    """The copies that the issue does not name: a path that can mean a copy and its source means the source."""
    named = {found.path: share for found in candidates.files if (share := found.columns.get("path_named", 0.0))}
    own = max((share for path, share in named.items() if path not in candidates.copies), default=0.0)
    return {
        path
        for path in candidates.copies
        if (share := named.get(path, 0.0)) == 0 or (share < 1 and share <= own and not is_copy(path))
    }


def _score(found: Candidate, model: Model, copies: Container[str]) -> float:
    get = found.columns.get
    score = model.score(found.row(model.columns)) - (COPY if found.path in copies else 0.0)
    if get("module_share", 0.0) == 1 and get("defines_dotted", 0.0) > 0:
        score += DOTTED
    return score if is_python(found.path) else score + INNERMOST * get("frame_last", 0.0)


def _ranked(candidates: Sequence[Candidate], model: Model, score: Callable[[Candidate], float], least: int = 0) -> list[Ranked]:
    scores = [score(candidate) for candidate in candidates]
    order = sorted(range(len(scores)), key=lambda place: -scores[place])
    odds = log_odds([*scores, *[math.fsum(scores) / len(scores)] * (least - len(scores))]) if scores else []
    group = group_of(candidates[order[0]].path) if order else GROUPS[0]
    return [Ranked(candidates[place], model.probability(group, odds[place], scores[place])) for place in order]
