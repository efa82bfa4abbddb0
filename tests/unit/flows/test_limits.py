"""What runs share: deployments and limits."""

import importlib
import logging
import re
from pathlib import Path

import pytest
import yaml

from flows import pipeline
from flows.limits import GITHUB, GPU, TEACHER, has_gpu, limits_of
from fusesearch.core.config import parse_params
from fusesearch.core.errors import DataError
from tasks.stages import STAGES


@pytest.mark.parametrize(
    ("stage", "section", "expected"),
    [
        ("mine", {"mine": {"source": "github"}}, [GITHUB]),
        ("mine", {"mine": {"source": "git"}}, []),
        ("synthesize", {"teacher": {"model": "m"}}, [TEACHER]),
        ("synthesize", {}, []),
        ("sft", {}, [GPU] if has_gpu() else []),
        ("report", {"mine": {"source": "github"}}, []),
    ],
)
def test_a_run_takes_a_slot_of_what_it_shares_with_others(stage, section, expected):
    assert limits_of(STAGES[stage], parse_params(section)) == expected


def test_make_serve_makes_every_limit():
    makefile = (Path(__file__).parents[3] / "Makefile").read_text()
    (names,) = re.findall(r"for name in (.+); do .+ gcl create \$\$name", makefile)
    assert set(names.split()) == {GITHUB, TEACHER, GPU}


ROOT = Path(__file__).parents[3]
DEPLOYMENTS = {row["name"]: row for row in yaml.safe_load((ROOT / "flows/prefect.yaml").read_text())["deployments"]}


@pytest.mark.parametrize(("name", "schedules"), [("pipeline", 1), ("nightly", 1), ("stage", 0), ("experiment", 1)])
def test_a_deployment_names_a_flow_its_parameters_schedules_and_automations_that_are_off(name, schedules):
    row = DEPLOYMENTS[name]
    path, _, function = row["entrypoint"].partition(":")
    flow = getattr(importlib.import_module(path.removesuffix(".py").replace("/", ".")), function)
    assert flow.name == ("pipeline" if name == "nightly" else name)
    assert row.get("parameters", {}).keys() <= flow.parameters.properties.keys()
    assert [schedule["active"] for schedule in row.get("schedules", [])] == [False] * schedules
    assert [trigger["enabled"] for trigger in row.get("triggers", [])] == [False] * (name == "stage")


def test_a_stage_that_fails_says_why(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "params.yaml").write_text("profile: toy\n")
    monkeypatch.setattr(pipeline, "get_run_logger", lambda: logging.getLogger("test"))
    with pytest.raises(DataError, match="filter: ERROR: you are not inside of a DVC repository"):
        pipeline.reproduce.fn("filter")
