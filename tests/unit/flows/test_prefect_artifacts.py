"""The funnel: what was left after each stage that has run."""

from types import SimpleNamespace

import pytest

from flows import prefect_artifacts
from flows.prefect_artifacts import funnel
from fusesearch.core.storage import write_json
from tasks.running.places import MAIN


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_funnel_has_a_row_for_every_finished_stage_in_order_and_zero_is_a_count(project):
    write_json(MAIN["mine.metrics"], {"pairs": 20, "repositories": 4})
    write_json(MAIN["filter.metrics"], {"instances": 12})
    rows = funnel(MAIN, "select", {"selected": 0})
    assert [(row["stage"], row["left"]) for row in rows] == [("mine", 20), ("filter", 12), ("select", 0)]


def test_the_address_of_a_run_holds_no_password(monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "https://ann:secret@mlflow.example.org/")
    client = SimpleNamespace(get_run=lambda run_id: SimpleNamespace(info=SimpleNamespace(experiment_id="7")))
    monkeypatch.setattr(prefect_artifacts, "make_client", lambda uri: client)
    assert prefect_artifacts.run_page("abc") == "https://ann@mlflow.example.org/#/experiments/7/runs/abc"


def test_a_run_that_is_not_recorded_yet_says_how_to_record_it(monkeypatch):
    pages = []
    monkeypatch.setattr(prefect_artifacts, "create_markdown_artifact", lambda page, **_: pages.append(page))
    stage = SimpleNamespace(name="select", shows=(), counts=())
    prefect_artifacts.show(SimpleNamespace(stage=stage, node=stage, metrics={"selected": 3}), "")
    assert "`python -m flows track`" in pages[0]
    assert "| selected | 3 |" in pages[0]
