"""What ``make serve`` deploys."""

import importlib
import logging
from pathlib import Path

import pytest
import yaml

from flows import pipeline
from fusesearch.core.errors import DataError

ROOT = Path(__file__).parents[3]
DEPLOYMENTS = {row["name"]: row for row in yaml.safe_load((ROOT / "flows/prefect.yaml").read_text())["deployments"]}


@pytest.mark.parametrize(("name", "schedules"), [("pipeline", 1), ("nightly", 1), ("stage", 0), ("experiment", 1)])
def test_a_deployment_names_a_flow_its_parameters_and_schedules_that_are_off(name, schedules):
    row = DEPLOYMENTS[name]
    path, _, function = row["entrypoint"].partition(":")
    flow = getattr(importlib.import_module(path.removesuffix(".py").replace("/", ".")), function)
    assert flow.name == name
    assert row.get("parameters", {}).keys() <= flow.parameters.properties.keys()
    assert [schedule["active"] for schedule in row.get("schedules", [])] == [False] * schedules


def test_a_stage_that_fails_says_why(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pipeline, "get_run_logger", lambda: logging.getLogger("test"))
    with pytest.raises(DataError, match="filter: ERROR: you are not inside of a DVC repository"):
        pipeline.reproduce.fn("filter")
