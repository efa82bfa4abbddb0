"""SWE-bench instances over clones: functions beside CoSIL's published ones, and the instances that presets of the filter keep."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tasks.code.kinds import is_code
from tasks.code.sides import both_sides
from tasks.core.config import Filter
from tasks.core.errors import FusesearchError
from tasks.core.schema import Instance, Truth
from tasks.data.filtering import Repositories, drop_table, filter_pairs
from tasks.data.patches import apply_change, parse_patch, split_lines
from tasks.data.repositories import git_dir_of
from tasks.data.truth import truth_in_git
from tasks.search.git import Git


def report(instances: Path, published: Path, repos: Path) -> dict[str, Any]:
    """The figures of ``RESULTS.md`` for the instances whose repository is in ``repos``."""
    lines = instances.read_text(encoding="utf-8").split("\n")
    rows = [Instance.model_validate_json(line) for line in lines if line.strip()]
    rows = [row for row in rows if git_dir_of(row.repo, repos).exists()]
    start = time.process_time()
    truths = dict(_truths(rows, repos))
    seconds = time.process_time() - start
    theirs = json.loads(published.read_text(encoding="utf-8"))
    return {
        "instances": len(rows),
        "with_truth": len(truths),
        "patches_per_cpu_second": round(len(rows) / seconds, 1),
        "agreement": agreement({name: (truths[name], theirs[name]) for name in truths if name in theirs}, rows, repos),
        "presets": {
            "as_given": remaining(rows, Filter(), repos),
            "single_file": remaining(rows, Filter(single_file=True), repos),
            "single_file, functions may be added": remaining(rows, Filter(single_file=True, skip=["adds_function"]), repos),
        },
    }


def agreement(pairs: dict[str, tuple[Truth, list[str]]], rows: list[Instance], repos: Path) -> dict[str, Any]:
    """How many instances have the same functions, and the differences of the others.

    Entries of the published set that name no function at the base commit (classes, files, letters) are not compared.
    ``same_of_lasting`` compares the functions that exist after the patch too: the published set lists no others.
    """
    bases = {row.instance_id: row for row in rows}
    differences: dict[str, Any] = {}
    lasting_differs = 0
    for name, (truth, entries) in pairs.items():
        ours, named = set(truth.functions), {entry for entry in entries if _is_function(entry, bases[name], repos)}
        if ours == named:
            continue
        lasting = _lasting(bases[name], repos)
        lasting_differs += ours & lasting != named & lasting
        differences[name] = {
            "ours": sorted(ours - named),
            "of_these_removed_by_the_patch": sorted(ours - named - lasting),
            "theirs": sorted(named - ours),
            "not_compared": sorted(set(entries) - named),
        }
    return {
        "compared": len(pairs),
        "same": len(pairs) - len(differences),
        "same_of_lasting": len(pairs) - lasting_differs,
        "differences": differences,
    }


def _lasting(row: Instance, repos: Path) -> set[str]:
    """Functions of the files a patch touches, under their old paths, whose name exists after it."""
    names: set[str] = set()
    with Git(git_dir_of(row.repo, repos)) as git:
        for change in parse_patch(row.patch):
            old = git.read(row.base_commit, change.old) if not change.opaque else None
            if old is not None:
                new, _ = apply_change(change, old)
                after = both_sides(change.old, change.new or change.old, split_lines(old), new)[1]
                names |= {f"{change.old}::{span.name}" for span in after.spans}
    return names


def remaining(rows: list[Instance], rules: Filter, repos: Path) -> dict[str, Any]:
    """Instances a filter keeps, and how many files and functions of code they modify."""
    drops: Counter[str] = Counter()
    with Repositories(repos) as repositories:
        kept = list(filter_pairs(rows, rules, repositories.reader, drops))
    truths = [instance.truth for instance in kept if instance.truth]
    return {
        "kept": len(kept),
        "files": sum(is_code(path) for truth in truths for path in truth.files),
        "functions": sum(is_code(entity.partition("::")[0]) for truth in truths for entity in truth.functions),
        "drops": {rule: count for rule, count in drop_table(drops).items() if count},
    }


def _truths(rows: list[Instance], repos: Path) -> Iterator[tuple[str, Truth]]:
    for row in rows:
        try:
            yield row.instance_id, truth_in_git(git_dir_of(row.repo, repos), row.base_commit, row.patch)
        except FusesearchError as error:
            print(f"{row.instance_id}: {error}", file=sys.stderr)


def _is_function(entry: str, row: Instance, repos: Path) -> bool:
    """Whether the text of the base commit defines what the last part of an entry names, by ``def``."""
    path, _, name = entry.partition("::")
    if not name:
        return False
    with Git(git_dir_of(row.repo, repos)) as git:
        source = git.read(row.base_commit, path) or ""
    return f"def {name.rpartition('.')[2]}(" in source
