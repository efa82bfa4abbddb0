"""Systems of one benchmark under one protocol: figures with intervals, paired tests, and the paper's rows beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

from fusesearch.core.errors import ConfigError
from fusesearch.core.schema import Score
from fusesearch.core.storage import read_csv
from fusesearch.evaluation.metrics import METRICS, Metric
from fusesearch.evaluation.protocols import Protocol
from fusesearch.evaluation.results import CellResult
from fusesearch.evaluation.statistics import Difference, Measured, compare, measure

HEADINGS = {"precision": "P", "recall": "R", "f1": "F1", "map": "MAP", "mrr": "MRR", "ndcg@5": "nDCG@5", "acc": "Acc"}
BESIDE_QUALITY = ("efficiency", "turns", "seconds", "tokens_billed")
BEHAVIOUR = [
    METRICS[key]
    for key in (
        "efficiency", "efficiency_call", "redundancy", "redundancy_call", "tool_success", "calls", "calls_per_turn",
        "seconds_model", "seconds_tools", "seconds_waiting", "tokens_context", "tokens_billed",
    )
]  # fmt: skip
"""How a system searches, and its time and tokens."""

LEAST_INSTANCES = 10
"""With fewer, a figure has no interval and a difference no test: Student's t of two instances spans hundreds of points."""

Summary = dict[str, dict[str, Measured | None]]
"""System -> column -> figure with interval, ``None`` if undefined."""


@dataclass(frozen=True)
class System:
    """A cell and its scores under a protocol."""

    result: CellResult
    scores: list[Score]

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
    """The data for the tables of one benchmark."""

    benchmark: str
    protocol: Protocol
    systems: list[System]
    quality: list[Metric]
    summary: Summary
    tests: list[Difference]
    paper: list[PaperRow]

    @property
    def headline(self) -> list[Metric]:
        """The columns that the protocol's paper compares systems by."""
        return [of for of in self.quality if of.key in self.protocol.headline]

    @property
    def too_few(self) -> int:
        """Instances of the smallest system, if they are too few for intervals and tests; else 0."""
        fewest = min(system.instances for system in self.systems)
        return fewest if fewest < LEAST_INSTANCES else 0


def compare_cells(
    results: Sequence[CellResult],
    protocol: Protocol,
    *,
    reference: Path,
    against: str | None = None,
) -> Comparison:
    """Compare the cells of one benchmark.

    If ``against`` names a system, all others are tested against it, else every pair is. Raises :class:`ConfigError` for an
    unknown system.
    """
    systems = [System(row, protocol.view(row.scores)) for row in results]
    every = {system.name: {0: system.scores} for system in systems}
    if against is not None and against not in every:
        raise ConfigError(f"there is no system {against!r} to test against: use one of {', '.join(every)}")
    pairs = [(name, against) for name in every if name != against] if against else [*combinations(every, 2)]
    quality = quality_columns(protocol)
    headline = [of for of in quality if of.key in protocol.headline]
    return Comparison(
        results[0].cell.benchmark, protocol, systems, quality,
        summary={row.name: _measured(row.scores, [*quality, *BEHAVIOUR]) for row in systems},
        tests=[
            test
            for test in compare(every, pairs, {of.key: of.statistic for of in headline})
            if test.instances >= LEAST_INSTANCES
        ],
        paper=paper_rows(protocol.name, results[0].cell.benchmark, reference),
    )  # fmt: skip


def quality_columns(protocol: Protocol) -> list[Metric]:
    """The protocol's columns, then e, turns, time and tokens as the papers print them."""
    own = [Metric(row.name, f"{heading(row.name)} (%)", row, "", percent=True, paper=row.name) for row in protocol.columns]
    return [*own, *(METRICS[key] for key in BESIDE_QUALITY)]


def heading(name: str) -> str:
    """``File R@1`` of ``file_recall@1``."""
    level, _, figure = name.partition("_")
    if not figure:
        return HEADINGS.get(name, name)
    base, at, k = figure.partition("@")
    return f"{level.capitalize()} {HEADINGS.get(figure) or HEADINGS.get(base, base) + at + k}"


def paper_rows(protocol: str, benchmark: str, folder: Path) -> list[PaperRow]:
    """The rows that a paper printed under this protocol for this benchmark; empty without such a table in ``folder``."""
    name = benchmark.lower().replace("-", "").replace("_", "")
    files = {
        ("fusesearch", "verified"): ("fusesearch_table1_swebench_verified.csv", "FuseSearch table 1"),
        ("fusesearch", "locbench"): ("fusesearch_table9_locbench.csv", "FuseSearch table 9"),
        ("tooltrain", "verified"): ("tooltrain_table2_swebench_verified.csv", "ToolTrain table 2"),
    }
    found = next((value for (of, part), value in files.items() if of == protocol and part in name), None)
    if found is None or not (folder / found[0]).exists():
        return []
    rows = []
    for line in read_csv(folder / found[0]):
        system = line.get("system") or line.get("framework") or "FuseSearch"
        mode = f", {line['mode']}" if line.get("mode") and system.startswith("FuseSearch") else ""
        figures = {key: value for key, value in line.items() if key not in ("model", "system", "framework", "mode")}
        rows.append(PaperRow(system + mode, line.get("model", ""), found[1], figures))
    return rows


def _measured(scores: Sequence[Score], columns: Sequence[Metric]) -> dict[str, Measured | None]:
    found = {of.key: measure({0: scores}, of.statistic) for of in columns}
    return {
        key: replace(value, low=None, high=None, p=None) if value and value.instances < LEAST_INSTANCES else value
        for key, value in found.items()
    }
