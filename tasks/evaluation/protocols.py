"""How each paper reads the same episodes: which instances count, and which averages are reported.

A protocol selects and reads; it never runs anything, so one set of scores can be read under all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tasks.core.errors import ConfigError, DataError
from tasks.core.schema import Instance, Score, Truth
from tasks.evaluation.metrics import NDCG_AT, RECALL_AT, aggregate

_QUALITY = ("precision", "recall", "f1")
_RANKED = (*(f"recall@{k}" for k in RECALL_AT), "map", "mrr", f"ndcg@{NDCG_AT}")


@dataclass(frozen=True)
class Protocol:
    """Name, source, instances kept, and the columns of its table as paths into :func:`~tasks.evaluation.metrics.aggregate`."""

    name: str
    source: str
    keeps: Callable[[Truth], bool]
    columns: tuple[tuple[str, ...], ...]

    def select(self, instances: Iterable[Instance]) -> list[Instance]:
        """The instances that count. Raises :class:`DataError` for one whose truth was never computed."""
        return [instance for instance in instances if self.keeps(_truth(instance))]

    def read(self, scores: Iterable[Score]) -> dict[str, float | None]:
        """One table row from the scores of selected instances; keys such as ``file_f1`` or ``function_recall@5``."""
        summary = aggregate(scores)
        return {"_".join(part for part in path if part not in _AVERAGES): _at(summary, path) for path in self.columns}


def protocol_named(name: str) -> Protocol:
    """The protocol of that name. Raises :class:`ConfigError` listing the names."""
    if name not in PROTOCOLS:
        raise ConfigError(f"protocol {name!r} is unknown: use one of {', '.join(PROTOCOLS)}")
    return PROTOCOLS[name]


def _only_existing(truth: Truth) -> bool:
    """The patch changes existing functions and adds no file or function (FuseSearch section 4)."""
    return bool(truth.files and truth.functions) and not truth.added_files and not truth.added_functions


def _single_file(truth: Truth) -> bool:
    return _only_existing(truth) and len(truth.files) == 1


def _has_functions(truth: Truth) -> bool:
    return bool(truth.files and truth.functions)


_AVERAGES = ("micro", "macro")
_LEVELS = ("file", "function")


def _columns(average: str) -> tuple[tuple[str, ...], ...]:
    return (*((level, average, name) for level in _LEVELS for name in _QUALITY), ("f1", average))


PROTOCOLS = {
    protocol.name: protocol
    for protocol in (
        Protocol("fusesearch", "FuseSearch section 4: existing code only, counts pooled", _only_existing, _columns("micro")),
        Protocol("single_file", "the same with one file to modify, as its 386 instances have", _single_file, _columns("micro")),
        Protocol("codescout", "CodeScout: mean over instances that modify a function", _has_functions, _columns("macro")),
        Protocol(
            "tooltrain", "ToolTrain section 4.2: ranked metrics, mean over instances that modify a function",
            _has_functions, tuple((level, name) for level in _LEVELS for name in _RANKED),
        ),
    )
}  # fmt: skip


def _truth(instance: Instance) -> Truth:
    if instance.truth is None:
        raise DataError(f"{instance.instance_id} has no truth: run the filter stage, or `fusesearch truth`, first")
    return instance.truth


def _at(summary: dict[str, Any], path: tuple[str, ...]) -> float | None:
    value: Any = summary
    for part in path:
        value = value[part]
    return value
