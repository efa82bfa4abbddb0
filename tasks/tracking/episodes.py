"""The episodes of a run in MLflow: a row per instance, the scores, and a few episodes as traces.

A trace has a span per turn and per tool call, with gain, tokens, error and hits. A trajectory has durations, not times of day, so
an episode starts when its run started. Ids follow from the run and the episode, so logging a trace twice makes one trace.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from fusesearch.core.schema import Score, Trajectory, Turn
from fusesearch.core.storage import read_jsonl, write_jsonl
from fusesearch.evaluation.results import SCORES

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Span
    from mlflow.entities.trace_info import TraceInfo

TABLE = "instances.json"
SHOWN_CHARS = 4000
"""Length of a tool's output or a turn's text in a trace. The trajectories have the full text."""

_COLUMNS = (
    "instance_id", "repo", "run", "f1", "file_f1", "function_f1", "efficiency", "efficiency_call", "redundancy_call", "reward",
    "turns", "calls", "calls_per_turn", "failed_calls", "tokens_billed", "seconds", "error",
)  # fmt: skip
_LISTS = ("predicted_files", "true_files", "predicted_functions", "true_functions")


def keep_scores(client: MlflowClient, run_id: str, scores: Sequence[Score]) -> None:
    """Keep the scores, and a table of them that MLflow shows and compares across runs.

    ``client.log_table`` does not serve here: it appends to the table that a run already has.
    """
    ordered = sorted(scores, key=lambda score: (score.instance_id, score.run))
    columns: dict[str, list[Any]] = {name: [getattr(row, name) for row in ordered] for name in _COLUMNS}
    columns |= {name: ["\n".join(getattr(row, name)) for row in ordered] for name in _LISTS}
    rows = [list(row) for row in zip(*columns.values(), strict=True)]
    client.log_dict(run_id, {"columns": list(columns), "data": rows}, TABLE)
    client.set_tag(run_id, "mlflow.loggedArtifacts", json.dumps([{"path": TABLE, "type": "table"}]))
    with TemporaryDirectory() as folder:
        write_jsonl(Path(folder) / SCORES, scores)
        client.log_artifact(run_id, str(Path(folder) / SCORES))


def spread(scores: Sequence[Score], most: int) -> list[Score]:
    """At most ``most`` scored episodes, evenly spaced by F1 from the worst to the best."""
    ranked = sorted((row for row in scores if row.f1 is not None), key=lambda row: (row.f1, row.instance_id, row.run))
    if len(ranked) <= most:
        return ranked
    if most < 2:
        return ranked[-most:] if most else []
    return [ranked[round(place * (len(ranked) - 1) / (most - 1))] for place in range(most)]


def episodes_of(chosen: Sequence[Score], scores: Sequence[Score], trajectories: Path) -> Iterator[tuple[Score, Trajectory]]:
    """The episodes of the chosen scores. For each instance the file has the runs in the order of ``scores``."""
    wanted = {(row.instance_id, row.run): row for row in chosen}
    runs: dict[str, list[int]] = {}
    for row in scores:
        runs.setdefault(row.instance_id, []).append(row.run)
    for episode in read_jsonl(trajectories, Trajectory):
        remaining = runs.get(episode.instance_id)
        score = wanted.get((episode.instance_id, remaining.pop(0))) if remaining else None
        if score is not None:
            yield score, episode


def trace_id(run_id: str, score: Score) -> str:
    """The id of an episode's trace in a run."""
    return "tr-" + hashlib.sha256(f"{run_id}/{score.instance_id}/{score.run}".encode()).hexdigest()[:32]


def trace_of(episode: Trajectory, score: Score, *, run_id: str, experiment: str, started: float) -> tuple[TraceInfo, list[Span]]:
    """The trace of an episode that started at ``started``, in seconds since 1970."""
    from mlflow.entities.trace_info import TraceInfo
    from mlflow.entities.trace_location import TraceLocation
    from mlflow.entities.trace_state import TraceState

    spans = _Spans(trace_id(run_id, score))
    answer = episode.answer.model_dump(mode="json") if episode.answer else None
    now = started
    for number, turn in enumerate(episode.turns, 1):
        now = _turn(spans, number, turn, now)
    seconds = max(episode.seconds, now - started)
    figures = {name: getattr(score, name) for name in ("f1", "reward", "efficiency", "turns", "calls", "tokens_billed")}
    failed = episode.error or ""
    spans.add(
        "episode", "AGENT", started, started + seconds, inputs={"issue": episode.issue}, outputs=answer, error=failed, root=True,
        **figures, stop=episode.stop, true_files=score.true_files, true_functions=score.true_functions,
    )  # fmt: skip
    usage = [turn.usage for turn in episode.turns]
    tokens = {
        "input_tokens": sum(row.prompt_tokens for row in usage),
        "output_tokens": sum(row.completion_tokens for row in usage),
    }
    info = TraceInfo(
        trace_id=spans.trace_id, trace_location=TraceLocation.from_experiment_id(experiment), request_time=int(started * 1000),
        state=TraceState.ERROR if failed else TraceState.OK, request_preview=episode.issue[:1000],
        response_preview="\n".join(location.entity for location in episode.answer.modify)[:1000] if episode.answer else "",
        execution_duration=int(seconds * 1000),
        trace_metadata={
            "mlflow.sourceRun": run_id,
            "mlflow.trace.tokenUsage": json.dumps(tokens | {"total_tokens": sum(tokens.values())}),
        },
        tags={
            "mlflow.traceName": episode.instance_id[:200], "instance_id": episode.instance_id[:200], "run": str(score.run),
            "f1": f"{score.f1:.3f}", "stop": episode.stop, "arm": score.arm,
        },
    )  # fmt: skip
    return info, spans.rows


def _turn(spans: _Spans, number: int, turn: Turn, now: float) -> float:
    """Add a turn and its calls, which ran in parallel. Returns when the turn ended."""
    asked = now + turn.usage.seconds
    end = asked + max([turn.seconds_tools, *(row.seconds for row in turn.observations)])
    usage = {"input_tokens": turn.usage.prompt_tokens, "output_tokens": turn.usage.completion_tokens}
    tokens: dict[str, Any] = {"mlflow.chat.tokenUsage": usage | {"total_tokens": sum(usage.values())}}
    name = spans.add(
        f"turn {number}" if turn.calls else "answer", "CHAT_MODEL", now, end, inputs=turn.prompt or None,
        outputs=turn.text[:SHOWN_CHARS], calls=len(turn.calls), seconds_model=turn.usage.seconds,
        **tokens,
    )  # fmt: skip
    for place, call in enumerate(turn.calls):
        seen = turn.observations[place] if place < len(turn.observations) else None
        error = call.error or (seen.error if seen else "no observation") or ""
        figures: dict[str, Any] = {}
        if seen:
            figures = {"gain": seen.gain_turn, "gain_call": seen.gain_call, "hits": len(seen.entities)}
        output = seen.output[:SHOWN_CHARS] if seen else None
        until = asked + (seen.seconds if seen else 0)
        spans.add(
            call.name or "malformed call", "TOOL", asked, until, inputs=call.arguments, outputs=output, error=error, parent=name,
            **figures,
        )  # fmt: skip
    return end


class _Spans:
    """The spans of one trace, with ids in the order they are added. The root is 1."""

    def __init__(self, trace: str) -> None:
        self.trace_id = trace
        self.rows: list[Span] = []

    def add(
        self, name: str, kind: str, start: float, end: float, *, inputs: Any, outputs: Any, error: str = "", parent: int = 1,
        root: bool = False, **attributes: Any,
    ) -> int:  # fmt: skip
        """Add a span and return its number."""
        from mlflow.entities import Span

        number = 1 if root else len(self.rows) + 2
        given = {"mlflow.traceRequestId": self.trace_id, "mlflow.spanType": kind, **attributes}
        given |= {"mlflow.spanInputs": inputs, "mlflow.spanOutputs": outputs} | ({"error": error} if error else {})
        status = {"code": "STATUS_CODE_ERROR" if error else "STATUS_CODE_OK", "message": error}
        data = {
            "trace_id": base64.b64encode(bytes.fromhex(self.trace_id[3:])).decode(), "span_id": _span_id(number), "name": name,
            "parent_span_id": None if root else _span_id(parent), "start_time_unix_nano": int(start * 1e9),
            "end_time_unix_nano": int(end * 1e9), "status": status,
            "attributes": {key: json.dumps(value) for key, value in given.items() if value is not None},
        }  # fmt: skip
        self.rows.append(Span.from_dict(data))
        return number


def _span_id(number: int) -> str:
    return base64.b64encode(number.to_bytes(8, "big")).decode()
