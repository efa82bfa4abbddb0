"""``python -m tests.trials.operations.kills NAME``: kills servers in the middle of an experiment, then the run itself.

The experiment runs with an MLflow server. After a quarter of the jobs Prefect's server gets SIGKILL; after half of them
MLflow's, which stays down for half a minute; after three quarters the run, whose jobs then end by themselves. The same command
then runs to the end, and once more. Counts what is lost or duplicated in files and in MLflow, and writes
``tests/trials/operations/KILLS.md``.
"""

from __future__ import annotations

import atexit
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from flows import server
from fusesearch.core.config import load_params
from fusesearch.core.schema import Score
from fusesearch.core.storage import count_rows, read_csv, read_json, read_jsonl, write_text
from tasks.experiments.plan import nodes_of, plan
from tasks.experiments.schedule import pending_tasks
from tasks.experiments.spec import load_experiment
from tasks.running.node import Node
from tasks.running.places import MAIN
from tasks.stages import TRAINED
from tasks.tracking import tracking_uri
from tasks.tracking.store import make_client
from tests.fakes.background import Server, answers, free_port

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

RESULTS = Path(__file__).parent / "KILLS.md"
AWAY = 30.0
"""Seconds that MLflow's server stays down."""

INTO = 20.0
"""Seconds from the start of a job to the kill."""

LEAST = 8
_ENDED = re.compile(r"\[(\d+)/\d+\] (\S+): (done|running)")


def main(name: str) -> None:
    """Run the experiment with its kills and write the page."""
    experiment = load_experiment(name)
    jobs, _ = pending_tasks([experiment])
    if len(jobs) < LEAST:
        raise SystemExit(f"{name} has {len(jobs)} runs left, too few to kill anything in the middle: take another experiment")
    server.ensure()
    port = free_port()
    mlflow = mlflow_server(port)  # before MLFLOW_TRACKING_URI hides the store's own address
    mlflow.start()
    atexit.register(mlflow.stop)
    os.environ["MLFLOW_TRACKING_URI"] = f"http://127.0.0.1:{port}"
    rows = [f"| {what} | {place} | {result} |" for what, place, result in kill_all(name, len(jobs), mlflow)]
    started = time.monotonic()
    ended = subprocess.run(command(name), check=False, capture_output=True, text=True)
    print(ended.stderr[-2000:], file=sys.stderr)
    rows.append(f"| nothing: the same command again | | exit code {ended.returncode}, {time.monotonic() - started:,.0f} s |")
    started = time.monotonic()
    again = subprocess.run(command(name), check=False, capture_output=True, text=True)
    last = (again.stdout.strip().splitlines() or [f"exit code {again.returncode}"])[-1]
    rows.append(f"| nothing: once more | | {last}, {time.monotonic() - started:.0f} s |")
    nodes = [node for node in nodes_of(plan(experiment, load_params())) if node.id]
    write_text(RESULTS, page(name, len(jobs), rows, list(counts(name, nodes, len(experiment.arms) * len(experiment.seeds)))))
    print(RESULTS.read_text(encoding="utf-8"))


def command(name: str) -> list[str]:
    """The command under trial."""
    return [sys.executable, "-m", "fusesearch", "experiment", "run", name]


def kill_all(name: str, total: int, mlflow: Server) -> Iterator[tuple[str, str, str]]:
    """Run the experiment until the run itself is killed. Yields what was killed, the run's progress, and the result."""
    process = subprocess.Popen(command(name), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    running: set[str] = set()
    kills = iter(((1, "Prefect's server"), (2, "MLflow's server"), (3, "the run itself")))
    quarter, what = next(kills)
    for line in process.stderr or ():
        found = _ENDED.search(line)
        if not found:
            continue
        running = running - {found[2]} if found[3] == "done" else running | {found[2]}
        if 4 * int(found[1]) < quarter * total or found[3] == "done":
            continue
        time.sleep(INTO)
        place = f"{found[1]} of {total} done, running: {', '.join(sorted(running))}"
        if quarter == 1:
            os.killpg(read_json(server.RECORD)["pid"], signal.SIGKILL)
            yield what, place, "SIGKILL"
        elif quarter == 2:
            mlflow.stop(signal.SIGKILL)
            threading.Timer(AWAY, mlflow.start).start()
            yield what, place, f"SIGKILL, started again after {AWAY:.0f} s"
        else:
            yield what, place, kill_run(process)
            return
        quarter, what = next(kills)
    raise SystemExit(f"{name} ended with code {process.wait()} before everything was killed")


def mlflow_server(port: int) -> Server:
    """MLflow's server over the store of this project."""
    options = ["--workers", "1", "--port", str(port), "--backend-store-uri", tracking_uri()]
    command = [sys.executable, "-m", "mlflow", "server", *options]
    return Server("mlflow", command, answers(f"http://127.0.0.1:{port}/health"), Path(".fusesearch/mlflow.log"))


def kill_run(process: subprocess.Popen[str]) -> str:
    """SIGKILL the run. Its jobs should end by themselves; a Prefect server that one of them started should stay."""
    kept = read_json(server.RECORD)["pid"]
    jobs = [job for job in psutil.Process(process.pid).children(recursive=True) if os.getsid(job.pid) != kept]
    process.kill()
    process.wait()
    started = time.monotonic()
    _, alive = psutil.wait_procs(jobs, timeout=120)
    return f"SIGKILL; its {len(jobs)} processes ended after {time.monotonic() - started:.0f} s, {len(alive)} left"


def counts(name: str, nodes: list[Node], arms: int) -> Iterator[str]:
    """Rows of the table: what exists, what is lost, what is duplicated."""
    params = load_params()
    instances = count_rows(MAIN["split.validation"])
    wanted = min(instances, params.evaluate.max_instances or instances) * params.evaluate.runs
    evaluated = [node for node in nodes if node.stage == "evaluate"]
    files = [node.places["evaluate.scores"] for node in evaluated]
    rows = [[(score.arm, score.instance_id, score.run) for score in read_jsonl(path, Score)] for path in files]
    lost = sum(wanted - len(set(found)) for found in rows)
    twice = sum(len(found) - len(set(found)) for found in rows)
    yield f"| scores of {len(evaluated)} evaluations | {sum(map(len, rows))} | {lost} | {twice} |"
    curves = [[row["step"] for row in read_csv(node.places[f"{node.stage}.curve"])] for node in nodes if node.stage in TRAINED]
    gaps = sum(len(set(range(int(steps[0]), int(steps[-1]) + 1, int(steps[0]))) - set(map(int, steps))) for steps in curves)
    twice = sum(len(steps) - len(set(steps)) for steps in curves)
    yield f"| steps in the curves of {len(curves)} trainings | {sum(map(len, curves))} | {gaps} | {twice} |"
    subprocess.run(["fusesearch", "track"], check=True)  # what ended while the server was down
    client = make_client(tracking_uri())
    found = [run.data.tags for run in found_runs(client, "fusesearch/nodes", "")]
    # those with a parent are the cells of an evaluation
    runs = Counter(tags.get("node", "") for tags in found if "mlflow.parentRunId" not in tags)
    known = [runs[str(node.id)] for node in nodes]
    yield f"| MLflow's runs of {len(nodes)} nodes | {sum(known)} | {known.count(0)} | {sum(max(0, n - 1) for n in known)} |"
    current = Counter(
        (run.data.tags.get("arm"), run.data.tags.get("seed"))
        for run in found_runs(client, f"fusesearch/{name}", "tags.current = 'true'")
    )
    extra = sum(current.values()) - len(current)
    yield f"| MLflow's current runs of {arms} arms and seeds | {sum(current.values())} | {arms - len(current)} | {extra} |"


def found_runs(client: MlflowClient, experiment: str, wanted: str) -> list[Run]:
    """All runs of an experiment that match a filter."""
    found = client.get_experiment_by_name(experiment)
    return list(client.search_runs([found.experiment_id], wanted, max_results=5000)) if found else []


def page(name: str, total: int, kills: list[str], found: list[str]) -> str:
    """The results as Markdown."""
    params = load_params()
    return "\n".join(
        [
            "# Killed in the middle of an experiment",
            "",
            f"`python -m tests.trials.operations.kills {name}`, profile {params.profile}, {total} runs left to do, "
            f"{os.cpu_count()} cores, MLflow behind its server.",
            "",
            "| killed | when | result |\n|---|---|---|",
            *kills,
            "",
            "| afterwards | found | lost | duplicated |\n|---|---|---|---|",
            *found,
            "",
        ]
    )


if __name__ == "__main__":
    main(sys.argv[1])
