"""`ask`: from a question and a directory to an answer, with a model and without."""

import json

import pytest

from fusesearch.core.schema import Trajectory


@pytest.mark.parametrize("question", ["Which functions and methods call `perimeter` directly?", "who calls perimeter?"])
def test_without_a_model_the_code_is_read(run, repo, tmp_path, question):
    (repo / "pkg" / "use.py").write_text("from pkg.shapes import perimeter\n\n\ndef fence(side):\n    return perimeter(side)\n")
    result = run("ask", "--repo", repo, question, "--save", tmp_path / "t.json")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[0] == "pkg/use.py:5  fence"
    trajectory = Trajectory.model_validate_json((tmp_path / "t.json").read_text())
    assert (trajectory.issue, trajectory.localizer) == (question, "code-answers")


def test_json_has_the_shape_scripts_rely_on(run, repo):
    result = run(
        "ask",
        "--repo",
        repo,
        "-",
        "--format",
        "json",
        stdin="In which file is `pkg.shapes.perimeter` defined, and under which name?",
    )
    found = json.loads(result.stdout)
    assert (found["outcome"], found["values"]) == ("answer", ["pkg/shapes.py::perimeter"])
    assert found.keys() == {"outcome", "values", "related", "text", "trajectory"}


def test_a_question_of_another_kind_gets_passages_which_are_no_answer(run, repo):
    result = run("ask", "--repo", repo, "How does the `perimeter` of a square get its side?")
    assert result.exit_code == 3
    assert result.stdout.startswith(
        "No answer. These are passages that share words with the question, not an answer.\npkg/shapes.py"
    )
    assert "who calls NAME?" in result.stdout
    found = json.loads(run("ask", "--repo", repo, "How does `perimeter` work?", "--format", "json").stdout)
    assert (found["outcome"], found["values"], found["related"][0]["path"]) == ("passages", [], "pkg/shapes.py")
    assert run("ask", "--repo", repo, "Warum ist das so?").stdout.startswith("No answer. Nothing here shares enough words")
    assert run("ask", "--repo", repo, "who calls the shots?").stdout.startswith("No answer. Nothing here shares enough words")


def test_candidates_are_no_answer(run, repo):
    (repo / "pkg" / "more.py").write_text("def perimeter(): ...\n")
    result = run("ask", "--repo", repo, "where is perimeter defined?", "--format", "json")
    found = json.loads(result.stdout)
    assert (result.exit_code, found["outcome"], found["values"]) == (3, "candidates", [])
    assert [one["path"] for one in found["related"]] == ["pkg/more.py", "pkg/shapes.py"]
    assert run("ask", "--repo", repo, "where is `circle` defined?").stdout.startswith("No answer. `circle` is not defined")


def test_names_of_other_languages_are_found(run, repo):
    (repo / "web.js").write_text("function side () {\n  return draw()\n}\n\nfunction draw () {\n  return 1\n}\n")
    result = run("ask", "--repo", repo, "where is draw defined?")
    assert (result.exit_code, result.stdout.splitlines()[0]) == (0, "web.js:5  draw")
    found = json.loads(run("ask", "--repo", repo, "who calls `draw`?", "--format", "json").stdout)
    assert (found["outcome"], found["related"][0]["function"]) == ("candidates", "side")


def test_wrong_use_is_one_line(run, repo):
    assert "the question is empty" in run("ask", "--repo", repo, " ").stderr
    assert run("ask", "--repo", repo, "x", "--tools", "grep").exit_code == 2
    assert "needs the address" in run("ask", "--repo", repo, "x", "--model", "m").stderr


def test_who_answers_can_be_named(run, repo):
    question = "In which file is `pkg.shapes.perimeter` defined, and under which name?"
    assert run("ask", "--repo", repo, question, "--localizer", "grep-once").stdout.startswith("- /repo/pkg/shapes.py::perimeter")
    wrong = run("ask", "--repo", repo, question, "--localizer", "ranker")
    assert (wrong.exit_code, "answers no questions" in wrong.stderr) == (2, True)
