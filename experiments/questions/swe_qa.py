"""Questions about repositories that others released, with reference answers: SWE-QA and SWE-QA-Pro.

====================  ==========================================================================================
SWE-QA                a ``<repository>.jsonl`` with ``question`` and ``answer`` for each repository
SWE-QA-Pro            rows with ``repo``, ``commit_id``, ``question``, ``answer`` and ``qa_type`` (the benchmark), or
                      with these under ``extra_info``, the repository as ``repo_name`` (its training files)
====================  ==========================================================================================

Both come with a list of repositories, ``<address> <commit>`` a line (``repo_commit.txt``, ``repos.txt``), which says what a row
leaves out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from fusesearch.core.digests import digest
from fusesearch.core.errors import DataError
from fusesearch.core.schema import Expected, Instance, Truth
from fusesearch.core.text import flat_name
from fusesearch.data.swe_bench import read_rows

Commits = Mapping[str, tuple[str, str]]
"""From the name of a repository without its owner to ``owner/name`` and commit."""

_LINE = re.compile(r"\S*?([\w.-]+/([\w.-]+?))(?:\.git)?/?\s+([0-9a-f]{7,64})\s*")


def read_commits(path: Path) -> Commits:
    """The list of repositories; blank lines and those that begin with ``#`` do not count. Raises :class:`DataError`."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read: {error}") from None
    found: dict[str, tuple[str, str]] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        if (match := _LINE.fullmatch(line)) is None:
            raise DataError(f"{path}: line {number} is not the address of a repository and a commit")
        found[match[2]] = match[1], match[3]
    return found


def read_questions(paths: Iterable[Path], commits: Commits, drops: Counter[str]) -> Iterator[Instance]:
    """The questions of files; rows without question or answer, and questions that are there twice, are counted in ``drops``.

    Raises :class:`DataError` for a row whose repository or commit is nowhere said.
    """
    seen: set[str] = set()
    for path in paths:
        for number, row in enumerate(read_rows(path), 1):
            fields = row["extra_info"] if isinstance(row.get("extra_info"), dict) else row
            if not all(isinstance(text := fields.get(name), str) and text.strip() for name in ("question", "answer")):
                drops["without question or answer"] += 1
                continue
            instance = _question(path, number, {**row, **fields}, commits)
            if instance.instance_id in seen:
                drops["there twice"] += 1
                continue
            seen.add(instance.instance_id)
            yield instance


def _question(path: Path, number: int, fields: dict[str, Any], commits: Commits) -> Instance:
    named = str(fields.get("repo_name") or fields.get("repo") or path.stem)
    listed, pinned = commits.get(named.rpartition("/")[2], ("", ""))
    repo, commit = named if "/" in named else listed, str(fields.get("commit_id") or pinned)
    if not repo or not commit:
        raise DataError(f"{path}: row {number}: no commit of {named[:100]} is known: name the list of repositories")
    kind = fields.get("qa_type")
    sort = kind.get("class_name") if isinstance(kind, dict) else kind
    return Instance(
        instance_id=f"{flat_name(repo)}-{digest(fields['question'])[:12]}",
        repo=repo,
        base_commit=commit,
        problem_statement=fields["question"],
        truth=Truth(expected=Expected(family="open", kind="text", values=[fields["answer"]])),
        provenance={"source": "benchmark", "set": path.name, "row": number, "kind": sort},
    )
