"""The policy: few, short, regular episodes that a small student can learn from.

Turn 1 looks up the innermost traceback frame, or the functions the failing statement calls; turn 2 finds the class of a
method and reads the code; turn 3 looks up what that code calls; then it answers. A turn that fails or finds nothing costs
one more.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from fusesearch.core.config import Agent
from fusesearch.core.schema import Answer, Location
from fusesearch.localizers.lexical.callees import callees, code_of
from fusesearch.localizers.lexical.clues import Frame, frames_of, modules_of
from fusesearch.localizers.lexical.evidence import ROOT, Definition, Evidence, Step
from fusesearch.localizers.lexical.example import Mention, calls_in_prose, mentions_of, statements_of

CALLS = 24
"""Calls altogether, roughly: no turn starts once they are used."""
NAMES, READS, FOLLOWS = 4, 2, 4
"""Names to look up, definitions to read, callees to look up."""
WRAPPER_LINES = 4
CLASSES = "^class "


@dataclass(frozen=True)
class Plan:
    """Limits of one episode: messages, the answer included, and functions in the answer, plus one if the best only wraps it.

    ``proposal`` is the number of the answer to give of those that a list has (:mod:`.listed`), from 0.
    """

    turns: int = 4
    functions: int = 1
    proposal: int = 0


def plan_for(agent: Agent) -> Plan:
    """The plan for as many turns as are allowed. With one call per turn its calls need more turns, so it uses all of them."""
    return Plan(turns=agent.max_turns if agent.mode == "sequential" else min(Plan.turns, agent.max_turns))


@dataclass
class Compact:
    """Decides from the issue and the evidence what to ask next and what to answer."""

    issue: str
    evidence: Evidence
    plan: Plan
    frames: list[Frame] = field(init=False)
    mentions: list[Mention] = field(init=False)

    def __post_init__(self) -> None:
        self.frames = [frame for frame in reversed(frames_of(self.issue)) if frame.name and frame.name[0] != "<"]
        statements = statements_of(self.issue) or ([] if self.frames else calls_in_prose(self.issue))
        in_frames = {frame.name for frame in self.frames}
        self.mentions = [mention for mention in mentions_of(statements) if mention.name not in in_frames]

    def next_steps(self, turn: int, calls: int) -> list[Step]:
        """Up to ``calls`` calls for this turn (counted from 0), best first; empty when it is time to answer."""
        missed = self.evidence.unasked(self._locate()[:1]) if turn else []
        if turn and self.target is None:
            steps = self.evidence.unasked(self._locate()) or self.evidence.unasked(self._widen())
        else:
            lost = min((candidate.turn for candidate in self._candidates), default=0)  # turns before the first candidate
            steps = missed + [step for step in self._phase(turn - lost, calls) if step not in missed]
        return steps[:calls]

    def _phase(self, turn: int, calls: int) -> list[Step]:
        """The steps of a turn, counted from the first that found anything; those of the next phase if all were asked."""
        phases = [self._locate, self._inspect, self._follow]
        order = [0, 0, 1, 1] if calls == 1 else [0, 1, 2]
        if turn >= len(order):
            return []
        steps = self.evidence.unasked(phases[order[turn]]())
        if not steps and order[turn] < 2:
            steps = self.evidence.unasked(phases[order[turn] + 1]())
        return steps

    def answer(self) -> Answer:
        """The best definition and the one function it only wraps, or as many others as the plan allows."""
        if self.target is None:
            return Answer()
        chosen = [self.target, *self._wrapped(self.target)]
        further = [d for d in [*self._called(self.target), *self._candidates] if d not in chosen]
        chosen += list(dict.fromkeys(further))[: max(0, self.plan.functions - len(chosen))]
        return Answer(modify=[Location(path=d.path, function=self._qualified_name(d)) for d in chosen])

    # Turn 1

    def _locate(self) -> list[Step]:
        frames = [grep(rf"def {frame.name}\b", frame.path) for frame in self.frames]
        names = find_definitions([mention.name for mention in self.mentions[:NAMES]])
        return [*frames[:2], *names]

    def _widen(self) -> list[Step]:
        """If that finds nothing: frames further out and the other names in the example."""
        frames = [grep(rf"def {frame.name}\b", frame.path) for frame in self.frames[2:]]
        names = find_definitions([mention.name for mention in self.mentions[NAMES:]])
        return [*frames[:2], *names[:NAMES]]

    # Turn 2

    def _inspect(self) -> list[Step]:
        steps: list[Step] = []
        for definition in self._candidates[:READS]:
            if definition.indent and not self._class_of(definition):
                steps.append(grep(CLASSES, definition.path))
            steps.append(self._read(definition))
        return steps

    def _read(self, definition: Definition) -> Step:
        """Read the lines around a frame, or else the definition from its first line."""
        for frame in self.frames:
            if frame.path == definition.path and frame.name == definition.name and frame.line >= definition.line:
                return read(definition.path, max(1, frame.line // 5 * 5))
        return read(definition.path, definition.line)

    # Turn 3

    def _follow(self) -> list[Step]:
        if self.target is None or self.frames:
            return []
        seen = self.evidence.text_of(self.target)
        if not code_of(seen):
            return [read(self.target.path, seen[-1][0] + 1)]
        names = [name for name in callees(self.evidence, self.target) if not self.evidence.defined(name)]
        steps = find_definitions(names[:FOLLOWS])
        return [*steps, find_callers(self.target)] if steps else []

    # What was seen

    @cached_property
    def target(self) -> Definition | None:
        """The definition that fits best."""
        return self._candidates[0] if self._candidates else None

    @cached_property
    def _candidates(self) -> list[Definition]:
        """Definitions of the frames, innermost first, then of the names the example calls."""
        found = [place for frame in self.frames if (place := self._definition_at(frame)) is not None]
        named = [best for mention in self.mentions if (best := self._best(mention)) is not None]
        return list(dict.fromkeys(found + named))

    def _definition_at(self, frame: Frame) -> Definition | None:
        above = [d for d in self.evidence.defined(frame.name or "") if d.path == frame.path and d.line <= frame.line]
        return max(above, key=lambda d: d.line, default=None)

    def _best(self, mention: Mention) -> Definition | None:
        """Chooses among several definitions of a name: the one in its owner, else one in an imported module."""
        used = {part for module in modules_of(self.issue) for part in module.split(".")} | {mention.owner}

        def fit(definition: Definition) -> tuple[bool, bool, int]:
            stem = definition.path.removesuffix(".py").rpartition("/")[2]
            owned = bool(mention.owner) and self._class_of(definition) == mention.owner
            return owned, stem in used, -definition.line

        return max((d for d in self.evidence.defined(mention.name) if not d.is_class), key=fit, default=None)

    def _class_of(self, definition: Definition) -> str | None:
        """The class of a method: the nearest one seen above it, or the owner the issue names."""
        qualified = self.evidence.qualified(definition)
        if "." in qualified:
            return qualified.rpartition(".")[0]
        owner = next((mention.owner for mention in self.mentions if mention.name == definition.name), None)
        classes = [d for d in self.evidence.defined(owner or "") if d.is_class and d.path == definition.path]
        return owner if classes else None

    def _qualified_name(self, definition: Definition) -> str:
        """Qualified name. A function inside another one counts as the outer one if that was seen."""
        if definition.indent == 0:
            return definition.name
        holder = self._class_of(definition)
        return f"{holder}.{definition.name}" if holder else self.evidence.qualified(definition)

    def _wrapped(self, definition: Definition) -> list[Definition]:
        """The one function of the same file that a short body calls."""
        body = code_of(self.evidence.text_of(definition))
        called = [d for d in self._called(definition) if d.path == definition.path]
        return called if self.frames == [] and len(called) == 1 and 0 < len(body) <= WRAPPER_LINES else []

    def _called(self, definition: Definition) -> list[Definition]:
        """Seen definitions of what the code of ``definition`` calls."""
        return [d for name in callees(self.evidence, definition) for d in self.evidence.defined(name) if not d.is_class]


def find_definitions(names: list[str]) -> list[Step]:
    """Find where each name is defined."""
    return [grep(rf"(def|class) {name}\b") for name in names]


def find_callers(definition: Definition) -> Step:
    """Find calls of a function in its own file."""
    return grep(rf"\b{definition.name}\(", definition.path)


def grep(pattern: str, path: str | None = None) -> Step:
    """Find matching lines, in one file if ``path`` is given."""
    where = {"path": ROOT + path} if path else {}
    return "grep", {"pattern": pattern, **where, "output_mode": "content"}


def read(path: str, start: int) -> Step:
    """Read lines from ``start`` on, as many as the tool returns by default."""
    return "read_file", {"path": ROOT + path, "start_line": start}
