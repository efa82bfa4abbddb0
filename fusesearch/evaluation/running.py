"""Evaluate a grid, cell by cell, into one folder: for ``fusesearch evaluate`` and for the evaluate stage.

A cell is a run of :func:`fusesearch.evaluation.harness.evaluate`, so finished episodes are in its journal and a killed grid
goes on where it was. A finished cell is opened again only for episodes it lacks (more runs, more instances, or errored ones
that are to be tried again); its scores are made again from its trajectories when the truth has changed.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import InitVar, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from filelock import FileLock, Timeout

from fusesearch.agents.models.base import Model, Sampling
from fusesearch.core.caches import Caches
from fusesearch.core.config import Compute
from fusesearch.core.digests import digest
from fusesearch.core.errors import ConfigError, RepositoryError
from fusesearch.core.schema import Score, Trajectory
from fusesearch.core.storage import Journal, Progress, read_json, read_jsonl, silent, write_json, write_jsonl
from fusesearch.evaluation.benchmarks import Prepared, prepare, snapshot
from fusesearch.evaluation.environments import environment_named
from fusesearch.evaluation.grid import Endpoint, Grid
from fusesearch.evaluation.harness import Evaluation, evaluate, journal_key, scored
from fusesearch.evaluation.metrics import aggregate
from fusesearch.evaluation.protocols import PROTOCOLS
from fusesearch.evaluation.results import (
    DONE,
    JOURNAL,
    MANIFEST,
    SCORES,
    SCORES_TABLE,
    SETTINGS,
    TRAJECTORIES,
    Cell,
    Manifest,
    cell_folder,
    runs_of,
    write_scores_table,
)  # fmt: skip
from fusesearch.evaluation.rewards import make_reward
from fusesearch.localizers.base import Setup
from fusesearch.localizers.registry import asks_model, make_localizer
from fusesearch.search.git import Git
from fusesearch.search.snapshots import SnapshotStore

Episode = tuple[Trajectory, int]
"""A trajectory and its run."""


class Policy(Protocol):
    """A checkpoint behind servers."""

    def model(self) -> Model:
        """A model of it, for one event loop."""
        ...


Serve = Callable[[Path, Compute, Path, str], AbstractContextManager[Policy]]
"""Serves a checkpoint as ``compute`` says, in a dtype; the servers' output goes to a folder."""


def cells_of(grid: Grid) -> list[Cell]:
    """The grid's cells, benchmark by benchmark; a localizer that asks no model has one per benchmark.

    Raises :class:`ConfigError` for an unknown localizer, and where one needs a model and none is given.
    """
    cells = [
        Cell(localizer=row.localizer, model=row.checkpoint and name, benchmark=grid.benchmarks[0].name, given_name=name)
        for name, row in grid.cells.items()
    ]
    for name in grid.localizers:
        if asks_model(name) and not grid.models:
            raise ConfigError(f"localizer {name} asks a model: name one under models, or with --model and --base-url")
    for benchmark in grid.benchmarks:
        for localizer in grid.localizers:
            models = [model.name for model in grid.models] if asks_model(localizer) else [""]
            cells += [Cell(localizer=localizer, model=model, benchmark=benchmark.name) for model in models]
    return cells


@contextmanager
def opened(
    grid: Grid,
    out: Path,
    caches: Caches,
    *,
    serve: Serve | None = None,
    retry_errored: bool = False,
    progress: Progress = silent,
) -> Iterator[GridRun]:
    """The grid in its folder ``out``, for this process alone: benchmarks read, truth known, manifest written.

    ``serve`` starts the servers of ``grid.compute``. Raises :class:`ConfigError` when another process works there, or what was
    run there differs in more than its extent.
    """
    cells = cells_of(grid)
    out.mkdir(parents=True, exist_ok=True)
    lock = FileLock(out / ".grid.lock")  # the scratch of a stage has a `.lock` of its own
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise ConfigError(f"another process works in {out}: wait for it, or name another folder") from None
    try:
        yield GridRun(grid, out, caches, cells, serve, retry_errored, progress)
    finally:
        lock.release()


@dataclass
class GridRun:
    """A grid being run; use :func:`opened`. Its cells are run one after another, each with episodes side by side."""

    grid: Grid
    out: Path
    caches: Caches
    cells: list[Cell]
    serve: Serve | None
    retry_errored: bool
    progress: InitVar[Progress]

    def __post_init__(self, progress: Progress) -> None:
        grid = self.grid
        self._reward = make_reward(grid.reward, alpha=grid.alpha, beta=grid.beta, gamma=grid.gamma)
        self._environment = environment_named(grid.agent.toolset)
        self._store = SnapshotStore(self.caches.snapshots)
        self._benchmarks = {
            row.name: prepare(row, self.out / "instances", grid.seed, progress, self._environment.own) for row in grid.benchmarks
        }
        for cell in self.cells:
            self._check_settings(cell)
        facts = {name: prepared.facts for name, prepared in self._benchmarks.items()}
        manifest = Manifest(grid=grid, benchmarks=facts, cells=self.cells, revision=_revision())
        write_json(self.out / MANIFEST, manifest.model_dump(mode="json"))

    @property
    def episodes(self) -> int:
        """Episodes of all cells."""
        return sum(self.episodes_of(cell) for cell in self.cells)

    def episodes_of(self, cell: Cell) -> int:
        """Episodes of one cell."""
        return len(self._benchmarks[cell.benchmark].instances) * runs_of(cell, self.grid)

    def run(self, cell: Cell, progress: Progress = silent) -> list[Score]:
        """Run what the cell lacks and write it down; returns its scores, instance by instance, run by run."""
        folder, prepared = cell_folder(self.out, cell), self._benchmarks[cell.benchmark]
        scoring = digest(*(row.truth for row in prepared.instances))
        known = self._known(folder)
        if all(key in known for key in self._wanted(cell, prepared)):
            progress(self.episodes_of(cell), self.episodes_of(cell))
            if read_json(folder / DONE).get("scoring") == scoring:
                return list(read_jsonl(folder / SCORES, Score))
            changes = read_json(folder / DONE).get("changes", [])
            by_id = {row.instance_id: row for row in prepared.instances}
            episodes = ((by_id.get(row.instance_id), run, row) for row, run in known.values())
            scores = scored(((task, run, row) for task, run, row in episodes if task), **self._scoring(cell))
            return self._publish(cell, scores, scoring, changes)
        (folder / DONE).unlink(missing_ok=True)
        write_json(folder / SETTINGS, self._settings(cell))
        with Journal(folder / JOURNAL, key="key") as rows:  # so that only the other episodes are run
            for key, (trajectory, _) in known.items():
                rows.append({"key": key, "trajectory": trajectory.model_dump(mode="json")})
        found = self.episodes_into(folder / JOURNAL, cell, progress=progress)
        write_jsonl(folder / TRAJECTORIES, found.trajectories)
        changes = sorted({change for trajectory in found.trajectories for change in trajectory.changes})
        return self._publish(cell, found.scores, scoring, changes)

    def lacking(self, cell: Cell) -> list[str]:
        """Instances of which the cell lacks a run, in their order."""
        folder, prepared = cell_folder(self.out, cell), self._benchmarks[cell.benchmark]
        with closing(Journal(folder / JOURNAL, key="key")) as journal:
            known = {*self._known(folder), *journal.rows}
        return list(dict.fromkeys(name for key, name in self._wanted(cell, prepared).items() if key not in known))

    def episodes_into(
        self, journal: Path, cell: Cell, only: Container[str] | None = None, progress: Progress = silent
    ) -> Evaluation:
        """Run the cell's episodes, or those on the instances of ``only``; goes on from ``journal``."""
        with self._model(cell) as model:
            return asyncio.run(self._evaluate(cell, model, journal, only, progress))

    def finish(self) -> None:
        """Write the scores of all cells as one table."""
        scores = [row for cell in self.cells for row in read_jsonl(cell_folder(self.out, cell) / SCORES, Score)]
        write_scores_table(self.out / SCORES_TABLE, scores)

    async def _evaluate(
        self, cell: Cell, model: Model | None, journal: Path, only: Container[str] | None, progress: Progress
    ) -> Evaluation:
        prepared = self._benchmarks[cell.benchmark]
        instances = [row for row in prepared.instances if only is None or row.instance_id in only]
        try:
            return await evaluate(
                self._localizer(cell, model), instances, partial(snapshot, prepared.repos, self._store),
                journal=journal, runs=runs_of(cell, self.grid), concurrency=self.grid.concurrency, seed=self.grid.seed,
                progress=progress, **self._scoring(cell),
            )  # fmt: skip
        finally:
            if model is not None:
                await model.close()

    def _scoring(self, cell: Cell) -> dict[str, Any]:
        scope = self.grid.agent.history_scope
        return {"arm": cell.name, "reward": self._reward, "scope": scope, "scorer": self._environment.score}

    @contextmanager
    def _model(self, cell: Cell) -> Iterator[Model | None]:
        """What the cell asks, if it asks a model."""
        endpoint = self._endpoint(cell) if cell.model else None
        if endpoint is None or endpoint.checkpoint is None or self.grid.compute is None:
            yield _make_model(endpoint) if endpoint else None
            return
        if self.serve is None:
            raise ConfigError(f"{cell.name}: `compute` asks for servers, which cannot be started here")
        with self.serve(endpoint.checkpoint, self.grid.compute, self.out, endpoint.dtype) as policy:
            yield policy.model()

    def _localizer(self, cell: Cell, model: Any) -> Any:
        endpoint = self._endpoint(cell) if cell.model else None
        heat = {"temperature": endpoint.temperature, "top_p": endpoint.top_p} if endpoint else {}
        sampling = Sampling(max_new_tokens=self.grid.agent.max_new_tokens, **heat)
        setup = Setup(model, self.grid.agent, self.grid.tools, sampling, caches=self.caches)
        return make_localizer(cell.localizer, setup)

    def _endpoint(self, cell: Cell) -> Endpoint:
        grid = self.grid
        if given := grid.cells.get(cell.given_name):
            return Endpoint(name=cell.model, checkpoint=Path(given.checkpoint), temperature=grid.temperature, dtype=grid.dtype)
        return next(row for row in grid.models if row.name == cell.model)

    def _publish(self, cell: Cell, scores: list[Score], scoring: str, changes: list[str]) -> list[Score]:
        """Put the cell's scores in place, and last the file that says it is finished, and what the endpoint refused."""
        folder = cell_folder(self.out, cell)
        write_jsonl(folder / SCORES, scores)
        write_scores_table(folder / SCORES_TABLE, scores)
        done = {"scoring": scoring, "figures": figures_of(scores), "changes": changes}
        write_json(folder / DONE, {name: value for name, value in done.items() if value != []})
        (folder / JOURNAL).unlink(missing_ok=True)
        return scores

    def _wanted(self, cell: Cell, prepared: Prepared) -> dict[str, str]:
        """The instance of every episode of the cell, by the key of the episode."""
        ids = [row.instance_id for row in prepared.instances]
        return {journal_key(name, run): name for name in ids for run in range(runs_of(cell, self.grid))}

    def _known(self, folder: Path) -> dict[str, Episode]:
        """Episodes of a finished cell, by their key; without the errored ones where those are to be tried again."""
        if not (folder / DONE).exists():
            return {}
        runs = [score.run for score in read_jsonl(folder / SCORES, Score)]
        episodes = zip(read_jsonl(folder / TRAJECTORIES, Trajectory), runs, strict=True)
        kept = (episode for episode in episodes if not (self.retry_errored and episode[0].error))
        return {journal_key(trajectory.instance_id, run): (trajectory, run) for trajectory, run in kept}

    def _settings(self, cell: Cell) -> dict[str, Any]:
        """What the cell's episodes depend on: not how many they are, nor how the endpoint is reached."""
        asked = {"model", "checkpoint", "tool_format", "temperature", "top_p", "extra_body"}
        asked |= {"dtype"} if cell.model and self._endpoint(cell).checkpoint else set()
        model = self._endpoint(cell).model_dump(mode="json", include=asked) if cell.model else None
        limits = {name: getattr(self.grid, name).model_dump(mode="json") for name in ("agent", "tools")}
        names = {"model": "", **cell.model_dump(exclude_defaults=True)}
        return {**names, "endpoint": model, **limits, "seed": self.grid.seed}

    def _check_settings(self, cell: Cell) -> None:
        path = cell_folder(self.out, cell) / SETTINGS
        if not path.exists():
            return
        before, now = read_json(path), self._settings(cell)
        if changed := [name for name in now if before.get(name) != now[name]]:
            raise ConfigError(f"{path.parent} was run with another {', '.join(changed)}: name another folder, or remove that one")


def figures_of(scores: Sequence[Score]) -> dict[str, Any]:
    """Averages over a cell's scores, and its row under every protocol as ``<protocol>.<column>``."""
    rows = {f"{name}.{key}": value for name, row in PROTOCOLS.items() for key, value in row.read(scores).items()}
    return {**aggregate(scores), "protocols": rows}


def _revision() -> str:
    """The commit of the checkout that this code runs from."""
    try:
        with Git(Path(__file__).parents[2]) as git:
            return git.resolve("HEAD")[0]
    except RepositoryError:  # an installed copy
        return "unknown"


def _make_model(endpoint: Endpoint) -> Any:
    if endpoint.checkpoint is not None:
        from fusesearch.agents.models.transformers import TransformersModel

        return TransformersModel.load(endpoint.checkpoint, dtype=endpoint.dtype)
    from fusesearch.agents.models.openai_compatible import OpenAICompatibleModel

    return OpenAICompatibleModel(
        endpoint.model or endpoint.name, endpoint.base_url, _key(endpoint), tool_format=endpoint.tool_format,
        retries=endpoint.retries, timeout_seconds=endpoint.timeout_seconds, backoff_seconds=endpoint.backoff_seconds,
        extra_body=endpoint.extra_body,
    )  # fmt: skip


def _key(endpoint: Endpoint) -> str | None:
    if endpoint.api_key_env is None:
        return None
    if endpoint.api_key_env not in os.environ:
        raise ConfigError(f"model {endpoint.name}: the environment variable {endpoint.api_key_env} is not set")
    return os.environ[endpoint.api_key_env]
