"""The candidate files and functions of an issue, with their columns (:mod:`fusesearch.localizers.ranker.columns`)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from fusesearch.localizers.ranker.columns import OF_FILE, OF_ISSUE, Candidate
from fusesearch.localizers.ranker.copies import copies_among
from fusesearch.localizers.ranker.evidence import draw_evidence
from fusesearch.localizers.ranker.file_features import MAX_FILES, WholeTree
from fusesearch.localizers.ranker.function_features import functions_of
from fusesearch.localizers.ranker.history import history_of
from fusesearch.localizers.ranker.index import Index
from fusesearch.localizers.ranker.lexicon import add_lexicon
from fusesearch.localizers.ranker.matching import Matches
from fusesearch.localizers.ranker.reading import LABEL, readable, without_forms

T = TypeVar("T")
MAX_FUNCTIONS = 150
"""Candidates of an issue."""


@dataclass(frozen=True)
class Candidates:
    """The candidates of an issue, best first by the column ``prior``: a sum with weights set by hand."""

    files: list[Candidate]
    functions: list[Candidate]
    words: dict[str, int] = field(default_factory=dict)
    """The words of the issue, and how many files have each."""
    copies: frozenset[str] = frozenset()
    """The files that a program wrote from others (:mod:`fusesearch.localizers.ranker.copies`)."""


def candidates_of(issue: str, index: Index) -> Candidates:
    """The candidates for an issue with their columns."""
    issue = LABEL.sub("", readable(issue))
    matches = Matches(draw_evidence(without_forms(issue, index.repository)), index)
    history = history_of(index, matches.words)
    whole = WholeTree(matches, history)
    allowed, paths = index.repository.allowed, matches.paths
    files = {number: whole.candidate(number) for number in _first(whole.chosen(), MAX_FILES, lambda file: allowed(paths[file]))}
    functions = functions_of(matches, index, files)
    _add_functions(list(files.values()), functions)
    ranked = sorted(files.values(), key=lambda file: -file.columns["prior"])
    _add_ranks(ranked)
    by_path = {file.path: file for file in ranked}
    functions.sort(key=lambda function: -function.columns["prior"] - 0.5 * by_path[function.path].columns["prior"])
    functions = _first(functions, MAX_FUNCTIONS, lambda function: allowed(function.path))
    for rank, function in enumerate(functions, 1):
        file = by_path[function.path].columns
        function.columns |= {f"file_{name}": file.get(name, 0.0) for name in OF_FILE}
        function.columns |= {name: file[name] for name in OF_ISSUE}
        function.columns["prior"] += 0.5 * file["prior"]
        function.columns["prior_rank"] = 1 / rank
    add_lexicon(issue, ranked, functions, index)
    copies = copies_among(by_path, index.repository)
    return Candidates(ranked, functions, {word: len(matches.hits[word].files) for word in matches.words}, copies)


def _first(found: list[T], most: int, allowed: Callable[[T], bool]) -> list[T]:
    """The first ones; where an answer may not name all, the first of those that it may name, too."""
    return found[:most] + [one for one in found[most:] if allowed(one)][: most - sum(map(allowed, found[:most]))]


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
        file.columns["prior"] += 0.4 * file.columns["best_function"] + 0.3 * max((f.columns["prior"] for f in own), default=0.0)


def _add_ranks(ranked: list[Candidate]) -> None:
    for rank, file in enumerate(ranked):
        other = ranked[1] if rank == 0 and len(ranked) > 1 else ranked[0]
        file.columns["prior_rank"] = 1 / (1 + rank)
        file.columns["prior_gap"] = file.columns["prior"] - other.columns["prior"]
