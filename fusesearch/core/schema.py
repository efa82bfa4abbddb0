"""The records that stages, agents and people exchange, with one version for all of them.

Words are those of the papers: an *instance* is a localization task, its *truth* is what the gold patch modifies, a
*trajectory* is everything that happened in one episode (FuseSearch, section 2.1, equation 1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from pydantic.main import IncEx

SCHEMA_VERSION: Literal[1] = 1

Role = Literal["system", "user", "assistant", "tool"]
Mode = Literal["parallel", "sequential"]
StopReason = Literal["answer", "no_answer", "length", "filter", "max_turns", "max_context", "error"]


class Record(BaseModel):
    """Base of all records. Rejects unknown fields, so that a misspelt one is not silently lost."""

    model_config = ConfigDict(extra="forbid", defer_build=True)  # most commands use few of them


class Expected(Record):
    """The exact answer of a question, or of an ``open`` one the text of a reference answer, which only a judge can compare.

    ``kind`` says how it is compared: one literal, one entity ``path::Qualified.name``, a set of entities, or not at all
    (``text``). ``evidence`` are the lines (``path:line``) that show it. ``original`` is the literal that the published package
    has where the snapshot has another. ``family`` is ``open``, or a word of the file's own. Further fields of older files are
    ignored.
    """

    model_config = ConfigDict(extra="ignore", defer_build=True)

    family: str
    kind: Literal["value", "entity", "set", "text"]
    values: list[str]
    evidence: list[str] = Field(default_factory=list)
    original: str = ""


def _absent(value: object) -> bool:
    """Whether to leave a field out of files: those that only some episodes have are not in the files of others."""
    return value is None or value in ("", [], {})


class Truth(Record):
    """What the gold patch modifies at ``base_commit``, and for a question what is ``expected``.

    ``functions`` are entities ``path::Qualified.name``; ``lines`` maps a file to inclusive 1-based ranges of the old
    side. ``added_files`` and ``added_functions`` exist only after the patch; filters use them. The files of a question are
    those of its evidence. ``unread`` are files with a changed line in code that no reading could parse: which functions the
    patch modifies there is unknown. ``submodules`` are those that the patch moves: no files, so no localizer can name them.
    """

    files: list[str] = Field(default_factory=list)
    functions: list[str] = Field(default_factory=list)
    lines: dict[str, list[tuple[int, int]]] = Field(default_factory=dict)
    added_files: list[str] = Field(default_factory=list)
    added_functions: list[str] = Field(default_factory=list)
    unread: list[str] = Field(default_factory=list, exclude_if=_absent)
    submodules: list[str] = Field(default_factory=list, exclude_if=_absent)
    expected: Expected | None = Field(None, exclude_if=_absent)


class Instance(BaseModel):
    """One localization task, or a question, in the SWE-bench schema; columns this project does not know are kept."""

    model_config = ConfigDict(extra="allow", defer_build=True)

    instance_id: str
    repo: str
    base_commit: str
    problem_statement: str
    patch: str = ""
    truth: Truth | None = None
    provenance: dict[str, Any] = Field(default_factory=dict)

    @property
    def question(self) -> bool | None:
        """Whether it is a question and no issue; None where no truth says so."""
        return None if self.truth is None else self.truth.expected is not None

    def task(self) -> Instance:
        """What a localizer may know: the issue and the snapshot; no truth, no patch, no hints, no tests."""
        names = ("instance_id", "repo", "base_commit", "problem_statement")
        return Instance(**{name: getattr(self, name) for name in names})


class ToolCall(Record):
    """A call as the model wrote it. ``error`` is set if it could not be parsed; ``extra`` is what a server sent beside it."""

    id: str
    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    error: str | None = None
    extra: dict[str, Any] = Field(default_factory=dict, exclude_if=_absent)


class Observation(Record):
    """What one call returned, and its information gain.

    ``entities`` are ``path`` (paths-only results) or ``path:line`` (content results). ``gain_turn`` and ``gain_call``
    are the information gain g of FuseSearch equation 3 under its two history scopes.
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
    what a localizer's own step asked before this turn (:mod:`fusesearch.localizers.prompting`); the loop asks nothing. ``extra``
    is what a server sent beside the message, such as its reasoning.
    """

    text: str
    prompt: str = ""
    calls: list[ToolCall] = Field(default_factory=list)
    observations: list[Observation] = Field(default_factory=list)
    notice: str = ""
    usage: Usage = Field(default_factory=Usage)
    tokens: Tokens | None = None
    seconds_tools: float = 0.0
    extra: dict[str, Any] = Field(default_factory=dict, exclude_if=_absent)


class Location(Record):
    """A file, or a function in a file, with the line span where it is known (inclusive, 1-based).

    ``confidence`` is the probability that a fix modifies it, ``reasons`` say why in words, from localizers that can tell.
    """

    path: str
    function: str | None = None
    lines: tuple[int, int] | None = None
    signature: str = Field("", exclude_if=_absent)
    confidence: float | None = Field(None, exclude_if=_absent)
    reasons: list[str] = Field(default_factory=list, exclude_if=_absent)

    @property
    def entity(self) -> str:
        """``path::Qualified.name``, or ``path`` when no function is named."""
        return f"{self.path}::{self.function}" if self.function else self.path


class Place(Record):
    """A file with its best functions, each with its own probability, for people and coding agents; without one in a search.

    ``likely``: this is the first file, and at least 85 in a hundred such files are right, so act on it.
    """

    path: str
    confidence: float | None = Field(None, exclude_if=_absent)
    likely: bool = False
    reasons: list[str] = Field(default_factory=list)
    functions: list[Location] = Field(default_factory=list)


class Answer(Record):
    """The final answer of an issue: two sections, of which only ``modify`` is scored (FuseSearch, appendix E).

    ``confidence`` is the probability that the first file is right, from localizers that can tell. ``places`` is the same
    ranking by file, of the ranker when people ask: ``modify`` is the set with the highest expected F1, and what is scored.
    The answer of a question has ``values``, the entries of its section, and ``text``, the whole section. ``kind`` is ``search``
    where the text was not an issue: then ``modify`` has the functions of ``places``, or the files, and nothing has a confidence.
    """

    kind: Literal["search"] | None = Field(None, exclude_if=_absent)
    modify: list[Location] = Field(default_factory=list)
    related: list[Location] = Field(default_factory=list)
    places: list[Place] = Field(default_factory=list, exclude_if=_absent)
    confidence: float | None = Field(None, exclude_if=_absent)
    values: list[str] = Field(default_factory=list, exclude_if=_absent)
    text: str = Field("", exclude_if=_absent)

    @property
    def files(self) -> list[str]:
        """Distinct files of *Locations to modify*, in rank order."""
        return list(dict.fromkeys(location.path for location in self.modify))

    @property
    def functions(self) -> list[str]:
        """Distinct function entities of *Locations to modify*, in rank order."""
        return list(dict.fromkeys(location.entity for location in self.modify if location.function))


ExcerptKind = Literal["function", "definition", "callee", "caller", "impact", "use", "test", "outline"]


class Excerpt(Record):
    """Lines of a file that are worth reading for an issue or a name.

    ``kind`` says what they are: a ``function`` with its body, the ``definition`` of the name, the head of a function that one of
    those calls (``callee``), the line of one that calls it (``caller``), that calls callers (``impact``), or that has the name
    and may mean something else (``use``), the line of a ``test``, or of the ``outline`` of a file: the head of a function that no
    other excerpt has. ``lines`` are those of the whole function, ``shown`` those in ``text``, as inclusive ranges; heads stand on
    one line. ``of`` is the function that is called or calls, how many calls away it is, the name, or the path of the outline.
    """

    kind: ExcerptKind
    path: str
    function: str | None = None
    lines: tuple[int, int]
    shown: list[tuple[int, int]]
    text: str
    of: str = Field("", exclude_if=_absent)
    confidence: float | None = Field(None, exclude_if=_absent)
    reasons: list[str] = Field(default_factory=list, exclude_if=_absent)


class Context(Record):
    """The most useful reading for an issue or a ``name``, best first. None where the issue says too little to go on.

    ``text`` is all of it, as people and models read it; its ``tokens`` are estimated and at most ``budget``. ``run`` has the
    files of tests that an impact concerns, the nearest first.
    """

    name: str = Field("", exclude_if=_absent)
    excerpts: list[Excerpt] = Field(default_factory=list)
    run: list[str] = Field(default_factory=list, exclude_if=_absent)
    text: str = ""
    tokens: int = 0
    budget: int


class Trajectory(Record):
    """One episode: system prompt, issue, turns with observations, answer and usage.

    ``error`` is set only when the infrastructure failed; such an episode has no score. ``guidance`` is the number of
    calls per turn a teacher was asked for. ``changes`` says what the requests lacked because the endpoint refused it.
    ``seconds`` is wall time of the whole episode.
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
    changes: list[str] = Field(default_factory=list, exclude_if=_absent)

    def untimed(self) -> dict[str, Any]:
        """The fields without measured times, so that datasets of equal searches have equal digests."""
        turn: dict[str, IncEx | bool] = {"seconds_tools": True, "usage": {"seconds"}, "observations": {"__all__": {"seconds"}}}
        return self.model_dump(mode="json", exclude={"seconds": True, "turns": {"__all__": turn}})


class Score(Record):
    """All metrics of one trajectory; ``None`` if the infrastructure failed. Seconds are wall time."""

    instance_id: str = Field(description="the instance")
    repo: str = Field("", description="its repository")
    localizer: str = Field("", description="who searched")
    arm: str = Field("", description="variant of the experiment, a row of its table")
    run: int = Field(0, description="number of the run, from 0")
    error: str | None = Field(None, description="what failed in the infrastructure; then every figure is absent")
    issue_chars: int | None = Field(None, description="length of the issue; a protocol may leave out long ones")
    file_precision: float | None = Field(None, description="right files / files named")
    file_recall: float | None = Field(None, description="right files / files of the truth")
    file_f1: float | None = Field(None, description="harmonic mean of the two")
    function_precision: float | None = Field(
        None, description="right functions / functions named; absent where the truth names no function"
    )
    function_recall: float | None = Field(None, description="right functions / functions of the truth; absent likewise")
    function_f1: float | None = Field(None, description="harmonic mean of the two; absent likewise")
    f1: float | None = Field(
        None, description="0.7 file F1 + 0.3 function F1 (FuseSearch appendix B.3); file F1 where the truth names no function"
    )
    efficiency: float | None = Field(
        None, description="e: mean gain over all calls, H being earlier turns (`history_scope: turn`)"
    )
    efficiency_call: float | None = Field(
        None, description="e with H being earlier turns and earlier calls of the same turn (`history_scope: call`)"
    )
    redundancy: float | None = Field(None, description="share of calls with gain 0, H being earlier turns; absent without calls")
    redundancy_call: float | None = Field(
        None, description="share of calls with gain 0, H being earlier turns and earlier calls of the same turn"
    )
    reward: float | None = Field(None, description="R = alpha F1 + beta e + gamma F1 e, or another reward by name")
    turns: int | None = Field(None, description="assistant messages, the answer among them")
    calls: int | None = Field(None, description="tool calls, failed ones among them")
    calls_per_turn: float | None = Field(None, description="tool calls per turn that made any")
    failed_calls: int | None = Field(None, description="calls that came back as an error")
    calls_each_turn: list[int] = Field(
        default_factory=list, description="tool calls of each turn, in order (FuseSearch figure 3)"
    )
    seconds: float | None = Field(None, description="wall time of the episode")
    seconds_model: float | None = Field(None, description="time in the model, summed over requests")
    seconds_tools: float | None = Field(None, description="time in tools, summed over turns")
    seconds_waiting: float | None = Field(
        None, description="the rest of the wall time: queues, failed requests and pauses after them, the localizer's own program"
    )
    tokens_context: int | None = Field(None, description="tokens of the final conversation")
    tokens_billed: int | None = Field(None, description="prompt and completion tokens, summed over requests")
    tokens_prompt: int | None = Field(None, description="the prompt's part of them")
    tokens_completion: int | None = Field(None, description="the completions' part of them")
    predicted_files: list[str] = Field(default_factory=list, description="files under *Locations to modify*, in rank order")
    predicted_functions: list[str] = Field(
        default_factory=list, description="functions under *Locations to modify*, in rank order"
    )
    true_files: list[str] = Field(default_factory=list, description="files of the truth")
    true_functions: list[str] = Field(default_factory=list, description="functions of the truth")
    added_files: list[str] = Field(
        default_factory=list, description="files that only the patch adds; protocols choose instances by them"
    )
    added_functions: list[str] = Field(default_factory=list, description="functions that only the patch adds")
    unread: list[str] = Field(
        default_factory=list,
        exclude_if=_absent,
        description="files of the truth whose functions are unknown; then figures of functions are absent",
    )
    family: str | None = Field(None, exclude_if=_absent, description="family of the question")
    answer_score: float | None = Field(
        None, exclude_if=_absent, description="share of a question's exact answer that is right; F1 where it is a set"
    )
    evidence_seen: float | None = Field(
        None, exclude_if=_absent, description="share of the lines that show a question's answer that a call returned"
    )
    from_memory: float | None = Field(
        None,
        exclude_if=_absent,
        description="whether the answer is the literal of the published package, which the snapshot does not have",
    )
    predicted_values: list[str] = Field(default_factory=list, exclude_if=_absent, description="entries of a question's answer")
    true_values: list[str] = Field(default_factory=list, exclude_if=_absent, description="those of the exact answer")
