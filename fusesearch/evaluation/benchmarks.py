"""The instances of a benchmark with their truth, and their snapshots."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from fusesearch.code.kinds import is_code
from fusesearch.core.digests import digest, file_digest
from fusesearch.core.errors import ConfigError, DataError, FusesearchError
from fusesearch.core.schema import Instance
from fusesearch.core.storage import INSTANCE_COLUMNS, Progress, read_instances, read_json, silent, write_instances, write_json
from fusesearch.data.repositories import Repositories, git_dir_of
from fusesearch.data.sources.benchmark import clone_all
from fusesearch.data.swe_bench import instances as swe_bench_instances
from fusesearch.data.swe_bench import read_rows
from fusesearch.data.truth import Reader, truth_from_patch
from fusesearch.evaluation.grid import Benchmark
from fusesearch.evaluation.results import Loaded
from fusesearch.search.repository import Repository
from fusesearch.search.snapshots import SnapshotStore, instance_snapshot

CLONES_AT_ONCE = 4


@dataclass(frozen=True)
class Prepared:
    """A benchmark ready to run: its clones, instances with truth, and what there is to say of it."""

    benchmark: Benchmark
    repos: Path
    instances: list[Instance]
    facts: Loaded


def prepare(
    benchmark: Benchmark,
    cache: Path,
    seed: int,
    progress: Progress = silent,
    own: Callable[[Iterable[Instance]], list[Instance]] = list,
) -> Prepared:
    """Read a benchmark and compute what truth it lacks; kept in ``cache``, so that a second time is quick.

    ``own`` takes the instances that the environment is for. Repositories for which no folder is given are cloned into ``cache``.
    Instances whose truth cannot be had are excluded with the reason. Raises :class:`DataError` where none is left, and
    :class:`ConfigError` for a folder of clones that is not there.
    """
    if benchmark.repos is not None and not benchmark.repos.is_dir():
        raise ConfigError(f"benchmark {benchmark.name}: {benchmark.repos} is not a folder of clones")
    if not benchmark.instances.is_file():
        raise DataError(f"benchmark {benchmark.name}: {benchmark.instances} is missing")
    rows, repos = _drawn(benchmark, seed), benchmark.repos or cache / "repos"
    if benchmark.repos is None:
        clone_all(rows, repos, cache, CLONES_AT_ONCE, progress)
    known, excluded = _with_truth(benchmark, rows, repos, cache, progress)
    kept = own(known)
    if not kept:
        reason = next(iter(excluded.values()), "the file is empty")
        raise DataError(f"benchmark {benchmark.name}: none of {len(excluded)} instances can be used: {reason}")
    repositories = len({row.repo for row in kept})
    facts = Loaded(source=str(benchmark.instances), instances=len(kept), repositories=repositories, excluded=excluded)
    return Prepared(benchmark, repos, kept, facts)


def snapshot(repos: Path, store: SnapshotStore, instance: Instance) -> Repository:
    """The tree an instance is about, from the clones in ``repos``. What a partial clone lacks is empty unless it is code."""
    git_dir_of(instance.repo, repos)  # refuses what is not owner/name, before it becomes part of a path
    return instance_snapshot(store, repos, instance, is_code)


def read_benchmark(path: Path) -> list[Instance]:
    """Instances of a file in the SWE-bench schema, or of this project's; a truth that a row carries is kept.

    Raises :class:`DataError` for a file that cannot be read, and for a duplicate instance.
    """
    import polars as pl

    if path.suffix == ".parquet" and set(INSTANCE_COLUMNS) <= set(pl.read_parquet_schema(path)):
        rows = read_instances(path)
    else:
        rows = list(swe_bench_instances(str(path), read_rows(path)))
    ids = [row.instance_id for row in rows]
    if twice := next((name for name in ids if ids.count(name) > 1), None) if len(set(ids)) < len(ids) else None:
        raise DataError(f"{path}: duplicate instance {twice}")
    return rows


def _drawn(benchmark: Benchmark, seed: int) -> list[Instance]:
    """The instances of a benchmark that are evaluated, in the order of its file."""
    drawn_by = seed if benchmark.seed is None else benchmark.seed
    rows = read_benchmark(benchmark.instances)
    if benchmark.max_instances and benchmark.max_instances < len(rows):
        rows = [rows[index] for index in sorted(random.Random(drawn_by).sample(range(len(rows)), benchmark.max_instances))]
    return rows


def _with_truth(
    benchmark: Benchmark, rows: list[Instance], repos: Path, cache: Path, progress: Progress
) -> tuple[list[Instance], dict[str, str]]:
    """Instances with truth, and why others have none; only what ``cache`` lacks is computed, the excluded ones again."""
    table, record = cache / f"{benchmark.name}.parquet", cache / f"{benchmark.name}.json"
    key = digest(file_digest(benchmark.instances), str(repos))
    cached = record.exists() and table.exists() and read_json(record)["key"] == key
    known = {row.instance_id: row for row in read_instances(table)} if cached else {}
    excluded: dict[str, str] = {}
    with Repositories(repos) as clones:
        for number, row in enumerate(rows, 1):
            try:
                known[row.instance_id] = known.get(row.instance_id) or _known_truth(row, clones.reader)
            except FusesearchError as error:
                excluded[row.instance_id] = " ".join(str(error).split())
            progress(number, len(rows))
    write_instances(table, known.values())
    write_json(record, {"key": key, "excluded": excluded})
    return [known[row.instance_id] for row in rows if row.instance_id in known], excluded


def _known_truth(row: Instance, reader_of: Callable[[Instance], Reader]) -> Instance:
    """The instance with its truth. Raises :class:`DataError` where that names no file."""
    truth = row.truth or truth_from_patch(row.patch, reader_of(row))
    if not truth.files and truth.expected is None:
        alone = f", only the submodule {truth.submodules[0]}" if truth.submodules else ""
        raise DataError(f"the patch modifies no file that exists at the base commit{alone}")
    return row.model_copy(update={"truth": truth})
