"""What ``make serve`` deploys."""

import importlib
from pathlib import Path

import pytest
import yaml

from flows import pipeline
from flows.pipeline import NAMES, nightly, one_stage
from fusesearch.core.errors import DataError
from fusesearch.core.storage import write_json

ROOT = Path(__file__).parents[3]
DEPLOYMENTS = {row["name"]: row for row in yaml.safe_load((ROOT / "flows/prefect.yaml").read_text())["deployments"]}


@pytest.mark.parametrize("name", ["pipeline", "nightly", "stage", "experiment"])
def test_a_deployment_names_a_flow_its_parameters_and_schedules_that_are_off(name):
    row = DEPLOYMENTS[name]
    path, _, function = row["entrypoint"].partition(":")
    flow = getattr(importlib.import_module(path.removesuffix(".py").replace("/", ".")), function)
    assert flow.name == name
    assert row.get("parameters", {}).keys() <= flow.parameters.properties.keys()
    assert not any(schedule["active"] for schedule in row.get("schedules", []))


@pytest.fixture
def ran(monkeypatch):
    """Stages that a flow ran, and whether they had to."""
    stages = []
    monkeypatch.setattr(pipeline, "reproduce", lambda name, again=False: stages.append((str(name), again)))
    return stages


def test_the_pipeline_runs_stages_in_order(ran):
    pipeline.pipeline.fn(until="select")
    assert ran == [(name, False) for name in NAMES[: NAMES.index("select") + 1]]
    one_stage.fn("sft", again=True)
    assert ran[-1] == ("sft", True)


def test_a_night_mines_and_then_runs_what_is_asked_for(ran, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pipeline, "get_run_logger", lambda: pipeline_log())
    write_json(tmp_path / "artifacts/mine/metrics.json", {"pairs": 3, "new_pairs": 1})
    assert nightly.fn(until="split")["new_pairs"] == 1
    assert ran == [("mine", True), ("filter", False), ("split", False)]


def test_a_stage_that_fails_says_why(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pipeline, "get_run_logger", lambda: pipeline_log())
    with pytest.raises(DataError, match="filter: ERROR: you are not inside of a DVC repository"):
        pipeline.reproduce.fn("filter")


def pipeline_log():
    import logging

    return logging.getLogger("test")
