"""Filter: raw pairs that are worth a task, with their truth; how many each rule dropped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Any

from pydantic import TypeAdapter

from fusesearch.core.dropped import write_dropped
from fusesearch.core.schema import Instance, Truth
from fusesearch.core.storage import Journal, count_rows, iter_rows, write_instances, write_json
from tasks.running.node import Job
from tasks.running.parts import Part

SHOWN_EVERY = 100
JOURNAL = "truths.jsonl"
"""Truths that other processes have read, a row for each repository."""

_TRUTH: TypeAdapter[Truth | str] = TypeAdapter(Truth | str)


def filter_pairs(job: Job) -> dict[str, Any]:
    """Write the kept instances, how many pairs each rule dropped and which ones."""
    from fusesearch.data.filtering import drop_table, filter_table

    places = job.places
    total = count_rows(places["mine.pairs"])
    drops: Counter[str] = Counter()
    dropped: list[tuple[str, str]] = []
    repositories: set[str] = set()

    def counted(instances: Iterable[Instance]) -> Iterator[Instance]:
        for number, instance in enumerate(instances, 1):
            repositories.add(instance.repo)
            if number % SHOWN_EVERY == 0:
                job.progress(number + drops.total(), total)
            yield instance

    with closing(Journal(job.scratch / JOURNAL, key="key")) as journal:
        known = {key: _TRUTH.validate_python(truth) for row in journal.rows.values() for key, truth in row["truths"].items()}
    instances = filter_table(places["mine.pairs"], job.params.filter, places["mine.repos"], drops, dropped, known)
    kept = write_instances(places["filter.instances"], counted(instances))
    job.progress(total, total)
    write_json(places["filter.drops"], drop_table(drops))
    write_dropped(places["filter.dropped"], dropped)
    return {"pairs": total, "instances": kept, "dropped": drops.total(), "repositories": len(repositories)}


def lacking(job: Job) -> Iterator[Part]:
    """Repositories whose truths are not read."""
    with closing(Journal(job.scratch / JOURNAL, key="key")) as journal:
        repos = dict.fromkeys(row["repo"] for row in iter_rows(job.places["mine.pairs"], ["repo"]))
        yield Part(JOURNAL, tuple(repo for repo in repos if repo not in journal))


def do_part(job: Job, part: Part) -> None:
    """Read the truths of repositories."""
    from fusesearch.data.filtering import truths_of

    with Journal(job.scratch / JOURNAL, key="key") as journal:
        for repo, truths in truths_of(job.places["mine.pairs"], part.keys, job.places["mine.repos"]):
            journal.append({"key": repo, "truths": {key: _TRUTH.dump_python(row, mode="json") for key, row in truths.items()}})
