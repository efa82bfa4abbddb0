"""The rules by which other evaluations compare names, for the comparison with their published figures. Ours is elsewhere.

**By name** (ToolTrain, and CoSIL before it): truth is a list of ``path::Name`` entries of functions and classes. Files are
compared as text. Names are compared *without their file*, functions and classes alike, the first five distinct ones that the
text calls ``function:`` or ``class:``; an answer without a file has none. Every instance counts, one whose truth names nothing
at a level as 0.

**LocAgent**: truth is a list of edited ``path:Name`` entities; files and modules (its class or function) derive from it.
Acc@k is the share of instances whose truth is all among the first k, or all of the first k right where the truth has more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tasks.evaluation.published.claims import Published
from tasks.evaluation.quality import Pair

COMPARED = 5


def files_by_name(said: Published | None, truth: Sequence[str]) -> Pair:
    """Files of an answer (``None``: there is none) and of the truth, as ToolTrain compares them."""
    files = said.files if said else ()
    return list(dict.fromkeys(files))[:COMPARED], sorted({entry.split("::")[0] for entry in truth})


def names_by_name(said: Published | None, truth: Sequence[str]) -> Pair:
    """Names of an answer and of the truth, as ToolTrain compares them: without their files."""
    labels = (claim.label for claim in said.claims if claim.label) if said and said.files else ()
    named = {entry.split("::")[1] for entry in truth if entry.count("::") == 1}
    return list(dict.fromkeys(labels))[:COMPARED], sorted(named)


def locagent_pairs(said: Published | None, edited: Sequence[str]) -> dict[str, Pair]:
    """Answer and truth at LocAgent's three levels, nothing dropped or reordered."""
    files = said.files if said else ()
    modules = said.modules if said else ()
    entities = tuple(claim.label for claim in said.claims) if said else ()
    return {
        "file": (files, _distinct(entity.split(":")[0] for entity in edited)),
        "module": (modules, _distinct(f"{entity.split(':')[0]}:{entity.split(':')[-1].split('.')[0]}" for entity in edited)),
        "function": (entities, list(edited)),
    }


def all_found(predicted: Sequence[str], true: Sequence[str], k: int) -> bool:
    """What LocAgent takes the mean of; :func:`~tasks.evaluation.metrics.accuracy_at` never finds a truth of more than k."""
    return sum(name in true for name in predicted[:k]) == min(len(true), k)


def _distinct(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
