"""`score` and what all commands share: the shapes scripts rely on, and how they fail."""

import json
from pathlib import Path

import pytest

from fusesearch.cli.output import print_json, save_text
from fusesearch.core.errors import DataError


def test_control_characters_never_reach_the_terminal(capsys):
    print_json({"output": "needle \x1b]0;title\x07 \x9b31m"})
    shown = capsys.readouterr().out
    assert not {"\x1b", "\x07", "\x9b"} & set(shown)
    assert json.loads(shown)["output"].startswith("needle \x1b]")


def lines(path: Path, *rows: dict) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize(("kind", "cloned"), [("jsonl", False), ("json", True), ("parquet", True)])
def test_score_takes_rows_of_swe_bench(run, bare, head, patch, tmp_path, kind, cloned):
    bare.rename(tmp_path / "me__shapes.git")
    row = {"instance_id": "1", "repo": "me/shapes", "base_commit": head, "patch": patch.read_text(), "problem_statement": "p"}
    truth = tmp_path / f"verified.{kind}"
    if kind == "parquet":
        pytest.importorskip("polars").DataFrame([row]).write_parquet(truth)
    else:
        truth.write_text(json.dumps([row]) if kind == "json" else json.dumps(row) + "\n")
    named = {"instance_id": "1", "files": ["pkg/shapes.py"], "functions": ["pkg/shapes.py::perimeter", "pkg/shapes.py::f"]}
    options = ("--repos", tmp_path) if cloned else ()
    done = run("score", "--predictions", lines(tmp_path / "p.jsonl", named), "--truth", truth, *options)
    assert done.exit_code == 0, done.output
    scores = json.loads(done.stdout)
    assert scores["file"]["micro"]["f1"] == 1.0
    assert scores["function"]["micro"]["precision"] == (0.5 if cloned else None)
    assert scores.get("files_only") == (None if cloned else 1)


def test_score_prints_a_row_beside_those_of_a_board(run, tmp_path):
    answers = {"other": {"files": ["a.py"]}}
    rows = [{"instance_id": str(number), "files": ["a.py" if number % 4 else "b.py"], "answers": answers} for number in range(12)]
    named = lines(tmp_path / "p.jsonl", *({"instance_id": row["instance_id"], "files": row["files"]} for row in rows))
    board = lines(tmp_path / "b.jsonl", *rows)
    done = run("score", "--predictions", named, "--board", board)
    yours, other = [line.split(" | ") for line in done.stdout.splitlines() if line.startswith(("| yours", "| other"))]
    assert (yours[1], yours[4], other[4]) == ("12", "100.0 [100.0, 100.0]", "75.0 [46.3, 103.7]")
    assert other[-1].startswith("+25.0 [-3.7, +53.7]")
    assert run("score", "--predictions", named).exit_code == 2


@pytest.mark.parametrize("command", ["localize", "context", "ask", "view", "mcp", "score", "doctor", "install"])
def test_every_help_teaches_with_an_example_and_fits_a_page(run, command):
    result = run(command, "--help")
    assert result.exit_code == 0
    assert f"fusesearch {command}" in result.output.split("Usage:")[1].split("\n", 1)[1]
    assert len(result.output.strip().splitlines()) <= 60


def test_the_ranker_answers_the_same_with_and_without_an_episode(run, repo, tmp_path):
    for text in ("perimeter(3) returns 9", "Square.area is wrong\n\n    >>> Square().area(2)\n    5\n", "it is broken"):
        short = run("localize", "--repo", repo, text, "--format", "json", "--top", 1)
        whole = run("localize", "--repo", repo, text, "--format", "json", "--top", 1, "--save", tmp_path / "t.json")
        answers = [json.loads(result.stdout) for result in (short, whole)]
        for answer in answers:
            answer["cost"] = {name: value for name, value in answer["cost"].items() if "seconds" not in name}
        assert (answers[0], short.exit_code) == (answers[1], whole.exit_code)
        assert len(answers[0]["places"]) == (text != "it is broken")


def test_a_link_and_a_device_are_written_and_not_replaced(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "file")
    (tmp_path / "full").symlink_to("/dev/full")
    save_text(tmp_path / "link", "text")
    assert ((tmp_path / "link").is_symlink(), (tmp_path / "file").read_text()) == (True, "text")
    with pytest.raises(DataError, match="full: No space left on device"):
        save_text(tmp_path / "full", "text")
    assert Path("/dev/full").is_char_device()
