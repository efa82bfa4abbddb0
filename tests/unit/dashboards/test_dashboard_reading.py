"""Artifacts as the dashboard reads them: fresh, named when missing, and never trusted."""

import os

import pytest

from dashboards import read
from fusesearch.core.errors import ArtifactError
from fusesearch.core.storage import read_json, write_json, write_jsonl
from fusesearch.reporting.episodes.page import page_of
from tests.fakes.dashboard_project import episode, instance_id


def test_a_file_is_read_again_when_it_changed(tmp_path):
    path = tmp_path / "metrics.json"
    write_json(path, {"pairs": 1})
    assert read.cached(path, "mine", read_json) is read.cached(path, "mine", read_json)
    write_json(path, {"pairs": 22})
    os.utime(path, ns=(1, 1))
    assert read.cached(path, "mine", read_json) == {"pairs": 22}


def test_a_missing_file_names_its_stage_and_a_huge_one_is_refused_unread(tmp_path):
    path = tmp_path / "scores.jsonl"
    with pytest.raises(ArtifactError, match=r"scores.jsonl is missing: run `dvc repro evaluate`"):
        read.episodes(path, "evaluate")
    with path.open("wb") as handle:
        handle.truncate(read.MOST_BYTES + 1)
    with pytest.raises(ArtifactError, match="reads 512 MB at most"):
        read.episodes(path, "evaluate")


@pytest.mark.parametrize("line", ["{", "[]", "3", '{"instance_id": 3}', "\0", "[" * 100_000, "\udcff"])
def test_a_damaged_line_is_one_clear_error(tmp_path, line):
    path = tmp_path / "trajectories.jsonl"
    path.write_bytes(line.encode("utf-8", "surrogateescape") + b"\n")
    with pytest.raises(ArtifactError, match=r"trajectories\.jsonl"):
        read.episode(read.episodes(path, "evaluate")["3"][0], path)


@pytest.mark.parametrize("gain", [float("nan"), float("inf"), float("-inf")])
def test_an_invalid_gain_is_absent_and_the_rest_of_the_episode_is_shown(tmp_path, gain):
    odd = episode(1, "sft", True).model_dump()
    odd["turns"][0]["observations"][0] |= {"gain_turn": gain, "gain_call": gain}
    write_jsonl(tmp_path / "t.jsonl", [odd])
    (line,) = read.episodes(tmp_path / "t.jsonl", "evaluate")[instance_id(1)]
    first, second = page_of(read.episode(line, tmp_path / "t.jsonl")).turns[0].cards
    assert (first.gain, first.level, second.gain) == ("absent", "bad", "75%")
