"""The one multi-turn loop of parallel tool calls (FuseSearch algorithm 1): every rollout of the project goes through it.

A turn is one request to the model; its calls run at the same time, and their observations follow in the order of the
calls. The first message without a call is the answer.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol, TypeVar

from tasks.agents.conversation import assistant_message, messages_of, observation_messages, tokens_billed, tokens_context
from tasks.agents.models.base import Completion, Model, Sampling
from tasks.agents.parsing import parse_answer, parse_turn
from tasks.agents.prompts import render_issue, render_notice, render_system
from tasks.core.config import Agent
from tasks.core.errors import InfrastructureError, RepositoryError
from tasks.core.schema import Answer, Instance, Observation, ToolCall, Trajectory, Turn
from tasks.search.gain import History
from tasks.search.tools import ToolResult, schemas

__all__ = [
    "Instructions", "OnEvent", "Toolset", "begun", "conclude", "messages_of", "observe", "recorded", "run_episode",
    "run_episodes", "tokens_billed", "tokens_context",
]  # fmt: skip

OnEvent = Callable[[str, dict[str, Any]], None]
T = TypeVar("T")


class Toolset(Protocol):
    """What a model's calls are run by: the three tools over a repository, or those of another system."""

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolResult:
        """Run one call. A model's fault is a result with ``error``; only :class:`InfrastructureError` is raised."""
        ...


@dataclass(frozen=True)
class Instructions:
    """What a model is told at first, the schemas of its tools, and how its last message is read as an answer."""

    system: str
    issue: str
    tools: list[dict[str, Any]]
    read: Callable[[str], Answer] = parse_answer


NOT_RUN_LAST = "not run: that was the last turn, which had to be the answer"
NOT_RUN_CONTEXT = "not run: the conversation has reached its limit of tokens"


async def run_episode(
    instance: Instance,
    toolbox: Toolset,
    model: Model,
    agent: Agent,
    sampling: Sampling,
    *,
    localizer: str,
    guidance: int | None = None,
    instructions: Instructions | None = None,
    on_event: OnEvent | None = None,
) -> Trajectory:
    """Search for what ``instance`` is about until the model answers or a limit is reached.

    ``instructions`` are FuseSearch's unless another system's are given. A failure of the world (endpoint down, snapshot
    gone, time-out) gives a trajectory with ``error`` set, which has no score; it is not raised. ``on_event`` is called with
    ``turn`` (``number``, ``turn``) when a message has come, ``observations`` (the same) when its calls have run, and ``end``
    (``trajectory``) last, also on cancellation.
    """
    emit = on_event or _ignore
    told = instructions or _fusesearch(instance, agent, guidance)
    trajectory = begun(instance, model, agent, sampling, told, localizer=localizer)
    trajectory.guidance = guidance
    search = _search(trajectory, toolbox, model, agent, sampling, told, emit)
    return await recorded(trajectory, search, agent.max_seconds, emit)


def begun(
    instance: Instance, model: Model, agent: Agent, sampling: Sampling, told: Instructions, *, localizer: str
) -> Trajectory:
    """The trajectory of an episode before its first turn; it counts as interrupted until :func:`recorded` says otherwise."""
    return Trajectory(
        instance_id=instance.instance_id, repo=instance.repo, base_commit=instance.base_commit, localizer=localizer,
        model=model.name, mode=agent.mode, system=told.system, issue=told.issue, seed=sampling.seed,
        stop="error", error="interrupted",
    )  # fmt: skip


async def recorded(
    trajectory: Trajectory, search: Coroutine[Any, Any, None], max_seconds: float | None, emit: OnEvent | None = None
) -> Trajectory:
    """Run ``search``, which fills ``trajectory``, to its end or for ``max_seconds``; failures of the world become its error."""
    started = time.perf_counter()
    limit = asyncio.timeout(max_seconds)
    try:
        async with limit:
            await search
        trajectory.error = None
    except (InfrastructureError, RepositoryError, OSError) as error:
        reason = f"the episode took over {max_seconds:g} s" if max_seconds and limit.expired() else " ".join(str(error).split())
        trajectory.stop, trajectory.error = "error", reason or type(error).__name__
    finally:
        trajectory.seconds = time.perf_counter() - started
        (emit or _ignore)("end", {"trajectory": trajectory})
    return trajectory


def _fusesearch(instance: Instance, agent: Agent, guidance: int | None) -> Instructions:
    tools = schemas() if agent.prompt == "full" else []
    return Instructions(render_system(agent, guidance), render_issue(agent, instance.problem_statement), tools)


async def _search(
    trajectory: Trajectory,
    toolbox: Toolset,
    model: Model,
    agent: Agent,
    sampling: Sampling,
    told: Instructions,
    emit: OnEvent,
) -> None:
    """Fill ``trajectory`` with turns, answer and the reason to stop."""
    messages = messages_of(trajectory)
    history = History()
    for number in range(1, agent.max_turns + 1):
        completion = await model.complete(list(messages), told.tools, sampling)
        if completion.finish_reason == "context":
            trajectory.stop = "max_context"
            return
        turn = _turn(completion, number)
        trajectory.turns.append(turn)
        messages.append(assistant_message(turn))
        emit("turn", {"number": number, "turn": turn})
        if not turn.calls:
            conclude(trajectory, told.read(turn.text))
            return
        full = turn.usage.prompt_tokens + turn.usage.completion_tokens >= agent.max_context_tokens
        if full or number == agent.max_turns:
            turn.observations = [_refused(call, NOT_RUN_CONTEXT if full else NOT_RUN_LAST) for call in turn.calls]
            trajectory.stop = "max_context" if full else "max_turns"
            return
        await observe(turn, toolbox, agent, history)
        turn.notice = render_notice(agent, agent.max_turns - number)
        messages += observation_messages(turn)
        emit("observations", {"number": number, "turn": turn})


def _turn(completion: Completion, number: int) -> Turn:
    """The completion as a turn; calls without an id of the server's get one that is unique in the episode."""
    parsed = completion.calls is None
    calls = parse_turn(completion.text)[1] if completion.calls is None else completion.calls
    for index, call in enumerate(calls):
        call.id = f"call_{number}_{index}" if parsed or not call.id else call.id
    return Turn(text=completion.text, calls=calls, usage=completion.usage, tokens=completion.tokens)


def conclude(trajectory: Trajectory, answer: Answer) -> None:
    """End ``trajectory`` with ``answer``; one without a location to modify is none."""
    trajectory.answer = answer if answer.modify or answer.related else None
    trajectory.stop = "answer" if answer.modify else "no_answer"


async def observe(turn: Turn, toolbox: Toolset, agent: Agent, history: History) -> None:
    """Run the calls of a turn at once; fill its observations with their gain (DESIGN.md section 3)."""
    started = time.perf_counter()
    allowed = 1 if agent.mode == "sequential" else agent.max_calls_per_turn
    excess = f"not run: at most {allowed} call{'s are' if allowed > 1 else ' is'} run per turn; make it in a later turn"
    running = [_run(call, toolbox) for call in turn.calls[:allowed]]
    # return_exceptions, because only then a cancelled gather waits for all of its calls to end
    outcomes = await asyncio.gather(*running, return_exceptions=True)
    observations = [_or_raise(outcome) for outcome in outcomes] + [_refused(call, excess) for call in turn.calls[allowed:]]
    gains = history.gain([observation.entities for observation in observations])
    for observation, (gain_turn, gain_call) in zip(observations, gains, strict=True):
        observation.gain_turn, observation.gain_call = gain_turn, gain_call
    turn.observations = observations
    turn.seconds_tools = time.perf_counter() - started


async def _run(call: ToolCall, toolbox: Toolset) -> Observation:
    if call.error:
        return _refused(call, call.error)
    result = await toolbox.call(call.name, call.arguments)
    return Observation(
        call_id=call.id, output=result.output, entities=result.entities, error=result.error, seconds=result.seconds
    )


def _or_raise(outcome: Observation | BaseException) -> Observation:
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


def _refused(call: ToolCall, reason: str) -> Observation:
    return Observation(call_id=call.id, output=f"Error: {reason}", error=reason)


def _ignore(kind: str, payload: dict[str, Any]) -> None:
    pass


async def run_episodes(jobs: Iterable[Callable[[], Awaitable[T]]], concurrency: int) -> AsyncIterator[T]:
    """Run up to ``concurrency`` jobs at once; yield each result as soon as it is there, in the order of finishing.

    A job is a function without arguments that starts one episode; the next is taken from ``jobs`` whenever one ends.
    When a job raises, or the caller stops early (``contextlib.aclosing``) or is cancelled, all others are cancelled
    and awaited: nothing is left running.
    """
    waiting = iter(jobs)
    running: set[asyncio.Future[T]] = set()
    finished: asyncio.Queue[asyncio.Future[T]] = asyncio.Queue()

    def start() -> None:
        for job in islice(waiting, concurrency - len(running)):
            task = asyncio.ensure_future(job())
            running.add(task)
            task.add_done_callback(finished.put_nowait)

    try:
        start()
        while running:
            task = await finished.get()
            running.discard(task)
            start()
            yield task.result()
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
