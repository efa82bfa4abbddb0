"""`tool`, `truth` and `score`: the shapes scripts rely on, and how they fail."""

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.fakes.commands import failed

HEAVY = {"pydantic", "yaml", "openai", "torch", "transformers", "trl", "prefect", "mlflow", "dvc", "polars", "numpy", "httpx"}


def test_grep_prints_output_entities_and_no_error(run, repo):
    result = run("tool", "grep", "--repo", repo, "--args", '{"pattern": "def ", "output_mode": "content"}')
    assert result.exit_code == 0
    assert json.loads(result.stdout) == {
        "output": "/repo/pkg/shapes.py:2:    def area(self, side):\n/repo/pkg/shapes.py:6:def perimeter(side):",
        "entities": ["pkg/shapes.py:2", "pkg/shapes.py:6"],
        "error": None,
    }


def test_glob_and_read_file(run, repo):
    found = json.loads(run("tool", "glob", "--repo", repo, "--args", '{"pattern": "*.md"}').stdout)
    assert found["entities"] == ["README.md"]
    read = json.loads(run("tool", "read_file", "--repo", repo, "--args", '{"path": "/repo/README.md"}').stdout)
    assert read == {"output": "1\tA package of shapes.", "entities": ["README.md:1"], "error": None}


def test_an_output_that_cannot_be_written_is_one_line(repo):
    command = [sys.executable, "-m", "fusesearch", "tool", "glob", "--repo", str(repo), "--args", '{"pattern": "*.md"}']
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("fusesearch: ")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "args"),
    [("grep", "{}"), ("grep", '{"pattern": "("}'), ("read_file", '{"path": "/etc/passwd"}'), ("glob", '{"patern": "*"}')],
)
def test_a_failed_call_is_an_answer(run, repo, name, args):
    result = run("tool", name, "--repo", repo, "--args", args)
    assert result.exit_code == 0
    answer = json.loads(result.stdout)
    assert answer["error"]
    assert answer["error"] in answer["output"]
    assert answer["entities"] == []


@pytest.mark.parametrize("args", ["{", "[1]", '"x"', "null", "", "[" * 100_000])
def test_arguments_that_are_not_a_json_object_are_a_usage_error(run, repo, args):
    result = run("tool", "grep", "--repo", repo, "--args", args)
    assert result.exit_code == 2
    assert "--args" in result.stderr
    assert "Traceback" not in result.output


def test_an_unknown_tool_is_a_usage_error_that_names_the_tools(run, repo):
    result = run("tool", "sed", "--repo", repo, "--args", "{}")
    assert result.exit_code == 2
    assert "read_file" in result.stderr


def test_a_missing_directory_is_one_line(run, tmp_path):
    assert "nowhere" in failed(run("tool", "grep", "--repo", tmp_path / "nowhere", "--args", '{"pattern": "x"}'))


def test_control_characters_of_a_file_never_reach_the_terminal(run, repo):
    (repo / "evil.txt").write_text("needle \x1b]0;title\x07 \x9b31m\n", encoding="utf-8")
    result = run("tool", "grep", "--repo", repo, "--args", '{"pattern": "needle", "output_mode": "content"}')
    assert not {"\x1b", "\x07", "\x9b"} & set(result.stdout)
    json.loads(result.stdout)


TRUTH = {
    "files": ["pkg/shapes.py"],
    "functions": ["pkg/shapes.py::perimeter"],
    "lines": {"pkg/shapes.py": [[7, 7]]},
    "added_files": [],
    "added_functions": ["pkg/shapes.py::diagonal"],
}


@pytest.mark.parametrize(("kind", "given"), [("repo", ""), ("bare", "-")])
def test_truth_of_a_patch(run, request, kind, given, head, patch):
    stdin = patch.read_text() if given else None
    result = run("truth", "--repo", request.getfixturevalue(kind), "--base", head, "--patch", given or patch, stdin=stdin)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout) == TRUTH


def test_truth_names_what_is_wrong(run, repo, head, patch, tmp_path):
    missing = run("truth", "--repo", repo, "--base", head, "--patch", tmp_path / "none.diff")
    assert failed(missing).endswith(f"cannot read the patch {tmp_path}/none.diff: No such file or directory")
    failed(run("truth", "--repo", repo, "--base", "0" * 40, "--patch", patch))
    failed(run("truth", "--repo", tmp_path / "nowhere", "--base", head, "--patch", patch))
    other = patch.read_text().replace("3 * side", "5 * side")
    assert "shapes.py" in failed(run("truth", "--repo", repo, "--base", head, "--patch", "-", stdin=other))


def lines(path: Path, *rows: dict) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("kind", ["jsonl", "json", "parquet"])
@pytest.mark.parametrize("cloned", [False, True])
def test_score_takes_rows_of_swe_bench(run, bare, head, patch, tmp_path, kind, cloned):
    bare.rename(tmp_path / "me__shapes.git")
    row = {
        "instance_id": "1",
        "repo": "me/shapes",
        "base_commit": head,
        "patch": patch.read_text(),
        "problem_statement": "It is 6.",
    }
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


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"patch": "no patch"}, "t.jsonl: 1: the patch changes no file"),
        ({"patch": ""}, "t.jsonl:1: neither `files` nor `patch` is given"),
        ({}, "t.jsonl:1: neither `files` nor `patch` is given"),
    ],
)
def test_score_says_what_is_wrong_with_a_row(run, tmp_path, row, message):
    named = lines(tmp_path / "p.jsonl", {"instance_id": "1", "files": ["a.py"]})
    done = run("score", "--predictions", named, "--truth", lines(tmp_path / "t.jsonl", {"instance_id": "1", **row}))
    assert message in failed(done)


def test_the_command_names_the_tools_that_there_are():
    from fusesearch.cli.tool import ToolName
    from fusesearch.search.tools import TOOLS

    assert [tool.value for tool in ToolName] == list(TOOLS)


UNUSED = {
    "fusesearch.agents.loop", "fusesearch.code.functions", "fusesearch.code.parsing", "fusesearch.core.config.episodes",
    "fusesearch.evaluation.statistics", "fusesearch.search.tools", "tree_sitter", "rich",
    "fusesearch.core.config.training", "fusesearch.core.config.data", "fusesearch.core.config.params",
    "fusesearch.localizers.episodes", "fusesearch.localizers.lexical.localizer", "fusesearch.localizers.reposearcher",
    "fusesearch.reporting.episodes.page", "fusesearch.agents.models.loading", "numpy", "httpx2", "mcp", "rich.table", "yaml",
    "pydantic", "typer", "asyncio", "fusesearch.core.schema",
}  # fmt: skip


MOST_MODULES = 50


def test_an_answer_from_an_index_imports_what_it_needs(repo):
    code = (
        "import sys, fusesearch.cli\nsys.argv = ['fusesearch', 'localize', '--repo', sys.argv[1], 'perimeter gives 6']\n"
        "try:\n    fusesearch.cli.main()\nexcept SystemExit:\n"
        f"    print(sorted(set(sys.modules) & {UNUSED}), sum(name.startswith('fusesearch') for name in sys.modules))"
    )
    for _ in ("index", "answer"):
        done = subprocess.run([sys.executable, "-c", code, str(repo)], capture_output=True, text=True, timeout=60, check=False)
        assert "perimeter" in done.stdout
    unused, count = done.stdout.splitlines()[-1].rsplit(" ", 1)
    assert unused == "[]"
    assert int(count) <= MOST_MODULES


def test_the_time_shown_has_the_start(run, repo, monkeypatch):
    monkeypatch.setattr("fusesearch.cli._STARTED", time.perf_counter() - 100)
    assert run("localize", "--repo", repo, "perimeter gives 6").stdout.rstrip().endswith(" s")
    assert float(run("localize", "--repo", repo, "perimeter gives 6").stdout.split()[-2]) >= 100


@pytest.mark.parametrize(
    ("module", "more"),
    [
        ("typer", ["--help"]),
        ("pydantic", ["--max-turns", "3"]),
        ("fusesearch.localizers.searcher", ["--max-turns", "3"]),
        ("fusesearch.localizers.ranker", []),
    ],
)
def test_ctrl_c_during_the_imports_is_one_line(module, more, tmp_path):
    code = (
        f"import sys, builtins, fusesearch.cli\nsys.argv = ['fusesearch', 'localize', 'a text', *{more}]\n"
        "real = builtins.__import__\n"
        "def importing(name, *rest):\n"
        f"    if name == {module!r}:\n        raise KeyboardInterrupt\n    return real(name, *rest)\n"
        "builtins.__import__ = importing\nfusesearch.cli.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd=tmp_path, check=False)
    assert done.returncode == 130
    assert done.stderr == "fusesearch: interrupted\n"


def test_a_command_ends_without_a_last_search_for_garbage():
    code = (
        "import atexit, gc, sys, fusesearch.cli\natexit.register(lambda: print(gc.get_freeze_count() > 10_000))\n"
        "sys.argv = ['fusesearch', '--version']\nfusesearch.cli.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.splitlines()[-1] == "True"


def test_help_loads_no_heavy_package():
    made = "import sys; from fusesearch.cli.app import application; application(); "
    code = made + f"sys.exit(','.join(sorted(set(sys.modules) & {HEAVY})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stderr.strip() == ""


@pytest.mark.parametrize("command", ["localize", "view", "tool", "truth", "score", "doctor"])
def test_every_help_teaches_with_an_example(run, command):
    result = run(*command.split(), "--help")
    assert result.exit_code == 0
    assert f"fusesearch {command}" in result.output.split("Usage:")[1].split("\n", 1)[1]


def test_help_tells_the_exit_codes(run):
    text = run("--help").output
    assert "Exit codes" in text
    assert "130" in text


def test_the_version_is_printed(run):
    assert run("--version").output.startswith("fusesearch 0.")


@pytest.mark.parametrize("command", ["localize", "context", "ask", "mcp"])
def test_help_of_a_command_for_everyday_use_fits_a_screen(run, command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    short, whole = run(command, "--help").output, run(command, "--help-all").output if command != "context" else ""
    assert len(short.strip().splitlines()) <= 40
    assert set(re.findall(r"--[a-z-]+", short)) <= set(re.findall(r"--[a-z-]+", whole)) or command == "context"
