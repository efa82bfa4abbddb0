"""`context`: from an issue and a directory to what to read, as text and JSON."""

import json

import pytest

from fusesearch import context


def test_text_has_the_function_with_its_path_lines_and_body(run, repo, issue, monkeypatch):
    monkeypatch.chdir(repo)
    result = run("context", "perimeter(3) is wrong")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith(
        "%: the chance that the fix modifies the function, or the file.\n\n## pkg/shapes.py:6-7  perimeter ("
    )
    assert "def perimeter(side):\n    return 3 * side\n" in result.stdout
    by_option = run("context", "--repo", repo, "--issue", issue)
    assert "def perimeter(side):\n    return 3 * side\n" in by_option.stdout
    assert run("context", "-", stdin=issue.read_text()).stdout == by_option.stdout


def test_json_and_python_have_the_same(run, repo):
    result = run("context", "perimeter(3) is wrong", "--repo", repo, "--tokens", "200", "--format", "json")
    found = json.loads(result.stdout)
    assert found.keys() == {"outcome", "excerpts", "text", "tokens", "budget"}
    assert (found.pop("outcome"), found["budget"]) == ("answer", 200)
    assert found["tokens"] <= 200
    assert found["excerpts"][0].keys() == {"kind", "path", "function", "lines", "shown", "text", "confidence", "reasons"}
    assert context(repo, "perimeter(3) is wrong", tokens=200).model_dump(mode="json") == found


def test_too_little_to_go_on_is_exit_code_3(run, repo):
    result = run("context", "it is broken", "--repo", repo)
    assert (result.exit_code, result.stdout.startswith("No answer: too little to go on")) == (3, True)
    as_json = run("context", "it is broken", "--repo", repo, "--format", "json")
    assert (as_json.exit_code, json.loads(as_json.stdout)["outcome"]) == (3, "too_little")


@pytest.mark.parametrize(
    ("options", "code"),
    [([], 2), (["x", "--issue", "y"], 2), (["x", "--tokens", "99"], 2), (["x", "--repo", "nowhere"], 1), (["missing.md"], 1)],
)
def test_wrong_input_is_one_line(run, repo, monkeypatch, options, code):
    monkeypatch.chdir(repo)
    result = run("context", *options)
    assert result.exit_code == code
    assert code == 2 or len(result.stderr.splitlines()) == 1


def test_a_name_has_lists_of_places(run, repo):
    (repo / "pkg" / "use.py").write_text("from pkg.shapes import perimeter\n\n\ndef fence(side):\n    return perimeter(side)\n")
    result = run("context", "pkg.shapes.perimeter", "--repo", repo)
    assert (result.exit_code, result.stdout.splitlines()[0]) == (0, "## pkg/shapes.py:6-7  perimeter")
    assert "pkg/use.py:5  fence: return perimeter(side)" in result.stdout
    found = json.loads(run("context", "perimeter", "--repo", repo, "--format", "json").stdout)
    assert found.keys() == {
        "outcome", "name", "definitions", "callers", "perhaps", "callees", "tests", "text", "tokens", "budget",
    }  # fmt: skip
    assert found["definitions"] == [{"path": "pkg/shapes.py", "lines": [6, 7], "function": "perimeter"}]
    assert found["callers"] == [{"path": "pkg/use.py", "lines": [4, 5], "function": "fence"}]


def test_an_impact_has_the_tests_to_run_in_text_json_and_python(run, repo):
    (repo / "tests" / "test_it.py").parent.mkdir(exist_ok=True)
    (repo / "tests" / "test_it.py").write_text("from pkg.shapes import perimeter\n\n\ndef test_it():\n    assert perimeter(1)\n")
    result = run("context", "perimeter", "--repo", repo, "--impact")
    assert (result.exit_code, result.stdout.endswith("\n\n## Tests to run\ntests/test_it.py\n")) == (0, True)
    found = json.loads(run("context", "perimeter", "--repo", repo, "--impact", "--format", "json").stdout)
    assert (found["run"], found["impact"], context(repo, "perimeter", impact=True).run) == (
        ["tests/test_it.py"],
        [],
        found["run"],
    )
    assert run("context", "perimeter(3) is wrong", "--repo", repo, "--impact").exit_code == 2


def test_an_unknown_name_is_one_line_with_near_ones(run, repo):
    result = run("context", "perimetre", "--repo", repo)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "nothing here is called perimetre; near: perimeter" in result.stderr
