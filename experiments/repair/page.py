"""What a repairer gained from localizers: figures with intervals, paired differences, and their tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

from experiments.repair.inverses import OUTSIDE
from experiments.repair.orders import ALONE, ANSWER, FIRST, PRE_SEARCH, RANDOM, SUB_AGENT, TRUE
from experiments.repair.outcomes import Outcome
from fusesearch.core.errors import DataError
from fusesearch.core.storage import read_csv
from fusesearch.evaluation.statistics import Measured, Seeds, Statistic, compare, estimate, measure, share
from fusesearch.reporting.page import Page, Section
from fusesearch.reporting.table import ABSENT, MINUS, Row, Table, records_table

Arm = tuple[str, str]
"""A system and its configuration; all random orders are one arm."""

PAPERS = {
    "By localizer": ("ToolTrain table 3: %Resolved of SWE-bench Verified", "tooltrain_table3_resolution.csv"),
    "By configuration": ("FuseSearch table 6: pass rate in percent, thousand tokens", "fusesearch_table6_downstream.csv"),
}
"""Caption and file of a paper's table by the section that it stands in."""
REFERENCE = Path(__file__).parents[1] / "reference"
PLACES = {"first": (0, 1), "2 to 5": (1, 5), "6 to 20": (5, 20), "21 to 100": (20, 100), "later": (100, 1 << 30)}


def figures_of(outcomes: Sequence[Outcome], skipped: Mapping[str, str]) -> dict[str, Any]:
    """Everything that the tables show, as JSON values. Raises :class:`DataError` where nothing came out."""
    if not outcomes:
        raise DataError(f"no fault could be repaired here: {next(iter(skipped.values()), 'none was given')}")
    budgets = sorted({budget for outcome in outcomes for budget in outcome.seconds_at})
    parts = {
        name: _by_arm(row for row in outcomes if row.traced == traced) for name, traced in (("blind", False), ("traced", True))
    }
    return {
        "faults": len({row.instance_id for row in outcomes}),
        "skipped": dict(Counter(skipped.values())),
        "budgets": budgets,
        "kinds": _kinds(parts["blind"].get((TRUE, TRUE), [])),
        "places": _places(parts["blind"], budgets),
        **{name: {"arms": _arms(arms, budgets), "differences": _differences(arms, budgets)} for name, arms in parts.items()},
    }  # fmt: skip


def _by_arm(outcomes: Iterable[Outcome]) -> dict[Arm, list[Outcome]]:
    arms: dict[Arm, list[Outcome]] = {}
    for row in outcomes:
        arms.setdefault((row.system, RANDOM if row.system == RANDOM else row.configuration), []).append(row)
    return arms


def _statistic(name: str, value: Callable[[Outcome], float]) -> Statistic:
    """The mean of ``value``. The statistics know of their rows only what scores and outcomes share: instance and error."""
    return Statistic(name, cast(Any, lambda row: (value(row), 1.0)), share)


def _seeds(rows: list[Outcome]) -> Seeds:
    return {0: cast(Any, rows)}


def _statistics(budgets: Sequence[int]) -> dict[str, Statistic]:
    found = {f"recall@{k}": _statistic(f"recall@{k}", partial(_within, k=k)) for k in (1, FIRST)}
    for budget in budgets:
        for name in ("resolved", "submitted", "candidates", "seconds"):
            found[f"{name}@{budget}"] = _statistic(f"{name}@{budget}", partial(_under, budget=budget, name=name))
    return found


def _within(row: Outcome, k: int) -> float:
    return float(row.place is not None and row.place < k)


def _under(row: Outcome, budget: int, name: str) -> float:
    return float(getattr(row.under(budget), name))


def _arms(arms: Mapping[Arm, list[Outcome]], budgets: Sequence[int]) -> list[dict[str, Any]]:
    return [
        {"system": system, "configuration": configuration, "faults": len({row.instance_id for row in rows}),
         **{key: _interval(measure(_seeds(rows), statistic)) for key, statistic in _statistics(budgets).items()}}
        for (system, configuration), rows in arms.items()
    ]  # fmt: skip


def _interval(found: Measured | None) -> dict[str, float | None] | None:
    return {"estimate": found.estimate, "low": found.low, "high": found.high} if found else None


def _differences(arms: Mapping[Arm, list[Outcome]], budgets: Sequence[int]) -> list[dict[str, Any]]:
    """Each localizer asked first minus the repairer alone, the best one minus the others, and asked again minus asked once."""
    names = {f"{system}, {configuration}": rows for (system, configuration), rows in arms.items()}
    systems = list(dict.fromkeys(system for system, configuration in arms if configuration == PRE_SEARCH))
    pairs = [(f"{system}, {PRE_SEARCH}", f"{ALONE}, {ALONE}") for system in systems]
    recall = _statistics(budgets)[f"recall@{FIRST}"]
    best = max(systems, key=lambda system: estimate(cast(Any, arms[system, ANSWER]), recall) or 0.0, default="")
    pairs += [(f"{best}, {PRE_SEARCH}", f"{system}, {PRE_SEARCH}") for system in systems if system != best]
    pairs += [(f"{system}, {SUB_AGENT}", f"{system}, {PRE_SEARCH}") for system in systems]
    wanted = {key: row for key, row in _statistics(budgets).items() if key.startswith(("resolved", "candidates"))}
    return [row.model_dump(mode="json") for row in compare({name: _seeds(rows) for name, rows in names.items()}, pairs, wanted)]


def _kinds(rows: Sequence[Outcome]) -> list[dict[str, Any]]:
    """By kind of fault: how many, whether the space has the inverse, resolved with the true function given."""
    counted: dict[str, Counter[str]] = {}
    for row in rows:
        counted.setdefault(row.kind, Counter()).update(
            faults=1, submitted=int(row.submitted_at is not None), resolved=int(row.resolved)
        )
    return [{"kind": kind, "in the space": kind not in OUTSIDE, **counts} for kind, counts in sorted(counted.items())]


def _places(arms: Mapping[Arm, list[Outcome]], budgets: Sequence[int]) -> list[dict[str, Any]]:
    """Repair rate by the rank of the true function, pooled over systems, for faults that the ceiling resolves."""
    solvable = {row.instance_id for row in arms.get((TRUE, TRUE), []) if row.resolved}
    rows = [row for (_, configuration), found in arms.items() if configuration == SUB_AGENT for row in found]
    found = []
    for name, (low, high) in PLACES.items():
        inside = [row for row in rows if row.instance_id in solvable and row.place is not None and low <= row.place < high]
        if inside:
            record: dict[str, Any] = {"place": name, "orders": len(inside)}
            for key, statistic in _statistics(budgets).items():
                if key.startswith(("resolved", "candidates")):
                    record[key] = _interval(measure(_seeds(inside), statistic))
            found.append(record)
    return found


def results_page(figures: Mapping[str, Any], texts: Mapping[str, Sequence[str]]) -> str:
    """The page in Markdown, with the papers' tables; ``texts`` has the paragraphs of each section by its title."""
    counted = f"{figures['faults']} faults; skipped: {figures['skipped'] or 'none'}."
    filled = [Section("What this is", [*texts.get("What this is", ()), counted])]
    for part in sections_of(figures):
        tables = part.tables
        if part.title in PAPERS:
            caption, name = PAPERS[part.title]
            tables = [*tables, records_table(caption, read_csv(REFERENCE / name))]
        filled.append(Section(part.title, [*texts.get(part.title, ())], tables))
    shown = {section.title for section in filled}
    filled += [Section(title, [*paragraphs]) for title, paragraphs in texts.items() if title not in shown]
    return Page("Repair: is a better localizer a cheaper repairer?", filled).render("md")


def sections_of(figures: Mapping[str, Any]) -> list[Section]:
    """The tables: by localizer (ToolTrain table 3), by configuration (FuseSearch table 6), by place, and the ceiling by kind."""
    budgets = figures["budgets"]
    blind, traced = (
        [_table6(figures[name]["arms"], budgets), _difference_table(figures[name]["differences"], budgets)]
        for name in ("blind", "traced")
    )
    return [
        Section("By localizer", tables=[_table3(figures["blind"]["arms"], budgets)]),
        Section("By configuration", tables=blind),
        Section("A repairer that traces", tables=traced),
        Section("By place", tables=[_place_table(figures["places"], budgets)]),
        Section("The ceiling by kind", tables=[_kind_table(figures["kinds"])]),
    ]


def _table3(arms: Sequence[Mapping[str, Any]], budgets: Sequence[int]) -> Table:
    wanted = [row for row in arms if row["configuration"] in (ANSWER, TRUE)]
    rows = [
        Row([row["system"], str(row["faults"]), *(_percent(row[f"recall@{k}"]) for k in (1, FIRST)),
             *(_percent(row[f"resolved@{budget}"]) for budget in budgets), _number(row[f"candidates@{budgets[-1]}"])])
        for row in sorted(wanted, key=lambda row: row[f"recall@{FIRST}"]["estimate"])
    ]  # fmt: skip
    header = [
        "localizer",
        "faults",
        "function R@1",
        f"R@{FIRST}",
        *(f"resolved, {budget} candidates" for budget in budgets),
        "candidates",
    ]
    return Table(f"The first {FIRST} functions of an answer and no others; shares in percent", header, rows)


def _table6(arms: Sequence[Mapping[str, Any]], budgets: Sequence[int]) -> Table:
    rows = [
        Row([row["system"], row["configuration"], *(_percent(row[f"resolved@{budget}"]) for budget in budgets),
             *(_number(row[f"candidates@{budget}"]) for budget in budgets), _number(row[f"seconds@{budgets[-1]}"]),
             _wrong(row, budgets[-1])])
        for row in arms if row["configuration"] != ANSWER
    ]  # fmt: skip
    header = [
        "localizer",
        "configuration",
        *(f"resolved, {budget}" for budget in budgets),
        *(f"candidates, {budget}" for budget in budgets),
    ]
    header += [f"seconds, {budgets[-1]}", "wrong submissions"]
    return Table("Resolved in percent and candidates run, by budget; processor seconds at the largest", header, rows)


def _wrong(row: Mapping[str, Any], budget: int) -> str:
    submitted, resolved = (row[f"{name}@{budget}"]["estimate"] for name in ("submitted", "resolved"))
    return f"{100 * (submitted - resolved):.1f}"


def _difference_table(rows: Sequence[Mapping[str, Any]], budgets: Sequence[int]) -> Table:
    found = {(row["first"], row["second"], row["metric"]): row for row in rows}
    pairs = dict.fromkeys((row["first"], row["second"]) for row in rows)
    metrics = [f"{name}@{budget}" for name in ("resolved", "candidates") for budget in budgets]
    shown = [
        Row([f"{first} {MINUS} {second}", *(_difference(found.get((first, second, metric)), metric) for metric in metrics)])
        for first, second in pairs
    ]
    caption = "Paired differences over the faults that both have, p after Holm's correction; resolved in points"
    return Table(caption, ["difference", *(metric.replace("@", ", ") for metric in metrics)], shown)


def _difference(row: Mapping[str, Any] | None, metric: str) -> str:
    if row is None or row["low"] is None:
        return ABSENT
    scale = 100 if metric.startswith("resolved") else 1
    p = "" if row["p_holm"] is None else f" p={row['p_holm']:.3f}" if row["p_holm"] >= 0.001 else " p<0.001"
    return f"{scale * row['estimate']:+.1f} [{scale * row['low']:+.1f}, {scale * row['high']:+.1f}]{p}"


def _place_table(rows: Sequence[Mapping[str, Any]], budgets: Sequence[int]) -> Table:
    cells = [
        [row["place"], str(row["orders"]), *(_percent(row[f"resolved@{budget}"]) for budget in budgets),
         *(_number(row[f"candidates@{budget}"]) for budget in budgets)]
        for row in rows
    ]  # fmt: skip
    header = ["place", "orders", *(f"resolved, {budget}" for budget in budgets), *(f"candidates, {budget}" for budget in budgets)]
    caption = f"By the rank of the true function, all localizers as {SUB_AGENT}, faults that the true function resolves"
    return Table(caption, header, [Row(row) for row in cells])


def _kind_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    header = ["kind", "inverse in the space", "faults", "submitted", "resolved"]
    cells = [[row["kind"], "yes" if row["in the space"] else "no", *(str(row[name]) for name in header[2:])] for row in rows]
    return Table("With the true function given, at the largest budget", header, [Row(row) for row in cells])


def _percent(found: Mapping[str, Any] | None) -> str:
    return _shown(found, 100)


def _number(found: Mapping[str, Any] | None) -> str:
    return _shown(found, 1)


def _shown(found: Mapping[str, Any] | None, scale: float) -> str:
    if found is None:
        return ABSENT
    text = f"{scale * found['estimate']:.1f}"
    return text if found["low"] is None else f"{text} [{scale * found['low']:.1f}, {scale * found['high']:.1f}]"
