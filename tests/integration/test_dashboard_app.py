"""The dashboard's pages: what is chosen is what is shown, what is missing is said, and text of others stays text."""

import json
import shutil
import sqlite3
import threading
from http.server import ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from dashboards import links, pages
from dashboards.app import handler
from fusesearch.core.errors import ArtifactError
from fusesearch.core.storage import read_text, write_text
from fusesearch.reporting.experiment.figures import FIGURES
from tasks.running.places import EXPERIMENTS, MAIN
from tasks.running.record import RunRecord, write_record
from tests.fakes.dashboard_project import ARMS, HOSTILE, INSTANCES, NODES, instance_id, write_project
from tests.fakes.html_seen import Page


@pytest.fixture(scope="module", autouse=True)
def _undrawn():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fusesearch.reporting.charts.svg", lambda chart, form="": "<svg/>")
        yield


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return write_project(tmp_path_factory.mktemp("dashboard"))


@pytest.fixture
def copy(project, tmp_path):
    """The project, to be damaged."""
    return shutil.copytree(project, tmp_path / "copy")


def seen(root, path, **query):
    return Page(pages.find(root, path, query))


def test_the_report_stands_as_its_stage_wrote_it_below_the_navigation(project):
    page = pages.find(project, "/", {})
    written = read_text(project / MAIN["report.html"])
    assert written.partition("<body>")[2].partition("</body>")[0] in page
    assert all(f'href="/{name}"' in page for name in ("", "experiments", "trajectories"))
    assert 'href="http://127.0.0.1:5000' in page


def test_before_anything_has_run_committed_results_are_shown_and_marked(copy):
    (copy / MAIN["report.html"]).unlink()
    (copy / "experiments/filtering").rename(copy / "experiments/stages")
    shutil.rmtree(copy / "artifacts")
    for path in ("/", "/experiments", "/experiments/stages"):
        page = seen(copy, path).text
        assert "Nothing has run here yet: these are committed results." in page
        assert "Does filtering matter?" in page
    assert "Committed: not yet" in page
    assert "artifacts/evaluate/cells is missing" not in seen(copy, "/trajectories").text  # the teacher's candidates are there


def test_an_empty_project_says_what_is_missing(tmp_path):
    assert all("missing" in seen(tmp_path, path).text for path in ("/", "/experiments", "/trajectories"))
    for path, query in (("/x", {}), ("/experiments/none", {}), ("/experiments/../x", {}), ("/episode", {"source": "sft"})):
        assert pages.find(tmp_path, path, query) is None


def test_a_damaged_artifact_is_named_and_the_rest_of_the_page_is_shown(copy):
    write_text(copy / "experiments/reward/results.json", "{}")
    page = seen(copy, "/experiments")
    assert "reward/results.json cannot be used" in page.text
    assert "Does filtering matter?" in page.text
    with pytest.raises(ArtifactError, match="cannot be used"):
        pages.find(copy, "/experiments/reward", {})


def test_an_experiment_has_a_word_and_a_chart_first_and_a_page_with_all_its_figures(project):
    every, one = (pages.find(project, path, {}) for path in ("/experiments", "/experiments/reward"))
    assert "open, 0 of 1 claims decided" in every
    assert 'href="/experiments/filtering"' in every
    assert every.count("<figure>") == 2
    assert "<h1>Does reward matter?</h1>" in one
    assert one.index("<figure>") < one.index("<table>") < one.index("Expected: It helps.")
    assert all(FIGURES[name][0] in one for name in ("arms", "calls_by_turn"))


def test_two_localizers_on_one_instance_stand_side_by_side(project):
    page = pages.find(project, "/trajectories", {})
    assert page.count("<iframe") == 2
    assert page.count(f'value="{instance_id(0)}"') == 1
    chosen = pages.find(project, "/trajectories", {"first": "base", "second": "", "instance": instance_id(3)})
    assert chosen.count("<iframe") == 1
    assert f'src="/episode?source=base&amp;instance={instance_id(3)}&amp;run=1"' in chosen
    html = pages.find(project, "/episode", {"source": "sft", "instance": instance_id(3)})
    assert "Issue 3." in html
    assert "what the patch modifies" in html
    assert "<script>" not in html
    assert HOSTILE in Page(html).text
    assert pages.find(project, "/episode", {"source": "sft", "instance": instance_id(3), "run": "2"}) is None


def test_an_episode_that_cannot_be_read_leaves_the_other_and_so_does_the_truth(copy):
    first = pages.sources(copy)["sft"]
    write_text(first.path, "".join(f'{{"instance_id": "{instance_id(number)}"}}\n' for number in range(INSTANCES)))
    (copy / MAIN["split.validation"]).write_bytes(b"PAR1")
    with pytest.raises(ArtifactError, match="an episode is damaged"):
        pages.find(copy, "/episode", {"source": "sft", "instance": instance_id(1)})
    html = pages.find(copy, "/episode", {"source": "sft+rl", "instance": instance_id(1)})
    assert "Turn 1" in html
    assert "what the patch modifies" not in html
    write_text(first.path, "{")
    page = seen(copy, "/trajectories")
    assert first.path.name in page.text
    assert pages.find(copy, "/trajectories", {}).count("<iframe") == 1


def test_committed_samples_are_small_episodes_that_open_with_their_truth():
    lines = [json.loads(line) for line in (EXPERIMENTS / "samples/trajectories.jsonl").read_text().splitlines()]
    assert len(lines) == 14
    assert sum(path.stat().st_size for path in (EXPERIMENTS / "samples").iterdir()) < 1e6
    ids = [line["instance_id"] for line in lines]
    for place, name in enumerate(ids):
        html = pages.find(Path(), "/episode", {"source": "samples", "instance": name, "run": str(ids[: place + 1].count(name))})
        assert "what the patch modifies" in html
    assert pages.find(Path(), "/trajectories", {"first": "samples", "second": ""}).count("<iframe") == ids.count(sorted(ids)[0])


def test_sources_are_samples_then_arms_in_order_then_runs_of_experiments_then_candidates(copy):
    shutil.copytree(EXPERIMENTS / "samples", copy / "experiments/samples")
    assert list(pages.sources(copy)) == ["samples", *ARMS, f"{NODES['evaluate']}/sft", "candidates"]


def test_a_page_links_to_its_newest_run_in_mlflow_and_prefect(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    assert links.windows("report") == {"MLflow": "http://127.0.0.1:5000", "Prefect": "http://127.0.0.1:4200"}
    write_record(RunRecord(stage="report", key="k1", tags={"prefect.flow_run": "f"}))
    with sqlite3.connect("mlflow.db") as store:
        store.executescript(
            "CREATE TABLE runs (run_uuid, experiment_id); CREATE TABLE tags (key, value, run_uuid);"
            "INSERT INTO runs VALUES ('r', 7); INSERT INTO tags VALUES ('fusesearch.key', 'k1', 'r')"
        )
    assert list(links.windows("report").values()) == [
        "http://127.0.0.1:5000/#/experiments/7/runs/r",
        "http://127.0.0.1:4200/runs/flow-run/f",
    ]
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "https://user:secret@mlflow.example.org/")
    assert links.windows("report")["MLflow"] == "https://user@mlflow.example.org"


def test_pages_are_served_under_a_strict_policy_and_to_local_names_only(project):
    with ThreadingHTTPServer(("127.0.0.1", 0), handler(project, "127.0.0.1")) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        page, other, none = (
            httpx.get(f"{address}{path}", headers=headers)
            for path, headers in (("/experiments", {}), ("/", {"Host": "evil.example"}), ("/%2e%2e/x", {}))
        )
        server.shutdown()
    assert [row.status_code for row in (page, other, none)] == [200, 403, 404]
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    assert "script-src" not in page.headers["Content-Security-Policy"]
    assert "<script" not in page.text
    assert "matter" not in other.text
