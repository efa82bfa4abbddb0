"""Counts over a stream of instances: a few numbers per instance, no text."""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from fusesearch.code.kinds import is_code
from fusesearch.code.reader import reader_of
from fusesearch.core.schema import Instance, Truth
from fusesearch.data.provenance import read_provenance

UNKNOWN = "unknown"
_OTHER_TITLES = {
    ".py": "Python",
    ".pyi": "Python",
    ".pyx": "Cython",
    ".pxd": "Cython",
    ".lua": "Lua",
    ".sh": "Shell",
    ".bash": "Shell",
}
"""Of suffixes without a reader, and of Python."""


LENGTHS = {
    "issue characters": "length of the issue",
    "patch lines": "lines of the patch",
    "files": "files of code that are modified",
    "functions": "functions that are modified",
}
"""What is measured of each instance."""


@dataclass
class Tally:
    """Counts of one split. ``digest``, over ids and truth in order, identifies its version."""

    instances: int = 0
    repositories: Counter[str] = field(default_factory=Counter)
    languages: Counter[str] = field(default_factory=Counter)
    licences: Counter[str] = field(default_factory=Counter)
    sources: Counter[str] = field(default_factory=Counter)
    months: Counter[str] = field(default_factory=Counter)
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
        self.instances += 1
        self.repositories[instance.repo] += 1
        self.licences[known.licence or UNKNOWN] += 1
        self.sources[known.source or UNKNOWN] += 1
        self.months[known.created[:7] or UNKNOWN] += 1
        self.languages.update(languages(truth))
        if known.hops is not None:
            self.hops[known.hops] += 1
        found = instance.provenance.get("leaks")
        names = [name for name in found if isinstance(name, str)] if isinstance(found, list) else []
        self.leaks[" and ".join(sorted(names)) or "neither"] += 1
        code = sum(map(is_code, truth.files))
        lengths = (len(instance.problem_statement), instance.patch.count("\n"), code, len(truth.functions))
        for name, length in zip(LENGTHS, lengths, strict=True):
            self.lengths[name].append(length)
        self._digest.update(f"{instance.instance_id}\n{truth.model_dump_json()}\n".encode("utf-8", "surrogatepass"))


def languages(truth: Truth) -> set[str]:
    """Languages of the files of code that are modified."""
    return {_language(path) for path in truth.files if is_code(path)}


def _language(path: str) -> str:
    reader = reader_of(path)
    return reader.title if reader else _OTHER_TITLES.get(PurePosixPath(path).suffix.lower(), "other")


def merged(tallies: Sequence[Tally]) -> Tally:
    """All splits together; the digest is over theirs."""
    total = Tally()
    for tally in tallies:
        total.instances += tally.instances
        for name in ("repositories", "languages", "licences", "sources", "months", "hops", "leaks"):
            getattr(total, name).update(getattr(tally, name))
        for name, values in tally.lengths.items():
            total.lengths[name].extend(values)
        total._digest.update(tally.digest.encode())
    return total
