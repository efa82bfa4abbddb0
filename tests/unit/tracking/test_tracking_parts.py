"""Parts of tracking that need no store: addresses, curves, samples of episodes, what a store that is away leaves."""

import logging
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.core.errors import DataError, TrackingUnavailable
from tasks.core.schema import Trajectory
from tasks.core.storage import write_jsonl
from tasks.tracking import outbox
from tasks.tracking.episodes import sample
from tasks.tracking.experiments import curve_points
from tasks.tracking.store import shown
from tasks.tracking.writes import Write

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
    """Takes writes, or is away, or refuses those of one kind."""

    uri = STORE

    def __init__(self):
        self.away = False
        self.took = []

    def apply(self, write):
        if self.away:
            raise TrackingUnavailable("away")
        if write.kind == "bad":
            raise DataError("refused")
        self.took.append((write.kind, write.data))
        return "taken"


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
    assert len((outbox.OUTBOX / outbox.REFUSED).read_text().splitlines()) == 1
    assert outbox.waiting() == 0
