"""The data card: the content of a version of the data set as a page in Markdown, from counts of what passed by."""

from __future__ import annotations

import hashlib
import shutil
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from fusesearch.code.kinds import is_code
from fusesearch.core.errors import ArtifactError
from fusesearch.core.schema import Instance, Truth
from fusesearch.core.storage import read_json, write_text
from fusesearch.data.provenance import read_provenance
from fusesearch.reporting.page import Page, Section
from fusesearch.reporting.table import Row, Table

SHOWN = 15
"""Names in a table; the rest are counted together."""
UNKNOWN = "unknown"
COUNTED = {
    "suffixes": ("Languages", "suffixes of the modified files of code; an instance may have several"),
    "licences": ("Licences", "of the repository, as each row has it in its provenance"),
    "repositories": ("Repositories", "the most frequent"),
    "sources": ("Sources", "where the pairs were mined"),
    "leaks": ("What the issue names of the truth", "a file by its path, a function by its name"),
}
"""Counters of a :class:`Tally` that are tables of the page: title and note."""
LENGTHS = ("length of the issue", "lines of the patch", "files of code that are modified", "functions that are modified")
QUANTILES = {"least": 0.0, "median": 0.5, "95%": 0.95, "most": 1.0}


@dataclass
class Tally:
    """Counts of one split, without any text. ``digest``, over ids and truth in order, identifies its version."""

    instances: int = 0
    repositories: Counter[str] = field(default_factory=Counter)
    suffixes: Counter[str] = field(default_factory=Counter)
    licences: Counter[str] = field(default_factory=Counter)
    sources: Counter[str] = field(default_factory=Counter)
    years: Counter[str] = field(default_factory=Counter)
    hops: Counter[int] = field(default_factory=Counter)
    leaks: Counter[str] = field(default_factory=Counter)
    lengths: dict[str, array[int]] = field(default_factory=lambda: {name: array("l") for name in LENGTHS})

    def __post_init__(self) -> None:
        self._digest = hashlib.sha256()

    @property
    def digest(self) -> str:
        """Sixteen hex characters that identify the version."""
        return self._digest.hexdigest()[:16]

    def add(self, instance: Instance) -> None:
        """Count one instance."""
        known = read_provenance(instance.repo, instance.provenance)
        truth = instance.truth or Truth()
        code = [path for path in truth.files if is_code(path)]
        self.instances += 1
        self.repositories[instance.repo] += 1
        self.licences[known.licence or UNKNOWN] += 1
        self.sources[known.source or UNKNOWN] += 1
        self.years[known.created[:4] or UNKNOWN] += 1
        self.suffixes.update({PurePosixPath(path).suffix.lstrip(".").lower() for path in code})
        if known.hops is not None:
            self.hops[known.hops] += 1
        found = instance.provenance.get("leaks")
        names = [name for name in found if isinstance(name, str)] if isinstance(found, list) else []
        self.leaks[" and ".join(sorted(names)) or "neither"] += 1
        lengths = (len(instance.problem_statement), instance.patch.count("\n"), len(code), len(truth.functions))
        for name, length in zip(LENGTHS, lengths, strict=True):
            self.lengths[name].append(length)
        self._digest.update(f"{instance.instance_id}\n{truth.model_dump_json()}\n".encode("utf-8", "surrogatepass"))


def merged(tallies: Sequence[Tally]) -> Tally:
    """All splits together; the digest is over theirs."""
    total = Tally()
    for tally in tallies:
        total.instances += tally.instances
        for name in (*COUNTED, "years", "hops"):
            getattr(total, name).update(getattr(tally, name))
        for name, values in tally.lengths.items():
            total.lengths[name].extend(values)
        total._digest.update(tally.digest.encode())
    return total


def write_card(
    folder: Path, tallies: Mapping[str, Tally], contaminated: Mapping[str, int], *, filter_drops: Path, mined: Path
) -> Path:
    """Write ``card.md`` into ``folder``; returns its path.

    ``tallies`` are the splits by name, ``contaminated`` how many training instances were dropped, by reason. The drop table
    of the filter and the table of the miner are read if they are there.
    """
    total = merged(list(tallies.values()))
    tables = [
        _splits({**tallies, "all": total}),
        _lengths(total),
        _funnel(contaminated, total.instances, filter_drops),
        *(_shares(title, getattr(total, name), note) for name, (title, note) in COUNTED.items()),
        _counts("Calls between example and fault (hops)", {str(hop): total.hops[hop] for hop in sorted(total.hops)}),
        _yield(mined),
        _counts("Year the issue was written", dict(sorted(total.years.items()))),
    ]
    shutil.rmtree(folder, ignore_errors=True)
    page = Page(f"Data card, version {total.digest}", [Section("Content", [], [table for table in tables if table.rows])])
    write_text(folder / "card.md", page.render("md"))
    return folder / "card.md"


def _splits(tallies: Mapping[str, Tally]) -> Table:
    rows = [[name, f"{t.instances:,}", f"{len(t.repositories):,}", t.digest] for name, t in tallies.items()]
    return Table("Splits", ["split", "instances", "repositories", "version"], [*map(Row, rows)])


def _lengths(total: Tally) -> Table:
    rows = []
    for name, values in total.lengths.items():
        ordered = sorted(values) or [0]
        at = (ordered[min(len(ordered) - 1, int(share * len(ordered)))] for share in QUANTILES.values())
        rows.append(Row([name, *(f"{value:,}" for value in at)]))
    return Table("Lengths", ["measure", *QUANTILES], rows)


def _counts(caption: str, counts: Mapping[str, int], unit: str = "instances") -> Table:
    return Table(caption, ["name", unit], [Row([name, f"{count:,}"]) for name, count in counts.items()])


def _shares(title: str, counts: Counter[str], note: str) -> Table:
    """The most frequent names, and the rest together."""
    common = dict(counts.most_common(SHOWN))
    rest = counts.total() - sum(common.values())
    return _counts(f"{title}: {note}", common | ({f"{len(counts) - SHOWN:,} others": rest} if rest else {}))


def _funnel(contaminated: Mapping[str, int], kept: int, filter_drops: Path) -> Table:
    """Raw pairs, and what each rule of filter and each check of split dropped, without rules that dropped nothing."""
    try:
        rules = {str(name): int(count) for name, count in read_json(filter_drops).items()}
    except (ArtifactError, TypeError, ValueError, AttributeError):
        rules = {}
    dropped = {name: count for name, count in (*rules.items(), *contaminated.items()) if count}
    steps = {"raw pairs": kept + sum(dropped.values()), **dropped, "instances": kept} if rules and dropped else {}
    return _counts("From raw pairs to instances: what each rule dropped", steps, "pairs")


def _yield(mined: Path) -> Table:
    """Mutants tried and kept by kind of fault, if the synthetic source made the pairs."""
    try:
        kinds = read_json(mined)["kinds"]
        found = [(str(kind), int(row["attempts"]), int(row["kept"])) for kind, row in kinds.items()]
    except (ArtifactError, TypeError, ValueError, KeyError, AttributeError):
        found = []
    rows = [Row([kind, f"{tried:,}", f"{kept:,}", f"{kept / max(1, tried):.0%}"]) for kind, tried, kept in found]
    return Table("Yield by kind of fault", ["kind", "mutants tried", "kept", "yield"], rows)
