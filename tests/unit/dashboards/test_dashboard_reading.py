"""Artifacts as the dashboard reads them: fresh, named when missing, and never trusted."""

import gc
import json
import os
import weakref
from itertools import pairwise
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboards.content.trajectories import ordered
from dashboards.reading import artifacts, candidates, curves, episodes, runs
from dashboards.reading.candidates import Point
from tasks.core.errors import ArtifactError
from tasks.core.storage import write_json, write_jsonl, write_text
from tasks.pipeline.places import MAIN
from tests.fakes.dashboard_project import ARMS, INSTANCES, NODES, episode, instance_id

SHARES = st.integers(0, 20).map(lambda value: value / 20)
POINTS = st.lists(
    st.builds(Point, st.sampled_from("abc"), SHARES, SHARES, SHARES, st.sampled_from(["kept", "no_answer", "low_f1"])),
    max_size=30,
)


def test_a_file_is_read_again_when_it_changed(tmp_path):
    path = tmp_path / "a.json"
    write_json(path, {"pairs": 1})
    assert artifacts.counts(path, "mine") == {"pairs": 1}
    write_json(path, {"pairs": 22})
    os.utime(path, ns=(1, 1))
    assert artifacts.counts(path, "mine") == {"pairs": 22}


class Parsed:
    """What a reader makes of a file."""


def parsed(path):
    return Parsed()


def test_of_a_file_that_changes_only_the_newest_version_is_kept(tmp_path):
    path = tmp_path / "a.json"
    write_text(path, "1")
    before = weakref.ref(artifacts.cached(path, "mine", parsed))
    assert before() is artifacts.cached(path, "mine", parsed)
    write_text(path, "22")
    after = artifacts.cached(path, "mine", parsed)
    gc.collect()
    assert before() is None
    assert after is artifacts.cached(path, "mine", parsed)


@pytest.mark.parametrize(
    ("read", "stage"),
    [
        (artifacts.summary, "report"),
        (artifacts.differences, "report"),
        (artifacts.calls_by_turn, "report"),
        (artifacts.scores, "evaluate"),
        (candidates.points, "select"),
    ],
)
def test_a_missing_file_names_the_stage_that_makes_it(tmp_path, read, stage):
    with pytest.raises(ArtifactError, match=f"is missing: run `dvc repro {stage}`"):
        read(tmp_path)


@pytest.mark.parametrize(
    "text", ["arm\nx\n", "arm,metric,estimate,low,high,instances\na,b,c,d,e,f\n", "\0", "\udcff", "arm,metric\n" * 3]
)
def test_a_damaged_table_is_one_clear_error(tmp_path, text):
    path = tmp_path / MAIN["report.table"]
    path.parent.mkdir(parents=True)
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ArtifactError, match=r"table2\.csv (cannot be|lacks)"):
        artifacts.summary(tmp_path)


@pytest.mark.parametrize("value", [[3], {"repositories": [3]}, {"repositories": 3}, {"kinds": [1]}, {"dropped": 3}])
def test_a_table_of_mining_that_is_none_is_one_clear_error(tmp_path, value):
    write_json(tmp_path / MAIN["mine.table"], value)
    with pytest.raises(ArtifactError, match=r"table\.json (cannot be used|holds no JSON object)"):
        artifacts.mined(tmp_path)


def test_a_huge_file_is_refused_unread(tmp_path):
    path = tmp_path / MAIN["select.plane"]
    path.parent.mkdir(parents=True)
    with path.open("wb") as handle:
        handle.truncate(artifacts.MOST_BYTES + 1)
    with pytest.raises(ArtifactError, match="reads 512 MB at most"):
        candidates.points(tmp_path)


@given(POINTS)
def test_the_grid_counts_what_single_thresholds_leave(points):
    steps = (0.0, 0.35, 0.5, 1.0)
    for scope in ("turn", "call"):
        grid = candidates.grid(points, steps, scope)
        single = [[candidates.left(points, f1, e, scope).candidates for f1 in steps] for e in steps]
        assert grid == single


@given(POINTS, SHARES, SHARES)
def test_places_hold_every_point_once(points, f1, e):
    places = candidates.places(points, f1, e, "turn")
    assert sum(place["count"] for place in places) == len(points)
    stays = sum(place["count"] for place in places if place["outcome"] == "stays")
    assert stays == candidates.left(points, f1, e, "turn").candidates


def test_every_episode_of_a_file_can_be_opened_by_instance_and_run(tmp_path):
    path = tmp_path / MAIN["evaluate.trajectories"] / "sft.jsonl"
    write_jsonl(path, [episode(number % 2, "sft", True, 1 + number) for number in range(4)])
    source = episodes.sources(tmp_path)[0]
    found = [[len(episodes.read_episode(source, instance_id(i), run).turns[0].calls) for run in (1, 2)] for i in (0, 1)]
    assert found == [[1, 3], [2, 4]]
    with pytest.raises(ArtifactError, match="has 2 episodes of own__repo-0: there is no episode 3"):
        episodes.read_episode(source, instance_id(0), 3)


@pytest.mark.parametrize("line", ["{", "[]", "3", '{"instance_id": 3}', "\0", "[" * 100_000])
def test_a_line_that_is_no_episode_is_one_clear_error(tmp_path, line):
    path = tmp_path / MAIN["evaluate.trajectories"] / "sft.jsonl"
    write_text(path, line + "\n")
    source = episodes.sources(tmp_path)[0]
    with pytest.raises(ArtifactError, match=r"sft\.jsonl"):
        episodes.read_episode(source, "3")


def test_sources_are_arms_in_order_then_runs_of_experiments_then_candidates(project):
    found = episodes.sources(project)
    assert [source.name for source in found] == [*ARMS, f"{NODES['evaluate']}/sft", "candidates"]
    assert len(episodes.index(found[0]).offsets) == INSTANCES
    assert found[-2].label == "evaluate-0123abcd: filtering, with, seed 1 and 1 more"


def test_curves_are_those_of_stages_and_of_nodes(project):
    found, faults = curves.main_curves(project)
    assert [(curve.name, len(curve.rows)) for curve in found] == [("sft", 40), ("sft+rl", 40), ("rl", 40)]
    assert faults == []
    (node,) = curves.node_curves(project)
    assert (node.name, node.stage) == ("grpo-0123abcd", "grpo")
    assert node.label == "grpo-0123abcd: filtering, with, seed 1 and 1 more"


class Store:
    """An MLflow client whose run has these metrics, logged at these steps."""

    def __init__(self, metrics, steps):
        self.metrics, self.steps = metrics, steps

    def get_run(self, run_id):
        return SimpleNamespace(data=SimpleNamespace(metrics=dict.fromkeys(self.metrics, 0.0)))

    def get_metric_history(self, run_id, name):
        return [SimpleNamespace(step=step, value=step / 2) for step in self.steps]


RUN = runs.TrainingRun("a" * 32, "grpo", "grpo, seed 1")


def test_a_long_history_is_thinned_evenly_to_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "_client", lambda root: Store(["reward"], range(5_999, -1, -1)))
    steps = [row["step"] for row in runs.run_curve(tmp_path, RUN).rows]
    assert (steps[0], steps[-1]) == (0, 5_999)
    assert len(steps) <= runs.MOST_POINTS + 1
    assert {later - earlier for earlier, later in pairwise(steps[:-1])} == {2}


def test_figures_of_a_run_beyond_the_limit_are_said(tmp_path, monkeypatch):
    names = [f"figure{number:03}" for number in range(runs.MOST_METRICS + 2)]
    monkeypatch.setattr(runs, "_client", lambda root: Store([*names[:-2], "system/cpu"], range(3)))
    whole = runs.run_curve(tmp_path, RUN)
    assert (len(whole.rows[0]), whole.lacks) == (runs.MOST_METRICS + 1, "")
    monkeypatch.setattr(runs, "_client", lambda root: Store(names, range(3)))
    most = runs.MOST_METRICS
    assert runs.run_curve(tmp_path, RUN).lacks == f"grpo, seed 1 has {most + 2} figures: only the first {most} by name are read"


def test_instances_are_ordered_by_what_is_asked_for():
    first, second = {"a": 0.5, "b": 0.0, "c": 1.0}, {"a": 0.6, "b": 1.0, "c": 1.0}
    assert ordered("cab", first, second, "difference") == ["b", "a", "c"]
    assert ordered("cab", first, second, "worst") == ["b", "a", "c"]
    assert ordered("cab", first, second, "name") == ["a", "b", "c"]


def test_an_instance_without_a_score_is_neither_different_nor_bad():
    first, second = {"a": 1.0, "b": 0.5}, {"b": 0.5, "c": 0.0}
    assert ordered("cab", first, second, "difference") == ["b", "a", "c"]
    assert ordered("cab", first, second, "worst") == ["b", "a", "c"]


def test_an_errored_run_has_no_f1(project):
    by_name = {source.name: source for source in episodes.sources(project)}
    assert episodes.f1_of(by_name["evaluate-0123abcd/sft"]) == {instance_id(0): 1.0}
    assert instance_id(99) not in episodes.f1_of(by_name["base"])
    assert len(episodes.f1_of(by_name["base"])) == INSTANCES
    assert episodes.f1_of(by_name["candidates"]) == {}


def test_examples_of_drops_are_read(project):
    found = artifacts.examples(project / MAIN["filter.examples"], "filter")
    assert [row.id for row in found["short_issue"]] == ["own__repo-77"]
    assert json.dumps(found["short_issue"][0].texts)
