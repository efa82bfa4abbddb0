"""One background server per kind, whoever asks first."""

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace

import httpx
import psutil
import pytest
from prefect.settings import PREFECT_API_URL, temporary_settings

from flows import server
from tasks.core.errors import TrackingUnavailable
from tasks.core.storage import read_json
from tasks.pipeline.tracking import tracking_uri
from tasks.pipeline.tracking.store import make_client

TOY = """
import argparse, http.server, time
parser = argparse.ArgumentParser()
parser.add_argument("--host")
parser.add_argument("--port", type=int)
options = parser.parse_args()
time.sleep(0.3)
http.server.HTTPServer((options.host, options.port), http.server.SimpleHTTPRequestHandler).serve_forever()
"""


@pytest.fixture
def toy(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "toy.py").write_text(TOY)
    service = server.Service("toy", (sys.executable, str(tmp_path / "toy.py")), port=0, health="/")
    yield service
    server.stop(service)


def test_many_at_once_share_one_server_that_outlives_them(toy):
    with ThreadPoolExecutor(4) as pool:
        urls = set(pool.map(lambda _: server.ensure(toy), range(4)))
    assert len(urls) == 1
    assert httpx.get(urls.pop()).is_success
    record = read_json(toy.record)
    assert psutil.Process(record["pid"]).is_running()
    assert server.running(toy) == record["url"]


def test_stop_ends_it_and_the_next_ensure_starts_another(toy):
    first = server.ensure(toy)
    pid = read_json(toy.record)["pid"]
    assert server.stop(toy)
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    assert server.running(toy) is None
    assert not server.stop(toy)
    assert server.ensure(toy)
    assert read_json(toy.record)["pid"] != pid
    assert first.startswith("http://127.0.0.1:")


def test_a_process_that_only_has_the_same_number_is_left_alone(toy):
    server.ensure(toy)
    record = read_json(toy.record)
    toy.record.write_text(f'{{"pid": {record["pid"]}, "born": 1.0, "url": "{record["url"]}"}}')
    assert not server.stop(toy)
    assert psutil.Process(record["pid"]).is_running()
    psutil.Process(record["pid"]).kill()


def test_a_server_that_is_killed_while_it_is_needed_comes_back_where_it_was(toy, monkeypatch):
    monkeypatch.setattr(server, "WATCH_SECONDS", 0.1)
    url = server.ensure(toy)
    pid = read_json(toy.record)["pid"]
    with server.kept_running(toy):
        psutil.Process(pid).kill()
        wait_for(lambda: server.running(toy) and read_json(toy.record)["pid"] != pid)
        assert server.running(toy) == url


def test_a_server_that_was_stopped_stays_stopped(toy, monkeypatch):
    monkeypatch.setattr(server, "WATCH_SECONDS", 0.05)
    server.ensure(toy)
    with server.kept_running(toy):
        server.stop(toy)
        time.sleep(0.5)
        assert not toy.record.exists()


def test_a_server_that_is_slow_to_answer_is_waited_for_and_not_started_twice(toy):
    url = server.ensure(toy)
    process = psutil.Process(read_json(toy.record)["pid"])
    process.suspend()
    assert server.running(toy) is None
    assert server.ensure(toy, lambda seconds: process.resume()) == url
    assert read_json(toy.record)["pid"] == process.pid


def test_a_clock_that_is_set_makes_no_living_server_another(toy, monkeypatch):
    url = server.ensure(toy)
    monkeypatch.setattr(psutil.Process, "create_time", lambda self: time.time() + 3600)
    assert server.ensure(toy) == url


def test_a_server_of_somebody_else_at_the_recorded_address_is_not_ours(toy):
    url = server.ensure(toy)
    ours = server.Service("ours", toy.command, port=0, health="/")
    ours.record.write_text(f'{{"pid": {os.getpid()}, "born": 1.0, "url": "{url}"}}')
    assert server.running(ours) is None
    try:
        assert server.ensure(ours) != url
    finally:
        server.stop(ours)


def test_servers_that_the_user_names_are_told_and_none_is_started(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "https://ann:secret@mlflow.example.org")
    with temporary_settings(updates={PREFECT_API_URL: "https://prefect.example.org/api"}):
        server.main(["start", "prefect", "mlflow"])
    assert capsys.readouterr().out.splitlines() == [
        "prefect: https://prefect.example.org/api, by your settings",
        "mlflow: https://ann@mlflow.example.org, by your settings",
    ]
    assert not list(tmp_path.iterdir())


def test_the_projects_own_server_stays_its_own_where_its_address_is_named(toy, monkeypatch, capsys):
    monkeypatch.setattr(server, "WATCH_SECONDS", 0.1)
    monkeypatch.setattr(server, "prefect_service", lambda: replace(toy, api="/api"))
    monkeypatch.setitem(server.SERVICES, "prefect", server.prefect_service)
    url = server.ensure(toy)
    with temporary_settings(updates={PREFECT_API_URL: f"{url}/api"}):
        server.main(["status", "prefect"])
        with server.prefect_server() as api:
            pid = read_json(toy.record)["pid"]
            psutil.Process(pid).kill()
            wait_for(lambda: server.running(toy) and read_json(toy.record)["pid"] != pid)
    assert api == f"{url}/api"
    assert capsys.readouterr().out == f"prefect: {url}\n"


def test_a_password_of_the_store_is_not_in_the_command_that_everybody_sees(monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "postgresql://ann:secret@db/mlflow")
    service = server.mlflow_service()
    assert "secret" not in " ".join(service.command)
    assert service.environment["MLFLOW_BACKEND_STORE_URI"] == "postgresql://ann:secret@db/mlflow"


def wait_for(reached):
    end = time.monotonic() + 60
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_taken_port_is_no_obstacle(toy):
    first = server.ensure(toy)
    port = int(first.rpartition(":")[2])
    other = server.Service("other", toy.command, port=port, health="/")
    try:
        assert server.ensure(other) != first
    finally:
        server.stop(other)


def test_a_server_that_dies_is_one_clear_line_that_names_its_log(toy):
    broken = server.Service("broken", (sys.executable, "-c", "raise SystemExit(3)"), port=0, health="/")
    with pytest.raises(TrackingUnavailable, match=r"the broken server ended with code 3: see .*broken\.log"):
        server.ensure(broken)


def test_who_waits_is_told_the_seconds_and_a_server_may_have_its_own_limit(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = []
    command = (sys.executable, "-c", "import time; time.sleep(60)")
    silent = server.Service("silent", command, port=0, health="/", start_seconds=0.5)
    with pytest.raises(TrackingUnavailable, match=r"did not answer within 0\.5 s"):
        server.ensure(silent, told.append)
    assert told
    assert max(told) < silent.start_seconds
    assert not server.stop(silent)


def test_an_address_from_the_environment_must_answer_and_its_password_is_not_told():
    with pytest.raises(TrackingUnavailable, match=r"http://ann@127\.0\.0\.1:9/api does not answer"):
        server._check_remote("http://ann:s3cret@127.0.0.1:9/api")


def test_a_proxy_that_asks_who_is_there_is_an_answer(monkeypatch):
    for status, answers in ((401, True), (302, True), (502, False)):
        monkeypatch.setattr(server.httpx, "get", lambda *_, status=status, **__: httpx.Response(status))
        with nullcontext() if answers else pytest.raises(TrackingUnavailable):
            server._check_remote("https://prefect.example.org/api")


def test_a_worker_asks_the_server_that_was_waited_for_however_busy_it_is_since(monkeypatch):
    asked = []
    monkeypatch.setattr(server, "_remote", lambda: None)
    monkeypatch.setattr(server, "running", lambda service: None)
    monkeypatch.setattr(server, "ensure", lambda service: asked.append(service) or "http://127.0.0.1:4200")
    server.main(["start", "worker"])
    assert asked[-1].environment["PREFECT_API_URL"] == "http://127.0.0.1:4200/api"


@pytest.mark.slow
def test_files_of_an_experiment_made_in_the_pages_can_be_written_without_the_server_and_are_shown_there(tracked):
    store, service = tracking_uri(), server.mlflow_service()
    url = server.ensure(service)
    try:
        pages, client = make_client(url), make_client(store)
        run = client.create_run(pages.create_experiment("fusesearch")).info.run_id
        client.log_text(run, "a page", "page.html")
        assert [row.path for row in pages.list_artifacts(run)] == ["page.html"]
        page = httpx.get(f"{url}/get-artifact", params={"run_uuid": run, "path": "page.html"}, timeout=60, trust_env=False)
        assert page.text == "a page"
    finally:
        server.stop(service)
