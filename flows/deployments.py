"""What operators find in Prefect: the pipeline, each stage, each experiment and nightly mining, in a work pool.

``python -m flows.deployments``, which ``make serve`` calls, makes the pool, the deployments and the global limits, or brings them
up to date. Schedules are off when they are made. What an operator changed afterwards (schedules, limits, the
pool) stays. All runs of a server's deployments happen in one folder: those of another are left alone unless ``--take-over``
says otherwise.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer
from prefect import Flow
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import DeploymentScheduleCreate, WorkPoolCreate, WorkPoolUpdate
from prefect.deployments.runner import EntrypointType, RunnerDeployment
from prefect.exceptions import ObjectAlreadyExists, ObjectNotFound
from prefect.schedules import Cron
from pydantic import Field

from flows import operate, quotas
from flows.experiments import experiment
from flows.nightly import nightly_flow
from flows.pipeline import pipeline_flow
from flows.run import FLOWS
from flows.server import prefect_server
from tasks.core.config import Section, parse_section
from tasks.core.errors import ConfigError, FusesearchError
from tasks.evaluation.grid import read_yaml
from tasks.pipeline.experiments.spec import experiment_names, load_experiment
from tasks.pipeline.tracking.store import shown

POOL = "fusesearch"
POOLS = Path("flows/pools")
QUEUE = "experiments"
"""Where experiments wait for each other, so that they hold no slot of the pool meanwhile."""


class Pool(Section):
    """A work pool of any type that Prefect knows: ``flows/pools/*.yaml``."""

    name: str = POOL
    type: str = Field("process", description="process, docker, kubernetes, or another type of Prefect's")
    concurrency_limit: int | None = Field(None, ge=1, description="runs at once; null: any number")
    job_variables: dict[str, Any] = Field(
        default_factory=dict, description="of all deployments; {root} is this folder, {api} the server's address"
    )
    job_configuration: dict[str, Any] = Field(default_factory=dict, description="merged into Prefect's own for the type")


def load_pool(path: Path) -> Pool:
    """Read and check a pool's file. Raises :class:`ConfigError` with file, key and reason in one line."""
    return parse_section(Pool, read_yaml(path), source=str(path))


def pool_in_use() -> Path:
    """The file of the pool that the current server's deployments are in; ``process.yaml`` where it has none yet.

    Raises :class:`ConfigError` if no file of ``flows/pools`` is of that pool.
    """
    with get_client(sync_client=True) as client:
        try:
            name = client.read_deployment_by_name(f"{pipeline_flow.name}/pipeline").work_pool_name or POOL
        except ObjectNotFound:
            name = POOL
    for path in sorted(POOLS.glob("*.yaml")):
        if load_pool(path).name == name:
            return path
    raise ConfigError(f"the deployments are in the pool {name}, which no file in {POOLS} has: name its file with --pool")


def register(pool: Pool, api: str, take_over: bool = False) -> list[str]:
    """Make or update pool, global limits and deployments at the current server; returns the deployments' names.

    Raises :class:`ConfigError` where they are those of another folder and ``take_over`` is not set.
    """
    with get_client(sync_client=True) as client:
        rows = list(deployments(pool, api))
        if not take_over:
            _check_ours(client, rows[0])
        _register_pool(client, pool)
        quotas.register(client)
        for row in rows:
            _keep_schedules(client, row)
            row.apply()
    return [row.full_name for row in rows]


def deployments(pool: Pool, api: str) -> Iterator[RunnerDeployment]:
    """All deployments, as they are where nobody has changed them."""
    variables = _filled(pool.job_variables, {"{root}": str(Path.cwd()), "{api}": api})

    def deployed(flow: Flow[..., Any], name: str, words: str, tags: list[str], **options: Any) -> RunnerDeployment:
        return RunnerDeployment.from_flow(
            flow, name, description=words, tags=["fusesearch", *tags], concurrency_limit=1, work_pool_name=pool.name,
            job_variables=variables, entrypoint_type=EntrypointType.MODULE_PATH, **options,
        )  # fmt: skip

    sunday, night, saturday = (Cron(cron, timezone="UTC", active=False) for cron in ("0 4 * * 0", "0 2 * * *", "0 6 * * 6"))
    yield deployed(pipeline_flow, "pipeline", "All stages that DVC finds changed, in order.", ["pipeline"], schedules=[sunday])
    yield deployed(nightly_flow, "nightly", "Mines what is new since the last night.", ["mining"], schedules=[night])
    for stage in FLOWS:
        yield deployed(operate.STAGE_FLOWS[stage], stage, f"The stage {stage} alone, as it is or as a try.", ["stage"])
    for name in experiment_names():
        title = load_experiment(name).title
        yield deployed(
            experiment, name, title, ["experiment", name], parameters={"names": [name]}, schedules=[saturday],
            work_queue_name=QUEUE,
        )  # fmt: skip


def _check_ours(client: SyncPrefectClient, row: RunnerDeployment) -> None:
    """Raise :class:`ConfigError` where the server has the deployment as one of another folder."""
    try:
        known = _root_of(client.read_deployment_by_name(row.full_name).job_variables)
    except ObjectNotFound:
        return
    if known not in ("", str(Path.cwd())):
        raise ConfigError(
            f"the deployments of this server run in {known}: run `make serve` there alone, or move them here with "
            "`python -m flows.deployments --take-over`"
        )


def _root_of(variables: Mapping[str, Any]) -> str:
    """The folder in which a deployment's runs happen, as pools have it; "" where they do not say."""
    mounted = (str(volume).partition(":") for volume in variables.get("volumes") or ())
    return str(variables.get("working_dir") or next((outside for outside, _, inside in mounted if outside == inside), ""))


def _register_pool(client: SyncPrefectClient, pool: Pool) -> None:
    template = _template(client, pool)
    try:
        client.read_work_pool(pool.name)
        client.update_work_pool(pool.name, WorkPoolUpdate(base_job_template=template))
    except ObjectNotFound:
        client.create_work_pool(
            WorkPoolCreate(name=pool.name, type=pool.type, base_job_template=template, concurrency_limit=pool.concurrency_limit)
        )
    with suppress(ObjectAlreadyExists):
        client.create_work_queue(QUEUE, concurrency_limit=1, work_pool_name=pool.name)


def _template(client: SyncPrefectClient, pool: Pool) -> dict[str, Any]:
    """The base job template that Prefect has for the type, with what the pool's file says of it."""
    kinds = {name: kind for collection in client.read_worker_metadata().values() for name, kind in collection.items()}
    if pool.type not in kinds:
        raise ConfigError(f"pool {pool.name}: the server knows no type {pool.type!r}: use one of {', '.join(sorted(kinds))}")
    template = kinds[pool.type]["default_base_job_configuration"]
    return _merged(template, {"job_configuration": pool.job_configuration})


def _merged(base: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in change.items():
        both = isinstance(merged.get(key), dict) and isinstance(value, dict)
        merged[key] = _merged(merged[key], value) if both else value
    return merged


def _keep_schedules(client: SyncPrefectClient, row: RunnerDeployment) -> None:
    """Leave the schedules of a deployment that is there already as they are, switched on or off."""
    try:
        known = client.read_deployment_by_name(row.full_name)
    except ObjectNotFound:
        return
    keys = ("schedule", "active", "parameters", "slug", "max_scheduled_runs")
    row.schedules = [DeploymentScheduleCreate(**{key: getattr(one, key) for key in keys}) for one in known.schedules]


def _filled(value: Any, words: dict[str, str]) -> Any:
    """``value`` with every placeholder replaced, in all strings inside it."""
    if isinstance(value, dict):
        return {key: _filled(item, words) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, words) for item in value]
    for word, meaning in words.items():
        value = value.replace(word, meaning) if isinstance(value, str) else value
    return value


def main(
    pool: Annotated[Path | None, typer.Option(help="The work pool's file; without it that of the pool they are in.")] = None,
    take_over: Annotated[bool, typer.Option("--take-over", help="Move the deployments of another folder here.")] = False,
) -> None:
    """Register the deployments with the Prefect server; schedules are off until they are switched on."""
    try:
        with prefect_server() as api:
            chosen = load_pool(pool or pool_in_use())
            names = register(chosen, api, take_over)
            typer.echo(f"{len(names)} deployments in {chosen.name}: {shown(api).removesuffix('/api')}/deployments")
    except FusesearchError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(1)


if __name__ == "__main__":
    typer.run(main)
