"""The policy for generous limits: count words over the repository, list the best files, read and follow the best functions."""

from __future__ import annotations

import re

from fusesearch.core.schema import Answer, Location
from fusesearch.localizers.lexical.callees import callees, code_of
from fusesearch.localizers.lexical.clues import draw_clues
from fusesearch.localizers.lexical.evidence import Definition, Evidence, call_key
from fusesearch.localizers.lexical.plan import Plan
from fusesearch.localizers.lexical.ranking import OUTLINE, SIZE, Ranking
from fusesearch.localizers.lexical.steps import Step, count, find_callers, find_definitions, find_file, grep, read

RUNNER_UP = 0.6


class Survey:
    """Decides from the issue and the evidence what to ask next and what to answer."""

    def __init__(self, issue: str, evidence: Evidence, plan: Plan) -> None:
        self.plan = plan
        self.evidence = evidence
        self.clues = draw_clues(issue)
        self.ranking = Ranking(self.clues, evidence)

    def next_steps(self, turn: int, calls: int) -> list[Step]:
        """Up to ``calls`` calls for this turn (counted from 0), best first; empty when it is time to answer."""
        asked = self.evidence.asked
        steps = self._locate() if turn * calls < self.plan.first_look else []
        unasked = [step for step in steps if call_key(*step) not in asked]
        if not unasked or turn > 0:
            best = self.ranking.best_functions()[: self.plan.reads]
            narrower = self._outline() + [step for definition in best for step in self._read(definition)] + self._follow(best)
            unasked += [step for step in narrower if call_key(*step) not in asked]
        return list({call_key(*step): step for step in unasked}.values())[:calls]

    def answer(self) -> Answer:
        """The best file with its best function; another function only if it scores nearly as high."""
        files = self.ranking.best_files(1)
        if not files:
            return Answer()
        ranked = self.ranking.best_functions(files[0])[: self.plan.functions]
        scores = self.ranking.functions
        best = [d for d in ranked if scores[d] >= RUNNER_UP * scores[ranked[0]]]
        names = [self.evidence.qualified(d, self.ranking.owners.get(d.name)) for d in best]
        modify = [Location(path=files[0], function=name) for name in dict.fromkeys(names)]
        return Answer(modify=modify or [Location(path=files[0])])

    def _locate(self) -> list[Step]:
        """Find files of frames and paths and definitions of names, and count words; all from the issue alone."""
        paths = [frame.path for frame in reversed(self.clues.frames)] + [path for path, _ in self.clues.paths]
        steps = [find_file(path) for path in list(dict.fromkeys(paths))[: self.plan.paths]]
        steps += find_definitions([name.text for name in self.clues.names[: self.plan.names]], self.plan.group)
        steps.append(count(SIZE))
        return steps + [count(f"(?i){re.escape(word)}") for word, _ in self.clues.words[: self.plan.words]]

    def _outline(self) -> list[Step]:
        """List the definitions of the best files, and their lines that match the clues."""
        words = [name.text for name in self.clues.names[:8]] + [word for word, _ in self.clues.words[:12]]
        pattern = "|".join(re.escape(word) for word in dict.fromkeys(words))
        matching = [f"(?i){pattern}"] if pattern else []
        return [grep(wanted, path) for path in self.ranking.best_files(self.plan.outlines) for wanted in (OUTLINE, *matching)]

    def _read(self, definition: Definition) -> list[Step]:
        """Read a definition, or its next part if only its docstring was seen."""
        seen, lines = self.evidence.text_of(definition), self.plan.read_lines
        if len(seen) <= 2:
            return [read(definition.path, definition.line, definition.line + lines - 1)]
        if not code_of(seen) and len(seen) < 3 * lines:
            return [read(definition.path, seen[-1][0] + 1, seen[-1][0] + lines)]
        return []

    def _follow(self, best: list[Definition]) -> list[Step]:
        """Find the functions that the best definitions call, and the callers of the best definitions."""
        names = [name for definition in best for name in callees(self.evidence, definition)]
        unknown = [name for name in dict.fromkeys(names) if not self.evidence.defined(name)]
        return find_definitions(unknown[: self.plan.follows], self.plan.group) + [find_callers(d, everywhere=True) for d in best]
