"""What the failure hook says: what is missing, who makes it, what to run."""

from pathlib import Path
from uuid import uuid4

import pytest
import yaml
from prefect.client.schemas.objects import FlowRun
from prefect.states import Crashed

from flows import failures
from flows.failures import advice
from tasks.core.errors import ArtifactError, ConfigError, InfrastructureError
from tasks.core.node import Node
from tasks.core.pipeline import producer_of, stage_names, stage_spec

ROOT = Path(__file__).parents[3]


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project in which nothing has run: the pipeline, its params and the base checkpoint's folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("dvc.yaml", "params.yaml"):
        (tmp_path / name).write_text((ROOT / name).read_text())
    (tmp_path / "experiments/nano/base").mkdir(parents=True)
    return tmp_path


def test_missing_inputs_are_named_with_the_command_that_makes_each(project):
    text = advice(Node(stage="sft"), ArtifactError("data/selected/trajectories.jsonl is missing"))
    assert "`data/selected/trajectories.jsonl` is missing: `dvc repro select`" in text
    assert "experiments/nano/base" not in text
    assert text.endswith("Then run `dvc repro sft`.")


def test_a_node_lacks_what_its_own_origins_make(project):
    node = Node(stage="sft", id="sft-0123abcd", origins={"select": Path("artifacts/nodes/select-89abcdef")})
    (project / "experiments/dvc.yaml").write_text("stages:\n  sft-0123abcd:\n    wdir: ..\n")
    text = advice(node, None)
    assert (
        "`artifacts/nodes/select-89abcdef/trajectories.jsonl` is missing: `dvc repro experiments/dvc.yaml:select-89abcdef`"
    ) in text
    assert text.endswith("Then run `dvc repro experiments/dvc.yaml:sft-0123abcd`.")


def test_a_try_which_dvc_does_not_know_is_run_again_from_its_deployment(project):
    node = Node(stage="select", id="select-0123abcd", set={"select.min_f1": 0.5})
    text = advice(node, ArtifactError("gone"))
    assert "`data/splits/sft.parquet` is missing: `dvc repro split`" in text
    assert text.endswith("Then run the deployment `stage/select` with the same values.")


@pytest.mark.parametrize(
    ("parameters", "again"),
    [
        ({}, "`dvc repro sft`"),
        ({"again": True, "node": None, "sft": {"epochs": None}, "seed": None}, "`dvc repro sft`"),
        ({"again": False, "sft": {"epochs": 3}}, "the deployment `stage/sft` with the same values"),
        ({"seed": 0}, "the deployment `stage/sft` with the same values"),
    ],
)
def test_a_killed_run_of_a_deployment_is_a_try_if_its_form_was_filled_in(project, monkeypatch, parameters, again):
    said = []
    monkeypatch.setattr(failures, "_show", lambda key, text, run: said.append(text))
    (crashed,) = failures.watched("sft")["on_crashed"]
    run = FlowRun(flow_id=uuid4(), parameters=parameters)
    crashed(None, run, Crashed(message="exit code -9"))
    assert said[0].endswith(f"Then run {again}.")


def test_what_no_stage_makes_comes_from_git_or_dvc(project):
    (project / "experiments/nano/base").rmdir()
    assert "`experiments/nano/base` is missing: `git checkout, or dvc pull`" in advice(Node(stage="sft"), OSError("gone"))


@pytest.mark.parametrize("stage", stage_names())
def test_every_input_of_a_stage_has_a_producer_or_is_committed(stage):
    for path in stage_spec(stage).inputs:
        assert producer_of(path) in stage_names() or path.parts[0] == "experiments"


@pytest.mark.parametrize(
    ("error", "last"),
    [
        (InfrastructureError("the teacher failed"), "it goes on where it stopped"),
        (OSError("no space left"), "it goes on where it stopped"),
        (None, "it goes on where it stopped"),
        (ConfigError("sft.epochs: must be positive"), "Mend the params"),
        (ValueError("what"), "Mend what the line above names"),
    ],
)
def test_what_to_do_depends_on_what_happened(project, error, last):
    for out in yaml.safe_load((project / "dvc.yaml").read_text())["stages"]["select"]["outs"]:
        (project / out).parent.mkdir(parents=True, exist_ok=True)
        (project / out).touch()
    text = advice(Node(stage="sft"), error, "exit code -9")
    assert last in text
    assert "Missing" not in text
    assert (str(error) if error else "exit code -9") in text


def test_params_that_cannot_be_read_are_no_second_failure(project):
    (project / "params.yaml").write_text("sft: {epoch: 1}\n")
    assert "Mend the params" in advice(Node(stage="sft"), ConfigError("sft.epoch: Extra inputs are not permitted"))
