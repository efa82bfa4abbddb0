"""The rules by which other evaluations compare names, for comparison with their published figures.

**By name** (ToolTrain, and CoSIL before it): truth is a list of ``path::Name`` entries of functions and classes. Files are
compared as text. Names are compared *without their file*, functions and classes alike: the first five distinct ones that the
text calls ``function:`` or ``class:``. An answer without a file has no names. Every instance counts, with 0 if its truth names
nothing at a level.

**LocAgent**: truth is a list of edited ``path:Name`` entities, from which files and modules (class or function) derive. Acc@k is
the share of instances whose whole truth is among the first k, or whose first k are all right if the truth has more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tasks.evaluation.published.claims import Published
from tasks.evaluation.quality import Pair

COMPARED = 5


def files_by_name(given: Published | None, truth: Sequence[str]) -> Pair:
    """Files of an answer (or ``None``) and of the truth, as ToolTrain compares them."""
    files = given.files if given else ()
    return list(dict.fromkeys(files))[:COMPARED], sorted({entry.split("::")[0] for entry in truth})


def names_by_name(given: Published | None, truth: Sequence[str]) -> Pair:
    """Names of an answer and of the truth, as ToolTrain compares them: without their files."""
    labels = (claim.label for claim in given.claims if claim.label) if given and given.files else ()
    named = {entry.split("::")[1] for entry in truth if entry.count("::") == 1}
    return list(dict.fromkeys(labels))[:COMPARED], sorted(named)


def locagent_pairs(given: Published | None, edited: Sequence[str]) -> dict[str, Pair]:
    """Answer and truth at LocAgent's three levels, complete and in order."""
    files = given.files if given else ()
    modules = given.modules if given else ()
    entities = tuple(claim.label for claim in given.claims) if given else ()
    return {
        "file": (files, _distinct(entity.split(":")[0] for entity in edited)),
        "module": (modules, _distinct(f"{entity.split(':')[0]}:{entity.split(':')[-1].split('.')[0]}" for entity in edited)),
        "function": (entities, list(edited)),
    }


def all_found(predicted: Sequence[str], true: Sequence[str], k: int) -> bool:
    """LocAgent's measure per instance. Our :func:`~tasks.evaluation.quality.accuracy_at` is 0 for a truth of more than k."""
    return sum(name in true for name in predicted[:k]) == min(len(true), k)


def _distinct(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
