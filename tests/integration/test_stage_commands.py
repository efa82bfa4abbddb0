"""A stage as a command, whose Prefect server answers with errors."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import prefect
import pytest
from prefect import flow
from prefect.settings import PREFECT_API_URL, PREFECT_CLIENT_MAX_RETRIES, temporary_settings

from flows.command import run_prepared
from fusesearch.core.errors import AGAIN

ROOT = Path(__file__).parents[2]


class Broken(BaseHTTPRequestHandler):
    """Answers what its server still can, and everything else with its server's status."""

    def answer(self):
        known = self.path.endswith(self.server.known)
        self.send_response(200 if known else self.server.status)
        self.end_headers()
        self.wfile.write(json.dumps(prefect.__version__).encode())

    do_GET = do_POST = answer

    def log_message(self, *_):
        pass


@contextmanager
def broken(known, status):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Broken)
    server.status, server.known = status, known
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/api"
    try:
        with temporary_settings(updates={PREFECT_API_URL: address, PREFECT_CLIENT_MAX_RETRIES: 0}):
            yield
    finally:
        server.shutdown()


def test_a_server_that_takes_no_note_of_what_is_made_is_a_warning(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    with broken(("/health", "/version"), 500), pytest.raises(SystemExit) as ended:
        run_prepared(lambda: flow(name="nothing")(lambda: None), is_done=lambda: True)
    assert not ended.value.code
    said = capsys.readouterr().err
    assert "warning: the Prefect server answered 500 to /api/" in said
    assert AGAIN not in said


@pytest.mark.parametrize("known", [("/health",), ("/health", "/version")])
@pytest.mark.parametrize(("status", "advice"), [(500, AGAIN), (403, "see its log")])
def test_a_server_that_answers_with_errors_is_one_clear_line(monkeypatch, capsys, known, status, advice):
    monkeypatch.chdir(ROOT)
    with broken(known, status), pytest.raises(SystemExit):
        run_prepared(lambda: flow(name="nothing")(lambda: None))
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error:")]
    assert f"the Prefect server answered {status} to /api/" in line
    assert line.endswith(advice)
