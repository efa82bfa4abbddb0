"""A run of a stage: inputs that change meanwhile, runs that killed processes left, and what Prefect shows of it."""

import hashlib
import json
import logging
import shutil
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from uuid import UUID

import pytest
from filelock import FileLock
from prefect.states import Running

from flows import events, stage
from flows import stage as stages
from fusesearch.core.config import load_params
from fusesearch.core.errors import DataError
from fusesearch.core.storage import read_json, write_json, write_text
from tasks.running.node import Node
from tasks.stages import STAGES

ROOT = Path(__file__).parents[3]
SELECT = Node(stage="select")


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project whose stage ``select`` can run, without Prefect and MLflow."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "params.yaml", tmp_path)
    write_text(tmp_path / "tasks/select.py", "x = 1")
    inputs = SELECT.inputs(load_params())
    deps = [path.as_posix() for path in inputs]
    (tmp_path / "dvc.yaml").write_text(json.dumps({"stages": {"select": {"deps": deps}}}))
    for data in inputs:
        write_text(data, "row")
    for name in ("occupied", "Live", "StageProgress"):
        monkeypatch.setattr(stage, name, lambda *_: nullcontext(SimpleNamespace(log=None)))
    for name in ("show", "track"):
        monkeypatch.setattr(stage, name, lambda *_: "")
    monkeypatch.setattr(events, "emit_event", lambda *_, **__: None)
    return tmp_path


def run(during=lambda: None, made="made", **figures):
    with stage.running(SELECT) as job:
        for path in SELECT.outputs[:-1]:
            write_text(path, made)
        job.metrics = {"selected": 1, **figures}
        during()
    return job


def test_prefect_hears_of_data_that_are_new_and_of_what_was_lost(project, monkeypatch, caplog):
    told = []
    monkeypatch.setattr(events, "emit_event", lambda name, resource, payload: told.append((name, resource, payload)))
    monkeypatch.setattr(events, "get_run_logger", logging.getLogger)
    for made in ("one", "one", "two"):
        run(made=made)
    run(made="one", arm={"errored": 2})
    assert [name for name, *_ in told] == ["fusesearch.dataset.new", "fusesearch.dataset.new", "fusesearch.stage.lost"]
    resource = told[0][1]
    assert (resource["prefect.resource.id"], resource["path"]) == ("fusesearch.select.trajectories", SELECT.outputs[0].as_posix())
    assert resource["digest"] == hashlib.md5(b"one").hexdigest()
    assert told[2][2] == {"lost": ["arm.errored: 2"]}
    assert "select ended with less than it was given: arm.errored: 2" in caplog.text


def test_a_repository_by_name_that_gives_nothing_is_said(tmp_path):
    rows = [
        {"repo": "a/full", "kept": 2},
        {"repo": "a/empty", "kept": 0},
        {"repo": "b/empty", "pairs": 0},
        {"repo": "b", "pairs": 1},
    ]
    write_json(tmp_path / "table.json", {"repositories": rows, "skipped": {"c/away": "no clone"}})
    job = SimpleNamespace(stage=STAGES["mine"], output=lambda _: tmp_path / "table.json", metrics={"pairs": 3})
    assert list(events.lost_by(job)) == ["c/away: no clone", "a/empty: no pair", "b/empty: no pair"]


def test_a_run_writes_its_metrics_and_leaves_nothing_behind(project):
    job = run()
    assert read_json(job.output("metrics")) == {"selected": 1}
    assert stage.is_complete("select")
    assert not job.scratch.exists()


@pytest.mark.parametrize(
    ("path", "old", "new", "same"),
    [
        ("tasks/select.py", "1", "2", False),
        ("tasks/select.py", "x = 1", "x = 1  # one", True),
        ("data/synthesized/trajectories.jsonl", "row", "now", False),
        ("params.yaml", "min_f1: 0.5", "min_f1: 0.4", False),
        ("params.yaml", "\nseed: 0", "\nseed: 1", True),
    ],
)
def test_a_run_whose_inputs_changed_meanwhile_is_not_recorded(project, path, old, new, same):
    def change():
        text = (project / path).read_text()
        assert old in text
        (project / path).write_text(text.replace(old, new))

    if same:
        run(change)
    else:
        with pytest.raises(DataError, match=r"what select reads .* changed while it ran"):
            run(change)
    assert stage.is_complete("select") == same
    assert SELECT.places["select.metrics"].exists() == same


class Prefect:
    """A client of a server where every run is still said to run."""

    def __init__(self):
        self.crashed = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def read_flow_run(self, run_id):
        return SimpleNamespace(id=run_id, state=Running())

    def set_flow_run_state(self, run_id, state, force):
        assert state.type.value == "CRASHED"
        self.crashed.append(run_id.int)


def test_a_run_closes_the_runs_of_killed_processes_of_its_stage(project, monkeypatch):
    prefect = Prefect()
    monkeypatch.setattr(stage, "get_client", lambda **_: prefect)
    with pytest.raises(ZeroDivisionError):
        run(lambda: 1 / 0)
    (own,) = Path(".fusesearch/progress").glob("select-*")
    killed, working, node = (own.with_name(f"select-{end}") for end in ("0" * 16, "1" * 16, "5821e0b3-0123456789abcdef"))
    for number, folder in enumerate((own, killed, working, node), 1):
        write_json(folder / "runs.json", {"prefect": str(UUID(int=number))})
    with FileLock(working / ".lock"):
        run()
    assert prefect.crashed == [1, 2]


def test_a_run_that_is_not_recorded_yet_says_how_to_record_it(monkeypatch):
    pages = []
    monkeypatch.setattr(stages, "create_markdown_artifact", lambda page, **_: pages.append(page))
    stage = SimpleNamespace(name="select", shows=())
    stages.show(SimpleNamespace(stage=stage, node=stage, metrics={"selected": 3}), "", {"a.csv": "0f"})
    assert "`python -m flows track`" in pages[0]
    assert "| selected | 3 |" in pages[0]
    assert "| a.csv | 0f |" in pages[0]
