"""Systems of one benchmark under one protocol: figures with intervals, paired tests, and the paper's rows beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from tasks.core.config import Report
from tasks.core.errors import ConfigError
from tasks.core.schema import Score
from tasks.evaluation import statistics
from tasks.evaluation.grid import Prices
from tasks.evaluation.protocols import Protocol
from tasks.evaluation.results import CellResult
from tasks.evaluation.statistics import Interval, Statistic
from tasks.reporting.columns import Column, tool_success
from tasks.reporting.tables import Difference, Summary, measured_difference, read_table

HEADINGS = {"precision": "P", "recall": "R", "f1": "F1", "map": "MAP", "mrr": "MRR", "ndcg@5": "nDCG@5", "acc": "Acc"}
MILLION = 1e6


@dataclass(frozen=True)
class System:
    """A cell as a protocol sees it: its scores against the gold patch, and against the best of the accepted answers."""

    result: CellResult
    scores: list[Score]
    best: list[Score]

    @property
    def name(self) -> str:
        """Localizer and model."""
        return self.result.cell.system

    @property
    def errored(self) -> int:
        """Episodes without a score."""
        return sum(score.error is not None for score in self.scores)

    @property
    def instances(self) -> int:
        """Instances with a score."""
        return len({score.instance_id for score in self.scores if score.error is None})


@dataclass(frozen=True)
class PaperRow:
    """A row of a paper's table: system, model, and its figures as printed, by column."""

    system: str
    model: str
    source: str
    figures: Mapping[str, str]


@dataclass(frozen=True)
class Comparison:
    """Everything the tables of one benchmark are made of. ``accepted`` has figures only where other answers are known."""

    benchmark: str
    protocol: Protocol
    systems: list[System]
    quality: list[Column]
    behaviour: list[Column]
    summary: Summary
    accepted: Summary
    tests: list[Difference]
    paper: list[PaperRow]


def compare_cells(
    results: Sequence[CellResult],
    protocol: Protocol,
    params: Report,
    *,
    prices: Mapping[str, Prices],
    reference: Path,
    against: str | None = None,
) -> Comparison:
    """Compare the cells of one benchmark.

    ``prices`` are by model name and win over those in the manifests. ``against`` names one system that all others are tested
    against; without it every pair is. Raises :class:`ConfigError` for a system that is not there.
    """
    systems = [System(row, protocol.view(row.scores), protocol.view(row.scores, accepted=True)) for row in results]
    benchmark = results[0].cell.benchmark
    quality, behaviour = quality_columns(protocol), behaviour_columns(prices_by_arm(results, prices))
    several = any(score.f1_best is not None for system in systems for score in system.scores)
    every = {system.name: system.scores for system in systems}
    return Comparison(
        benchmark, protocol, systems, quality, behaviour,
        summary={name: _intervals(scores, [*quality, *behaviour], params) for name, scores in every.items()},
        accepted={row.name: _intervals(row.best, _headline(protocol, quality), params) for row in systems} if several else {},
        tests=_tests(every, _headline(protocol, quality), params, against),
        paper=paper_rows(protocol.name, benchmark, reference),
    )  # fmt: skip


def quality_columns(protocol: Protocol) -> list[Column]:
    """The protocol's columns, then e, turns, time and tokens as the papers print them."""
    own = [Column(row.name, heading(row.name), row, percent=True, paper=row.name) for row in protocol.columns]
    mean = statistics.mean
    return [
        *own,
        Column("efficiency", "e", mean("efficiency"), percent=True, paper="efficiency"),
        Column("turns", "Turns", mean("turns"), paper="turns"),
        Column("seconds", "Time (s)", mean("seconds"), paper="time_s"),
        Column("tokens_billed", "Tokens, billed (k)", mean("tokens_billed"), digits=1, paper="tokens_k", scale=1e-3),
    ]


def behaviour_columns(prices: Mapping[str, Prices]) -> list[Column]:
    """How a system searches and what that costs; cost where a price is known."""
    mean = statistics.mean
    columns = [
        Column("efficiency", "e, by turn (%)", mean("efficiency"), percent=True),
        Column("efficiency_call", "e, by call (%)", mean("efficiency_call"), percent=True),
        Column("redundancy", "Redundant, by turn (%)", mean("redundancy"), percent=True),
        Column("redundancy_call", "Redundant, by call (%)", mean("redundancy_call"), percent=True),
        Column("tool_success", "Tool success (%)", tool_success(), percent=True),
        Column("calls", "Calls", mean("calls")),
        Column("calls_per_turn", "Calls per turn", mean("calls_per_turn")),
        Column("seconds_model", "Model (s)", mean("seconds_model")),
        Column("seconds_tools", "Tools (s)", mean("seconds_tools")),
        Column("seconds_waiting", "Waiting (s)", mean("seconds_waiting")),
        Column("tokens_context", "Tokens, context (k)", mean("tokens_context"), digits=1, scale=1e-3),
        Column("tokens_billed", "Tokens, billed (k)", mean("tokens_billed"), digits=1, scale=1e-3),
    ]
    return [*columns, Column("cost", "Cost per instance", cost(prices), digits=4)] if prices else columns


def heading(name: str) -> str:
    """``File R@1`` of ``file_recall@1``."""
    level, _, figure = name.partition("_")
    if not figure:
        return HEADINGS.get(name, name)
    base, at, k = figure.partition("@")
    return f"{level.capitalize()} {HEADINGS.get(figure) or HEADINGS.get(base, base) + at + k}"


def cost(prices: Mapping[str, Prices]) -> Statistic:
    """Mean cost of an episode, at prices by arm; absent where there is no price."""

    def parts(score: Score) -> tuple[float, float] | None:
        price = prices.get(score.arm)
        if price is None or score.tokens_prompt is None or score.tokens_completion is None:
            return None
        return (score.tokens_prompt * price.prompt + score.tokens_completion * price.completion) / MILLION, 1.0

    return statistics.ratio("cost", parts)


def paper_rows(protocol: str, benchmark: str, folder: Path) -> list[PaperRow]:
    """The rows that a paper printed under this protocol for this benchmark; none without such a table in ``folder``."""
    name = benchmark.lower().replace("-", "").replace("_", "")
    files = {
        ("fusesearch", "verified"): ("fusesearch_table1_swebench_verified.csv", "FuseSearch table 1"),
        ("fusesearch", "locbench"): ("fusesearch_table9_locbench.csv", "FuseSearch table 9"),
        ("tooltrain", "verified"): ("tooltrain_table2_swebench_verified.csv", "ToolTrain table 2"),
    }
    found = next((value for (of, part), value in files.items() if of == protocol and part in name), None)
    if found is None or not (folder / found[0]).exists():
        return []
    return [_paper_row(line, found[1]) for line in read_table(folder / found[0])]


def _paper_row(line: Mapping[str, str], source: str) -> PaperRow:
    system = line.get("system") or line.get("framework") or "FuseSearch"
    mode = f", {line['mode']}" if line.get("mode") and system.startswith("FuseSearch") else ""
    figures = {key: value for key, value in line.items() if key not in ("model", "system", "framework", "mode")}
    return PaperRow(system + mode, line.get("model", ""), source, figures)


def _headline(protocol: Protocol, columns: Sequence[Column]) -> list[Column]:
    return [column for column in columns if column.key in protocol.headline]


def _intervals(scores: Sequence[Score], columns: Sequence[Column], params: Report) -> dict[str, Interval | None]:
    samples, confidence = params.bootstrap_samples, params.confidence
    return {
        column.key: statistics.interval(scores, column.statistic, samples=samples, confidence=confidence) for column in columns
    }


def _tests(
    every: Mapping[str, Sequence[Score]], columns: Sequence[Column], params: Report, against: str | None
) -> list[Difference]:
    """Paired differences of all pairs, or of all systems to one; Holm's correction over the pairs of a column."""
    if against is not None and against not in every:
        raise ConfigError(f"there is no system {against!r} to test against: use one of {', '.join(every)}")
    pairs = [(name, against) for name in every if name != against] if against else [*combinations(every, 2)]
    found: list[Difference] = []
    for column in columns:
        raw = [measured_difference(every, *pair, column.key, column.statistic, params, 0) for pair in pairs]
        corrected = statistics.holm([row.p for row in raw])
        found += [
            Difference(row.first, row.second, row.key, row.interval, row.p, p) for row, p in zip(raw, corrected, strict=True)
        ]
    return found


def prices_by_arm(results: Sequence[CellResult], given: Mapping[str, Prices]) -> dict[str, Prices]:
    """Prices by arm; those of ``given``, which are by model, win over the manifests'."""
    known: dict[str, Prices] = {}
    for row in results:
        own = {model.name: model.prices for model in row.manifest.grid.models}
        price = given.get(row.cell.model) or own.get(row.cell.model)
        if row.cell.model and price is not None:
            known[row.cell.name] = price
    return known
