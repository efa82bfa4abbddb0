"""The data card: the content of a version of the data set, in Markdown and in one HTML file."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from fusesearch.core.errors import ArtifactError
from fusesearch.core.storage import read_json, write_json, write_text
from fusesearch.reporting import charts
from fusesearch.reporting.page import Page, Section
from fusesearch.reporting.table import Row, Table
from fusesearch.reporting.tally import LENGTHS, Tally, merged

SHOWN = 15
MAX_MONTHS = 60


def write_card(
    folder: Path, tallies: Mapping[str, Tally], contaminated: Mapping[str, int], *, filter_drops: Path, mined: Path
) -> Path:
    """Write ``card.md``, ``card.html`` (needs no other file), ``card.json`` and ``plots/*.svg`` into ``folder``.

    ``tallies`` are the splits by name, ``contaminated`` how many training instances were dropped, by reason. The drop table
    of the filter and the table of the miner are read if they are there. Returns the Markdown page.
    """
    total = merged(list(tallies.values()))
    page = Page(f"Data card, version {total.digest}", _sections(tallies, total, contaminated, filter_drops, mined))
    shutil.rmtree(folder, ignore_errors=True)
    page.write_figures(folder)
    write_text(folder / "card.html", page.render("html"))
    write_json(folder / "card.json", _figures(tallies, total))
    write_text(folder / "card.md", page.render("md"))
    return folder / "card.md"


def _sections(
    tallies: Mapping[str, Tally], total: Tally, contaminated: Mapping[str, int], filter_drops: Path, mined: Path
) -> list[Section]:
    every = {**tallies, "all": total}
    sizes = [(name, f"{t.instances:,}", f"{len(t.repositories):,}", t.digest) for name, t in every.items()]
    sections = [
        Section("Splits", [], [_table("Splits", ("split", "instances", "repositories", "version"), sizes)]),
        _lengths(total),
        *_funnel(contaminated, total.instances, filter_drops),
        _shares("Languages", total.languages, "languages of modified files of code; an instance may have several"),
        _shares("Licences", total.licences, "of the repository, as each row has it in its provenance"),
        _shares("Repositories", total.repositories, f"{len(total.repositories):,} in all"),
        _shares("Sources", total.sources),
        _shares("What the issue names of the truth", total.leaks, "a file by its path, a function by its name"),
    ]
    if total.hops:
        hops = {str(hop): total.hops[hop] for hop in range(max(total.hops) + 1)}
        counted = {hop: count for hop, count in hops.items() if count}
        sections.append(
            _section("Hops", ("hops", "instances"), counted, charts.columns(hops, "functions between example and fault"))
        )
    if kinds := _yield(mined):
        sections.append(
            Section("Yield by kind of fault", [], [_table("Kinds", ("kind", "mutants tried", "kept", "yield"), kinds)])
        )
    if set(total.months) - {"unknown"}:
        sections.append(_dates(total))
    return sections


def _table(caption: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    return Table(caption, list(header), [Row(list(row)) for row in rows])


def _section(title: str, header: Sequence[str], counts: Mapping[str, int], chart: charts.Chart | None, note: str = "") -> Section:
    rows = [(name, f"{count:,}") for name, count in counts.items()]
    figures = charts.figure(title.lower().replace(" ", "-"), title, chart)
    return Section(title, [note] if note else [], [_table(title, header, rows)], figures)


def _lengths(total: Tally) -> Section:
    rows = []
    for name, values in total.lengths.items():
        ordered = sorted(values)
        at = [ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0 for share in (0, 0.5, 0.95, 1)]
        rows.append((LENGTHS[name], *(f"{value:,}" for value in at)))
    chart = charts.histograms(total.lengths) if total.instances else None
    table = _table("Lengths", ("measure", "least", "median", "95%", "most"), rows)
    return Section("Lengths", [], [table], charts.figure("lengths", "Lengths", chart))


def _shares(title: str, counts: Counter[str], note: str = "") -> Section:
    """The most frequent names, and the rest together."""
    common = counts.most_common(SHOWN)
    rest = counts.total() - sum(count for _, count in common)
    rows = dict(common) | ({"all others": rest} if rest else {})
    return _section(title, ("name", "instances"), rows, _bars(rows, "instances") if len(rows) > 1 else None, note)


def _bars(counts: Mapping[str, int], x: str) -> charts.Chart:
    rows = [{"name": name, "count": count, "kind": x} for name, count in counts.items()]
    return charts.bars(rows, x, {x: charts.BLUE})


def _dates(total: Tally) -> Section:
    """By month, or by year if there are many months."""
    known = {month: count for month, count in sorted(total.months.items()) if month != "unknown"}
    if len(known) > MAX_MONTHS:
        years: Counter[str] = Counter()
        for month, count in known.items():
            years[month[:4]] += count
        known = dict(sorted(years.items()))
    note = f"issues without a known date: {total.months['unknown']:,}"
    return _section("Dates", ("created", "instances"), known, charts.columns(known, "date the issue was written"), note)


def _funnel(contaminated: Mapping[str, int], kept: int, filter_drops: Path) -> list[Section]:
    """Raw pairs, and what each rule of filter and each check of split dropped, without rules that dropped nothing."""
    try:
        rules = {str(name): int(count) for name, count in read_json(filter_drops).items()}
    except (ArtifactError, TypeError, ValueError, AttributeError):
        return []
    dropped = {name: count for name, count in (*rules.items(), *contaminated.items()) if count}
    if not dropped:
        return []
    raw = remaining = kept + sum(dropped.values())
    bars = {"raw pairs": raw}
    for name, count in dropped.items():
        remaining -= count
        bars[f"{name} (-{count:,})"] = remaining
    title = "From raw pairs to instances"
    return [_section(title, ("step", "pairs"), {"raw pairs": raw, **dropped}, _bars(bars, "pairs left after each rule"))]


def _yield(mined: Path) -> list[tuple[str, ...]]:
    """Mutants tried and kept by kind of fault, if the synthetic source made the pairs."""
    try:
        kinds = read_json(mined)["kinds"]
        rows = [(str(kind), int(row["attempts"]), int(row["kept"])) for kind, row in kinds.items()]
    except (ArtifactError, TypeError, ValueError, KeyError, AttributeError):
        return []
    return [(kind, f"{tried:,}", f"{kept:,}", f"{kept / max(1, tried):.0%}") for kind, tried, kept in rows]


def _figures(tallies: Mapping[str, Tally], total: Tally) -> dict[str, object]:
    counted = {name: {"instances": tally.instances, "repositories": len(tally.repositories)} for name, tally in tallies.items()}
    shares = {name: dict(getattr(total, name).most_common()) for name in ("languages", "licences", "sources", "leaks")}
    return {"version": total.digest, "splits": counted, **shares, "months": dict(sorted(total.months.items()))}
