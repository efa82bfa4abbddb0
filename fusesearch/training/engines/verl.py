"""veRL's agent loop over ours: its servers sample, our tools answer, our reward scores (veRL 0.9.1, docs/environment.md)."""

from __future__ import annotations

import os
import socket
import uuid
from pathlib import Path
from typing import Any

from fusesearch.agents.models import chat
from fusesearch.agents.models.base import Completion, Message, Sampling
from fusesearch.core.errors import ConfigError, InfrastructureError, ModelUnavailable
from fusesearch.core.schema import Tokens, Usage
from fusesearch.evaluation.metrics import quality_of
from fusesearch.training.engines.verl_files import F1, Noted
from fusesearch.training.environment import task_of

try:
    from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopMetrics, AgentLoopOutput
except ImportError as error:
    raise ConfigError(f"veRL is not installed ({error}): pip install verl==0.9.1, in an environment of its own") from None


class ServerModel:
    """The policy behind veRL's servers, for one episode of at most ``prompt`` tokens and ``response`` more."""

    name = "verl"

    def __init__(self, servers: Any, tokenizer: Any, sampling: dict[str, Any], prompt: int, response: int) -> None:
        self.tokenizer = tokenizer
        self.seen: dict[str, Any] = {}
        self._servers = servers
        self._sampling = sampling
        self._episode = uuid.uuid4().hex
        self._limits = prompt, response
        self._first: int | None = None

    async def complete(self, messages: list[Message], tools: list[dict[str, Any]], sampling: Sampling) -> Completion:
        """One assistant message, sampled as veRL's configuration says. Raises :class:`ModelUnavailable` if a server aborts."""
        ids = chat.prompt_ids(self.tokenizer, messages, tools)
        self._first = len(ids) if self._first is None else self._first
        room = self._first + self._limits[1] - len(ids)
        if room < 1 or self._first > self._limits[0]:
            return Completion(text="", usage=Usage(prompt_tokens=len(ids)), finish_reason="context")
        limit, eos = min(room, sampling.max_new_tokens), self.tokenizer.eos_token_id
        asked = {**self._sampling, "max_tokens": limit, "stop_token_ids": [eos]}
        output = await self._servers.generate(request_id=self._episode, prompt_ids=ids, sampling_params=asked)
        if not output.token_ids or output.stop_reason == "aborted":
            raise ModelUnavailable("veRL's server aborted the request")
        if output.log_probs is None:
            raise ConfigError("veRL's servers give no log-probabilities: set actor_rollout_ref.rollout.calculate_log_probs")
        versions = {name: output.extra_fields.get(f"{name}_global_steps") for name in ("min", "max")}
        self.seen = {"min_global_steps": versions["min"], **self.seen, "max_global_steps": versions["max"]}
        sampled = list(output.token_ids)
        tokens = Tokens(prompt_ids=ids, completion_ids=sampled, logprobs=list(output.log_probs))
        return chat.sampled(self.tokenizer, tokens, ended=sampled[-1] == eos or len(sampled) < limit)

    async def close(self) -> None:
        """Nothing: the servers are veRL's."""


class SearchLoop(AgentLoopBase):
    """Registered as ``fusesearch`` by ``loop.yaml``; the ``fusesearch`` section of veRL's configuration has the arguments of
    :func:`~fusesearch.training.environment.open_tasks`, and a row its instance (:mod:`fusesearch.training.engines.verl_files`).

    Where that section has ``scores``, a folder, all metrics of every episode are noted there: veRL logs the reward alone.
    """

    async def run(self, sampling_params: dict[str, Any], **row: Any) -> AgentLoopOutput:
        """One episode. Raises :class:`InfrastructureError` where it has no reward, and veRL drops the prompt's group."""
        where = dict(self.config.fusesearch)
        scores, of = where.pop("scores", None), row["extra_info"]
        tasks = task_of(of["instance"], **where)
        (name,) = tasks.instances
        limits = self.rollout_config.prompt_length, self.rollout_config.response_length
        policy = ServerModel(self.server_manager, self.tokenizer, dict(sampling_params), *limits)
        done = await tasks.rollout(name, policy, Sampling(max_new_tokens=tasks.agent.max_new_tokens))
        if scores:
            noted = Noted(step=int(row["global_steps"]), held_out=bool(of.get("held_out")), score=done.score)
            noted.append(Path(scores) / f"{socket.gethostname()}-{os.getpid()}.jsonl")
        if done.score.reward is None:
            raise InfrastructureError(f"{name}: {done.score.error}")
        trajectory = done.trajectory
        quality = {F1: quality_of(done.score)}
        seconds = sum(turn.seconds_tools for turn in trajectory.turns)
        return AgentLoopOutput(
            prompt_ids=done.prompt_ids,
            response_ids=done.completion_ids,
            response_mask=done.mask,
            response_logprobs=done.logprobs,
            reward_score=done.score.reward,
            num_turns=len(trajectory.turns),
            metrics=AgentLoopMetrics(generate_sequences=trajectory.seconds - seconds, tool_calls=seconds),
            extra_fields={**policy.seen, "turn_scores": [], "tool_rewards": [], "reward_extra_info": quality},
        )
