"""What a stage does about runs that killed processes of it left."""

from filelock import FileLock

from flows import stage
from tasks.core.storage import write_json


def left_at(folder, number):
    write_json(folder / "runs.json", {"mlflow": {"run": "key", "run_id": f"id{number}", "of": "p"}, "prefect": f"flow{number}"})


def test_runs_that_were_left_at_other_inputs_are_closed_but_none_that_is_at_work(tmp_path, monkeypatch):
    crashed, closed = [], []
    monkeypatch.setattr(stage, "_mark_crashed", crashed.append)
    folders = [tmp_path / f"grpo-{number:016}" for number in range(3)]
    for number, folder in enumerate([*folders, tmp_path / "grpo-5821e0b3-0123456789abcdef"]):
        left_at(folder, number)

    class Run:
        def close(self, left):
            closed.append(left["run_id"])

    with FileLock(folders[2] / ".lock"):
        stage._close_others("grpo", folders[0], Run())
    assert closed == ["id1"]
    assert crashed == ["flow1"]
