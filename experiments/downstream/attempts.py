"""What attempts leave on disk: the main agent's trajectory, the localizer's searches, the journal of a run."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from pydantic import Field

from experiments.downstream import Configuration
from fusesearch.core.errors import DataError
from fusesearch.core.schema import Record, Trajectory
from fusesearch.core.storage import read_text
from fusesearch.evaluation.metrics import tool_statistics
from fusesearch.evaluation.published.patches import Fault
from fusesearch.evaluation.published.rows import ReleasedRow, json_document

JOURNAL = "journal.jsonl"


class Spent(Record):
    """Requests to a model, their tokens, and seconds: the main agent's of the whole attempt, the localizer's of its searches."""

    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0

    @property
    def tokens(self) -> int:
        """Tokens of prompts and completions together."""
        return self.prompt_tokens + self.completion_tokens


class Attempt(Record):
    """One instance. ``end`` is how the main agent ended, in mini-swe-agent's words, ``fault`` says why the patch is of no use,
    ``questions`` counts the searches of the localizer."""

    instance_id: str
    end: str
    patch: str = ""
    fault: Fault | None = None
    detail: str = ""
    questions: int = 0
    main: Spent = Spent()
    localizer: Spent = Spent()
    error: None = None


class _Usage(ReleasedRow):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Reply(ReleasedRow):
    usage: _Usage = _Usage()


class _Extra(ReleasedRow):
    response: _Reply | str | None = None
    """Text where mini-swe-agent could not store the reply."""


class _Message(ReleasedRow):
    extra: _Extra = _Extra()


class _Info(ReleasedRow):
    exit_status: str = ""


class _Trajectory(ReleasedRow):
    """What counts of mini-swe-agent's trajectory."""

    info: _Info = _Info()
    messages: list[_Message] = Field(default_factory=list)


def read_attempts(out: Path) -> dict[str, list[Attempt]]:
    """The attempts of all configurations that have been run. Raises :class:`DataError` where none has."""
    folders = [out / name for name in Configuration if (out / name / JOURNAL).exists()]
    if not folders:
        raise DataError(f"{out} has no attempts: name a --configuration to make some")
    found = {}
    for folder in folders:
        lines = read_text(folder / JOURNAL).split("\n")[:-1]  # a line that is being written has no end
        found[folder.name] = [Attempt.model_validate_json(line) for line in lines]
    return found


def read_main_agent(path: Path, seconds: float) -> tuple[str, Spent]:
    """How a main agent that ran for ``seconds`` says it ended, empty if it was killed, and the tokens that the endpoint counted.

    Replies that mini-swe-agent could not read are among them.
    """
    known = _Trajectory()
    with suppress(DataError):  # killed before or while it wrote one
        known = json_document(path, _Trajectory)
    replies = [row.extra.response for row in known.messages if isinstance(row.extra.response, _Reply)]
    prompt, completion = (sum(getattr(row.usage, f"{name}_tokens") for row in replies) for name in ("prompt", "completion"))
    spent = Spent(requests=len(replies), prompt_tokens=prompt, completion_tokens=completion, seconds=seconds)
    return known.info.exit_status, spent


def read_searches(calls: Path) -> tuple[int, Spent]:
    """How often the localizer was asked, and what that cost; a search that was killed has left nothing, or half a file."""
    done = []
    for path in sorted(calls.glob("*.json")):
        with suppress(DataError):
            done.append(json_document(path, Trajectory))
    figures = [tool_statistics(trajectory) for trajectory in done]
    prompt, completion = (sum(row[f"tokens_{name}"] for row in figures) for name in ("prompt", "completion"))
    requests = sum(row["turns"] for row in figures if row["tokens_prompt"])
    seconds = sum(trajectory.seconds for trajectory in done)
    return len(done), Spent(requests=requests, prompt_tokens=prompt, completion_tokens=completion, seconds=seconds)
