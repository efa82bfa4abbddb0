"""`ask`: from a question and a directory to an answer, with a model and without."""

import json

from fusesearch.core.schema import Trajectory


def test_a_script_answers_in_the_words_of_mined_questions(run, repo, tmp_path):
    (repo / "pkg" / "use.py").write_text("from pkg.shapes import perimeter\n\n\ndef fence(side):\n    return perimeter(side)\n")
    question = "Which functions and methods call `perimeter` directly?"
    result = run("ask", "--repo", repo, question, "--save", tmp_path / "t.json")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[0] == "- /repo/pkg/use.py::fence"
    trajectory = Trajectory.model_validate_json((tmp_path / "t.json").read_text())
    assert (trajectory.issue, trajectory.localizer) == (question, "lexical-answers")


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
    assert found["values"] == ["/repo/pkg/shapes.py::perimeter"]
    assert found.keys() == {"values", "text", "trajectory"}


def test_a_question_in_other_words_needs_a_model(run, repo):
    result = run("ask", "--repo", repo, "How does it work?")
    assert result.exit_code == 3
    assert result.stdout.startswith("No answer: the last message has none.")


def test_wrong_use_is_one_line(run, repo):
    assert "the question is empty" in run("ask", "--repo", repo, " ").stderr
    assert run("ask", "--repo", repo, "x", "--tools", "grep").exit_code == 2
    assert "needs the address" in run("ask", "--repo", repo, "x", "--model", "m").stderr


def test_who_answers_can_be_named(run, repo):
    question = "In which file is `pkg.shapes.perimeter` defined, and under which name?"
    assert run("ask", "--repo", repo, question, "--localizer", "grep-once").stdout.startswith("- /repo/pkg/shapes.py::perimeter")
    wrong = run("ask", "--repo", repo, question, "--localizer", "ranker")
    assert (wrong.exit_code, "answers no questions" in wrong.stderr) == (2, True)
