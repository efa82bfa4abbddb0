"""The data card: the content of a version of the data set as a page in Markdown, from counts of what passed by."""

from __future__ import annotations

import hashlib
import shutil
from array import array
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from fusesearch.code.kinds import is_code
from fusesearch.core.schema import Instance, Truth
from fusesearch.core.storage import write_text
from fusesearch.data.provenance import read_provenance
from fusesearch.reporting.page import Page, Section
from fusesearch.reporting.table import Row, Table

SHOWN = 15
"""Names in a table; the rest are counted together."""
UNKNOWN = "unknown"
COUNTED = {
    "suffixes": "Languages: suffixes of the modified files of code; an instance may have several",
    "licences": "Licences: of the repository, as each row has it in its provenance",
    "repositories": "Repositories: the most frequent",
    "sources": "Sources: where the pairs were mined",
    "leaks": "What the issue names of the truth: a file by its path, a function by its name",
    "years": "Year the issue was written",
}
"""What a :class:`Tally` counts by name, and the captions of its tables."""
LENGTHS = ("length of the issue", "lines of the patch", "files of code that are modified", "functions that are modified")
QUANTILES = {"least": 0.0, "median": 0.5, "95%": 0.95, "most": 1.0}


@dataclass
class Tally:
    """Counts of some instances, without any text."""

    instances: int = 0
    counts: dict[str, Counter[str]] = field(default_factory=lambda: {name: Counter() for name in COUNTED})
    lengths: dict[str, array[int]] = field(default_factory=lambda: {name: array("l") for name in LENGTHS})

    def __post_init__(self) -> None:
        self._digest = hashlib.sha256()

    @property
    def digest(self) -> str:
        """Sixteen hex characters over ids and truth in order, which identify the version."""
        return self._digest.hexdigest()[:16]

    def add(self, instance: Instance) -> None:
        """Count one instance."""
        known = read_provenance(instance.repo, instance.provenance)
        truth = instance.truth or Truth()
        code = [path for path in truth.files if is_code(path)]
        leaks = instance.provenance.get("leaks")
        leaked = [name for name in leaks if isinstance(name, str)] if isinstance(leaks, list) else []
        names = {
            "suffixes": {PurePosixPath(path).suffix.lstrip(".").lower() for path in code},
            "licences": [known.licence or UNKNOWN],
            "repositories": [instance.repo],
            "sources": [known.source or UNKNOWN],
            "leaks": [" and ".join(sorted(leaked)) or "neither"],
            "years": [known.created[:4] or UNKNOWN],
        }
        self.instances += 1
        for name, found in names.items():
            self.counts[name].update(found)
        lengths = (len(instance.problem_statement), instance.patch.count("\n"), len(code), len(truth.functions))
        for name, length in zip(LENGTHS, lengths, strict=True):
            self.lengths[name].append(length)
        self._digest.update(f"{instance.instance_id}\n{truth.model_dump_json()}\n".encode("utf-8", "surrogatepass"))


def write_card(folder: Path, tallies: Mapping[str, Tally]) -> Path:
    """Write ``card.md`` into ``folder`` from the splits by name; returns its path."""
    total = Tally()
    for tally in tallies.values():
        total.instances += tally.instances
        for name in COUNTED:
            total.counts[name] += tally.counts[name]
        for name in LENGTHS:
            total.lengths[name] += tally.lengths[name]
        total._digest.update(tally.digest.encode())
    tables = [
        _splits({**tallies, "all": total}),
        _lengths(total),
        *(_shares(COUNTED[name], total.counts[name]) for name in COUNTED),
    ]
    shutil.rmtree(folder, ignore_errors=True)
    page = Page(f"Data card, version {total.digest}", [Section("Content", [], [table for table in tables if table.rows])])
    write_text(folder / "card.md", page.render("md"))
    return folder / "card.md"


def _splits(tallies: Mapping[str, Tally]) -> Table:
    rows = [
        Row([name, f"{tally.instances:,}", f"{len(tally.counts['repositories']):,}", tally.digest])
        for name, tally in tallies.items()
    ]
    return Table("Splits", ["split", "instances", "repositories", "version"], rows)


def _lengths(total: Tally) -> Table:
    rows = []
    for name, values in total.lengths.items():
        ordered = sorted(values) or [0]
        at = (ordered[min(len(ordered) - 1, int(share * len(ordered)))] for share in QUANTILES.values())
        rows.append(Row([name, *(f"{value:,}" for value in at)]))
    return Table("Lengths", ["measure", *QUANTILES], rows)


def _shares(caption: str, counts: Counter[str]) -> Table:
    """The most frequent names, and the rest together."""
    common = dict(counts.most_common(SHOWN))
    rest = counts.total() - sum(common.values())
    shown = common | ({f"{len(counts) - SHOWN:,} others": rest} if rest else {})
    return Table(caption, ["name", "instances"], [Row([name, f"{count:,}"]) for name, count in shown.items()])
