"""One Prefect server of the project in the background, whoever asks first. A toy that starts sooner stands in for it."""

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest
from prefect.settings import PREFECT_API_URL, temporary_settings

from flows import server
from fusesearch.core.errors import TrackingUnavailable
from fusesearch.core.storage import read_json
from tests.fakes.local_server import LocalServer, by

TOY = """
import http.server, sys, time

class Healthy(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()

time.sleep(0.3)
http.server.HTTPServer(("127.0.0.1", int(sys.argv[-1])), Healthy).serve_forever()
"""


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "toy.py").write_text(TOY)
    monkeypatch.setattr(server, "COMMAND", (sys.executable, str(tmp_path / "toy.py"), "prefect", "server"))
    monkeypatch.setattr(server, "PORT", 0)
    with temporary_settings(restore_defaults={PREFECT_API_URL}):
        yield
    server.stop()


def pid():
    return read_json(server.RECORD)["pid"]


def test_many_at_once_share_one_server_that_outlives_them_until_stop_ends_it_or_it_is_killed():
    with ThreadPoolExecutor(4) as pool:
        urls = set(pool.map(lambda _: server.ensure(), range(4)))
    assert urls == {read_json(server.RECORD)["url"]}
    first = pid()
    assert server.stop()
    assert not psutil.pid_exists(first) or psutil.Process(first).status() == psutil.STATUS_ZOMBIE
    assert not server.stop()
    server.ensure()
    assert pid() != first
    psutil.Process(pid()).kill()
    psutil.Process(pid()).wait()
    assert server.ensure() == read_json(server.RECORD)["url"]


def test_another_process_with_the_recorded_number_is_left_alone():
    server.STATE.mkdir()
    server.write_json(server.RECORD, {"pid": os.getpid(), "url": "http://127.0.0.1:9"})
    assert not server.stop()


def test_a_server_that_is_slow_to_answer_is_waited_for_and_not_started_twice():
    url, first = server.ensure(), pid()
    process = psutil.Process(first)
    process.suspend()
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(server.ensure)
        time.sleep(0.3)
        process.resume()
        assert asked.result() == url
    assert pid() == first


def test_a_server_that_ends_names_its_log(monkeypatch):
    monkeypatch.setattr(server, "COMMAND", (sys.executable, "-c", "raise SystemExit(3)", "prefect", "server"))
    with pytest.raises(TrackingUnavailable, match=r"ended: see .*prefect\.log"):
        server.ensure()


def test_a_server_that_the_user_names_is_asked_and_none_is_started(capsys):
    guarded = by(lambda request, _: (401, "sign in"))
    with LocalServer(guarded) as named, temporary_settings(updates={PREFECT_API_URL: f"{named.address}/api"}):
        server.main("start")
    assert capsys.readouterr().out == f"{named.address}/api\n"
    assert not server.RECORD.exists()


def test_a_named_server_that_does_not_answer_is_one_line():
    with (
        temporary_settings(updates={PREFECT_API_URL: "http://ann:secret@127.0.0.1:9/api"}),
        pytest.raises(TrackingUnavailable, match="start it, or unset PREFECT_API_URL") as error,
        server.prefect_server(),
    ):
        pass
    assert "secret" not in str(error.value)
