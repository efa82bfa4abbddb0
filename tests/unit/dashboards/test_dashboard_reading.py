"""Artifacts as the dashboard reads them: fresh, named when missing, and never trusted."""

import gc
import os
import weakref

import pytest

from dashboards import episodes, read
from fusesearch.core.errors import ArtifactError
from fusesearch.core.storage import write_json, write_jsonl, write_text
from tasks.running.places import MAIN
from tests.fakes.dashboard_project import ARMS, INSTANCES, NODES, episode, instance_id


def test_a_file_is_read_again_when_it_changed(tmp_path):
    path = tmp_path / MAIN["mine.metrics"]
    write_json(path, {"pairs": 1})
    assert read.metrics(tmp_path, "mine") == {"pairs": 1}
    write_json(path, {"pairs": 22})
    os.utime(path, ns=(1, 1))
    assert read.metrics(tmp_path, "mine") == {"pairs": 22}


class Parsed:
    """What a reader makes of a file."""


def parsed(path):
    return Parsed()


def test_only_the_newest_version_of_a_file_is_kept(tmp_path):
    path = tmp_path / "a.json"
    write_text(path, "1")
    before = weakref.ref(read.cached(path, "mine", parsed))
    assert before() is read.cached(path, "mine", parsed)
    write_text(path, "22")
    after = read.cached(path, "mine", parsed)
    gc.collect()
    assert before() is None
    assert after is read.cached(path, "mine", parsed)


def test_a_huge_file_is_refused_unread(tmp_path):
    path = tmp_path / MAIN["evaluate.scores"]
    path.parent.mkdir(parents=True)
    with path.open("wb") as handle:
        handle.truncate(read.MOST_BYTES + 1)
    with pytest.raises(ArtifactError, match="reads 512 MB at most"):
        read.report(tmp_path)


@pytest.mark.parametrize("text", ["\0", "\udcff", "3", "[" * 9])
def test_a_damaged_file_is_one_clear_error(tmp_path, text):
    path = tmp_path / MAIN["mine.metrics"]
    path.parent.mkdir(parents=True)
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ArtifactError, match=rf"{path.name} "):
        read.metrics(tmp_path, "mine")


def test_every_episode_of_a_file_can_be_opened_by_instance_and_run(tmp_path):
    path = tmp_path / MAIN["evaluate.cells"] / "sft/trajectories.jsonl"
    write_jsonl(path, [episode(number % 2, "sft", True, 1 + number) for number in range(4)])
    source = episodes.sources(tmp_path)[0]
    found = [[len(source.episode(instance_id(i), run).turns[0].calls) for run in (1, 2)] for i in (0, 1)]
    assert found == [[1, 3], [2, 4]]
    with pytest.raises(ArtifactError, match="has 2 episodes of own__repo-0, so episode 3 does not exist"):
        source.episode(instance_id(0), 3)


@pytest.mark.parametrize("line", ["{", "[]", "3", '{"instance_id": 3}', "\0", "[" * 100_000])
def test_an_invalid_episode_line_is_one_clear_error(tmp_path, line):
    path = tmp_path / MAIN["evaluate.cells"] / "sft/trajectories.jsonl"
    write_text(path, line + "\n")
    with pytest.raises(ArtifactError, match=r"sft/trajectories\.jsonl"):
        episodes.sources(tmp_path)[0].episode("3")


def test_sources_are_arms_in_order_then_runs_of_experiments_then_candidates(project):
    found = episodes.sources(project)
    assert [source.name for source in found] == [*ARMS, f"{NODES['evaluate']}/sft", "candidates"]
    assert len(found[0].offsets()) == INSTANCES
    assert found[-2].label == "evaluate-0123abcd: filtering, with, seed 1 and 1 more"


def test_an_errored_run_has_no_f1(project):
    by_name = {source.name: source for source in episodes.sources(project)}
    assert by_name["evaluate-0123abcd/sft"].f1() == {instance_id(0): 1.0}
    assert by_name["base"].f1().keys() == {instance_id(number) for number in range(INSTANCES)}
    assert by_name["candidates"].f1() == {}
