"""OrcaLoca: a program that asks the model after every search and schedules searches by priority (Yu et al., 2025).

``actions`` is the queue, ``searches`` runs actions, ``decomposition`` breaks results into further actions with scores,
and ``replies`` reads what the model writes (ToolTrain appendix D).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from itertools import pairwise

from fusesearch.agents.prompts import render
from fusesearch.agents.recording import Instructions
from fusesearch.code.graph.code_graph import CLASS, FUNCTION, CodeGraph, name_of, path_of
from fusesearch.code.graph.listing import node_named
from fusesearch.code.names import Namer, distinct
from fusesearch.core.schema import Answer, Instance, Location, ToolCall, Turn
from fusesearch.localizers.orcaloca.actions import Action, Queue
from fusesearch.localizers.orcaloca.decomposition import Decomposer
from fusesearch.localizers.orcaloca.replies import Suspect, read_conclusion, read_names, read_step
from fusesearch.localizers.orcaloca.searches import Searches, SearchTools
from fusesearch.localizers.prompting import AskingLocalizer, Interview
from fusesearch.search.repository import Repository

KEPT = 12
"""Most results to keep."""
FAR = 999_999
"""Distance between nodes that no path connects."""


@dataclass(frozen=True)
class Result:
    """A search that showed one whole node."""

    node: str
    action: str
    text: str


class Context:
    """The results of an episode, one per node."""

    def __init__(self, graph: CodeGraph) -> None:
        self._graph = graph
        self._results: dict[str, Result] = {}
        self._distance = cache(graph.distance)

    def add(self, result: Result) -> None:
        """Add a result unless its node has one."""
        self._results.setdefault(result.node, result)

    def kept(self, suspects: list[Suspect], most: int = KEPT) -> list[Result]:
        """The results with the least mean distance to those suspects that are in the graph, nearest first.

        Ties keep the order in which results were added, so without any suspect in the graph that is the order of all.
        """
        nodes = [node for node in (node_of(suspect, self._graph) for suspect in suspects) if node is not None]

        def mean_distance(result: Result) -> float:
            lengths = (self._distance(*sorted((result.node, other))) for other in nodes)
            return sum(FAR if length is None else length for length in lengths) / max(len(nodes), 1)

        return sorted(self._results.values(), key=mean_distance)[:most]


def node_of(suspect: Suspect, graph: CodeGraph) -> str | None:
    """The node of a suspect: its class and method, else either of them, else its file."""
    if not suspect.file_path:
        return None
    names = [".".join(filter(None, (suspect.class_name, suspect.method_name))), suspect.class_name, suspect.method_name]
    texts = [*(f"{suspect.file_path}::{name}" for name in names if name), suspect.file_path]
    return next((node for node in (node_named(text, graph) for text in texts) if node is not None), None)


CHARS_PER_TOKEN = 3
"""Fewest characters per token of code."""
SAME_OBSERVATIONS = 5
SIMILARITY = 0.97
"""So many observations in a row that are at least this similar end the search."""
FALLBACK = 3
"""Results that become the answer if the conclusion names no location."""
SHOWN_ACTIONS = 10
"""Waiting actions shown to the model."""

_NOTHING = "(nothing was searched yet)"


class OrcaLocaLocalizer(AskingLocalizer):
    """``agent.max_turns`` limits the requests; requests for scores come on top, at most twice as many."""

    name = "orcaloca"
    mode = "sequential"  # one search is run at a time

    def instructions(self, issue: str) -> Instructions:
        """The system prompt of the steps."""
        return Instructions(render(__package__, "system"), issue, [])

    async def work(self, interview: Interview, instance: Instance, repository: Repository) -> None:
        """Names in the issue, searches, the conclusion."""
        tools = SearchTools(repository, self.tools)
        await _Episode(interview, tools, await tools.searches(), Namer(repository)).run()


class _Episode:
    """The state of one episode."""

    def __init__(self, interview: Interview, tools: SearchTools, searches: Searches, namer: Namer) -> None:
        agent = interview.agent
        self.interview = interview
        self.tools = tools
        self.searches = searches
        self.namer = namer
        self.queue = Queue()
        self.context = Context(searches.graph)
        self.suspects: list[Suspect] = []
        self.observations: list[str] = []
        self._shown: set[str] = set()
        self._chars = max(
            2000, (agent.max_context_tokens - agent.max_new_tokens) * CHARS_PER_TOKEN - len(render(__package__, "system"))
        )
        self._issue = interview.trajectory.issue[: self._chars // 2]
        self._decomposer = Decomposer(searches, self._issue, self._ask, 2 * agent.max_turns, self._chars)

    async def run(self) -> None:
        """Ask for names in the issue, then run a search after each reply, then ask for the conclusion."""
        turns = self.interview.agent.max_turns
        if turns > 2:
            self._enqueue_names(read_names(await self._ask(render(__package__, "extract", issue=self._issue))))
        result, fault = _NOTHING, ""
        for _ in range(turns - 2):
            turn = await self.interview.ask(await self._prompt(result, fault))
            step = read_step(turn.text)
            fault, self.suspects = step.fault, step.suspects or self.suspects
            self.observations.append(step.observation)
            for action in step.actions:
                self.queue.ask(action)
            chosen = await asyncio.to_thread(self._next)
            if chosen is None or self._repeats_itself():
                break
            result = await self._carry_out(turn, *chosen)
        await self._conclude()

    async def _ask(self, prompt: str) -> str:
        return (await self.interview.ask(prompt)).text

    def _enqueue_names(self, names: list[Suspect]) -> None:
        for name in names:
            file = self.namer.file(name.file_path) if name.file_path else None
            action = Action.of("search_callable", query_name=name.method_name, file_path=file or "")
            if not self.searches.meaning(action):  # the issue may name a file that uses the name and does not define it
                action = Action.of("search_callable", query_name=name.method_name)
            self.queue.ask(action)

    def _next(self) -> tuple[Action, list[str]] | None:
        """The most urgent action whose result has not been shown yet."""
        while action := self.queue.pop():
            nodes = self.searches.meaning(action)
            if len(nodes) != 1:
                return action, nodes
            if nodes[0] not in self._shown:
                self._shown.add(nodes[0])
                return action, nodes
        return None

    def _repeats_itself(self) -> bool:
        last = self.observations[-SAME_OBSERVATIONS:]
        alike = (SequenceMatcher(None, *pair).ratio() >= SIMILARITY for pair in pairwise(last))
        return len(last) == SAME_OBSERVATIONS and all(alike)

    async def _carry_out(self, turn: Turn, action: Action, nodes: list[str]) -> str:
        """Run the action as this turn's call, queue what it leads to, and keep the result if it is a whole class or function."""
        number = len(self.interview.trajectory.turns)
        turn.calls = [ToolCall(id=f"call_{number}", name=action.name, arguments=dict(action.arguments))]
        await self.interview.observe(turn, self.tools)
        text = turn.observations[0].output
        for further, priority in await self._decomposer.further(action, nodes):
            self.queue.ask(further, priority)
        if len(nodes) == 1 and self.searches.is_answer(nodes[0]):
            self.context.add(Result(nodes[0], str(action), text))
        return f"{action}\n{text}"

    async def _prompt(self, result: str, fault: str) -> str:
        waiting = "\n".join(map(str, self.queue.ranked(SHOWN_ACTIONS)))
        queue = _section("waiting_searches", waiting[: self._chars // 20])
        if len(result) > self._chars // 4:
            result = f"{result[: self._chars // 4]}\n(cut: search for a part of it)"
        observations, results = await self._remembered(self._chars - len(self._issue) - len(result) - len(queue))
        fault = f"Mind: {fault}.\n" if fault else ""
        return render(
            __package__,
            "step",
            issue=self._issue,
            observations=observations,
            results=results,
            queue=queue,
            result=result,
            fault=fault,
        )

    async def _remembered(self, chars: int) -> tuple[str, str]:
        """Observations, latest last, and the nearest results, as many as fit."""
        observations = "\n".join(f"- {text}" for text in self.observations if text)[-max(chars, 0) // 4 :]
        remaining = chars - len(observations)
        texts: list[str] = []
        for kept in await asyncio.to_thread(self.context.kept, self.suspects):
            text = f"{kept.action}\n{kept.text}"
            if remaining - len(text) < 0:
                break
            remaining -= len(text)
            texts.append(text)
        return _section("observations", observations), _section("results_kept", "\n\n".join(texts))

    async def _conclude(self) -> None:
        observations, results = await self._remembered(self._chars - len(self._issue))
        prompt = render(__package__, "conclude", issue=self._issue, observations=observations, results=results)
        found = _locations(read_conclusion(await self._ask(prompt)), self.searches.graph, self.namer)
        if not found:
            nearest = await asyncio.to_thread(self.context.kept, self.suspects, FALLBACK)
            nodes = [Suspect(path_of(result.node), "", name_of(result.node)) for result in nearest]
            found = _locations(nodes or self.suspects, self.searches.graph, self.namer)
        self.interview.answer(Answer(modify=found))


def _locations(suspects: list[Suspect], graph: CodeGraph, namer: Namer) -> list[Location]:
    """Locations that exist in the snapshot. A class without a method stands for its file."""
    return distinct([found for suspect in suspects if (found := _location(_with_file(suspect, graph), namer))])


def _location(suspect: Suspect, namer: Namer) -> Location | None:
    path = namer.file(suspect.file_path) if suspect.file_path else None
    if path is None:
        return None
    method = suspect.method_name
    return (namer.function(path, method, suspect.class_name) if method else None) or Location(path=path)


def _with_file(suspect: Suspect, graph: CodeGraph) -> Suspect:
    """Fill in the file of a location if exactly one file defines its name."""
    name = suspect.method_name.rpartition(".")[2] or suspect.class_name.rpartition(".")[2]
    if suspect.file_path or not name:
        return suspect
    nodes = [node for node in graph.named.get(name, []) if graph.type_of(node) in (CLASS, FUNCTION)]
    files = {path_of(node) for node in nodes if not suspect.class_name or suspect.class_name in node}
    return Suspect(files.pop(), suspect.class_name, suspect.method_name) if len(files) == 1 else suspect


def _section(name: str, text: str) -> str:
    return f"<{name}>\n{text}\n</{name}>\n\n" if text else ""
