"""What a stage does about runs that killed processes of it left, and about inputs that do not stay as they were."""

import shutil
from pathlib import Path

import pytest
from filelock import FileLock

from flows import stage
from fusesearch.core.config import load_params
from fusesearch.core.errors import DataError
from fusesearch.core.storage import write_json, write_text
from tasks.running.node import Node
from tasks.running.resume import progress_dir
from tasks.stages import STAGES

ROOT = Path(__file__).parents[3]
PIPELINE = "stages:\n  select:\n    deps: [code.py]\n"


def left_at(folder, number):
    write_json(folder / "runs.json", {"prefect": f"flow{number}"})


def test_runs_that_were_left_at_other_inputs_are_closed_but_none_that_is_at_work(tmp_path, monkeypatch):
    crashed = []
    monkeypatch.setattr(stage, "_mark_crashed", crashed.append)
    folders = [tmp_path / f"grpo-{number:016}" for number in range(3)]
    for number, folder in enumerate([*folders, tmp_path / "grpo-5821e0b3-0123456789abcdef"]):
        left_at(folder, number)

    with FileLock(folders[2] / ".lock"):
        stage._close_others("grpo", folders[0])
    assert crashed == ["flow1"]


@pytest.mark.parametrize(
    ("path", "old", "new", "same"),
    [
        ("code.py", "1", "2", False),
        ("data/synthesized/trajectories.jsonl", "row", "now", False),
        ("params.yaml", "min_f1: 0.5", "min_f1: 0.4", False),
        ("params.yaml", "\nseed: 0", "\nseed: 1", True),
    ],
)
def test_what_was_made_of_inputs_that_changed_meanwhile_is_refused(tmp_path, monkeypatch, path, old, new, same):
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "params.yaml", tmp_path)
    (tmp_path / "dvc.yaml").write_text(PIPELINE)
    (tmp_path / "code.py").write_text("1")
    node, params = Node(stage="select"), load_params()
    for data in node.inputs(params):
        write_text(data, "row")
    scratch = progress_dir("select", STAGES["select"].values(params), *node.deps(params))
    stage._check_inputs(node, scratch)
    text = (tmp_path / path).read_text()
    assert old in text
    (tmp_path / path).write_text(text.replace(old, new))
    if same:
        stage._check_inputs(node, scratch)
    else:
        with pytest.raises(DataError, match=r"what select reads .* changed while it ran"):
            stage._check_inputs(node, scratch)
