"""The pages of the data card: sections of tables and figures, in Markdown and in one HTML file."""

from __future__ import annotations

import html
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tasks.core.errors import ArtifactError
from tasks.core.storage import read_json, write_json, write_text
from tasks.pipeline.places import MAIN, Places
from tasks.reporting.card import figures
from tasks.reporting.card.tally import LENGTHS, Tally, merged

SHOWN = 15
MAX_MONTHS = 60
_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Data card</title>
<style>body{{font:15px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em}}
table{{border-collapse:collapse}}td,th{{padding:.2em .8em;border-bottom:1px solid #ddd;text-align:left}}
td:not(:first-child){{text-align:right}}svg{{max-width:100%;height:auto}}</style>
{body}
</html>
"""


@dataclass(frozen=True)
class Section:
    """A heading with a table and a figure: ``figure`` is SVG, empty where there is none to draw."""

    title: str
    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    figure: str = ""
    note: str = ""

    @property
    def file(self) -> str:
        """Where the figure lies in the card's folder."""
        return f"plots/{self.title.lower().replace(' ', '-')}.svg"


def write_card(folder: Path, tallies: Mapping[str, Tally], contaminated: Mapping[str, int], places: Places = MAIN) -> Path:
    """Write ``card.md``, ``card.html`` (needs no other file), ``card.json`` and ``plots/*.svg`` into ``folder``.

    ``tallies`` are the splits by name, ``contaminated`` how many training instances were dropped, by reason. The drop table
    of the filter and the table of the miner are read from ``places`` if they are there. Returns the Markdown page.
    """
    total = merged(list(tallies.values()))
    sections = _sections(tallies, total, _funnel(contaminated, total.instances, places), _yield(places))
    shutil.rmtree(folder, ignore_errors=True)
    for section in sections:
        if section.figure:
            write_text(folder / section.file, section.figure)
    title = f"Data card, version {total.digest}"
    write_text(folder / "card.html", _PAGE.format(body=f"<h1>{title}</h1>\n" + "\n".join(map(_html, sections))))
    write_json(folder / "card.json", _figures(tallies, total))
    write_text(folder / "card.md", f"# {title}\n\n" + "\n".join(map(_markdown, sections)))
    return folder / "card.md"


def _sections(
    tallies: Mapping[str, Tally], total: Tally, steps: Sequence[tuple[str, int]], kinds: Sequence[tuple[str, ...]]
) -> list[Section]:
    sections = [_sizes(tallies, total), _lengths(total)]
    if len(steps) > 1:
        rows = [(name, f"{count:,}") for name, count in steps]
        sections.append(Section("From raw pairs to instances", ("step", "pairs"), rows, figures.funnel(steps)))
    sections += [
        _shares("Languages", total.languages, "languages of modified files of code; an instance may have several"),
        _shares("Licences", total.licences, "of the repository, as each row has it in its provenance"),
        _shares("Repositories", total.repositories, f"{len(total.repositories):,} in all"),
        _shares("Sources", total.sources),
        _shares("What the issue names of the truth", total.leaks, "a file by its path, a function by its name"),
    ]
    if total.hops:
        hops = {str(hop): total.hops[hop] for hop in range(max(total.hops) + 1)}
        rows = [(hop, f"{count:,}") for hop, count in hops.items() if count]
        figure = figures.columns(hops, "Functions between example and fault", "hops")
        sections.append(Section("Hops", ("hops", "instances"), rows, figure))
    if kinds:
        sections.append(Section("Yield by kind of fault", ("kind", "mutants tried", "kept", "yield"), kinds))
    if set(total.months) - {"unknown"}:
        sections.append(_dates(total))
    return sections


def _sizes(tallies: Mapping[str, Tally], total: Tally) -> Section:
    every = {**tallies, "all": total}
    rows = [(name, f"{t.instances:,}", f"{len(t.repositories):,}", t.digest) for name, t in every.items()]
    return Section("Splits", ("split", "instances", "repositories", "version"), rows)


def _lengths(total: Tally) -> Section:
    rows = []
    for name, values in total.lengths.items():
        ordered = sorted(values)
        at = [ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0 for share in (0, 0.5, 0.95, 1)]
        rows.append((LENGTHS[name], *(f"{value:,}" for value in at)))
    figure = figures.distributions(total.lengths) if total.instances else ""
    return Section("Lengths", ("measure", "least", "median", "95%", "most"), rows, figure)


def _shares(title: str, counts: Counter[str], note: str = "") -> Section:
    """The most frequent names, the rest together."""
    common = counts.most_common(SHOWN)
    rest = counts.total() - sum(count for _, count in common)
    shown = dict(common) | ({"all others": rest} if rest else {})
    rows = [(name, f"{count:,}") for name, count in shown.items()]
    return Section(title, ("name", "instances"), rows, figures.shares(shown, title) if len(shown) > 1 else "", note)


def _dates(total: Tally) -> Section:
    """By month, or by year where there are many months."""
    known = {month: count for month, count in sorted(total.months.items()) if month != "unknown"}
    if len(known) > MAX_MONTHS:
        years: Counter[str] = Counter()
        for month, count in known.items():
            years[month[:4]] += count
        known = dict(sorted(years.items()))
    rows = [(month, f"{count:,}") for month, count in known.items()]
    note = f"issues without a known date: {total.months['unknown']:,}"
    return Section("Dates", ("created", "instances"), rows, figures.columns(known, "When issues were written", "date"), note)


def _funnel(contaminated: Mapping[str, int], kept: int, places: Places) -> list[tuple[str, int]]:
    """Raw pairs, what each rule of the filter and each check of the split dropped, without those that dropped nothing."""
    rules: dict[str, int] = {}
    try:
        rules = dict(read_json(places.filter_drops))
    except (ArtifactError, TypeError, ValueError):
        return []
    dropped = [(name, int(count)) for name, count in (*rules.items(), *contaminated.items()) if count]
    return [("raw pairs", kept + sum(count for _, count in dropped)), *dropped]


def _yield(places: Places) -> list[tuple[str, ...]]:
    """Mutants tried and kept for each kind of fault, where the synthetic source made the pairs."""
    try:
        kinds = read_json(places.mine_table)["kinds"]
        rows = [(str(kind), int(row["attempts"]), int(row["kept"])) for kind, row in kinds.items()]
    except (ArtifactError, TypeError, ValueError, KeyError, AttributeError):
        return []
    return [(kind, f"{tried:,}", f"{kept:,}", f"{kept / max(1, tried):.0%}") for kind, tried, kept in rows]


def _figures(tallies: Mapping[str, Tally], total: Tally) -> dict[str, object]:
    counted = {name: {"instances": tally.instances, "repositories": len(tally.repositories)} for name, tally in tallies.items()}
    shares = {name: dict(getattr(total, name).most_common()) for name in ("languages", "licences", "sources", "leaks")}
    return {"version": total.digest, "splits": counted, **shares, "months": dict(sorted(total.months.items()))}


def _markdown(section: Section) -> str:
    lines = [f"## {section.title}", "", "| " + " | ".join(section.header) + " |", "|" + "---|" * len(section.header)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) + " |" for row in section.rows]
    lines += ["", section.note] if section.note else []
    lines += ["", f"![{section.title}]({section.file})"] if section.figure else []
    return "\n".join(lines) + "\n"


def _html(section: Section) -> str:
    def row(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    table = row(section.header, "th") + "".join(row(cells, "td") for cells in section.rows)
    figure = section.figure[section.figure.index("<svg") :] if section.figure else ""
    return f"<h2>{html.escape(section.title)}</h2>\n<p>{html.escape(section.note)}</p>\n<table>{table}</table>\n{figure}"
