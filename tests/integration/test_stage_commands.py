"""A stage as a command, whose Prefect server answers with errors."""

import json
from contextlib import contextmanager
from pathlib import Path

import prefect
import pytest
from prefect import flow
from prefect.settings import PREFECT_API_URL, PREFECT_CLIENT_MAX_RETRIES, temporary_settings

from flows.command import run_prepared
from fusesearch.core.errors import AGAIN
from tests.fakes.local_server import LocalServer, by

ROOT = Path(__file__).parents[2]


@contextmanager
def broken(known, status):
    """A server that answers what it still can, and everything else with a status."""

    def reply(request, _):
        return 200 if request.path.endswith(known) else status, json.dumps(prefect.__version__)

    with LocalServer(by(reply)) as server:
        settings = {PREFECT_API_URL: f"{server.address}/api", PREFECT_CLIENT_MAX_RETRIES: 0}
        with temporary_settings(updates=settings):
            yield


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
