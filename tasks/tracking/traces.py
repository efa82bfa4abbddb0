"""Evaluated episodes as MLflow's traces: a span per turn and call, with F1, e and reward as assessments.

Ids follow from the run and the episode, so recording an episode again changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from fusesearch.core.digests import digest
from fusesearch.core.schema import Score, Trajectory, Turn

if TYPE_CHECKING:
    from mlflow.entities import Run, Span, TraceInfo

ASSESSED = ("f1", "efficiency", "reward")
"""Fields of a score that MLflow has as feedback."""
BATCH = 250
"""Traces that are written at once."""
CHARS = 4000
"""Of what a span says; the trajectory on disk has all of it."""
TOKENS = "mlflow.trace.tokenUsage"


def log_traces(uri: str, run: Run, episodes: Iterable[tuple[Trajectory, Score]], started: float, tags: Mapping[str, str]) -> None:
    """Make a trace of each episode below its run, in the run's experiment.

    MLflow 3.17 has no public call for finished traces: its client measures spans as they happen, and logs each assessment by a
    request. ``TracingClient``, which MLflow's own exporters use, takes 11 ms of processor a trace.

    Args:
        uri: address of the store.
        run: what evaluated them.
        episodes: with their scores; those that errored have no assessments.
        started: when the run started, in seconds since 1970: an episode does not say when it was.
        tags: further tags of each trace.
    """
    from mlflow.tracing.client import TracingClient

    client, remaining = TracingClient(uri), iter(episodes)
    while rows := list(islice(remaining, BATCH)):
        made = [(_info(run, trajectory, score, int(started * 1000), tags), trajectory) for trajectory, score in rows]
        for info, _ in made:
            client.start_trace(info)
        client.log_spans(run.info.experiment_id, [span for info, trajectory in made for span in _spans(info, trajectory)])


def _info(run: Run, trajectory: Trajectory, score: Score, at: int, tags: Mapping[str, str]) -> TraceInfo:
    from mlflow.entities import Expectation, Feedback, TraceInfo, TraceLocation, TraceState

    trace = f"tr-{digest(run.info.run_id, score.instance_id, score.run)[:32]}"
    of: dict[str, Any] = {"trace_id": trace, "create_time_ms": at, "last_update_time_ms": at}
    assessments: list[Any] = [Feedback(name, value, **of) for name in ASSESSED if (value := getattr(score, name)) is not None]
    assessments.append(Expectation("truth", {"files": score.true_files, "functions": score.true_functions}, **of))
    for assessment in assessments:
        assessment.assessment_id = f"a-{digest(trace, assessment.name)[:32]}"
    tokens = {"input_tokens": score.tokens_prompt, "output_tokens": score.tokens_completion, "total_tokens": score.tokens_billed}
    metadata = {"mlflow.sourceRun": run.info.run_id, "mlflow.trace.infoFinalized": "true"}
    about = {"mlflow.traceName": score.instance_id, "mlflow.trace.spansLocation": "TRACKING_STORE"}
    return TraceInfo(
        trace_id=trace, trace_location=TraceLocation.from_experiment_id(run.info.experiment_id), request_time=at,
        execution_duration=int(trajectory.seconds * 1000), state=TraceState.ERROR if trajectory.error else TraceState.OK,
        request_preview=trajectory.issue[:1000], assessments=assessments,
        response_preview=", ".join([*score.predicted_functions, *score.predicted_files])[:1000],
        trace_metadata=metadata | ({TOKENS: json.dumps(tokens)} if score.tokens_billed else {}),
        tags={**about, "repo": score.repo, "arm": score.arm, "stop": trajectory.stop, **tags},
    )  # fmt: skip


def _spans(info: TraceInfo, trajectory: Trajectory) -> Iterator[Span]:
    """The spans of an episode; its turns are laid end to end, because a trajectory has seconds and no times."""
    at = info.request_time / 1000
    whole = max(trajectory.seconds, sum(map(_seconds, trajectory.turns)))
    answer = [row.entity for row in trajectory.answer.modify] if trajectory.answer else trajectory.error
    yield _span(info, "episode", "AGENT", (at, whole), trajectory.issue, answer, not trajectory.error)
    for number, turn in enumerate(trajectory.turns, 1):
        name, used = f"turn {number}", turn.usage
        tokens = {"input_tokens": used.prompt_tokens, "output_tokens": used.completion_tokens}
        usage: dict[str, Any] = {"mlflow.chat.tokenUsage": {**tokens, "total_tokens": sum(tokens.values())}}
        yield _span(info, name, "LLM", (at, _seconds(turn)), turn.prompt or None, turn.text, True, "episode", **usage)
        for index, (call, seen) in enumerate(zip(turn.calls, turn.observations, strict=False)):  # an error may leave the last out
            during, key = (at + used.seconds, seen.seconds), f"{name}/{index}"
            more: dict[str, Any] = {"key": key, "gain": seen.gain_turn}
            yield _span(info, call.name, "TOOL", during, call.arguments, seen.output, not seen.error, name, **more)
        at += _seconds(turn)


def _seconds(turn: Turn) -> float:
    return turn.usage.seconds + turn.seconds_tools


def _span(
    info: TraceInfo, name: str, kind: str, during: tuple[float, float], asked: Any, said: Any, well: bool, parent: str = "", *,
    key: str = "", **more: Any,
) -> Span:  # fmt: skip
    """A finished span: when it began and how long it took in seconds, what was asked and said; ids follow from key or name."""
    from mlflow.entities import Span

    values = {
        "mlflow.traceRequestId": info.trace_id, "mlflow.experimentId": info.experiment_id, "mlflow.spanType": kind,
        "mlflow.spanInputs": asked, "mlflow.spanOutputs": said[:CHARS] if isinstance(said, str) else said, **more,
    }  # fmt: skip
    began, lasted = (int(seconds * 1e9) for seconds in during)
    return Span.from_dict({
        "name": name, "trace_id": info.trace_id, "span_id": digest(info.trace_id, key or name)[:16],
        "parent_span_id": digest(info.trace_id, parent)[:16] if parent else "",
        "start_time_unix_nano": began, "end_time_unix_nano": began + lasted, "status": {"code": "OK" if well else "ERROR"},
        "attributes": {name: json.dumps(value) for name, value in values.items() if value is not None},
    })  # fmt: skip
