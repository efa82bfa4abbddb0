"""The one multi-turn loop of parallel tool calls (FuseSearch algorithm 1): every rollout of the project goes through it.

A step is one request to the model. Its calls run at the same time, and their observations follow in the order of the
calls. The first message without a call is the answer. :func:`fusesearch.localizers.episodes.make_episode` makes episodes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any, Protocol, TypeVar

from fusesearch.agents.conversation import conversation
from fusesearch.agents.forms import copied, read_calls
from fusesearch.agents.lockstep import Lockstep
from fusesearch.agents.models.base import Completion, Message, Model, Sampling
from fusesearch.agents.parsing import parse_answer
from fusesearch.agents.prompts import render_notice, render_reminder
from fusesearch.agents.recording import Instructions, OnEvent, conclusion, new_trajectory, record
from fusesearch.core.config import Agent
from fusesearch.core.schema import Answer, Instance, Observation, StopReason, ToolCall, Trajectory, Turn
from fusesearch.search.gain import History, gain_of
from fusesearch.search.results import Outcome

T = TypeVar("T")

NOT_RUN_LAST = "not run: that was the last turn, which had to be the answer"
NOT_RUN_CONTEXT = "not run: the conversation has reached its limit of tokens"


class CallRunner(Protocol):
    """Runs a model's calls: the search tools over a repository, or those of another system."""

    async def call(self, name: str, arguments: dict[str, Any]) -> Outcome:
        """Run one call. A model's fault is an outcome with ``error``; only :class:`InfrastructureError` is raised."""
        ...


@dataclass(frozen=True)
class Episode:
    """Everything that stays the same during an episode.

    ``guidance`` is the number of calls per turn that ``instructions`` ask a teacher for. ``on_event`` gets ``turn``
    (``number``, ``turn``) after a message, ``observations`` (the same) after its calls, and finally ``end``
    (``trajectory``), also on cancellation.
    """

    instance: Instance
    runner: CallRunner
    model: Model
    agent: Agent
    sampling: Sampling
    instructions: Instructions
    localizer: str
    guidance: int | None = None
    on_event: OnEvent | None = None

    def emit(self, kind: str, **payload: Any) -> None:
        """Send an event to the listener, if any."""
        if self.on_event is not None:
            self.on_event(kind, payload)


@dataclass(frozen=True)
class State:
    """An episode so far: its turns, what they returned (H of equation 3), and at the end the reason and the answer."""

    turns: tuple[Turn, ...] = ()
    history: History = frozenset()
    stop: StopReason | None = None
    answer: Answer | None = None
    changes: list[str] = field(default_factory=list)


async def step(state: State, episode: Episode, aside: Sequence[Message] = ()) -> State:
    """One request, its calls, their gain and the notice. Returns a new state; ``state`` and its turns do not change.

    ``aside`` are messages that only this request sees, after those of the state.

    Raises :class:`InfrastructureError` if the endpoint, ripgrep or the snapshot fails.
    """
    agent, instructions = episode.agent, episode.instructions
    forgot = bool(state.turns) and not state.turns[-1].calls  # only then does an episode go on after a message without a call
    prompt = render_reminder(instructions.tools, instructions.issue) if forgot else ""
    asked = [Message(role="user", content=prompt)] if forgot else []
    messages = [*conversation(instructions.system, instructions.issue, state.turns), *asked, *aside]
    completion = await episode.model.complete(messages, instructions.tools, episode.sampling)
    if completion.finish_reason == "context":
        return replace(state, stop="max_context")
    number = len(state.turns) + 1
    text, calls = read_reply(completion, number, instructions.tools, instructions.answer)
    usage, tokens, extra = completion.usage, completion.tokens, completion.extra
    turn = Turn(text=text, prompt=prompt, calls=calls, usage=usage, tokens=tokens, extra=extra)
    state = replace(state, changes=completion.changes)
    turns = (*state.turns, turn)
    episode.emit("turn", number=number, turn=turn)
    if not turn.calls:
        stop, answer = conclusion(instructions.answer(turn.text), completion)
        reminds = agent.reminder and instructions.tools and number < agent.max_turns
        if stop in ("no_answer", "length") and reminds and not any(turn.prompt for turn in turns):
            return replace(state, turns=turns)
        return replace(state, turns=turns, stop=stop, answer=answer)
    if turn.usage.prompt_tokens + turn.usage.completion_tokens >= agent.max_context_tokens:
        turn.observations = [_refused(call, NOT_RUN_CONTEXT) for call in turn.calls]
        return replace(state, turns=turns, stop="max_context")
    if number >= agent.max_turns:  # as in algorithm 1: only a message without a call answers
        turn.observations = [_refused(call, NOT_RUN_LAST) for call in turn.calls]
        return replace(state, turns=turns, stop="max_turns")
    history = await observe(turn, episode.runner, agent, state.history)
    turn.notice = render_notice(agent, agent.max_turns - number)
    episode.emit("observations", number=number, turn=turn)
    return replace(state, turns=turns, history=history)


async def run_episode(episode: Episode) -> Trajectory:
    """Run steps until the model answers or a limit is reached.

    An infrastructure failure (endpoint down, snapshot gone, time-out) is not raised: the trajectory gets ``error`` and has
    no score.
    """
    trajectory = new_trajectory(
        episode.instance, episode.agent, episode.instructions, localizer=episode.localizer,
        model=episode.model.name, seed=episode.sampling.seed, guidance=episode.guidance,
    )  # fmt: skip

    def listen(kind: str, payload: dict[str, Any]) -> None:
        if kind == "turn":  # now, so that the trajectory has the turn even if its calls fail or are cancelled
            trajectory.turns.append(payload["turn"])
        episode.emit(kind, **payload)

    async def search() -> None:
        state = State()
        while state.stop is None:
            state = await step(state, replace(episode, on_event=listen))
        trajectory.stop, trajectory.answer, trajectory.changes = state.stop, state.answer, state.changes

    return await record(trajectory, search(), episode.agent.max_seconds, episode.on_event)


def read_reply(
    completion: Completion, number: int, tools: Sequence[dict[str, Any]], read: Callable[[str], Answer] = parse_answer
) -> tuple[str, list[ToolCall]]:
    """Text and calls of the reply in turn ``number``, in any form in which models call ``tools``.

    ``read`` reads answers. A call without an id from the server gets one that is unique in the episode.
    """
    text, calls, parsed = completion.text, completion.calls or [], completion.calls is None
    if parsed:
        cut = tools and completion.finish_reason == "length"  # then the last line may be half a call
        answered = bool(tools) and conclusion(read(text))[0] == "answer"
        for whole in (text.rpartition("\n")[0], text) if cut else (text,):
            text, calls = read_calls(whole, tools, answered)
            if any(call.error is None for call in calls):
                break
    for index, call in enumerate(calls):
        call.id = f"call_{number}_{index}" if parsed or not call.id else call.id
        call.error = call.error or copied(call, tools)
    return text, calls


async def observe(turn: Turn, runner: CallRunner, agent: Agent, history: History) -> History:
    """Run the calls of a turn at once and store their observations with gain. Returns the history with the turn."""
    started = time.perf_counter()
    allowed = 1 if agent.mode == "sequential" else agent.max_calls_per_turn
    excess = f"not run: at most {allowed} call{'s are' if allowed > 1 else ' is'} run per turn; make it in a later turn"
    running = [_run(call, runner) for call in turn.calls[:allowed]]
    # return_exceptions, because only then does a cancelled gather wait for all its calls to end
    outcomes = await asyncio.gather(*running, return_exceptions=True)
    observations = [_or_raise(outcome) for outcome in outcomes] + [_refused(call, excess) for call in turn.calls[allowed:]]
    gains, history = gain_of([observation.entities for observation in observations], history)
    for observation, (gain_turn, gain_call) in zip(observations, gains, strict=True):
        observation.gain_turn, observation.gain_call = gain_turn, gain_call
    turn.observations = observations
    turn.seconds_tools = time.perf_counter() - started
    return history


async def _run(call: ToolCall, runner: CallRunner) -> Observation:
    if call.error:
        return _refused(call, call.error)
    started = time.perf_counter()
    found = await runner.call(call.name, call.arguments)
    seconds = time.perf_counter() - started
    return Observation(call_id=call.id, output=found.output, entities=found.entities, error=found.error, seconds=seconds)


def _or_raise(outcome: Observation | BaseException) -> Observation:
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


def _refused(call: ToolCall, reason: str) -> Observation:
    return Observation(call_id=call.id, output=f"Error: {reason}", error=reason)


async def run_episodes(jobs: Iterable[Callable[[], Awaitable[T]]], concurrency: int) -> AsyncGenerator[T, None]:
    """Run up to ``concurrency`` jobs at once and yield results in the order of finishing.

    A job is a function without arguments that starts one episode. Whenever one ends, the next is taken from ``jobs``. If a
    job raises, or the caller stops early (``contextlib.aclosing``) or is cancelled, all other jobs are cancelled and
    awaited, so that nothing keeps running. The jobs are in :class:`Lockstep`, also with the caller: one that has ended counts
    until the caller asks for the next result.
    """
    waiting = iter(jobs)
    running: set[asyncio.Future[T]] = set()
    lockstep = Lockstep()
    finished: asyncio.Queue[asyncio.Future[T]] = asyncio.Queue()

    def start() -> None:
        for job in islice(waiting, concurrency - len(running)):
            task = lockstep.start(job)
            running.add(task)
            task.add_done_callback(finished.put_nowait)

    try:
        start()
        while running:
            task = await finished.get()
            running.discard(task)
            start()
            lockstep.end(task)
            yield task.result()
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        lockstep.close()


async def in_order(jobs: Sequence[Callable[[], Awaitable[T]]], concurrency: int) -> list[T]:
    """What :func:`run_episodes` yields of the jobs, in their order."""

    async def numbered(number: int) -> tuple[int, T]:
        return number, await jobs[number]()

    done = dict([row async for row in run_episodes([partial(numbered, number) for number in range(len(jobs))], concurrency)])
    return [done[number] for number in range(len(jobs))]
