"""How many issues of LocBench each reading of FuseSearch's rule keeps, and how often LocBench's own functions are ours.

LocBench has SWE-bench's columns and its own truth: ``edit_functions`` and ``added_functions``, as ``path:Qualified.name``, and a
``category``. Table 9 is over 456 of the 560 issues, "excluding patches that introduce entirely new files or functions" (appendix
D.1); on SWE-bench Verified the same words mean the protocol ``fusesearch``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from fusesearch.code.kinds import is_test
from fusesearch.core.errors import DataError, RepositoryError, first_fault
from fusesearch.core.schema import Instance
from fusesearch.data.patches import parse_patch
from fusesearch.data.repositories import Repositories
from fusesearch.data.swe_bench import instances as instances_of
from fusesearch.data.swe_bench import read_rows
from fusesearch.data.truth import truth_from_patch
from fusesearch.evaluation.protocols import PROTOCOLS, code_of

PAPER = 456
"""Issues of Table 9, of 560."""
_PLACE = re.compile(r"([^:]+):{1,2}(.+)", re.DOTALL)


class Own(BaseModel):
    """LocBench's truth of an issue."""

    model_config = ConfigDict(extra="ignore", strict=True)

    edit_functions: list[str]
    added_functions: list[str] = []
    category: str | None = None


def read(path: Path) -> list[tuple[Instance, Own]]:
    """The issues with LocBench's truth. Raises :class:`DataError` for a row without ``edit_functions``."""
    found = []
    for number, row in enumerate(read_rows(path), 1):
        try:
            own = Own.model_validate({key: row[key] for key in Own.model_fields if row.get(key) is not None})
        except ValidationError as error:
            raise DataError(f"{path}: row {number} is not LocBench's: {first_fault(error)}") from None
        (instance,) = instances_of(str(path), [row])
        found.append((instance, own))
    return found


def entities(places: Iterable[str]) -> set[str]:
    """``path::Qualified.name`` of LocBench's names; those without a function are left out."""
    return {f"{match[1]}::{match[2]}" for place in places if (match := _PLACE.fullmatch(place))}


def by_own(rows: Iterable[tuple[Instance, Own]]) -> dict[str, int]:
    """Issues by readings of the rule, from LocBench's columns and the headers of the patches alone: no clone is needed."""
    counts: Counter[str] = Counter()
    for instance, own in rows:
        changes = [change for change in parse_patch(instance.patch) if not is_test(change.new or change.old)]
        no_file = not any(change.kind == "added" for change in changes)
        no_function = not own.added_functions
        edits = bool(entities(own.edit_functions))
        one_file = len({place.partition("::")[0] for place in entities(own.edit_functions)}) == 1
        counts.update(
            {
                "all": 1,
                "adds no file": no_file,
                "adds no file and no function": no_file and no_function,
                "adds no file, edits a function": no_file and edits,
                "adds no file and no function, edits a function": no_file and no_function and edits,
                "adds no file, edits functions of one file": no_file and one_file,
                "adds no file and no function, edits functions of one file": no_file and no_function and one_file,
            }
        )
    return dict(counts)


def by_truth(rows: Iterable[tuple[Instance, Own]], repos: Path) -> dict[str, Any]:
    """Issues by protocol from our truth, how often its functions are LocBench's, and why issues are left out.

    ``differ`` has the ids with other functions. Functions of tests are compared on neither side.
    """
    kept: Counter[str] = Counter()
    differ: list[str] = []
    left_out: dict[str, str] = {}
    with Repositories(repos) as repositories:
        for instance, own in rows:
            try:
                truth = code_of(truth_from_patch(instance.patch, repositories.reader(instance)))
            except (DataError, RepositoryError) as error:
                left_out[instance.instance_id] = str(error).replace(f"{repos}/", "")
                continue
            row = instance.model_copy(update={"truth": truth})
            kept["adds no file and no function"] += bool(truth.files) and not truth.added_files and not truth.added_functions
            kept.update({name: len(protocol.select([row])) for name, protocol in PROTOCOLS.items() if not protocol.questions})
            theirs = {entity for entity in entities(own.edit_functions) if not is_test(entity.partition("::")[0])}
            if theirs != set(truth.functions):
                differ.append(instance.instance_id)
    return {"kept": dict(kept), "differ": differ, "left_out": left_out}


def categories(rows: Iterable[tuple[Instance, Own]]) -> Mapping[str, int]:
    """Issues by category."""
    return Counter(own.category or "none" for _, own in rows)
