"""The records that stages, agents and people exchange, with one version for all of them.

Words are those of the papers: an *instance* is a localization task, its *truth* is what the gold patch modifies, a
*trajectory* is everything that happened in one episode (FuseSearch, section 2.1, equation 1).
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

SCHEMA_VERSION: Literal[1] = 1

Role = Literal["system", "user", "assistant", "tool"]
Mode = Literal["parallel", "sequential"]
StopReason = Literal["answer", "no_answer", "max_turns", "max_context", "error"]


class Record(BaseModel):
    """Base of all records: unknown fields are refused, so that a misspelt one is not silently lost."""

    model_config = ConfigDict(extra="forbid")


class Truth(Record):
    """What the gold patch modifies at ``base_commit``.

    ``functions`` are entities ``path::Qualified.name``; ``lines`` maps a file to inclusive 1-based ranges of the old
    side. ``added_files`` and ``added_functions`` exist only after the patch; filters use them.
    """

    files: list[str] = Field(default_factory=list)
    functions: list[str] = Field(default_factory=list)
    lines: dict[str, list[tuple[int, int]]] = Field(default_factory=dict)
    added_files: list[str] = Field(default_factory=list)
    added_functions: list[str] = Field(default_factory=list)


class Instance(BaseModel):
    """One localization task in the SWE-bench schema; columns this project does not know are kept."""

    model_config = ConfigDict(extra="allow")

    instance_id: str
    repo: str
    base_commit: str
    problem_statement: str
    patch: str = ""
    truth: Truth | None = None
    provenance: dict[str, Any] = Field(default_factory=dict)

    def task(self) -> Instance:
        """What a localizer may know: the issue and the snapshot; no truth, no patch, no hints, no tests."""
        names = ("instance_id", "repo", "base_commit", "problem_statement")
        return Instance(**{name: getattr(self, name) for name in names})


class ToolCall(Record):
    """A call as the model wrote it. ``error`` is set when the call could not even be parsed."""

    id: str
    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    error: str | None = None


class Observation(Record):
    """What one call returned, and what it added.

    ``entities`` are ``path`` (paths-only results) or ``path:line`` (content results). ``gain_turn`` and ``gain_call``
    are the information gain g of FuseSearch equation 3 under the two history scopes of DESIGN.md section 3.
    """

    call_id: str
    output: str
    entities: list[str] = Field(default_factory=list)
    error: str | None = None
    seconds: float = 0.0
    gain_turn: float = 0.0
    gain_call: float = 0.0


class Usage(Record):
    """Tokens of one request, and the wall seconds the model took for it."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0


class Tokens(Record):
    """Token ids as the model saw and sampled them, for training; never re-derived from text.

    ``prompt_ids`` is the whole context of the request, ``completion_ids`` and ``logprobs`` (natural log, same length)
    are what was sampled.
    """

    prompt_ids: list[int]
    completion_ids: list[int]
    logprobs: list[float]


class Turn(Record):
    """One assistant message and the observations it led to. The final answer is a turn without calls.

    There is one observation per call, in the order of the calls; only the last turn of an errored trajectory may lack
    them. ``notice`` is the line about remaining turns that the model was shown below the last observation. ``prompt`` is
    what a localizer's own step asked before this turn (:mod:`tasks.agents.interview`); the loop asks nothing.
    """

    text: str
    prompt: str = ""
    calls: list[ToolCall] = Field(default_factory=list)
    observations: list[Observation] = Field(default_factory=list)
    notice: str = ""
    usage: Usage = Field(default_factory=Usage)
    tokens: Tokens | None = None
    seconds_tools: float = 0.0

    @model_validator(mode="before")
    @classmethod
    def _without_slip(cls, data: Any) -> Any:
        """Trajectories written before November 2026 say of each turn whether it was misspelt on purpose; none was."""
        return {key: value for key, value in data.items() if key != "slip"} if isinstance(data, dict) else data


class Location(Record):
    """A file, or a function in a file, with the line span where it is known (inclusive, 1-based)."""

    path: str
    function: str | None = None
    lines: tuple[int, int] | None = None

    @property
    def entity(self) -> str:
        """``path::Qualified.name``, or ``path`` when no function is named."""
        return f"{self.path}::{self.function}" if self.function else self.path


class Answer(Record):
    """The two sections of the final answer; only ``modify`` is scored (FuseSearch, appendix E)."""

    modify: list[Location] = Field(default_factory=list)
    related: list[Location] = Field(default_factory=list)

    @property
    def files(self) -> list[str]:
        """Distinct files of *Locations to modify*, in rank order."""
        return list(dict.fromkeys(location.path for location in self.modify))

    @property
    def functions(self) -> list[str]:
        """Distinct function entities of *Locations to modify*, in rank order."""
        return list(dict.fromkeys(location.entity for location in self.modify if location.function))


class Trajectory(Record):
    """One episode: system prompt, issue, turns with observations, answer and usage.

    ``error`` is set only when the infrastructure failed; such an episode has no score. ``guidance`` is the number of
    calls per turn a teacher was asked for. ``seconds`` is wall time of the whole episode.
    """

    schema_version: Literal[1] = SCHEMA_VERSION
    instance_id: str
    repo: str = ""
    base_commit: str = ""
    localizer: str
    model: str = ""
    mode: Mode = "parallel"
    system: str
    issue: str
    turns: list[Turn] = Field(default_factory=list)
    answer: Answer | None = None
    stop: StopReason = "answer"
    error: str | None = None
    guidance: int | None = None
    seed: int | None = None
    seconds: float = 0.0


class Score(Record):
    """All that is measured of one trajectory; ``None`` where the infrastructure failed.

    ``f1`` is 0.7 file F1 + 0.3 function F1 (FuseSearch appendix B.3). ``efficiency`` is e under ``history_scope:
    turn``, ``efficiency_call`` under ``call``; ``redundancy`` and ``redundancy_call`` are the shares of calls with gain 0 under
    either. Seconds are wall time; token figures are counts. Where other answers than the gold patch are accepted, ``f1_best``
    is F1 against the one that fits best, and ``accepted_*`` is what that one modifies, empty where it is the gold patch.
    """

    instance_id: str
    repo: str = ""
    localizer: str = ""
    arm: str = ""
    run: int = 0
    error: str | None = None
    issue_chars: int | None = None
    file_precision: float | None = None
    file_recall: float | None = None
    file_f1: float | None = None
    function_precision: float | None = None
    function_recall: float | None = None
    function_f1: float | None = None
    f1: float | None = None
    efficiency: float | None = None
    efficiency_call: float | None = None
    redundancy: float | None = None
    redundancy_call: float | None = None
    reward: float | None = None
    f1_best: float | None = None
    turns: int | None = None
    calls: int | None = None
    calls_per_turn: float | None = None
    failed_calls: int | None = None
    calls_each_turn: list[int] = Field(default_factory=list)
    seconds: float | None = None
    seconds_model: float | None = None
    seconds_tools: float | None = None
    seconds_waiting: float | None = None
    tokens_context: int | None = None
    tokens_billed: int | None = None
    tokens_prompt: int | None = None
    tokens_completion: int | None = None
    predicted_files: list[str] = Field(default_factory=list)
    predicted_functions: list[str] = Field(default_factory=list)
    true_files: list[str] = Field(default_factory=list)
    true_functions: list[str] = Field(default_factory=list)
    added_files: list[str] = Field(default_factory=list)
    added_functions: list[str] = Field(default_factory=list)
    accepted_files: list[str] = Field(default_factory=list)
    accepted_functions: list[str] = Field(default_factory=list)
