"""What to ask next: where names are defined, what a file holds, how a definition reads, what it calls."""

from __future__ import annotations

import re
from typing import Any

from tasks.localizers.lexical.callees import callees, code_of
from tasks.localizers.lexical.clues import Clues
from tasks.localizers.lexical.evidence import ROOT, Definition, Evidence
from tasks.localizers.lexical.plan import Plan
from tasks.localizers.lexical.ranking import OUTLINE, SIZE, Ranking

Step = tuple[str, dict[str, Any]]

COUNT_FUNCTIONS: Step = ("grep", {"pattern": SIZE, "glob": "*.py", "output_mode": "count"})


def locate(clues: Clues, plan: Plan) -> list[Step]:
    """First look: files of frames and paths, definitions of names, counts of words; all from the issue alone."""
    paths = [frame.path for frame in reversed(clues.frames)] + [path for path, _ in clues.paths]
    steps = [find_file(path) for path in list(dict.fromkeys(paths))[: plan.paths]] if plan.words else []
    steps += find_definitions([name.text for name in clues.names[: plan.names]], plan.group)
    if plan.words:
        steps.append(COUNT_FUNCTIONS)
    steps += [count_word(word) for word, _ in clues.words[: plan.words]]
    return steps


def outline(ranking: Ranking, plan: Plan) -> list[Step]:
    """Definitions and matching lines of the best files."""
    steps: list[Step] = []
    pattern = "|".join(_alternatives(ranking.clues))
    for path in ranking.best_files(plan.outlines):
        steps.append(grep(OUTLINE, path))
        if pattern:
            steps.append(grep(f"(?i){pattern}", path))
    return steps


def inspect(ranking: Ranking, plan: Plan) -> list[Step]:
    """The best definitions, read from their first line; a docstring that did not end is read on."""
    steps: list[Step] = []
    for definition in ranking.best_functions()[: plan.reads]:
        steps += read_definition(ranking.evidence, definition, plan.read_lines)
    return steps


def follow(ranking: Ranking, plan: Plan) -> list[Step]:
    """Where the functions called in the best definitions are defined."""
    evidence = ranking.evidence
    names = [name for d in ranking.best_functions()[: plan.reads] for name in callees(evidence, d)]
    unknown = [name for name in dict.fromkeys(names) if not evidence.defined(name)]
    return find_definitions(unknown[: plan.follows], plan.group)


def read_definition(evidence: Evidence, definition: Definition, lines: int) -> list[Step]:
    """Read a definition, or its next part while its docstring goes on."""
    seen = evidence.text_of(definition)
    if len(seen) <= 2:
        return [read(definition.path, definition.line, definition.line + lines - 1)]
    if not code_of(seen) and len(seen) < 3 * lines:
        return [read(definition.path, seen[-1][0] + 1, seen[-1][0] + lines)]
    return []


def find_definitions(names: list[str], group: int) -> list[Step]:
    """Where names are defined, ``group`` names per call."""
    batches = ["|".join(names[i : i + group]) for i in range(0, len(names), group)]
    return [grep(rf"(def|class) ({batch})\b" if "|" in batch else rf"(def|class) {batch}\b") for batch in batches]


def find_file(path: str) -> Step:
    """Where a file that the issue names lies in this repository."""
    return "glob", {"pattern": "**/" + "/".join(path.strip("/").split("/")[-2:])}


def count_word(word: str) -> Step:
    """How often a word occurs in which Python files."""
    return "grep", {"pattern": f"(?i){re.escape(word)}", "glob": "*.py", "output_mode": "count"}


def grep(pattern: str, path: str | None = None) -> Step:
    """Matching lines, in one file if ``path`` is given."""
    where = {"path": ROOT + path} if path else {}
    return "grep", {"pattern": pattern, **where, "output_mode": "content"}


def read(path: str, start: int, end: int) -> Step:
    """A range of lines."""
    return "read_file", {"path": ROOT + path, "start_line": start, "end_line": end}


def _alternatives(clues: Clues) -> list[str]:
    words = [name.text for name in clues.names[:8]] + [word for word, _ in clues.words[:12]]
    return [re.escape(word) for word in dict.fromkeys(words)]
