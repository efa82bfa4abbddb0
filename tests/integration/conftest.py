"""What several integration tests need."""

import shutil

import pytest

from tests.fakes.git import committed


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory):
    """An SQLite store of MLflow without a run; making one takes seconds, copying it none."""
    from tasks.pipeline.tracking.store import make_client

    path = tmp_path_factory.mktemp("store") / "mlflow.db"
    make_client(f"sqlite:///{path}").search_experiments()
    return path


@pytest.fixture
def tracked(tmp_path, monkeypatch, empty_store):
    """A project under git, current, whose runs go to a store of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    shutil.copyfile(empty_store, tmp_path / "mlflow.db")
    (tmp_path / ".gitignore").write_text(".fusesearch\nmlflow.db*\nmlruns\n")
    (tmp_path / "rows.jsonl").write_text("{}\n")
    (tmp_path / "dvc.lock").write_text("schema: '2.0'\n")
    committed(tmp_path)
    return tmp_path
