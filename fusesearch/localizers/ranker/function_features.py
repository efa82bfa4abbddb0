"""The columns of the functions in candidate files."""

from __future__ import annotations

import math
from collections import defaultdict

from fusesearch.localizers.ranker.columns import Candidate, kind_weight
from fusesearch.localizers.ranker.evidence import is_word
from fusesearch.localizers.ranker.facts import same_letters, term, words_of
from fusesearch.localizers.ranker.file_features import BY_CHANCE, literal_reason
from fusesearch.localizers.ranker.index import Index
from fusesearch.localizers.ranker.matching import K1, B, Matches, bare, module_parts, spread
from fusesearch.localizers.ranker.reasons import Reason

_PRIOR = {
    "all": 1.0, "title": 0.2, "name_title": 0.5, "named_unique": 0.3, "owner_fits": 0.3, "frame": 0.5, "line": 0.8,
    "class_named": 0.2, "phrase": 0.2,
}  # fmt: skip
"""Weights, set by hand, of the sum that chooses candidates."""


def functions_of(matches: Matches, index: Index, files: dict[int, Candidate]) -> list[Candidate]:
    """Functions of the candidate files, with all columns but those that need the others."""
    numbers = {matches.paths[number]: number for number in files}
    found: list[Candidate] = []
    parts = {"title": matches.evidence.title, "prose": matches.evidence.prose, "block": matches.evidence.block}
    scores: dict[str, list[float]] = {name: [] for name in ("all", *parts, "coverage", "literal", "phrase")}
    average = max(1, matches.function_words) / max(1, matches.functions)
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
        for text in matches.evidence.literals:
            place = facts.find(keys[text])
            for number, _ in facts.functions_with(place) if place >= 0 else ():
                scores["literal" if text.startswith("l:") else "phrase"][first + number] += idfs[text]
                if idfs[text] > 3:
                    found[first + number].reasons.append(literal_reason(text, idfs[text]))
        files[numbers[path]].columns["functions"] = math.log1p(len(spans))
    tops = {name: max(values, default=0.0) or 1.0 for name, values in scores.items() if name != "coverage"}
    for name, values in scores.items():
        for candidate, value in zip(found, values, strict=True):
            candidate.columns[name] = value / tops.get(name, 1.0)
    _add_function_names(matches, found)
    _add_places(matches, found)
    for candidate in found:
        columns, lines = candidate.columns, candidate.lines.end - candidate.lines.start + 1
        columns["lines"] = math.log(max(1, lines))
        named = max(columns.get(name, 0.0) for name in ("named_title", "named_outer", "named_inline"))
        columns["prior"] = 0.5 * named + sum(weight * columns.get(name, 0.0) for name, weight in _PRIOR.items())
    return [candidate for candidate in found if not _is_unit_test(candidate)]


def _is_unit_test(candidate: Candidate) -> bool:
    """Whether this is in the module of tests that files of Rust have at their end."""
    name = candidate.span.name if candidate.span else ""
    return candidate.path.endswith(".rs") and not {"test", "tests"}.isdisjoint(name.split(".")[:-1])


def _add_function_names(matches: Matches, found: list[Candidate]) -> None:
    evidence, names = matches.evidence, matches.evidence.names
    words = [frozenset(words_of(bare(candidate.lines.name))) for candidate in found]
    having = spread(words)
    idf = {word: math.log(1 + len(found) / times) for word, times in having.items()}
    total = sum(idf.get(word, 0.0) for word in evidence.title) or 1.0
    for candidate, own in zip(found, words, strict=True):
        *holders, name = same_letters(candidate.lines.name).split(".")
        columns = candidate.columns
        known = own & matches.words.keys()
        columns["name_words"] = math.fsum(idf[word] for word in known)
        columns["name_title"] = math.fsum(idf[word] for word in own if word in evidence.title) / total
        columns["name_share"] = len(known) / max(1, len(own))
        columns["dunder"] = float(name.startswith("__") and name.endswith("__"))
        columns["depth"] = len(holders)
        if mention := names.get(name):
            share = 1 / max(1, matches.hits[f"d:{name}"].functions)
            for kind in mention.kinds:
                columns[f"named_{kind}"] = share
            sure = share * (BY_CHANCE if is_word(name, mention) else 1.0)
            columns["named_unique"] = sure
            columns["owner_fits"] = float(bool(mention.owners & {*holders, *module_parts(candidate.path.split("/"))}))
            weight = 3 * sure * kind_weight(mention.kinds) + columns["owner_fits"]
            candidate.reasons.append(Reason(weight, "name", name, matches.named_where(name)))
        for holder in holders:
            if mention := names.get(holder):
                columns["class_named"] = 1 / max(1, len(set(matches.hits[f"c:{holder}"].files)))
                columns["class_title_named"] = float("title" in mention.kinds)
                candidate.reasons.append(Reason(columns["class_named"], "class", holder, matches.named_where(holder)))


def _add_places(matches: Matches, found: list[Candidate]) -> None:
    """Frames of the traceback, and lines that the issue links to."""
    by_path: dict[str, list[Candidate]] = defaultdict(list)
    for candidate in found:
        by_path[candidate.path].append(candidate)
    for depth, (frame, files) in enumerate(matches.frames):
        there = [candidate for file in files for candidate in by_path[matches.paths[file]]]
        named = [frame.name is not None and bare(frame.name) == one.lines.name.rpartition(".")[2] for one in there]
        exact = any(same and frame.line in one.lines for one, same in zip(there, named, strict=True))
        for candidate, same in zip(there, named, strict=True):
            span = candidate.lines
            near = abs((span.start + span.end) / 2 - frame.line) < 300
            if same or (frame.line in span and not frame.name):
                value = (1.0 if near else 0.5) / (1 + depth) / len(files)
                columns = candidate.columns
                columns["frame"] = max(columns.get("frame", 0.0), value)
                columns["frame_last"] = max(columns.get("frame_last", 0.0), float(depth == 0) * value)
                if not exact or frame.line in span:  # of many methods of that name
                    candidate.reasons.append(Reason(4 * value, "frame", "a" if depth else "the last"))
    for mentioned, line, link in matches.evidence.paths:
        if not line:
            continue
        files = matches.resolve.files(mentioned, link)
        for candidate in (candidate for file in files for candidate in by_path[matches.paths[file]]):
            span = candidate.lines
            if line in span:
                candidate.columns["line"] = 1 / len(files)
                candidate.reasons.append(Reason(4.0 / len(files), "line", str(line)))
            distance = min(abs(span.start - line), abs(span.end - line))
            candidate.columns["line_near"] = max(candidate.columns.get("line_near", 0.0), 1 / (1 + distance / 10) / len(files))
