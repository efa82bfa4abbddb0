"""`localize`: from an issue and a directory to ranked locations, with every way it can end."""

import io
import json
import re
import sys

import pytest
from rich.console import Console

from fusesearch.agents.parsing import format_answer
from fusesearch.agents.prompts import render_system
from fusesearch.cli.app import main
from fusesearch.cli.progress import View
from fusesearch.cli.report import Report
from fusesearch.cli.screen import PLAIN, Screen, screen
from fusesearch.core.config import Agent
from fusesearch.core.schema import Answer, Location, Observation, ToolCall, Trajectory, Turn
from fusesearch.localizers.searcher import SETTINGS
from fusesearch.search.repository import Repository
from tests.fakes.commands import failed
from tests.fakes.endpoint import Endpoint

CLOSED = "http://127.0.0.1:9/v1"


def test_the_ranker_says_how_sure_it_is_and_why(run, repo, issue):
    result = run("localize", "--repo", repo, "--issue", issue, "--localizer", "ranker")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("Best first, the first likely enough to act on. %: ")
    lines = ["pkg/shapes.py  95%", "pkg/shapes.py:6-7  perimeter", "def perimeter(side):"]
    assert all(line in map(str.strip, result.stdout.splitlines()) or line in result.stdout for line in lines)
    assert "`perimeter` is " in result.stdout.splitlines()[5]
    refused = run("localize", "--repo", repo, "--issue", issue, "--top", "2", "--localizer", "lexical")
    assert refused.exit_code == 2
    assert "is for ranker alone" in refused.stderr


def test_lines_that_cannot_be_parsed_are_told_where_no_function_is_named(run, tmp_path):
    (tmp_path / "Weird.kt").write_text("class Broken {\n    macro!! frobnicate(x) <- y {\n        zork ~> 1\n    }\n}\n")
    found = run("localize", "--repo", tmp_path, "frobnicate fails in Broken")
    assert re.search(r"^Weird.kt:[-\d, ]+ cannot be parsed; functions there are not known.$", found.stdout, re.MULTILINE)
    (place,) = json.loads(run("localize", "--repo", tmp_path, "frobnicate fails in Broken", "--format", "json").stdout)["places"]
    assert place["functions"] == []
    assert [tuple(part) for part in place["unread"]] == sorted({tuple(part) for part in place["unread"]})
    assert not re.search(r"(\d+)-\1\b", found.stdout.splitlines()[-2]), "one line is no range"
    assert place["unread"][0][0] <= 3 <= place["unread"][-1][1]


@pytest.mark.parametrize("options", [(), ("--localizer", "ranker")])
def test_a_text_that_is_no_issue_is_a_search_and_says_so(run, repo, options):
    found = run("localize", "--repo", repo, "perimeter of a square", *options)
    heading, _, path = found.stdout.splitlines()[:3]
    assert (found.exit_code, heading[:34], path) == (0, "A search, not the answer to an iss", "pkg/shapes.py")
    assert "%" not in found.stdout
    listed = json.loads(run("localize", "--repo", repo, "perimeter of a square", "--format", "json", *options).stdout)
    assert (listed["outcome"], listed["kind"], "confidence" in listed) == ("answer", "search", False)
    assert listed["places"][0]["functions"][0]["function"] == "perimeter"
    refused = run("localize", "--repo", repo, "it does not work", *options)
    assert (refused.exit_code, refused.stdout[:33]) == (3, "No answer: too little to go on, n")


def test_an_issue_with_blanks_that_names_no_file_is_the_text_itself(run, repo, tmp_path):
    text = "`perimeter(3)` returns 9, see https://example.org/pull/3"
    result = run("localize", "--repo", repo, "--issue", text, "--save", tmp_path / "t.json")
    assert "pkg/shapes.py:6-7  perimeter" in result.stdout
    assert json.loads((tmp_path / "t.json").read_text())["issue"] == text
    (tmp_path / "an issue.md").write_text("The area of a circle is wrong.")
    run("localize", "--repo", repo, "--issue", tmp_path / "an issue.md", "--save", tmp_path / "t.json")
    assert json.loads((tmp_path / "t.json").read_text())["issue"] == "The area of a circle is wrong."
    missing = run("localize", "--repo", repo, "--issue", "missing.md")
    assert (missing.exit_code, missing.stderr) == (1, "fusesearch: cannot read the issue missing.md: No such file or directory\n")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32", "utf-16-le", "utf-16-be"])
def test_an_issue_is_read_as_its_byte_order_mark_says_or_its_zero_bytes(run, repo, tmp_path, encoding):
    data = "perimeter(3) returns 9\n\u5408\u8a08\n".encode(encoding)
    (tmp_path / "issue.md").write_bytes(data)
    assert "pkg/shapes.py:6-7  perimeter" in run("localize", "--repo", repo, "--issue", tmp_path / "issue.md").stdout
    assert "pkg/shapes.py:6-7  perimeter" in run("localize", "--repo", repo, "-", stdin=data).stdout


def test_the_issue_is_an_argument_and_the_folder_by_default_the_current_one(run, repo, issue, monkeypatch):
    monkeypatch.chdir(repo)
    by_option = run("localize", "--repo", repo, "--issue", issue).stdout.splitlines()[:-1]
    assert run("localize", issue).stdout.splitlines()[:-1] == by_option
    assert "perimeter" in run("localize", "perimeter(3) is wrong").stdout
    assert "perimeter" in run("localize", "perimeter").stdout  # one word that is no file and looks like none
    for wrong in ([], [issue, "--issue", issue]):
        refused = run("localize", *wrong)
        assert refused.exit_code == 2
        assert "give the issue once" in refused.stderr


@pytest.mark.parametrize(
    ("word", "says"),
    [("missing.md", "read the issue missing.md"), ("docs/missing", "read the issue"), ("#12", "give OWNER/REPO#12")],
)
def test_a_word_that_looks_like_a_file_or_a_number_is_no_text(run, repo, word, says):
    refused = run("localize", word, "--repo", repo)
    assert (refused.exit_code, len(refused.stderr.splitlines())) == (1, 1)
    assert says in refused.stderr


def test_json_has_the_shape_scripts_rely_on(run, repo, issue):
    result = run("localize", "--repo", repo, "--issue", "-", "--localizer", "ranker", "--format", "json", stdin=issue.read_text())
    found = json.loads(result.stdout)
    first = found["places"][0]["functions"][0]
    assert first | {"path": "pkg/shapes.py", "function": "perimeter", "lines": [6, 7]} == first
    assert first.keys() == {"path", "function", "lines", "signature", "confidence", "reasons"}
    assert found.keys() == {"schema", "outcome", "places", "related", "cost", "confidence"}
    assert (found["schema"], found["outcome"]) == (1, "answer")
    assert found["places"][0].keys() == {"path", "confidence", "likely", "reasons", "functions"}
    assert first["signature"] == "def perimeter(side):"
    assert found["cost"].keys() == {"localizer", "stop", "seconds"}  # what only an episode of a model has is left out


def test_no_answer_is_exit_code_3(run, tmp_path, issue):
    (tmp_path / "empty").mkdir()
    for command in ("localize", "context"):
        result = run(command, "--repo", tmp_path / "empty", "--issue", issue)
        assert (result.exit_code, result.stdout[:34]) == (3, "No answer: no code in this folder.")
    (tmp_path / "clone/.git").mkdir(parents=True)
    (tmp_path / "clone/.git/packed-refs").write_text("")
    assert "checked out, `git checkout` does it" in run("localize", "--repo", tmp_path / "clone", "--issue", issue).stdout
    as_json = run("localize", "--repo", tmp_path / "empty", "--issue", issue, "--format", "json")
    assert as_json.exit_code == 3
    assert json.loads(as_json.stdout)["places"] == []
    assert json.loads(as_json.stdout)["outcome"] == "no_code"


@pytest.mark.parametrize(
    "text", ["it is broken", "Memory leak", "Das Formular wird mit falschem Wert gespeichert", "### Describe the bug\n"]
)
def test_a_text_that_names_nothing_has_no_answer_and_says_what_would_help(run, repo, text):
    result = run("localize", "--repo", repo, text)
    assert result.exit_code == 3
    assert "name an error, a function or a file" in result.stdout


def test_an_episode_without_turns_to_search_in_says_so_and_save_keeps_all_of_one(run, repo, issue, tmp_path):
    lexical = ("localize", "--repo", repo, "--issue", issue, "--localizer", "lexical")
    result = run(*lexical, "--max-turns", "1")
    assert (result.exit_code, result.stdout.startswith("No answer")) == (3, True)
    run(*lexical, "--save", tmp_path / "out/t.json")
    saved = Trajectory.model_validate_json((tmp_path / "out/t.json").read_text())
    assert saved.answer is not None
    assert saved.turns[0].observations


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--repo", "nowhere"], "nowhere"),
        (["--issue", "none.md"], "none.md"),
        (["--issue", "-"], "empty"),
        (["--checkpoint", "nowhere"], "nowhere"),
        (["--model", "m", "--base-url", CLOSED, "--settings", "nowhere"], "nowhere holds no fusesearch.json"),
        (["--save", "issue.md/t.json"], "t.json"),
    ],
)
def test_unreadable_input_and_unwritable_output_are_one_line(run, repo, issue, monkeypatch, options, message):
    monkeypatch.chdir(issue.parent)
    assert message in failed(run("localize", "--repo", repo, "--issue", issue, *options, stdin=""))


TURNS = (
    'Look.\n<tool_call>\n{"name": "grep", "arguments": {"pattern": "perimeter"}}\n</tool_call>',
    "## Locations to Modify\n- /repo/pkg/shapes.py::perimeter\n\n## Related Context\n- /repo/README.md\n",
)


@pytest.fixture
def endpoint():
    """A chat server without tool parsing: one search as Hermes text, then an answer."""

    def answer(request):
        spoken = sum(message["role"] == "assistant" for message in request["messages"])
        return {"role": "assistant", "content": TURNS[spoken]}

    with Endpoint(answer) as server:
        yield server


def test_a_model_behind_an_endpoint_searches_with_the_key_of_the_environment(run, repo, issue, endpoint, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    result = run("localize", "--repo", repo, "--issue", issue, "--model", "m", "--base-url", endpoint.url, "--format", "json")
    found = json.loads(result.stdout)
    assert found["places"] == [
        {"path": "pkg/shapes.py", "functions": [{"path": "pkg/shapes.py", "function": "perimeter", "lines": [6, 7]}]}
    ]
    assert found["related"] == [{"path": "README.md", "functions": []}]
    assert found["cost"]["tokens_billed"] > 100
    assert found["cost"]["efficiency"] == 1
    assert {headers["authorization"] for headers in endpoint.headers} == {"Bearer secret"}


@pytest.mark.parametrize(
    ("context", "said"), [(None, "fusesearch doctor --endpoint"), (50, "not even the issue fits the model's context: ")]
)
def test_what_a_server_may_be_the_reason_for_is_said_with_what_to_do(run, repo, issue, context, said):
    with Endpoint(lambda _: {"role": "assistant", "content": "I cannot know."}, context_tokens=context) as server:
        result = run("localize", "--repo", repo, "--issue", issue, "--model", "m", "--base-url", server.url)
    assert (result.exit_code, said in result.stdout) == (3, True), result.stdout


@pytest.mark.parametrize(("form", "native"), [("hermes", False), ("native", True)])
def test_the_form_of_tools_can_be_chosen(run, repo, issue, endpoint, form, native):
    run("localize", "--repo", repo, "--issue", issue, "--model", "m", "--base-url", endpoint.url, "--tool-format", form)
    assert {"tools" in sent for sent in endpoint.asked} == {native}
    assert ("<tools>" in endpoint.asked[0]["messages"][0]["content"]) is not native


def test_a_model_behind_an_endpoint_searches_under_the_settings_of_its_checkpoint(run, repo, issue, endpoint, tmp_path):
    agent = {"prompt": "nano", "max_turns": 3, "max_new_tokens": 99}
    (tmp_path / SETTINGS).write_text(json.dumps({"tools": {"grep_lines": 1, "timeout_seconds": 10}, "agent": agent}))
    options = ("--model", "m", "--base-url", endpoint.url, "--settings", tmp_path, "--save", tmp_path / "t.json")
    result = run("localize", "--repo", repo, "--issue", issue, *options)
    assert result.exit_code == 0, result.output
    asked = endpoint.asked[-1]
    assert asked["max_tokens"] == 99
    assert "tools" not in asked
    saved = Trajectory.model_validate_json((tmp_path / "t.json").read_text())
    assert saved.system == asked["messages"][0]["content"] == render_system(Agent.model_validate(agent))


def test_an_endpoint_that_is_down_is_one_line_and_the_trajectory_is_saved(run, repo, issue, tmp_path):
    asked = ("--model", "m", "--base-url", CLOSED, "--save", tmp_path / "t.json")
    result = run("localize", "--repo", repo, "--issue", issue, *asked)
    assert result.exit_code == 1
    (line,) = result.stderr.splitlines()
    assert CLOSED in line
    assert Trajectory.model_validate_json((tmp_path / "t.json").read_text()).error


def test_options_that_do_not_fit_are_usage_errors(run, repo, issue, monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    wrong = [
        f"--model m --checkpoint c --base-url {CLOSED}", "--model m", "--model m --base-url localhost:8000",
        f"--base-url {CLOSED}", "--settings c", "--settings c --checkpoint c", "--localizer nobody", "--tool-format hermes",
        "--max-new-tokens 100", "--path nowhere", "--localizer bm25 --lang go",
    ]  # fmt: skip
    codes = {options: run("localize", "--repo", repo, "--issue", issue, *options.split()).exit_code for options in wrong}
    assert codes == dict.fromkeys(wrong, 2)


@pytest.mark.parametrize("text", ["[]", "{", '{"tools": {"grep_limes": 7}}', '{"agent": {"toolset": "bash"}}'])
def test_malformed_settings_of_a_checkpoint_are_named_with_what_to_do(run, repo, issue, tmp_path, text):
    (tmp_path / "checkpoint").mkdir()
    (tmp_path / "checkpoint/fusesearch.json").write_text(text)
    done = run("localize", "--repo", repo, "--issue", issue, "--checkpoint", tmp_path / "checkpoint")
    (line,) = done.stderr.splitlines()
    assert (done.exit_code, done.stdout) == (1, "")
    assert f"{tmp_path}/checkpoint/fusesearch.json" in line
    assert line.endswith(": get the checkpoint again, or delete the file to search with the usual limits")
    assert "dvc" not in line


def test_a_location_that_is_not_there_has_no_lines(repo):
    modify = [Location(path="pkg/shapes.py", function="Square.area"), Location(path="gone.py", function="f")]
    answer = Answer(modify=modify, related=[Location(path="../../etc/passwd", function="root")])
    turn = Turn(text=format_answer(answer))
    episode = Trajectory(instance_id="i", localizer="l", system="s", issue="i", turns=[turn], answer=answer)
    report = Report.of(episode, Repository(repo))
    assert [one["lines"] for place in report.places + report.related for one in place["functions"]] == [(2, 3), None, None]
    assert "Related context" in report.as_text()


def test_the_live_view_shows_each_call_with_its_gain(repo):
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=100, color_system=None)
    call = ToolCall(id="1", name="grep", arguments={"pattern": "[bold]\x1b[2J"})
    failed = ToolCall(id="2", name="read_file", arguments={"path": "x" * 300})
    first = Observation(call_id="1", output="", entities=["a", "b"], gain_turn=0.5)
    seen = [first, Observation(call_id="2", output="", error="e")]
    turn = Turn(text="", calls=[call, failed], observations=seen)
    with console.status("") as status:
        view = View(console, status)
        view("turn", {"number": 1, "turn": turn})
        view("observations", {"number": 1, "turn": turn})
    text = out.getvalue()
    assert "[bold]" in text
    assert "2 found  gain  50%" in text
    assert "\x1b[2J" not in text
    assert "…" in text


LONG = "a/very/long/path/that/no/line/may/cut/module.py"
FUNCTION = {
    "path": LONG, "function": "one", "lines": [3, 9], "confidence": 0.004, "signature": "def one(first, second, third, fourth):",
    "reasons": ["its words are", "many more than forty columns can hold"],
}  # fmt: skip
PLACE = {"path": LONG, "confidence": 0.61, "likely": False, "reasons": ["because of this"], "functions": [FUNCTION]}


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("colour", [False, True])
def test_lines_fit_the_screen_and_begin_with_a_whole_path(width, colour):
    shown = Report([PLACE], [], {"calls": 0, "tokens_billed": 0, "seconds": 0.1}).as_text(screen=Screen(width, colour))
    assert ("\x1b[" in shown) is colour
    lines = [re.sub(r"\x1b\[\d*m", "", line) for line in shown.splitlines()]
    paths = [line.split()[0] for line in lines if "module.py" in line]
    assert paths == [LONG, f"{LONG}:3-9"]
    assert all(len(line) <= width or line.split()[0] in paths for line in lines)
    assert ("fourth):" in shown, "…" in shown) == (width > 40, width == 40)
    assert "<1%" in shown


def test_no_colour_where_none_is_wanted(monkeypatch, tmp_path):
    monkeypatch.setattr("sys.stdout", out := io.StringIO())
    monkeypatch.setattr(out, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "90")
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    assert screen() == Screen(90, True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert screen() == Screen(90, False)
    monkeypatch.setattr("sys.argv", ["fusesearch", "install", "--agent", "zed", "--undo"])
    with pytest.raises(SystemExit):
        main()
    assert sys.stdout.getvalue().startswith("Zed"), "nor where a command styles its text itself"
    monkeypatch.setattr("sys.stdout", io.StringIO())
    assert screen() == PLAIN
