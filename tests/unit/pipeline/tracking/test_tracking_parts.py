"""Parts of tracking that need no store: addresses, curves, samples of episodes, what a store that is away leaves."""

import logging
import math
import subprocess
import threading
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.core.errors import DataError, TrackingUnavailable
from tasks.core.schema import Trajectory
from tasks.core.storage import write_json, write_jsonl
from tasks.pipeline.tracking import outbox
from tasks.pipeline.tracking.episodes import sample
from tasks.pipeline.tracking.experiments import curve_points
from tasks.pipeline.tracking.revision import revision_tags
from tasks.pipeline.tracking.store import KNOWN, reachable, require, shown, without_passwords
from tasks.pipeline.tracking.writes import Write

STORE = "sqlite:///nowhere.db"
_WORDS = st.text(st.characters(categories=("L", "N")), min_size=1)


@given(_WORDS, _WORDS)
def test_a_password_is_never_shown(user, secret):
    assert shown(f"postgresql://{user}:{secret}@db:5432/mlflow") == f"postgresql://{user}@db:5432/mlflow"
    assert shown("http://127.0.0.1:5000") == "http://127.0.0.1:5000"


def test_points_of_a_curve_are_the_numbers_at_their_steps(tmp_path):
    path = tmp_path / "curve.csv"
    path.write_text("step,epoch,reward,note,rewards@k\n1,0.1,0.5,x,\n2.0,0.2,,,3\n")
    assert list(curve_points("grpo", path)) == [("grpo/reward", 1, 0.5), ("grpo/rewards_at_k", 2, 3.0)]


def test_the_sample_is_of_the_same_instances_whatever_the_order(tmp_path):
    rows = [Trajectory(instance_id=f"i{number}", localizer="l", system="", issue="") for number in range(20)]
    chosen = []
    for number, order in enumerate((rows, rows[::-1])):
        path = tmp_path / f"{number}.jsonl"
        write_jsonl(path, order)
        chosen.append([row.instance_id for row in sample(path, {row.instance_id for row in rows})])
    assert chosen[0] == chosen[1]
    assert len(set(chosen[0])) == 3


class Store:
    """Takes writes, or is away, or refuses those of one kind, or fails at those of some kinds."""

    uri = STORE

    def __init__(self):
        self.away = False
        self.status = 500
        self.fails = ()
        self.took = []

    def answers(self):
        return not self.away

    def is_complete(self, key):
        return False

    def apply(self, write):
        if self.away or write.kind in self.fails:
            raise TrackingUnavailable("away", self.status)
        if write.kind == "bad":
            raise DataError("refused")
        self.took.append((write.kind, write.data))
        return "taken"

    def took_kinds(self):
        return [kind for kind, _ in self.took]


@pytest.fixture
def box(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(outbox, "PAUSE_SECONDS", 0.0)
    made = outbox.Outbox(STORE)
    made.writer = Store()
    return made


def write(kind="text", **data):
    return Write(store=STORE, run="r", kind=kind, data=data)


@given(st.lists(st.booleans(), max_size=12))
def test_every_write_arrives_once_and_in_order_whenever_the_store_is_away(tmp_path_factory, away):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("project"))
        patch.setattr(outbox, "PAUSE_SECONDS", 0.0)
        made = outbox.Outbox(STORE)
        made.writer = Store()
        for number, made.writer.away in enumerate(away):
            made.send(write(number=number))
        made.writer.away = False
        assert made.settle() == 0
        assert [data["number"] for _, data in made.writer.took] == list(range(len(away)))
        assert outbox.waiting() == 0


def test_files_are_kept_with_the_write_that_names_them(box, tmp_path):
    note = tmp_path / "note.txt"
    note.write_text("first")
    box.writer.away = True
    box.send(write("file", path=str(note), folder=""))
    note.write_text("changed since")
    assert box.settle() == 1
    (path,) = outbox.OUTBOX.glob("*/*/note.txt")
    assert path.read_text() == "first"
    assert outbox.waiting() == 1


def test_a_figure_that_is_no_number_is_kept_as_it_is(box):
    box.writer.away = True
    box.send(write("metrics", points=[("loss", 1, math.nan), ("kl", 1, math.inf)]))
    assert box.settle() == 1
    ((_, (kept,)),) = outbox._left()
    assert [str(value) for *_, value in kept.data["points"]] == ["nan", "inf"]


def test_what_is_refused_is_told_and_stops_nothing(box, caplog):
    with caplog.at_level(logging.WARNING):
        assert box.send(write("bad")) == ""
    assert "refused" in caplog.text
    assert box.send(write()) == "taken"
    assert len(refused()) == 1
    assert outbox.waiting() == 0


def refused():
    return [Write.model_validate_json(line) for line in (outbox.OUTBOX / outbox.REFUSED).read_text().splitlines()]


def test_files_of_what_is_refused_are_kept(box, tmp_path):
    note = tmp_path / "note.txt"
    note.write_text("all there is of it")
    box.writer.away = True
    box.send(write("file", path=str(note), folder=""))
    note.unlink()
    box.writer.away, box.writer.apply = False, refuse
    assert box.settle() == 0
    (row,) = refused()
    assert Path(row.data["path"]).read_text() == "all there is of it"


def refuse(write):
    raise DataError("refused")


def test_a_store_of_files_that_is_away_alone_keeps_only_files_waiting(box):
    box.writer.away, box.writer.fails = True, outbox.FILES
    for kind in ("create", "text", "metrics", "file", "status"):
        box.send(write(kind, path="gone.txt"))
    box.writer.away = False
    assert box.waits
    assert box.settle() == 3
    assert box.writer.took_kinds() == ["create", "metrics", "status"]
    assert [kept.kind for _, rows in outbox._left() for kept in rows] == ["create", "text", "file"]


def test_files_that_nobody_takes_for_a_day_are_refused(box, monkeypatch):
    box.writer.fails = outbox.FILES
    box.send(write("text"))
    monkeypatch.setattr(outbox, "FILES_SECONDS", 0)
    assert box.settle() == 0
    assert [row.kind for row in refused()] == ["text"]


def test_a_write_that_always_fails_while_the_store_answers_is_refused_and_the_others_go_on(box):
    box.writer.fails = ("tags",)
    box.send(write("tags"))
    box.send(write("status"))
    assert box.settle() == 0
    assert box.writer.took_kinds() == ["status"]
    assert [row.kind for row in refused()] == ["tags"]


@pytest.mark.parametrize("status", [401, 403, 429, 503])
def test_who_is_not_let_in_yet_loses_nothing(box, status):
    box.writer.fails, box.writer.status = ("tags",), status
    box.send(write("tags"))
    box.send(write("status"))
    assert box.settle() == 2
    assert box.writer.took == []


def test_a_journal_that_is_stuck_does_not_keep_later_ones_from_the_store(box, monkeypatch):
    store, stuck = box.writer, outbox.OUTBOX / "000000000000.jsonl"
    write_jsonl(stuck, [write("text")])
    write_jsonl(outbox.OUTBOX / "ffffffffffff.jsonl", [write("metrics")])
    store.fails = outbox.FILES
    monkeypatch.setattr(outbox, "Writer", lambda uri: store)
    assert outbox.deliver_left(STORE) == 1
    assert [path for path, _ in outbox._left()] == [stuck]


class Answer:
    """What requests gives for an HTTP answer."""

    def __init__(self, status):
        self.status_code = status


class Refused(OSError):
    """As :class:`requests.HTTPError`, which is an OSError."""

    def __init__(self, status):
        super().__init__(f"{status} Client Error for url: http://ann:s3cret@mlflow/api/x")
        self.response = Answer(status)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (413, DataError),
        (404, DataError),
        *((status, TrackingUnavailable) for status in (401, 403, 408, 425, 429, 500, 502, 503)),
    ],
)
def test_what_an_answer_means_is_the_same_for_files_and_for_the_rest(status, kind):
    from mlflow.exceptions import MlflowException

    for error in (Refused(status), MlflowException(f"API request to endpoint /x failed with error code {status} != 200")):
        with pytest.raises(kind) as caught, reachable("http://ann:s3cret@mlflow"):
            raise error
        assert getattr(caught.value, "status", status) == status


@pytest.mark.parametrize("error", [ConnectionError("no route"), PermissionError("/mlruns")])
def test_what_gives_no_status_may_pass_later(error):
    with pytest.raises(TrackingUnavailable), reachable(STORE):
        raise error


@given(_WORDS, st.text(st.characters(categories=("L", "N", "P"), exclude_characters="/?"), min_size=1))
def test_no_password_is_in_what_is_told_of_an_error(user, secret):
    assert without_passwords(f"to http://{user}:{secret}@mlflow/api failed") == f"to http://{user}@mlflow/api failed"
    assert without_passwords("no http://mlflow:5000/x@y here") == "no http://mlflow:5000/x@y here"


def test_an_error_of_the_store_does_not_quote_its_password():
    url = "http://ann:{}@mlflow".format("s3cret")
    with pytest.raises(TrackingUnavailable) as caught, reachable(url):
        raise Refused(500)
    text = "".join(traceback.format_exception(caught.value))
    assert "for url: http://ann@mlflow/api/x" in text
    assert "s3cret" not in text


class Guarded(BaseHTTPRequestHandler):
    """A server that is up and lets nobody in."""

    def answer(self):
        self.send_response(200 if self.path == "/health" else 401)
        self.end_headers()
        self.wfile.write(b"You are not authenticated.")

    do_GET = do_POST = answer

    def log_message(self, *_):
        pass


def test_a_server_that_lets_nobody_in_is_told_before_the_work_even_if_it_once_did(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Guarded)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    write_json(KNOWN, [url])
    try:
        with pytest.raises(TrackingUnavailable, match="MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD"):
            require(url)
    finally:
        server.shutdown()


@pytest.mark.parametrize(
    ("path", "dirty"),
    [
        ("experiments/filtering/RESULTS.md", "false"),
        ("experiments/filtering/figures/arms.svg", "false"),
        ("experiments/RESULTS.md", "false"),
        ("artifacts/sft/loss.csv", "false"),
        ("experiments/filtering/experiment.yaml", "true"),
        ("tasks/pipeline/layout.py", "true"),
    ],
)
def test_what_experiments_write_themselves_is_no_change_of_the_project(tmp_path, monkeypatch, path, dirty):
    monkeypatch.chdir(tmp_path)
    subprocess.run(["git", "init", "-q"], check=True)
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_text("before")
    subprocess.run(["git", "add", "-A"], check=True)
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"], check=True)
    assert revision_tags()["git.dirty"] == "false"
    (tmp_path / path).write_text("after")
    assert revision_tags()["git.dirty"] == dirty
