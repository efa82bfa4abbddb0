"""What the failure hook says: what is missing, who makes it, what to run."""

from pathlib import Path
from uuid import uuid4

import pytest
import yaml
from prefect.client.schemas.objects import FlowRun
from prefect.states import Crashed, Failed

from flows import failures, operate
from flows.failures import advice
from flows.grid import grid_flow
from flows.nightly import nightly_flow
from flows.pipeline import pipeline_flow
from tasks.core.config import Params
from tasks.core.errors import AlreadyRunning, ArtifactError, ConfigError, InfrastructureError
from tasks.pipeline.node import Node
from tasks.pipeline.places import producer_of
from tasks.pipeline.stages import STAGES

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
    (project / "experiments/nodes.yaml").write_text("sft:\n  sft-0123abcd: {arguments: --from=select=x}\n")
    text = advice(node, None)
    assert (
        "`artifacts/nodes/select-89abcdef/trajectories.jsonl` is missing: `dvc repro experiments/dvc.yaml:select@select-89abcdef`"
    ) in text
    assert text.endswith("Then run `dvc repro experiments/dvc.yaml:sft@sft-0123abcd`.")


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


@pytest.mark.parametrize("stage", STAGES)
def test_every_input_of_a_stage_has_a_producer_or_is_committed(stage):
    for path in Node(stage=stage).inputs(Params()):
        assert producer_of(path) in STAGES or path.parts[0] == "experiments"


@pytest.mark.parametrize(
    ("error", "last"),
    [
        (InfrastructureError("the teacher failed"), "it goes on where it stopped"),
        (OSError("no space left"), "it goes on where it stopped"),
        (None, "it goes on where it stopped"),
        (ConfigError("sft.epochs: must be positive"), "Mend the params"),
        (AlreadyRunning("sft is already running on these inputs"), "Wait until the other one has ended"),
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


def told(flow, state, parameters, monkeypatch):
    """What the hook of a flow says, as Prefect calls it."""
    said = []
    monkeypatch.setattr(failures, "_show", lambda key, text, run: said.append((key, text)))
    (hook,) = flow.on_crashed_hooks if state.is_crashed() else flow.on_failure_hooks
    hook(flow, FlowRun(flow_id=uuid4(), parameters=parameters), state)
    return said[0]


KILLED = Crashed(message="exit code -9")
GRID = {"benchmarks": [{"name": "b", "instances": "data/absent.parquet", "repos": None}], "models": None}


@pytest.mark.parametrize(
    ("flow", "parameters", "key", "again"),
    [
        (pipeline_flow, {"until": "sft"}, "pipeline-failure", "the deployment `pipeline/pipeline` with the same values"),
        (nightly_flow, {}, "nightly-failure", "the deployment `nightly/nightly` with the same values"),
        (grid_flow, {"grid": GRID, "out": "out"}, "grid-failure", "`python -m flows.grid GRID.yaml out` with the same grid"),
    ],
)
def test_flows_that_are_no_stages_say_what_to_run_again(project, monkeypatch, flow, parameters, key, again):
    shown, text = told(flow, KILLED, parameters, monkeypatch)
    assert shown == key
    assert text.startswith(f"**{key.removesuffix('-failure')}**: its process ended before it was finished. exit code -9")
    assert again in text
    assert len(flow.on_failure_hooks) == 1


def test_a_pipeline_lacks_only_what_no_stage_makes(project, monkeypatch):
    (project / "experiments/nano/base").rmdir()
    _, text = told(pipeline_flow, KILLED, {"until": "sft"}, monkeypatch)
    assert "- `experiments/nano/base` is missing: `git checkout, or dvc pull`" in text
    assert "data/selected" not in text
    _, text = told(pipeline_flow, KILLED, {"until": "select"}, monkeypatch)
    assert "missing" not in text


def test_a_grid_lacks_its_benchmark(project, monkeypatch):
    _, text = told(grid_flow, KILLED, {"grid": GRID, "out": "out"}, monkeypatch)
    assert "`data/absent.parquet` is missing" in text


def test_an_error_of_a_pipeline_is_told_as_that_of_a_stage(project, monkeypatch):
    _, text = told(pipeline_flow, Failed(data=ConfigError("sft.epochs: must be positive")), {"until": "sft"}, monkeypatch)
    assert text.startswith("**pipeline**: sft.epochs: must be positive")
    assert "Mend the params, then run the deployment `pipeline/pipeline`" in text


def test_a_filled_in_form_whose_inputs_are_missing_is_told_what_makes_them(project, monkeypatch):
    with pytest.raises(ArtifactError) as caught:
        operate.a_try("sft", {"sft.epochs": 2})
    key, text = told(operate.sft_stage, Failed(data=caught.value), {"sft": {"epochs": 2}}, monkeypatch)
    assert key == "sft-failure"
    assert "`data/selected/trajectories.jsonl` is missing: `dvc repro select`" in text
    assert text.endswith("Then run the deployment `stage/sft` with the same values.")


def test_params_that_cannot_be_read_are_no_second_failure(project):
    (project / "params.yaml").write_text("sft: {epoch: 1}\n")
    assert "Mend the params" in advice(Node(stage="sft"), ConfigError("sft.epoch: Extra inputs are not permitted"))
