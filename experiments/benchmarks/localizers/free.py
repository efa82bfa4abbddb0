"""Localizers without a model on real instances: every metric with its interval, and instances per minute."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median

from experiments.benchmarks.localizers.driven import markdown
from tasks.core.schema import Instance, Score
from tasks.evaluation import statistics
from tasks.evaluation.harness import Repositories, evaluate
from tasks.evaluation.protocols import PROTOCOLS
from tasks.evaluation.statistics import Measured
from tasks.localizers.base import Localizer, Setup
from tasks.localizers.bm25 import Bm25Localizer
from tasks.localizers.registry import make_localizer

FIRST = "bm25 (first)"
SYSTEMS = ("oracle", "lexical", "bm25", FIRST, "random")


@dataclass(frozen=True)
class Run:
    """One system: its scores, and the seconds of wall time and of processor time (children included) for all instances."""

    name: str
    scores: list[Score]
    wall: float
    processor: float


def run_all(instances: Sequence[Instance], repositories: Repositories, concurrency: int, say: Callable[[str], None]) -> list[Run]:
    """Every system on every instance."""
    runs = []
    for name in SYSTEMS:
        runs.append(asyncio.run(_run(name, instances, repositories, concurrency)))
        say(f"{name}: {runs[-1].wall:.0f} s, {runs[-1].processor:.0f} s of processor time")
    return runs


async def _run(name: str, instances: Sequence[Instance], repositories: Repositories, concurrency: int) -> Run:
    with tempfile.TemporaryDirectory(prefix="fusesearch-free-") as folder:
        started, before = time.perf_counter(), _processor()
        done = await evaluate(_made(name), instances, repositories, journal=Path(folder, "journal"), concurrency=concurrency)
        return Run(name, done.scores, time.perf_counter() - started, _processor() - before)


def _made(name: str) -> Localizer:
    """``bm25 (first)`` answers one file and one function, which suits F1."""
    if name == FIRST:
        localizer = Bm25Localizer(Setup())
        localizer.files = localizer.functions = 1
        return localizer
    return make_localizer(name, Setup())


def _processor() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def page(runs: Sequence[Run]) -> str:
    """The tables of all runs in Markdown."""
    return "\n\n".join([_times(runs), *(f"{name}\n\n{_table(name, runs)}" for name in PROTOCOLS)])


def flaws(runs: Sequence[Run]) -> list[str]:
    """Errored episodes, and figures of the oracle below 1, except Recall@k and Acc@k, which the truth's length bounds."""
    found = [f"{run.name}: {score.instance_id}: {score.error}" for run in runs for score in run.scores if score.error]
    for run in runs:
        if run.name == "oracle":
            figures = {f"{one.name} {key}": value for one in PROTOCOLS.values() for key, value in one.read(run.scores).items()}
            bounded = ("recall@", "acc@")
            found += [
                f"oracle: {key} is {value}" for key, value in figures.items() if value != 1 and not any(map(key.count, bounded))
            ]
            found += [f"oracle: {score.instance_id} has F1 {score.f1}" for score in run.scores if score.f1 != 1]
    return found


def _times(runs: Sequence[Run]) -> str:
    header = ["system", "instances", "errored", "instances per minute", "seconds per instance, mean / median / longest",
              "processor seconds per instance", "calls", "failed calls"]  # fmt: skip
    rows = []
    for run in runs:
        seconds = [score.seconds for score in run.scores if score.seconds is not None]
        calls = [score.calls or 0 for score in run.scores]
        rows.append([
            run.name, len(run.scores), sum(score.error is not None for score in run.scores),
            f"{60 * len(run.scores) / run.wall:.0f}", f"{fmean(seconds):.2f} / {median(seconds):.2f} / {max(seconds):.1f}",
            f"{run.processor / len(run.scores):.2f}", f"{fmean(calls):.1f}", sum(score.failed_calls or 0 for score in run.scores),
        ])  # fmt: skip
    return markdown(header, rows)


def _table(name: str, runs: Sequence[Run]) -> str:
    """One protocol: a row per system, its columns in percent with 95% intervals."""
    protocol = PROTOCOLS[name]
    rows = []
    for run in runs:
        seen = protocol.view(run.scores)
        cells = [_cell(statistics.measure({0: seen}, column)) for column in protocol.columns]
        rows.append([run.name, len(seen), *cells])
    return markdown(["system", "instances", *(column.name for column in protocol.columns)], rows)


def _cell(found: Measured | None) -> str:
    if found is None:
        return "–"  # noqa: RUF001
    estimate = f"{100 * found.estimate:.1f}"
    return estimate if found.low is None or found.high is None else f"{estimate} [{100 * found.low:.1f}, {100 * found.high:.1f}]"
