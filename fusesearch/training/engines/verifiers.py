"""Search tasks as a taskset, a harness and a renderer of verifiers, on which prime-rl trains (0.4.0, docs/environment.md)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from fusesearch.agents.loop import run_episode
from fusesearch.agents.models import chat
from fusesearch.agents.models.base import Message, Sampling
from fusesearch.agents.models.openai_compatible import OpenAICompatibleModel
from fusesearch.core.errors import ConfigError
from fusesearch.core.schema import Instance, Tokens
from fusesearch.core.storage import read_instances
from fusesearch.training.environment import open_tasks, task_of

try:
    import verifiers.v1 as vf
    from renderers.base import ParsedResponse, RenderedTokens
    from renderers.configs import BaseRendererConfig
except ImportError as error:
    raise ConfigError(f"verifiers is not installed ({error}): pip install verifiers==0.4.0, in its own environment") from None

__all__ = ["ChatRenderer", "SearchHarness", "SearchTaskset"]


class SearchData(vf.TaskData):
    """A task on the wire: the instance, and the arguments of :func:`~fusesearch.training.environment.open_tasks`."""

    instance: str
    where: dict[str, str]


class SearchState(vf.State):
    """What the harness leaves to the reward."""

    reward: float = 0.0
    metrics: dict[str, float] = Field(default_factory=dict)


class SearchTask(vf.Task[SearchData, SearchState]):
    """A task whose reward is ours."""

    @vf.reward(weight=1.0)
    async def reward(self, trace: vf.Trace) -> float:
        """The reward of the episode."""
        return trace.state.reward

    @vf.metric
    async def scores(self, trace: vf.Trace) -> dict[str, float]:
        """F1, tool efficiency, turns and calls."""
        return trace.state.metrics


class SearchConfig(vf.TasksetConfig):
    """The arguments of :func:`~fusesearch.training.environment.load_tasks`; by default where a checkout's stages write them."""

    instances: Path = Path("data/splits/rl.parquet")
    repos: Path = Path("data/repos")
    cache: Path = Path(".fusesearch/snapshots")
    settings: Path | None = None
    reward: str = "fusesearch"


class SearchTaskset(vf.Taskset[SearchTask, SearchConfig]):
    """The tasks of a file of instances."""

    def load(self) -> list[SearchTask]:
        """One task per instance with an exact truth."""
        given = self.config
        where: dict[str, Any] = {
            name: str(value) for name in ("repos", "cache", "settings", "reward") if (value := getattr(given, name))
        }
        rows = {row.instance_id: row.model_dump_json() for row in read_instances(given.instances)}
        tasks = open_tasks(**where).of(Instance.model_validate_json(row) for row in rows.values())
        made = []
        for row in tasks.prompts():
            system, issue = row["prompt"]
            name = issue["instance_id"]
            data = SearchData(
                id=name, system_prompt=system["content"], prompt=issue["content"], instance=rows[name], where=where
            )  # fmt: skip
            made.append(SearchTask(data, given.task))
        return made


class SearchHarness(vf.Harness[vf.HarnessConfig]):
    """Our loop in the process of verifiers: every request goes through its endpoint, which records messages and tokens."""

    APPENDS_SYSTEM_PROMPT = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self,
        ctx: vf.ModelContext,
        trace: vf.Trace,
        runtime: vf.Runtime,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: SearchData,
    ) -> vf.ProgramResult:
        """One episode. Raises verifiers' error where it has no reward, so that it trains nothing."""
        tasks = task_of(data.instance, **data.where)
        (name,) = tasks.instances
        limit = tasks.agent.max_new_tokens
        if isinstance(ctx.client, vf.TrainClientConfig) and ctx.sampling.max_tokens is None:
            raise vf.HarnessError(
                f"set sampling.max_tokens, to {limit} as in agent.max_new_tokens: verifiers sends no other limit"
            )
        # a request that we give up and send again would be recorded twice, as two branches: verifiers has its own limits;
        # nor may another form of tools be tried
        policy = OpenAICompatibleModel(ctx.model, endpoint, secret, timeout_seconds=86_400, tool_format="native")
        sampling = Sampling(temperature=1.0, max_new_tokens=limit)  # the run's own settings win
        try:
            trajectory = await run_episode(tasks.episode(name, policy, sampling))
        finally:
            await policy.close()
        score = await tasks.score(trajectory)
        if score.reward is None:
            raise vf.HarnessError(f"{name}: {score.error}")
        trace.state.reward = score.reward
        fields = {field: getattr(score, field) for field in ("f1", "efficiency", "turns", "calls")}
        trace.state.metrics = {field: float(value) for field, value in fields.items() if value is not None}
        return vf.ProgramResult(0, "", "")


class ChatConfig(BaseRendererConfig):
    """No settings."""


class ChatRenderer:
    """Token ids of a conversation as :mod:`fusesearch.agents.models.chat` makes them, for training.

    Earlier requests and sampled tokens stay as they were. verifiers' renderer for models that it does not know tokenizes the
    whole conversation again, which gives other ids than were sampled.
    """

    config_class = ChatConfig
    is_prefix_stable = True
    supports_tools = True

    def __init__(self, tokenizer: Any, config: ChatConfig | None = None) -> None:
        self.config = config or ChatConfig()
        self._tokenizer = tokenizer

    def render(
        self,
        messages: Sequence[dict[str, Any]],
        *,
        tools: list[dict[str, Any]] | None = None,
        add_generation_prompt: bool = False,
    ) -> RenderedTokens:
        """The whole conversation. All tokens count as the last message's: only their sequence matters for training."""
        text = chat.render(self._tokenizer, _messages(messages), tools or [], prompt=add_generation_prompt, thinks=False)
        return _rendered(chat.encode(self._tokenizer, text), 0, messages)

    def render_ids(self, messages: Sequence[dict[str, Any]], **options: Any) -> list[int]:
        """The token ids of :meth:`render`."""
        return self.render(messages, **options).token_ids

    def bridge_to_next_turn(
        self, previous_prompt_ids: list[int], previous_completion_ids: list[int], new_messages: Sequence[dict[str, Any]], *,
        tools: list[dict[str, Any]] | None = None,
    ) -> RenderedTokens:  # fmt: skip
        """The next request: the ids of the last one, what was sampled, and the text of ``new_messages``."""
        seen = Tokens(prompt_ids=previous_prompt_ids, completion_ids=previous_completion_ids, logprobs=[])
        said = [Message(role="user", content=""), Message(role="assistant", content="", tokens=seen)]
        ids = chat.prompt_ids(self._tokenizer, [*said, *_messages(new_messages)], tools or [])
        return _rendered(ids, len(previous_prompt_ids) + len(previous_completion_ids), new_messages)

    def parse_response(self, token_ids: list[int], **_: Any) -> ParsedResponse:
        """The text as it was sampled: our loop reads the calls."""
        ended = bool(token_ids) and token_ids[-1] == self._tokenizer.eos_token_id
        text = self._tokenizer.decode(token_ids[: -1 if ended else None], skip_special_tokens=False)
        return ParsedResponse(content=text)

    def get_stop_token_ids(self) -> list[int]:
        """The end of a message."""
        return [self._tokenizer.eos_token_id]


def _messages(rows: Sequence[dict[str, Any]]) -> list[Message]:
    return [Message(role=row["role"], content=row.get("content") or "") for row in rows]


def _rendered(ids: list[int], before: int, messages: Sequence[dict[str, Any]]) -> RenderedTokens:
    """``ids`` whose first ``before`` were there, and the others are the last message's."""
    return RenderedTokens(
        token_ids=ids,
        message_indices=[-1] * before + [len(messages) - 1] * (len(ids) - before),
        message_roles=[row["role"] for row in messages],
    )
