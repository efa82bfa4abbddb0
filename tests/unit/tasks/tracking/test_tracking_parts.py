"""Parts of tracking that need no store: addresses, curves, samples of episodes, what counts as a change."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusesearch.core.config import Params
from tasks.running.record import RUNS, RunRecord, digests, is_unchanged, records, revision, stage_record, write_record
from tasks.tracking import track
from tasks.tracking.projection import curve_points
from tasks.tracking.store import without_passwords
from tests.fakes.git import committed

_WORDS = st.text(st.characters(categories=("L", "N")), min_size=1)


@given(_WORDS, st.text(st.characters(categories=("L", "N", "P"), exclude_characters="/?"), min_size=1))
def test_no_password_is_in_what_an_error_quotes(user, secret):
    assert without_passwords(f"to http://{user}:{secret}@mlflow/api failed") == f"to http://{user}@mlflow/api failed"
    assert without_passwords(f"postgresql://{user}:{secret}@db:5432/mlflow") == f"postgresql://{user}@db:5432/mlflow"
    assert without_passwords("no http://mlflow:5000/x@y here") == "no http://mlflow:5000/x@y here"


def test_a_store_that_is_away_is_one_warning_for_the_stage(tmp_path, monkeypatch, caplog):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://ann:s3cret@127.0.0.1:9")
    assert track(RunRecord(stage="mine")) == ""
    (warning,) = caplog.messages
    assert warning == (
        "the MLflow server at http://ann@127.0.0.1:9 does not answer: mine is not recorded yet; "
        "`python -m flows track` does it later"
    )


def test_points_of_a_curve_are_the_numbers_at_their_steps(tmp_path):
    path = tmp_path / "curve.csv"
    path.write_text("step,epoch,reward,note,rewards@k\n1,0.1,0.5,x,\n2.0,0.2,,,3\n")
    assert list(curve_points(path, "grpo/")) == [("grpo/reward", 1, 0.5), ("grpo/rewards_at_k", 2, 3.0)]


def test_a_record_says_the_same_after_it_was_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "a.json"
    path.write_text("{}")
    began = stage_record("sft", Params(), {"sft.epochs": 2}, digests([path]), node="sft-0123abcd")
    done = began.complete(digests([path]), {"loss": float("nan"), "arms": {"sft": 1}})
    assert (done.live_key, done.key != began.key, done.metrics["arms.sft"]) == (began.live_key, True, 1)
    write_record(done)
    write_record(done)
    (RUNS / "sft-torn.json").write_text('{"stage": ')
    (found,) = records()
    assert repr(found) == repr(done)
    assert is_unchanged(path, done.outputs[path.as_posix()])
    path.write_text("{ }")
    assert not is_unchanged(path, done.outputs[path.as_posix()])


@pytest.mark.parametrize(
    ("path", "dirty"),
    [
        ("experiments/filtering/RESULTS.md", False),
        ("experiments/filtering/results.json", False),
        ("experiments/RESULTS.md", False),
        ("artifacts/sft/loss.csv", False),
        ("experiments/filtering/experiment.yaml", True),
        ("tasks/running/places.py", True),
    ],
)
def test_files_that_experiments_write_do_not_make_the_project_dirty(tmp_path, monkeypatch, path, dirty):
    monkeypatch.chdir(tmp_path)
    committed(tmp_path, {path: "before"})
    assert revision()["dirty"] is False
    (tmp_path / path).write_text("after")
    assert revision()["dirty"] == dirty
