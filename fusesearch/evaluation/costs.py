"""What an episode cost, and e: what every answer prints, so it needs no table of metrics and no statistics."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from fusesearch.evaluation.quality import mean, ratio
from fusesearch.search.gain import tool_efficiency

if TYPE_CHECKING:
    from fusesearch.core.schema import Trajectory


def tool_statistics(trajectory: Trajectory) -> dict[str, Any]:
    """Efficiency and cost of an episode under the names of :class:`Score`.

    ``calls_per_turn`` is the mean over turns with calls, 0 if no turn has any. ``seconds`` is the whole episode's wall time,
    ``seconds_model`` and ``seconds_tools`` are sums over its requests and turns, ``seconds_waiting`` is the rest.
    """
    turns, calls = trajectory.turns, calls_by_turn(trajectory)
    by_turn, by_call = _gains(trajectory, "gain_turn"), _gains(trajectory, "gain_call")
    model, tools = math.fsum(turn.usage.seconds for turn in turns), math.fsum(turn.seconds_tools for turn in turns)
    return {
        "efficiency": tool_efficiency(by_turn),
        "efficiency_call": tool_efficiency(by_call),
        "redundancy": mean([float(gain == 0) for gain in by_turn]),
        "redundancy_call": mean([float(gain == 0) for gain in by_call]),
        "turns": len(turns),
        "calls": sum(calls),
        "calls_per_turn": ratio(sum(calls), sum(number > 0 for number in calls)),
        "failed_calls": sum(observation.error is not None for turn in turns for observation in turn.observations),
        "calls_each_turn": calls,
        "seconds": trajectory.seconds,
        "seconds_model": model,
        "seconds_tools": tools,
        "seconds_waiting": max(0.0, trajectory.seconds - model - tools),
        "tokens_context": tokens_context(trajectory),
        "tokens_billed": tokens_billed(trajectory),
        "tokens_prompt": sum(turn.usage.prompt_tokens for turn in turns),
        "tokens_completion": sum(turn.usage.completion_tokens for turn in turns),
    }


def tokens_context(trajectory: Trajectory) -> int:
    """Length of the final conversation in tokens: prompt and completion of the last request."""
    last = trajectory.turns[-1].usage if trajectory.turns else None
    return last.prompt_tokens + last.completion_tokens if last else 0


def tokens_billed(trajectory: Trajectory) -> int:
    """Tokens over all requests, prompt and completion."""
    return sum(turn.usage.prompt_tokens + turn.usage.completion_tokens for turn in trajectory.turns)


def calls_by_turn(trajectory: Trajectory) -> list[int]:
    """Calls of each turn, in order; the answer turn has none."""
    return [len(turn.calls) for turn in trajectory.turns]


def _gains(trajectory: Trajectory, field: str) -> list[float]:
    """Gain of every call: each call has its observation."""
    return [getattr(observation, field) for turn in trajectory.turns for observation in turn.observations]
