"""What Prefect shows of a finished stage."""

from types import SimpleNamespace

from flows import stage as stages


def test_the_address_of_a_run_holds_no_password(monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "https://ann:secret@mlflow.example.org/")
    client = SimpleNamespace(get_run=lambda run_id: SimpleNamespace(info=SimpleNamespace(experiment_id="7")))
    monkeypatch.setattr(stages, "make_client", lambda uri: client)
    assert stages.run_page("abc") == "https://ann@mlflow.example.org/#/experiments/7/runs/abc"


def test_a_run_that_is_not_recorded_yet_says_how_to_record_it(monkeypatch):
    pages = []
    monkeypatch.setattr(stages, "create_markdown_artifact", lambda page, **_: pages.append(page))
    stage = SimpleNamespace(name="select", shows=(), counts=())
    stages.show(SimpleNamespace(stage=stage, node=stage, metrics={"selected": 3}), "")
    assert "`python -m flows track`" in pages[0]
    assert "| selected | 3 |" in pages[0]
